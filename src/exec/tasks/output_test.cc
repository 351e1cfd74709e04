#include "exec/tasks/output.h"

#include <sys/stat.h>
#include <unistd.h>

#include <gmock/gmock.h>

#include "base/os/files.h"
#include "base/scan/secrets.h"
#include "base/text.h"
#include "exec/tasks/snapshot/snapshot.h"

namespace tasks {
namespace {

using domain::TaskStatus;

class OutputTest : public testing::Test {
protected:
    OutputTest() {
        std::string name = std::filesystem::temp_directory_path() / "holon-output-XXXXXX";
        folder_ = ::mkdtemp(name.data());
    }
    ~OutputTest() override { std::filesystem::remove_all(folder_); }

    void write(std::string_view text) const {
        ASSERT_TRUE(base::write_file_atomic(file(), text, 0600));
    }
    std::string file() const { return folder_ / "t.log"; }
    static domain::Task task(CommandDetail detail, TaskStatus status = TaskStatus::Completed) {
        domain::Task task{.id = {"t"}, .agent_id = {"a"}, .status = status};
        task.detail = base::to_json(detail);
        return task;
    }

    std::filesystem::path folder_;
};

TEST_F(OutputTest, TheNewestLineIsTheLastThatIsNotBlankWithoutSecrets) {
    write("");
    EXPECT_EQ(last_line(file(), 20).value(), "");
    scan::know({"sk-live-4f9a0123"});
    write("first\n[ 42%] key sk-live-4f9a0123\n\n  \n");
    EXPECT_EQ(last_line(file(), 80).value(), "[ 42%] key [redacted:known-credential]");
    scan::know_nothing();
    write(std::string(5000, 'x') + "\nlong tail of it");
    EXPECT_EQ(last_line(file(), 10).value().size(), base::ellipsize("long tail of it", 10).size());
    EXPECT_FALSE(last_line(folder_ / "none", 10));
}

// contract: TASK-28, TASK-30, TASK-31
TEST_F(OutputTest, TheFileIsPreferredToWhatTheRecordKept) {
    write("from the file\n");
    const CommandDetail both{.output_path = file(), .output_summary = "from the record"};
    EXPECT_EQ(show_output(task(both)).text, "from the file");
    EXPECT_EQ(show_output(task({.output_summary = "from the record"})).text, "from the record");
    EXPECT_EQ(show_output(task({.initial_output = "early"})).text, "early");
}

// contract: TASK-27, TASK-32, TASK-33
TEST_F(OutputTest, AFileThatCannotBeReadIsNoError) {
    const CommandDetail gone{.output_path = folder_ / "gone", .output_summary = "kept"};
    EXPECT_TRUE(has_terminal_snapshot(task(gone)));
    const auto shown = output_snapshot(task(gone));
    EXPECT_EQ(base::string_at(shown, "output_preview"), "kept");
    EXPECT_FALSE(shown.contains("artifacts"));
    EXPECT_TRUE(has_terminal_snapshot(task({.output_path = folder_ / "gone"})));
}

// contract: TASK-34
TEST_F(OutputTest, AStatusAloneMakesNoSnapshot) {
    EXPECT_FALSE(has_terminal_snapshot(task({})));
    EXPECT_FALSE(has_terminal_snapshot(task({.output_path = file()}, TaskStatus::Running)));
    EXPECT_TRUE(has_terminal_snapshot(task({.initial_output = "x"}, TaskStatus::Failed)));
}

// contract: CMD-57
TEST_F(OutputTest, IsCutJustBeyondItsBound) {
    const CommandDetail detail{.max_output_tokens = 500, .output_path = file()};
    write(std::string(2000, 'x'));
    EXPECT_FALSE(show_output(task(detail)).truncated);
    write(std::string(2001, 'x'));
    EXPECT_TRUE(show_output(task(detail)).truncated);
    EXPECT_EQ(output_chars(std::nullopt), kOutputCharsMax);
    EXPECT_EQ(output_chars(1'000'000), kOutputCharsMax);
    EXPECT_EQ(output_chars(10), 40U);
}

TEST_F(OutputTest, ReadsOnlyTheEndsOfALargeFile) {
    write("head\n" + std::string(1'000'000, '.') + "\ntail\n");
    const auto ends = read_ends(file(), 100).value();
    EXPECT_EQ(ends.head.size() + ends.tail.size(), 800U);
    EXPECT_EQ(ends.bytes, 1'000'011U);
    EXPECT_TRUE(ends.head.starts_with("head\n"));
    EXPECT_TRUE(ends.tail.ends_with("\ntail\n"));
    EXPECT_EQ(::mkfifo((folder_ / "pipe").c_str(), 0600), 0);
    EXPECT_FALSE(read_ends(folder_ / "pipe", 100));
}

}  // namespace
}  // namespace tasks
