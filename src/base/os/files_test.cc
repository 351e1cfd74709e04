#include "base/os/files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>

#include <gmock/gmock.h>

namespace base {
namespace {

namespace fs = std::filesystem;

class Files : public testing::Test {
protected:
    void SetUp() override {
        std::string name = (fs::temp_directory_path() / "files_test-XXXXXX").string();
        ASSERT_NE(mkdtemp(name.data()), nullptr);
        folder_ = name;
    }
    void TearDown() override { fs::remove_all(folder_); }

    mode_t mode_of(const fs::path& path) const {
        struct stat info{};
        stat(path.c_str(), &info);
        return info.st_mode & 07777U;
    }

    fs::path folder_;
};

TEST_F(Files, ClosesADescriptorOnce) {
    int raw = -1;
    {
        Fd first(open("/dev/null", O_RDONLY | O_CLOEXEC));
        raw = first.get();
        Fd second(std::move(first));
        EXPECT_FALSE(first);
        EXPECT_EQ(second.get(), raw);
        first = std::move(second);
        EXPECT_EQ(first.get(), raw);
    }
    EXPECT_EQ(fcntl(raw, F_GETFD), -1);
}

TEST_F(Files, ReadsBackWhatWasWritten) {
    const std::string bytes("a\0\xff\n", 4);
    ASSERT_TRUE(write_file_atomic(folder_ / "f", bytes, 0640));
    EXPECT_EQ(read_file(folder_ / "f", 4), bytes);
    EXPECT_EQ(mode_of(folder_ / "f"), 0640U);
}

TEST_F(Files, ReplacesAFileAndLeavesNoOtherBehind) {
    ASSERT_TRUE(write_file_atomic(folder_ / "f", std::string(200'000, 'x'), 0600));
    ASSERT_TRUE(write_file_atomic(folder_ / "f", "new", 0600));
    EXPECT_EQ(read_file(folder_ / "f", 100), "new");
    EXPECT_EQ(std::distance(fs::directory_iterator(folder_), {}), 1);
}

TEST_F(Files, WritesAFileWithTheLongestName) {
    const std::string name(255, 'n');
    ASSERT_TRUE(write_file_atomic(folder_ / name, "long", 0600));
    EXPECT_EQ(read_file(folder_ / name, 100), "long");
}

TEST_F(Files, KeepsTheOldThingWhenReplacingFails) {
    fs::create_directory(folder_ / "taken");
    const auto status = write_file_atomic(folder_ / "taken", "new", 0600);
    ASSERT_FALSE(status);
    EXPECT_THAT(status.error().message, testing::HasSubstr("taken"));
    EXPECT_TRUE(fs::is_directory(folder_ / "taken"));
    EXPECT_EQ(std::distance(fs::directory_iterator(folder_), {}), 1);
}

TEST_F(Files, SaysWhichFolderAWriteMissed) {
    const auto status = write_file_atomic(folder_ / "missing" / "f", "x", 0600);
    ASSERT_FALSE(status);
    EXPECT_EQ(status.error().code, ErrorCode::NotFound);
    EXPECT_THAT(status.error().message, testing::HasSubstr("missing"));
}

TEST_F(Files, RefusesToReadMoreThanTheBound) {
    ASSERT_TRUE(write_file_atomic(folder_ / "f", "12345", 0600));
    EXPECT_EQ(read_file(folder_ / "f", 5), "12345");
    EXPECT_EQ(read_file(folder_ / "f", 4).error().code, ErrorCode::InvalidInput);
}

TEST_F(Files, ReadsFilesThatDoNotKnowTheirSize) {
    const auto stat = read_file("/proc/self/stat", 100'000);
    ASSERT_TRUE(stat);
    EXPECT_GT(stat->size(), 10U);
}

TEST_F(Files, RefusesToReadWhatIsNotARegularFile) {
    ASSERT_EQ(mkfifo((folder_ / "fifo").c_str(), 0600), 0);
    EXPECT_EQ(read_file(folder_ / "fifo", 10).error().code, ErrorCode::InvalidInput);
    EXPECT_EQ(read_file(folder_, 10).error().code, ErrorCode::InvalidInput);
    EXPECT_EQ(read_file(folder_ / "none", 10).error().code, ErrorCode::NotFound);
}

TEST_F(Files, MakesEveryMissingFolder) {
    ASSERT_TRUE(make_folders(folder_ / "a" / "b" / "c", 0700));
    EXPECT_EQ(mode_of(folder_ / "a"), 0700U);
    EXPECT_EQ(mode_of(folder_ / "a" / "b" / "c"), 0700U);
    EXPECT_TRUE(make_folders(folder_ / "a" / "b" / "c" / "", 0755));
    EXPECT_EQ(mode_of(folder_ / "a" / "b" / "c"), 0700U);
}

TEST_F(Files, NamesTheFileThatBlocksAFolder) {
    ASSERT_TRUE(write_file_atomic(folder_ / "f", "", 0600));
    const auto direct = make_folders(folder_ / "f", 0700);
    EXPECT_EQ(direct.error(), (Error{ErrorCode::Conflict,
                                     (folder_ / "f").string() + " exists and is not a folder"}));
    EXPECT_FALSE(make_folders(folder_ / "f" / "below", 0700));
    EXPECT_FALSE(make_folders("", 0700));
}

}  // namespace
}  // namespace base
