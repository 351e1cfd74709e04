#include "service/daemon/run_files.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "service/daemon/log_tail.h"
#include "service/daemon/probe.h"

namespace service {
namespace {

using testing::ElementsAre;

class RunFilesTest : public testing::Test {
protected:
    RunFilesTest() {
        std::string pattern =
            (std::filesystem::temp_directory_path() / "holon-run-XXXXXX").string();
        CHECK(mkdtemp(pattern.data()) != nullptr, "mkdtemp");
        folder_ = pattern;
        files_ = {.folder = folder_ / "run", .socket = folder_ / "run" / "holon.sock"};
    }
    ~RunFilesTest() override {
        std::error_code ignored;
        std::filesystem::remove_all(folder_, ignored);
    }

    std::filesystem::path folder_;
    RunFiles files_;
};

TEST_F(RunFilesTest, OnlyOneCanHoldAHome) {
    EXPECT_FALSE(is_runtime_locked(files_));
    auto lock = lock_runtime(files_);
    ASSERT_TRUE(lock);
    EXPECT_TRUE(is_runtime_locked(files_));
    EXPECT_TRUE(has_lock_open(files_, getpid()));
    EXPECT_FALSE(has_lock_open(files_, getppid()));
    const auto second = lock_runtime(files_);
    ASSERT_FALSE(second);
    EXPECT_EQ(second.error().code, base::ErrorCode::Conflict);
    lock->reset();
    EXPECT_FALSE(is_runtime_locked(files_));
}

TEST_F(RunFilesTest, KeepsWhatIsWrittenForItsOwnerOnly) {
    ASSERT_TRUE(lock_runtime(files_));
    ASSERT_TRUE(write_metadata(files_, {.pid = 7, .home_dir = "/h", .config_fingerprint = "f"}));
    EXPECT_EQ(read_pid(files_), 7);
    EXPECT_EQ(read_metadata(files_)->config_fingerprint, "f");
    struct stat info{};
    ASSERT_EQ(stat(files_.metadata().c_str(), &info), 0);
    EXPECT_EQ(info.st_mode & 0777, 0600U);
    EXPECT_THAT(files_.left_behind(), ElementsAre(files_.pid(), files_.metadata()));
    remove_state(files_);
    EXPECT_TRUE(files_.left_behind().empty());
}

TEST_F(RunFilesTest, FindsTheHolderOfTheLockInTheTableOfTheKernel) {
    EXPECT_FALSE(has_lock_open(files_, getpid()));
    const auto lock = lock_runtime(files_);
    ASSERT_TRUE(lock);
    EXPECT_TRUE(has_lock_open(files_, getpid()));
    EXPECT_FALSE(has_lock_open(files_, getppid()));
    const std::string table =
        "1: POSIX  ADVISORY  WRITE 70 08:01:131 0 EOF\n"
        "2: FLOCK  ADVISORY  WRITE 71 08:01:131 0 EOF\n"
        "2: -> FLOCK  ADVISORY  WRITE 72 08:01:131 0 EOF\n"
        "3: FLOCK  ADVISORY  WRITE 73 08:01:1131 0 EOF\n"
        "rubbish\n";
    EXPECT_TRUE(is_lock_holder(table, 71, 131));
    for (const pid_t other : {70, 72, 73}) EXPECT_FALSE(is_lock_holder(table, other, 131)) << other;
    EXPECT_FALSE(is_lock_holder("", 71, 131));
}

TEST_F(RunFilesTest, TakesRubbishForNothing) {
    ASSERT_TRUE(lock_runtime(files_));
    for (const char* text : {"", "x", "-1", "0", "12 13", "99999999999999"}) {
        ASSERT_TRUE(base::write_file_atomic(files_.pid(), text, 0600));
        EXPECT_EQ(read_pid(files_), std::nullopt) << text;
    }
    ASSERT_TRUE(base::write_file_atomic(files_.metadata(), "{\"pid\":", 0600));
    EXPECT_FALSE(read_metadata(files_));
}

TEST_F(RunFilesTest, RemembersFailuresUntilTheyAreCleared) {
    ASSERT_TRUE(record_failure(files_, {.summary = "no", .phase = FailurePhase::Startup}));
    EXPECT_EQ(read_failure(files_.failure(FailurePhase::Startup))->summary, "no");
    EXPECT_EQ(read_failure(files_.last_failure())->phase, FailurePhase::Startup);
    EXPECT_FALSE(read_failure(files_.failure(FailurePhase::Shutdown)));
    clear_failures(files_);
    EXPECT_FALSE(read_failure(files_.last_failure()));
}

TEST_F(RunFilesTest, ReadsOnlyTheEndOfALog) {
    EXPECT_TRUE(log_tail(files_.log(), 80)->empty());
    ASSERT_TRUE(lock_runtime(files_));
    std::string text;
    for (int i = 1; i <= 100'000; ++i) text += fmt::format("line {}\n", i);
    ASSERT_TRUE(base::write_file_atomic(files_.log(), text, 0600));
    EXPECT_THAT(log_tail(files_.log(), 2).value(), ElementsAre("line 99999", "line 100000"));
    const auto most = log_tail(files_.log(), 1'000'000).value();
    EXPECT_LT(most.size(), 20'000U);
    EXPECT_TRUE(most.front().starts_with("line "));
}

TEST(LogTail, CutsALongLineAtItsFront) {
    const std::string line(kTailLineChars + 10, 'x');
    EXPECT_THAT(last_lines(line + "y\n", 5, false),
                ElementsAre("..." + std::string(kTailLineChars - 1, 'x') + "y"));
    EXPECT_TRUE(last_lines("a\nb\n", 0, false).empty());
    EXPECT_THAT(last_lines("half\nwhole\n", 5, true), ElementsAre("whole"));
}

TEST(Probe, DistinguishesTheRuntimeOfThisHomeFromOthers) {
    const auto answers = [](json::object body) {
        return judge(base::Result<json::value>(std::move(body)), "/tmp/h");
    };
    EXPECT_EQ(answers({{"ok", true}, {"home_dir", "/tmp/h"}}), Control::Answers);
    EXPECT_EQ(answers({{"ok", true}, {"home_dir", "/tmp/x/../h"}}), Control::Answers);
    EXPECT_EQ(answers({{"ok", true}}), Control::Answers);  // A version that reports less.
    EXPECT_EQ(answers({{"ok", true}, {"home_dir", "/tmp/other"}}), Control::Foreign);
    EXPECT_EQ(answers({{"hello", "world"}}), Control::Foreign);
    const auto fails = [](base::ErrorCode code, std::string kind = "") {
        return judge(std::unexpected(base::Error{code, "", std::move(kind)}), "/tmp/h");
    };
    EXPECT_EQ(fails(base::ErrorCode::Unavailable, "runtime_unreachable"), Control::Absent);
    EXPECT_EQ(fails(base::ErrorCode::Unavailable), Control::Silent);
    EXPECT_EQ(fails(base::ErrorCode::Corrupt), Control::Foreign);
    EXPECT_EQ(fails(base::ErrorCode::NotFound), Control::Foreign);
}

}  // namespace
}  // namespace service
