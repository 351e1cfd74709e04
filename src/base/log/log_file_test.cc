#include "base/log/log_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cstdlib>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace base {
namespace {

class LogFileTest : public testing::Test {
protected:
    LogFileTest() {
        std::string pattern =
            (std::filesystem::temp_directory_path() / "holon-log-XXXXXX").string();
        CHECK(mkdtemp(pattern.data()) != nullptr, "mkdtemp");
        folder_ = pattern;
    }
    ~LogFileTest() override {
        std::error_code ignored;
        std::filesystem::remove_all(folder_, ignored);
    }
    std::filesystem::path path() const { return folder_ / "logs" / "holon.log"; }
    std::string content(const std::string& suffix = "") const {
        return read_file(path().string() + suffix, 1 << 20).value_or("");
    }

    std::filesystem::path folder_;
};

TEST_F(LogFileTest, ContinuesWhereItEnded) {
    LogFile::open(path()).value()->write("one");
    LogFile::open(path()).value()->write("two");
    EXPECT_EQ(content(), "one\ntwo\n");
}

TEST_F(LogFileTest, NeverTakesMoreThanItsBounds) {
    const auto log = LogFile::open(path(), 64).value();
    for (int i = 0; i < 200; ++i) log->write(fmt::format("line {:03}", i));
    std::uintmax_t total = 0;
    std::size_t files = 0;
    for (const auto& entry : std::filesystem::directory_iterator(path().parent_path())) {
        EXPECT_LE(entry.file_size(), 64U) << entry.path();
        total += entry.file_size();
        ++files;
    }
    EXPECT_EQ(files, 1U + kOldLogsMax);
    EXPECT_LE(total, 64U * (1 + kOldLogsMax));
    // The newest lines are there, in order.
    EXPECT_THAT(content(".1") + content(), testing::EndsWith("line 198\nline 199\n"));
}

TEST_F(LogFileTest, WritesALineLongerThanTheBound) {
    const auto log = LogFile::open(path(), 16).value();
    log->write(std::string(100, 'x'));
    log->write("next");
    EXPECT_EQ(content(), "next\n");
    EXPECT_EQ(content(".1").size(), 101U);
}

TEST_F(LogFileTest, ReopensAFileThatWasMovedAway) {
    const auto log = LogFile::open(path()).value();
    log->write("before");
    std::filesystem::rename(path(), path().string() + ".away");
    ASSERT_TRUE(log->reopen());
    log->write("after");
    EXPECT_EQ(content(), "after\n");
    EXPECT_EQ(content(".away"), "before\n");
}

TEST_F(LogFileTest, WhatIsPrintedFollowsTheFileWhenItWasTheSame) {
    const auto log = LogFile::open(path(), 16).value();
    const Fd saved(dup(STDERR_FILENO));
    const Fd same(open(path().c_str(), O_WRONLY | O_APPEND | O_CLOEXEC));
    dup2(same.get(), STDERR_FILENO);
    log->write("a long enough line");
    log->write("next");
    write_all(STDERR_FILENO, "printed\n");
    dup2(saved.get(), STDERR_FILENO);
    EXPECT_EQ(content(), "next\nprinted\n");
}

}  // namespace
}  // namespace base
