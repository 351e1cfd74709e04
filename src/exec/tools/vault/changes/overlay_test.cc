#include "exec/tools/vault/changes/overlay.h"

#include <gmock/gmock.h>

#include "exec/tools/patch/folder_for_test.h"
#include "exec/tools/vault/decide.h"
#include "exec/tools/vault/walk.h"

namespace vault {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;

class OverlayTest : public testing::Test {
protected:
    OverlayTest() {
        folder_.write("v/a.md", "a");
        folder_.write("v/d/b.md", "b");
        folder_.write("v/d/c.md", "c");
    }
    Root root() { return Root::open(folder_.at("v"), nullptr, overlay_).value(); }
    void apply(const Outcome<Decision>& decision) {
        ASSERT_TRUE(decision) << decision.error().message;
        for (const auto& step : decision->steps) overlay_->apply(step);
    }
    std::vector<std::string> paths() {
        std::vector<std::string> out;
        EXPECT_TRUE(walk(root(), {}, [&](const Entry& entry) {
            out.push_back(entry.path + (entry.kind == Kind::Folder ? "/" : ""));
            return true;
        }));
        return out;
    }
    std::string text(const std::string& path) {
        const auto content = root().read(path);
        return content ? content->bytes : content.error().kind;
    }

    patch::TestFolder folder_{patch::TestFolder::in_memory()};
    std::shared_ptr<Overlay> overlay_{std::make_shared<Overlay>()};
};

TEST_F(OverlayTest, ShowsTheVaultAsTheStepsWouldLeaveIt) {
    const auto before = folder_.all();
    apply(decide_rename(root(), {.from = "d", .to = "moved/d"}));
    EXPECT_THAT(paths(), ElementsAre("a.md", "moved/", "moved/d/", "moved/d/b.md", "moved/d/c.md"));
    EXPECT_EQ(text("moved/d/b.md"), "b");
    EXPECT_EQ(text("d/b.md"), "missing_file");
    apply(
        decide_write(root(), {.path = "moved/d/b.md", .content = "!", .mode = WriteMode::Append}));
    EXPECT_EQ(text("moved/d/b.md"), "b!");
    apply(decide_rename(root(), {.from = "moved/d", .to = "d"}));
    EXPECT_EQ(text("d/b.md"), "b!") << "what was written moves along";
    EXPECT_THAT(paths(), ElementsAre("a.md", "d/", "d/b.md", "d/c.md", "moved/"));
    apply(decide_create(root(), "d/b.md", "new", OnCollision::Unique));
    EXPECT_EQ(text("d/b (2).md"), "new");
    apply(decide_delete(root(), "a.md", std::nullopt));
    EXPECT_EQ(text("a.md"), "missing_file");
    apply(decide_create(root(), "a.md", "again", OnCollision::Error));
    EXPECT_EQ(text("a.md"), "again");
    EXPECT_EQ(folder_.all(), before) << "the vault itself is as it was";
}

TEST_F(OverlayTest, ANewFolderOfAnOldNameIsEmpty) {
    apply(decide_rename(root(), {.from = "d", .to = "e"}));
    apply(decide_folder(root(), "d"));
    EXPECT_THAT(paths(), ElementsAre("a.md", "d/", "e/", "e/b.md", "e/c.md"));
    EXPECT_EQ(text("d/b.md"), "missing_file");
    EXPECT_EQ(root().read("d").error().kind, "precondition_failed");
}

}  // namespace
}  // namespace vault
