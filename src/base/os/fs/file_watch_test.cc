#include "base/os/fs/file_watch.h"

#include <unistd.h>

#include <gtest/gtest.h>

#include "base/os/files.h"

namespace base {
namespace {

class FileWatchTest : public testing::Test {
protected:
    FileWatchTest() {
        folder = std::filesystem::temp_directory_path() / fmt::format("watch-{}", ::getpid());
        std::filesystem::create_directories(folder);
    }
    ~FileWatchTest() override { std::filesystem::remove_all(folder); }

    AsioLoop loop;
    std::filesystem::path folder;
};

TEST_F(FileWatchTest, ReportsEachReplacementOfTheFileAndOfNoOther) {
    int changes = 0;
    const auto watch = FileWatch::open(loop, folder / "a", [&] {
                           ++changes;
                           loop.stop();
                       }).value();
    ASSERT_TRUE(write_file_atomic(folder / "b", "other", 0600));
    for (int i = 1; i <= 3; ++i) {
        ASSERT_TRUE(write_file_atomic(folder / "a", std::to_string(i), 0600));
        loop.run();
        EXPECT_EQ(changes, i);
    }
}

TEST_F(FileWatchTest, AWatchThatIsGoneReportsNothingAlsoWhenItEndsItself) {
    int changes = 0;
    std::unique_ptr<FileWatch> watch;
    watch = FileWatch::open(loop, folder / "a", [&] {
                ++changes;
                watch.reset();
                loop.post([&] { loop.stop(); });
            }).value();
    ASSERT_TRUE(write_file_atomic(folder / "a", "1", 0600));
    loop.run();
    ASSERT_TRUE(write_file_atomic(folder / "a", "2", 0600));
    loop.post([&] { loop.stop(); });
    loop.run();
    EXPECT_EQ(changes, 1);
}

TEST_F(FileWatchTest, AFolderThatIsMissingIsAnError) {
    EXPECT_FALSE(FileWatch::open(loop, folder / "none" / "a", [] {}));
}

}  // namespace
}  // namespace base
