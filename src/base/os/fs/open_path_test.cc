#include "base/os/fs/open_path.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>

#include <gtest/gtest.h>

#include "base/os/fs/memory_file.h"

namespace base {
namespace {

namespace fs = std::filesystem;

class OpenPath : public testing::Test {
protected:
    OpenPath() {
        std::string name = (fs::temp_directory_path() / "holon-open-XXXXXX").string();
        top_ = fs::canonical(::mkdtemp(name.data()));
        fs::create_directories(top_ / "root/sub");
        fs::create_directories(top_ / "other");
        std::ofstream(top_ / "root/sub/file") << "text";
        std::ofstream(top_ / "other/secret") << "secret";
        fs::create_symlink(top_ / "other/secret", top_ / "root/link");
        fs::create_symlink("../other", top_ / "root/folder");
        fs::create_symlink("sub", top_ / "root/inside");
        root_.reset(::open((top_ / "root").c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
    }
    ~OpenPath() override { fs::remove_all(top_); }
    fs::path top_;
    Fd root_;
};

TEST_F(OpenPath, FollowsNoLinkAndLeavesNoFolder) {
    EXPECT_TRUE(open_beneath(root_.get(), "sub/file", O_RDONLY));
    EXPECT_TRUE(open_beneath(root_.get(), "", O_PATH));
    for (const char* path : {"link", "folder/secret", "inside/file", "../other/secret",
                             "sub/../../other/secret", "/etc/passwd"}) {
        const auto opened = open_beneath(root_.get(), path, O_RDONLY);
        ASSERT_FALSE(opened) << path;
        EXPECT_EQ(opened.error().code, ErrorCode::Refused) << path;
    }
    EXPECT_EQ(open_beneath(root_.get(), "missing", O_RDONLY).error().code, ErrorCode::NotFound);
    EXPECT_TRUE(open_without_links(top_ / "root/sub/file", O_RDONLY));
    EXPECT_EQ(open_without_links(top_ / "root/inside/file", O_RDONLY).error().code,
              ErrorCode::Refused);
    EXPECT_EQ(open_without_links("relative", O_RDONLY).error().code, ErrorCode::InvalidInput);
}

TEST_F(OpenPath, ResolvesLinksAsTheLibraryDoes) {
    const fs::path before = fs::current_path();
    fs::current_path(top_);
    for (const auto& path :
         {top_, top_ / "root/sub/file", top_ / "root/link", top_ / "root/inside/file",
          top_ / "root/folder/secret", top_ / "root/missing/too", top_ / "root/inside/missing",
          top_ / "root/../other", top_ / "root/sub/", top_ / "root//sub", top_ / "root/./sub",
          fs::path("root/inside"), fs::path("/"), fs::path()}) {
        std::error_code failed, expected;
        EXPECT_EQ(real_path(path, failed), fs::weakly_canonical(path, expected)) << path;
        EXPECT_EQ(failed, expected) << path;
    }
    fs::current_path(before);
}

TEST_F(OpenPath, ReadsRegularFilesOnly) {
    EXPECT_EQ(read_file_beneath(top_ / "root", "sub/file", 100), "text");
    EXPECT_EQ(read_file_beneath(top_ / "root", "sub/file", 3).error().code,
              ErrorCode::InvalidInput);
    ASSERT_EQ(::mkfifo((top_ / "root/pipe").c_str(), 0600), 0);
    EXPECT_EQ(read_file_beneath(top_ / "root", "pipe", 100).error().code, ErrorCode::InvalidInput);
    EXPECT_EQ(read_file_beneath(top_ / "root", "link", 100).error().code, ErrorCode::Refused);
}

TEST_F(OpenPath, FollowsALinkThatStaysBeneathWhereThatIsAllowed) {
    const auto read = [&](const char* path) {
        return read_file_beneath(top_ / "root", path, 100, Links::FollowBeneath);
    };
    EXPECT_EQ(read("inside/file"), "text");
    fs::create_symlink("/proc/self/environ", top_ / "root/magic");
    for (const char* path : {"link", "folder/secret", "magic"})
        EXPECT_EQ(read(path).error().code, ErrorCode::Refused) << path;
}

TEST_F(OpenPath, TheIdOfAFileIsNotItsName) {
    const auto before = open_without_links(top_ / "root/sub/file", O_PATH);
    fs::rename(top_ / "root/sub/file", top_ / "root/sub/moved");
    std::ofstream(top_ / "root/sub/file") << "another";
    const auto moved = open_without_links(top_ / "root/sub/moved", O_PATH);
    const auto replaced = open_without_links(top_ / "root/sub/file", O_PATH);
    EXPECT_EQ(file_id(before->get()), file_id(moved->get()));
    EXPECT_NE(file_id(before->get()), file_id(replaced->get()));
}

TEST(MemoryFile, CannotBeChanged) {
    const auto file = make_memory_file("test", "bytes", MemoryFile::Data);
    ASSERT_TRUE(file);
    char bytes[8]{};
    EXPECT_EQ(::read(file->get(), bytes, sizeof bytes), 5);
    EXPECT_STREQ(bytes, "bytes");
    EXPECT_LT(::pwrite(file->get(), "x", 1, 0), 0);
    EXPECT_NE(::ftruncate(file->get(), 0), 0);
    const Fd again(::open(("/proc/self/fd/" + std::to_string(file->get())).c_str(), O_RDWR));
    EXPECT_TRUE(!again || ::pwrite(again.get(), "x", 1, 0) < 0);
    for (const int fd : {file->get(), again.get()})
        EXPECT_EQ(::mmap(nullptr, 5, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0), MAP_FAILED);
    EXPECT_NE(::fallocate(file->get(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, 5), 0);
}

}  // namespace
}  // namespace base
