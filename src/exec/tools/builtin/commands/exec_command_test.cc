#include <csignal>

#include "exec/tools/builtin/fixture_for_test.h"

namespace builtin {
namespace {

using domain::ResultStatus;
using testing::HasSubstr;

class ExecCommandTest : public BuiltinTest {
protected:
    json::object result_without_diagnostics(const tools::Dispatched& end) {
        json::object result = end.envelope.result();
        result.erase("command_diagnostics");
        return result;
    }
};

// contract: RCPT-02
TEST_F(ExecCommandTest, SaysHowTheProcessEndedAndThenWhatItPrinted) {
    const auto end = exec("echo out; echo err >&2");
    EXPECT_EQ(end.receipt, "Process exited with code 0\n\nstdout:\nout\n\nstderr:\nerr");
    EXPECT_EQ(result_without_diagnostics(end), (json::object{{"disposition", "completed"},
                                                             {"exit_status", 0},
                                                             {"stdout_preview", "out"},
                                                             {"stderr_preview", "err"},
                                                             {"truncated", false}}));
    EXPECT_EQ(end.envelope.summary_text(), "Process exited with code 0: echo out; echo err >&2");
    EXPECT_EQ(end.result.status, ResultStatus::Ok);
}

TEST_F(ExecCommandTest, DescribesTheCommandWithoutItsSecrets) {
    EXPECT_EQ(exec("TOKEN=abc true").envelope.result().at("command_diagnostics"),
              (json::value{{"cmd_preview", "TOKEN=*** true"},
                           {"cmd_char_count", 14},
                           {"cmd_estimated_tokens", 4},
                           {"contains_heredoc", false},
                           {"contains_inline_script", false},
                           {"exceeds_soft_threshold", false},
                           {"effective_max_output_tokens", 8000},
                           {"output_char_budget", 32000}}));
}

// contract: RCPT-02
TEST_F(ExecCommandTest, ReportsFailureAndSignalAsOutcomes) {
    struct Case {
        std::string cmd, receipt;
        json::object result;
    };
    const std::vector<Case> cases{{"exit 3",
                                   "Process exited with code 3",
                                   {{"disposition", "completed"},
                                    {"exit_status", 3},
                                    {"stdout_preview", nullptr},
                                    {"stderr_preview", nullptr},
                                    {"truncated", false}}},
                                  {"echo before; kill -9 $$",
                                   "Process was ended by signal 9\n\nstdout:\nbefore",
                                   {{"disposition", "completed"},
                                    {"exit_status", nullptr},
                                    {"stdout_preview", "before"},
                                    {"stderr_preview", nullptr},
                                    {"truncated", false},
                                    {"ended_by", "signal"},
                                    {"signal", 9}}}};
    for (const auto& [cmd, receipt, result] : cases) {
        const auto end = exec(cmd);
        EXPECT_EQ(end.receipt, receipt) << cmd;
        EXPECT_EQ(result_without_diagnostics(end), result) << cmd;
        EXPECT_EQ(end.result.status, ResultStatus::Ok) << cmd;
    }
}

TEST_F(ExecCommandTest, NeverStartsACommandThatWasCancelledFirst) {
    const auto running = start("ExecCommand", {{"cmd", "touch ran"}, {"login", false}});
    running->cancel();
    const auto ended = end();
    EXPECT_EQ(ended.envelope,
              results::Envelope::failure(
                  "ExecCommand", {.kind = "tool_cancelled",
                                  .message = "The command was cancelled before it started."}));
    EXPECT_EQ(ended.result.status, ResultStatus::Cancelled);
    EXPECT_EQ(ended.result.error->code, "CANCELLED");
    EXPECT_EQ(ended.result.effects, domain::Effects{});
    EXPECT_FALSE(std::filesystem::exists(folder_.at("repo/ran")));
}

TEST_F(ExecCommandTest, EndsARunningCommandWhenItIsCancelled) {
    make_ready_fifo();
    const auto running =
        start("ExecCommand", {{"cmd", "echo begun; : > ready; sleep 600"}, {"login", false}});
    await_ready();
    running->cancel();
    const auto ended = end();
    EXPECT_EQ(ended.receipt, "Process was ended: it was cancelled\n\nstdout:\nbegun");
    EXPECT_EQ(ended.result.status, ResultStatus::Cancelled);
    EXPECT_EQ(ended.result.error->code, "CANCELLED");
    EXPECT_FALSE(ended.result.ok);
}

TEST_F(ExecCommandTest, RunsInTheWorkingFolderItIsGiven) {
    folder_.write("repo/sub/file", "");
    std::filesystem::create_directory_symlink("sub", folder_.at("repo/inside"));
    const std::vector<std::pair<std::string, std::string>> cases{
        {"", "repo"},       {"sub", "repo/sub"}, {"inside", "repo/sub"},
        {"sub/..", "repo"}, {".", "repo"},       {folder_.at("repo/sub"), "repo/sub"}};
    for (const auto& [workdir, folder] : cases)
        EXPECT_EQ(
            run("ExecCommand", {{"cmd", "pwd -P"}, {"login", false}, {"workdir", workdir}}).receipt,
            "Process exited with code 0\n\nstdout:\n" + folder_.at(folder))
            << workdir;
}

// contract: ENV-08, TERR-12, TERR-19, EXEC-09
TEST_F(ExecCommandTest, RunsNothingOutsideTheExecutionRoot) {
    folder_.write("other-repo/file", "");
    folder_.write("repo-2/file", "");
    std::filesystem::create_directory_symlink("../other-repo", folder_.at("repo/escape"));
    const std::map<std::string, std::string> cases{{"../other-repo", folder_.at("other-repo")},
                                                   {"../repo-2", folder_.at("repo-2")},
                                                   {"..", folder_.path().string()},
                                                   {"/", "/"},
                                                   {"escape", folder_.at("other-repo")},
                                                   {"../missing", folder_.at("missing")}};
    for (const auto& [workdir, attempted] : cases) {
        const auto end = run("ExecCommand", {{"cmd", "touch ran"}, {"workdir", workdir}});
        EXPECT_EQ(end.envelope,
                  results::Envelope::failure(
                      "ExecCommand",
                      {.kind = "execution_root_violation",
                       .message =
                           fmt::format("The working directory {} is outside the execution root {}.",
                                       workdir, folder_.at("repo")),
                       .details = json::object{{"tool_name", "ExecCommand"},
                                               {"field", "workdir"},
                                               {"workdir", workdir},
                                               {"attempted_workdir", attempted},
                                               {"execution_root", folder_.at("repo")},
                                               {"cwd", folder_.at("repo")}},
                       .recovery_hint = "Leave workdir out, or give a path inside the execution "
                                        "root, relative to cwd."}));
        EXPECT_EQ(base::string_at(base::parse_json(end.receipt).value(), "field"), "workdir");
        EXPECT_EQ(end.result.error->code, "POLICY_DENIED");
    }
    for (const auto& [path, what] : folder_.all()) EXPECT_THAT(path, Not(HasSubstr("ran")));
}

TEST_F(ExecCommandTest, TrustsNoFolderWhenItsRootCannotBeResolved) {
    std::filesystem::create_directory_symlink("loop", folder_.at("loop"));
    place_.workspace.execution_root = folder_.at("loop/root");
    EXPECT_EQ(resolve_workdir(place_, "/", "ExecCommand").error().kind, "execution_root_violation");
}

// contract: TERR-20
TEST_F(ExecCommandTest, NamesTheShellAndTheCauseWhenItCannotStart) {
    const auto end = run("ExecCommand", {{"cmd", "true"}, {"shell", "no-such-shell"}});
    const auto& error = end.envelope.error();
    EXPECT_EQ(error.kind, "command_spawn_failed");
    EXPECT_EQ(error.message,
              "The command could not be started: the program 'no-such-shell' was not found");
    EXPECT_EQ(base::string_at(*error.details, "shell"), "no-such-shell");
    EXPECT_EQ(base::string_at(*error.details, "workdir"), folder_.at("repo"));
    EXPECT_EQ(error.recovery_hint,
              "Leave shell out to use the default one, and check that workdir exists.");
    EXPECT_EQ(run("ExecCommand", {{"cmd", "true"}, {"workdir", "missing"}}).envelope.error().kind,
              "command_spawn_failed");
}

TEST_F(ExecCommandTest, ReportsACommandThatNoProgramCanBeGiven) {
    const std::string cmd("echo a\0b", 8);
    EXPECT_EQ(run("ExecCommand", {{"cmd", cmd}}).envelope.error().kind, "command_spawn_failed");
}

TEST_F(ExecCommandTest, GivesCommandsTheirAgentAndOnlyWhatTheyMayInherit) {
    setenv("HOLON_TEST_SECRET", "hidden", 1);
    const std::string environment = base::string_at(
        exec("env | sort | grep -v '^_=\\|^PWD=\\|^SHLVL=\\|^OLDPWD='").envelope.result(),
        "stdout_preview");
    unsetenv("HOLON_TEST_SECRET");
    EXPECT_EQ(environment, "GREETING=hello\nHOLON_AGENT_HOME=" + folder_.at("home") +
                               "\nHOLON_AGENT_ID=default\nHOLON_RUNTIME=1\nPATH=/usr/bin:/bin");
}

// contract: RES-06
TEST_F(ExecCommandTest, ReportsWhatACommandChangedWhateverItSaidItWouldDo) {
    folder_.write("repo/old.txt", "x");
    folder_.write("repo/moved.txt", "y");
    const auto end = exec(
        "echo only looking; mkdir d; echo 1 > d/new; rm old.txt; "
        "mv moved.txt d/here.txt; echo three >> a.txt");
    domain::Effects expected{
        .side_effects_observed = true,
        .created = {{"d", domain::PathKind::Folder}, {"d/new", domain::PathKind::File}},
        .deleted = {{"old.txt", domain::PathKind::File, false}},
        .renamed = {{"moved.txt", "d/here.txt"}}};
    ASSERT_EQ(end.result.effects.modified.size(), 1u);
    EXPECT_EQ(end.result.effects.modified.front().path, "a.txt");
    EXPECT_NE(end.result.effects.modified.front().before_etag,
              end.result.effects.modified.front().after_etag);
    expected.modified = end.result.effects.modified;
    EXPECT_EQ(end.result.effects, expected);
    EXPECT_EQ(exec("cat a.txt").result.effects, domain::Effects{});
}

TEST_F(ExecCommandTest, SaysThatNobodyLookedWhereTheRootIsGone) {
    place_.workspace.execution_root = folder_.at("gone");
    for (int i = 0; i < 2; ++i)
        EXPECT_EQ(exec("true").result.effects, (domain::Effects{.observed = false}));
}

TEST_F(ExecCommandTest, DoesNotWaitForAGrandchildThatHoldsTheOutput) {
    const auto end = exec("echo parent; setsid sleep 600 &");
    EXPECT_THAT(end.receipt, HasSubstr("Process exited with code 0\n\nstdout:\nparent"));
    EXPECT_TRUE(base::bool_at(end.envelope.result(), "output_cut_off"));
    EXPECT_THAT(end.receipt, HasSubstr("A background process kept the output open"));
}

}  // namespace
}  // namespace builtin
