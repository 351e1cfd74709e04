#include "exec/results/artifacts.h"

#include <sys/stat.h>

#include <cstdlib>

#include "base/os/files.h"

#include <gmock/gmock.h>

namespace results {
namespace {

namespace fs = std::filesystem;

class CountingIds final : public base::Ids {
public:
    std::string hex32() override { return fmt::format("{:032x}", ++last_); }
    std::string uuid() override { return hex32(); }
    std::uint64_t below(std::uint64_t) override { return 0; }

private:
    int last_{0};
};

class FileArtifactsTest : public testing::Test {
protected:
    void SetUp() override {
        std::string name = (fs::temp_directory_path() / "artifacts_test-XXXXXX").string();
        ASSERT_NE(mkdtemp(name.data()), nullptr);
        folder_ = name;
    }
    void TearDown() override { fs::remove_all(folder_); }

    static unsigned mode_of(const fs::path& path) {
        struct stat status{};
        EXPECT_EQ(stat(path.c_str(), &status), 0) << path;
        return status.st_mode & 07777U;
    }

    fs::path folder_;
    CountingIds ids_;
};

TEST_F(FileArtifactsTest, WritesAllBytesToAPrivateFileOfItsOwn) {
    FileArtifacts sink(folder_ / "home" / "tool-artifacts", "exec-command", ids_);
    const std::string bytes("a\0\xff\n", 4);
    const auto first = sink.store("stdout", bytes), second = sink.store("stdout", "again");
    ASSERT_TRUE(first && second);
    EXPECT_EQ(*first, (folder_ / "home" / "tool-artifacts" /
                       "exec-command-00000000000000000000000000000001-stdout.log")
                          .string());
    EXPECT_EQ(*second, (folder_ / "home" / "tool-artifacts" /
                        "exec-command-00000000000000000000000000000002-stdout.log")
                           .string());
    EXPECT_EQ(base::read_file(*first, 100).value(), bytes);
    EXPECT_EQ(base::read_file(*second, 100).value(), "again");
    EXPECT_EQ(mode_of(*first), 0600u);
    EXPECT_EQ(mode_of(folder_ / "home" / "tool-artifacts"), 0700u);
}

TEST_F(FileArtifactsTest, ReservesANameAndMakesNothing) {
    FileArtifacts sink(folder_ / "later", "exec-command", ids_);
    EXPECT_EQ(sink.reserve("stderr"),
              folder_ / "later" / "exec-command-00000000000000000000000000000001-stderr.log");
    EXPECT_FALSE(fs::exists(folder_ / "later"));
}

TEST_F(FileArtifactsTest, FailsWhereItsFolderCannotBe) {
    ASSERT_TRUE(base::write_file_atomic(folder_ / "taken", "", 0600));
    FileArtifacts sink(folder_ / "taken", "exec-command", ids_);
    const auto stored = sink.store("stdout", "x");
    ASSERT_FALSE(stored);
    EXPECT_EQ(stored.error().code, base::ErrorCode::Conflict);
}

TEST_F(FileArtifactsTest, ALinkInThePlaceOfItsFolderIsNotFollowed) {
    fs::create_directories(folder_ / "home");
    fs::create_directories(folder_ / "elsewhere");
    fs::create_directory_symlink(folder_ / "elsewhere", folder_ / "home/tool-artifacts");
    FileArtifacts sink(folder_ / "home/tool-artifacts", "exec-command", ids_);
    EXPECT_EQ(sink.store("stdout", "bytes").error().code, base::ErrorCode::Refused);
    EXPECT_TRUE(fs::is_empty(folder_ / "elsewhere"));
}

}  // namespace
}  // namespace results
