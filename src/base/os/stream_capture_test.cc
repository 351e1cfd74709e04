#include "base/os/stream_capture.h"

#include <sys/resource.h>
#include <sys/stat.h>

#include <csignal>
#include <cstdlib>

#include <gmock/gmock.h>

namespace base {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

class StreamCaptureTest : public testing::Test {
protected:
    void SetUp() override {
        std::string name = (fs::temp_directory_path() / "capture_test-XXXXXX").string();
        ASSERT_NE(mkdtemp(name.data()), nullptr);
        folder_ = name;
    }
    void TearDown() override { fs::remove_all(folder_); }

    CapturedStream captured(std::size_t bound,
                            std::initializer_list<std::string_view> chunks) const {
        StreamCapture capture(bound, folder_ / "spill");
        for (const auto chunk : chunks) capture.add(chunk);
        return capture.finish();
    }

    fs::path folder_;
};

TEST_F(StreamCaptureTest, KeepsEverythingUpToTheBoundInMemory) {
    const auto stream = captured(6, {"abc", "def"});
    EXPECT_EQ(stream.head, "abcdef");
    EXPECT_EQ(stream.tail, "");
    EXPECT_FALSE(stream.spilled);
    EXPECT_FALSE(fs::exists(folder_ / "spill"));
}

TEST_F(StreamCaptureTest, SpillsAllBytesOneByteOverTheBound) {
    const auto stream = captured(6, {"abc", "def", "g"});
    EXPECT_EQ(stream.head, "abc");
    EXPECT_EQ(stream.tail, "efg");
    EXPECT_TRUE(stream.spilled);
    EXPECT_EQ(stream.bytes, 7U);
    EXPECT_EQ(stream.spill_error, "");
    EXPECT_EQ(stream.sha256, sha256_hex("abcdefg"));
    EXPECT_EQ(read_file(folder_ / "spill", 100), "abcdefg");
}

TEST_F(StreamCaptureTest, KeepsTheSameEndsHoweverTheBytesArrive) {
    std::string all;
    for (int i = 0; i < 500; ++i) all += static_cast<char>(i * 7);
    for (const std::size_t bound : {0U, 1U, 2U, 7U, 64U, 499U})
        for (const std::size_t step : {1U, 3U, 31U, 64U, 500U}) {
            StreamCapture capture(bound, folder_ / "spill");
            for (std::size_t at = 0; at < all.size(); at += step)
                capture.add(std::string_view(all).substr(at, step));
            const auto stream = capture.finish();
            EXPECT_EQ(stream.head, all.substr(0, bound / 2)) << bound << " " << step;
            EXPECT_EQ(stream.tail, all.substr(all.size() - bound / 2)) << bound << " " << step;
            EXPECT_EQ(read_file(folder_ / "spill", 1000), all) << bound << " " << step;
        }
}

TEST_F(StreamCaptureTest, CountsAnUnfinishedLastLine) {
    EXPECT_EQ(captured(100, {}).lines, 0U);
    EXPECT_EQ(captured(100, {"a"}).lines, 1U);
    EXPECT_EQ(captured(100, {"a\n"}).lines, 1U);
    EXPECT_EQ(captured(100, {"a\n", "\nb"}).lines, 3U);
    EXPECT_EQ(captured(100, {"\n\n"}).lines, 2U);
    EXPECT_EQ(captured(2, {"a\n", "b\n", "c"}).lines, 3U);
}

TEST_F(StreamCaptureTest, WritesTheSpillForItsOwnerOnly) {
    ASSERT_TRUE(write_file_atomic(folder_ / "spill", "older and longer", 0644));
    captured(1, {"abc"});
    struct stat info{};
    ASSERT_EQ(stat((folder_ / "spill").c_str(), &info), 0);
    EXPECT_EQ(info.st_mode & 07777U, 0600U);
    EXPECT_EQ(read_file(folder_ / "spill", 100), "abc");
}

TEST_F(StreamCaptureTest, KeepsCountingWhenTheSpillCannotBeOpened) {
    for (const auto& path :
         {folder_ / "missing" / "spill", folder_, fs::path(), fs::path("/dev/full")}) {
        StreamCapture capture(4, path);
        capture.add("abcdef");
        capture.add("gh");
        const auto stream = capture.finish();
        EXPECT_NE(stream.spill_error, "") << path;
        EXPECT_THAT(stream.spill_error, HasSubstr(path.string()));
        EXPECT_TRUE(stream.spilled);
        EXPECT_EQ(stream.head + "|" + stream.tail, "ab|gh");
        EXPECT_EQ(stream.bytes, 8U);
        EXPECT_EQ(stream.sha256, sha256_hex("abcdefgh"));
    }
}

TEST_F(StreamCaptureTest, RemovesTheSpillWhenItCannotBeFinished) {
    // A file size limit fails like a full disk does, in the middle of a write.
    rlimit before{};
    getrlimit(RLIMIT_FSIZE, &before);
    const auto handler = std::signal(SIGXFSZ, SIG_IGN);
    const rlimit small{1000, before.rlim_max};
    ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &small), 0);
    const std::string chunk(900, 'x');
    const auto stream = captured(10, {chunk, chunk, chunk});
    setrlimit(RLIMIT_FSIZE, &before);
    std::signal(SIGXFSZ, handler);
    EXPECT_THAT(stream.spill_error, HasSubstr("File too large"));
    EXPECT_EQ(stream.bytes, 2700U);
    EXPECT_EQ(stream.sha256, sha256_hex(chunk + chunk + chunk));
    EXPECT_FALSE(fs::exists(folder_ / "spill"));
}

}  // namespace
}  // namespace base
