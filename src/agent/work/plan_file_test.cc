#include "agent/work/plan_file.h"

#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>

namespace work {
namespace {

namespace fs = std::filesystem;
using base::ErrorCode;

class PlanFileTest : public testing::Test {
protected:
    PlanFileTest() {
        std::string name = (fs::temp_directory_path() / "holon-plan-XXXXXX").string();
        home_ = ::mkdtemp(name.data());
    }
    ~PlanFileTest() override { fs::remove_all(home_); }

    fs::path file() const { return home_ / plan_path(id_); }
    base::Result<domain::PlanArtifact> read() const { return read_plan(home_, {"main"}, id_); }

    fs::path home_;
    const domain::WorkItemId id_{"work_1"};
};

TEST_F(PlanFileTest, AMissingFileIsAnEmptyPlan) {
    const auto plan = read();
    ASSERT_TRUE(plan) << plan.error().message;
    EXPECT_EQ(plan->bytes, 0);
    EXPECT_EQ(plan->preview, "");
    EXPECT_TRUE(plan->preview_complete);
    EXPECT_EQ(plan->path, file().string());
}

// contract: WORK-48, WORK-51, WORK-52, WORK-54
TEST_F(PlanFileTest, ShowsWhatTheFileIsNow) {
    ASSERT_TRUE(write_plan(home_, id_, "first"));
    const auto first = read();
    ASSERT_TRUE(first);
    EXPECT_EQ(first->preview, "first");
    EXPECT_EQ(first->bytes, 5);
    EXPECT_EQ(first->relative_path, "work-items/work_1/plan.md");
    EXPECT_TRUE(fs::path(first->path).is_absolute());
    EXPECT_TRUE(first->hash.starts_with("sha256:"));
    EXPECT_EQ(first->owner_agent_id.value, "main");
    std::ofstream(file()) << "second plan";
    const auto second = read();
    ASSERT_TRUE(second);
    EXPECT_NE(second->hash, first->hash);
    EXPECT_EQ(second->bytes, 11);
    EXPECT_GE(second->updated_at, first->updated_at);
}

// contract: WORK-53
TEST_F(PlanFileTest, ALongPlanIsCutInThePreviewOnly) {
    const std::string text = std::string(kPlanPreviewChars, 'a') + "TAIL";
    ASSERT_TRUE(write_plan(home_, id_, text));
    const auto plan = read();
    ASSERT_TRUE(plan);
    EXPECT_EQ(plan->preview, std::string(kPlanPreviewChars, 'a'));
    EXPECT_FALSE(plan->preview_complete);
    EXPECT_EQ(plan->bytes, std::ssize(text));
}

TEST_F(PlanFileTest, RefusesALinkAFolderAndTooManyBytes) {
    std::ofstream(home_ / "secret") << "key";
    fs::create_directories(file().parent_path());
    fs::create_symlink(home_ / "secret", file());
    EXPECT_EQ(read().error().code, ErrorCode::Refused);
    EXPECT_FALSE(write_plan(home_, id_, "x"));
    EXPECT_TRUE(fs::is_symlink(file()));
    fs::remove(file());
    fs::create_directory(file());
    EXPECT_FALSE(read());
    EXPECT_FALSE(write_plan(home_, id_, "x"));
    fs::remove(file());
    std::ofstream(file()) << std::string(kPlanBytesMax + 1, 'x');
    EXPECT_EQ(read().error().code, ErrorCode::InvalidInput);
    EXPECT_EQ(write_plan(home_, id_, std::string(kPlanBytesMax + 1, 'x')).error().code,
              ErrorCode::InvalidInput);
    fs::remove_all(home_ / "work-items");
    fs::create_directory(home_ / "elsewhere");
    fs::create_directory_symlink(home_ / "elsewhere", home_ / "work-items");
    EXPECT_FALSE(write_plan(home_, id_, "x"));
    EXPECT_TRUE(fs::is_empty(home_ / "elsewhere"));
}

}  // namespace
}  // namespace work
