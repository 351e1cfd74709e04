// `holon run` with a scripted model: what it prints, how it exits, what it leaves behind.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/e2e/program.h"

namespace e2e {
namespace {

using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

json::array hello_story() {
    return {with_usage(runs("echo hello > greeting.txt; cat greeting.txt", "Let me look."), 10, 5),
            with_usage(says("All done."), 7, 3)};
}

json::object fault(std::string_view kind, int status, std::string_view message, int times = 100) {
    json::object round{{"text", "never said"}};
    round["fault"] = {{"kind", kind}, {"status", status}, {"message", message}, {"times", times}};
    return round;
}

TEST(Run, PrintsTheAnswer) {
    Program program;
    program.script(hello_story());
    const auto finished = program.run({"run", "say hello"});
    EXPECT_EQ(finished.exit_code, 0);
    EXPECT_EQ(finished.out, "All done.\n");
    EXPECT_EQ(program.read(program.repo() / "greeting.txt"), "hello\n");
}

TEST(Run, ShowsItsProgressOnStandardErrorOnly) {
    Program program;
    program.script(hello_story());
    const auto finished = program.run({"run", "say hello"});
    EXPECT_THAT(finished.err, HasSubstr("Let me look."));
    EXPECT_THAT(finished.err, HasSubstr("echo hello > greeting.txt"));
    EXPECT_THAT(finished.err, HasSubstr("exit 0"));
    EXPECT_THAT(finished.err, Not(HasSubstr("\x1b")));  // No colours where no terminal is.
}

TEST(Run, SaysSoWhenThereIsNothingToSay) {
    Program program;
    program.script({calls("Sleep", {})});
    const auto finished = program.run({"run", "rest"});
    EXPECT_EQ(finished.exit_code, 0);
    EXPECT_EQ(finished.out, "");
    EXPECT_THAT(finished.err, HasSubstr("it sleeps: waiting for something to wake me\n"));
}

// contract: PROV-01, PROV-71, FAIL-09
TEST(Run, PrintsOneJsonDocumentWithTheKeysOfTheReference) {
    Program program;
    program.script(hello_story());
    const auto result =
        program.json_of({"run", "--json", "--agent", "k", "--create-agent", "say hello"});
    EXPECT_EQ(keys_of(result),
              (std::vector<std::string>{
                  "agent_id", "batched_exec_command_items", "changed_files", "exec_command_items",
                  "final_status", "final_text", "input_tokens", "message_count", "model_rounds",
                  "output_tokens", "provider_attempt_timeline", "raw_final_text", "shell_commands",
                  "tasks", "token_usage", "tool_calls"}));
    json::value expected{{"agent_id", "k"},
                         {"batched_exec_command_items", 0},
                         {"changed_files", json::array{}},
                         {"exec_command_items", 1},
                         {"final_status", "completed"},
                         {"final_text", "All done."},
                         {"input_tokens", 17},
                         {"message_count", 1},
                         {"model_rounds", 2},
                         {"output_tokens", 8},
                         {"raw_final_text", "All done."},
                         {"shell_commands", 1},
                         {"tasks", json::array{}},
                         {"tool_calls", 1}};
    expected.as_object()["token_usage"] = {
        {"input_tokens", 17}, {"output_tokens", 8}, {"total_tokens", 25}};
    auto rest = result;
    rest.as_object().erase("provider_attempt_timeline");
    EXPECT_EQ(base::pretty_json(rest), base::pretty_json(expected));

    const auto& timeline = result.at("provider_attempt_timeline");
    const std::string model = program.environment.at("HOLON_MODEL");
    ASSERT_EQ(timeline.at("attempts").as_array().size(), 2U);
    for (const auto& attempt : timeline.at("attempts").as_array()) {
        EXPECT_EQ(base::string_at(attempt, "provider"), "scripted");
        EXPECT_EQ(base::string_at(attempt, "model_ref"), model);
        EXPECT_EQ(base::string_at(attempt, "outcome"), "succeeded");
    }
}

TEST(Run, NamesTheFilesThatPatchesChanged) {
    Program program;
    const std::string patch =
        "--- /dev/null\n+++ b/docs/notes.md\n@@ -0,0 +1 @@\n+noted\n--- /dev/null\n+++ b/a.txt\n@@ "
        "-0,0 +1 @@\n+a\n";
    program.script({calls("ApplyPatch", {{"patch", patch}}), says("Noted.")});
    const auto result = program.json_of({"run", "--json", "take a note"});
    EXPECT_EQ(result.at("changed_files"), (json::array{"a.txt", "docs/notes.md"}));
    EXPECT_EQ(program.read(program.repo() / "docs/notes.md"), "noted\n");
}

// contract: CMD-20
TEST(Run, CountsTheItemsOfABatch) {
    Program program;
    json::object input;
    input["items"] = json::array{json::object{{"cmd", "true"}}, json::object{{"cmd", "true"}}};
    program.script({calls("ExecCommandBatch", input), runs("true"), says("Done.")});
    const auto result = program.json_of({"run", "--json", "go"});
    EXPECT_EQ(base::int_at(result, "tool_calls"), 2);
    EXPECT_EQ(base::int_at(result, "exec_command_items"), 3);
    EXPECT_EQ(base::int_at(result, "shell_commands"), 3);
    EXPECT_EQ(base::int_at(result, "batched_exec_command_items"), 2);
}

// contract: FAIL-12, FAIL-13, CLOSE-13
TEST(Run, ExitsThreeAndShowsTheFailureWhenTheTurnFails) {
    Program program;
    program.script({fault("contract_error", 400, "the model does not exist")});
    const auto shown = program.run({"run", "--agent", "k", "--create-agent", "try"});
    EXPECT_EQ(shown.exit_code, 3);
    const std::string summary =
        program.environment.at("HOLON_MODEL") +
        ": fail_fast (contract_error, status=400): the model does not exist";
    EXPECT_EQ(shown.out, "");
    const std::string cause =
        program.environment.at("HOLON_MODEL") + ": the model does not exist\n";
    EXPECT_THAT(shown.err, HasSubstr("✗ " + cause));
    EXPECT_EQ(shown.err.find(cause), shown.err.rfind(cause)) << "and once is enough";
    EXPECT_THAT(shown.err, HasSubstr("holon transcript --agent k"));

    const auto result = program.json_of({"run", "--json", "--agent", "k", "try"}, 3);
    EXPECT_EQ(base::string_at(result, "final_status"), "failed");
    const auto& artifact = result.at("failure_artifact");
    EXPECT_EQ(base::string_at(artifact, "category"), "protocol");
    EXPECT_EQ(base::string_at(artifact, "kind"), "contract_error");
    EXPECT_EQ(base::string_at(artifact, "summary"), summary);
    EXPECT_EQ(base::int_at(artifact, "status"), 400);

    const auto failures = of_kind(program.json_of({"tail", "--agent", "k"}), "failure");
    ASSERT_EQ(failures.size(), 2U);
    EXPECT_THAT(base::string_at(failures[0], "text"), HasSubstr("the model does not exist"));
}

// contract: CLOSE-18, PROV-70
TEST(Run, CountsTheTokensOfAttemptsThatFailed) {
    Program program;
    auto round = fault("contract_error", 400, "too odd");
    round["fault"].as_object()["usage"] = {{"input_tokens", 40}, {"output_tokens", 2}};
    program.script({std::move(round)});
    program.json_of({"run", "--json", "--agent", "k", "--create-agent", "try"}, 3);
    const json::value usage{{"input_tokens", 40}, {"output_tokens", 2}, {"total_tokens", 42}};
    const auto entries =
        of_kind(program.json_of({"transcript", "--agent", "k"}), "runtime_failure");
    ASSERT_EQ(entries.size(), 1U);
    EXPECT_EQ(entries[0].at("data").at("token_usage"), usage);
    const auto errors = program.events("k", "runtime_error");
    ASSERT_EQ(errors.size(), 1U);
    EXPECT_EQ(errors[0].at("data").at("token_usage"), usage);
}

// contract: FAIL-06
TEST(Run, BindsTheNumberOfRounds) {
    Program program;
    json::array rounds;
    for (int i = 1; i <= 6; ++i) rounds.push_back(runs(fmt::format("echo {} >> rounds.txt", i)));
    rounds.push_back(says("Done."));
    program.script(std::move(rounds));
    const auto result =
        program.json_of({"run", "--json", "--agent", "k", "--create-agent", "--workspace-root",
                         program.repo().string(), "--max-turns", "3", "go"},
                        4);
    EXPECT_EQ(base::string_at(result, "final_status"), "max_turns_exceeded");
    EXPECT_EQ(base::int_at(result, "model_rounds"), 3);
    EXPECT_EQ(base::string_at(result.at("failure_artifact"), "category"), "runtime");
    EXPECT_EQ(program.events("k", "provider_round_completed").size(), 3U);
    // No round is left to read the result of the last round's call, so it is not made.
    EXPECT_EQ(program.read(program.repo() / "rounds.txt"), "1\n2\n");
}

TEST(Run, IsCompleteWhenItEndsWithItsLastRound) {
    Program program;
    program.script(hello_story());
    EXPECT_EQ(program.run({"run", "--max-turns", "2", "say hello"}).exit_code, 0);
}

TEST(Run, ExitsFiveWhenItOnlyWaits) {
    Program program;
    program.script({calls("Sleep", {{"reason", "until the build is over"}, {"duration_ms", 60000}},
                          "Back later.")});
    const auto result = program.json_of({"run", "--json", "wait a minute"}, 5);
    EXPECT_EQ(base::string_at(result, "final_status"), "waiting");
    EXPECT_EQ(base::string_at(result, "waiting_reason"), "awaiting_timer");
    EXPECT_EQ(base::string_at(result, "sleep_reason"), "until the build is over");
    const auto shown = program.run({"run", "wait a minute"});
    EXPECT_EQ(shown.exit_code, 5);
    EXPECT_EQ(shown.out, "Back later.\n");
    EXPECT_THAT(shown.err, HasSubstr("waiting for a timer\nit sleeps: until the build is over\n"));
}

TEST(Run, ExitsTwoWhenTheCommandLineIsWrong) {
    Program program;
    program.script({says("never")});
    const std::vector<std::vector<std::string>> wrong{
        {},
        {"run"},
        {"run", "--create-agent", "text"},
        {"run", "--resume"},
        {"run", "--max-turns", "0", "text"},
        {"run", "--trust", "friend", "text"},
        {"run", "--no-such-option", "text"},
        {"no-such-command"},
        {"daemon"},
        {"tail", "--limit", "none"},
    };
    for (const auto& arguments : wrong) {
        const auto finished = program.run(arguments);
        EXPECT_EQ(finished.exit_code, 2) << testing::PrintToString(arguments);
        EXPECT_EQ(finished.out, "") << testing::PrintToString(arguments);
        EXPECT_NE(finished.err, "") << testing::PrintToString(arguments);
    }
    EXPECT_FALSE(std::filesystem::exists(program.home()));
}

TEST(Run, AnswersHelpAndVersion) {
    Program program;
    for (const auto& arguments : std::vector<std::vector<std::string>>{
             {"--help"}, {"run", "--help"}, {"--version"}, {"-V"}}) {
        const auto finished = program.run(arguments);
        EXPECT_EQ(finished.exit_code, 0);
        EXPECT_NE(finished.out, "");
        EXPECT_EQ(finished.err, "");
    }
    EXPECT_THAT(program.run({"--version"}).out, StartsWith("holon "));
}

// What each misuse exits with and says. Nothing may be left behind by any of them.
TEST(Run, SaysWhatIsMissingBeforeItStarts) {
    Program program;
    auto finished = program.run({"run", "text"});
    EXPECT_EQ(finished.exit_code, 1);
    EXPECT_THAT(finished.err, StartsWith("Error: no model is configured"));
    EXPECT_THAT(finished.err, HasSubstr("HOLON_MODEL"));

    program.environment["HOLON_MODEL"] = "openruter/some";
    finished = program.run({"run", "text"});
    EXPECT_EQ(finished.exit_code, 1);
    EXPECT_THAT(finished.err, HasSubstr("did you mean openrouter?"));

    program.environment["HOLON_MODEL"] = "openrouter/some";
    finished = program.run({"run", "text"});
    EXPECT_EQ(finished.exit_code, 1);
    EXPECT_THAT(finished.err, HasSubstr("OPENROUTER_API_KEY"));

    program.script({says("never")});
    finished = program.run({"run", "--agent", "ghost", "text"});
    EXPECT_EQ(finished.exit_code, 1);
    EXPECT_THAT(finished.err, HasSubstr("there is no agent 'ghost'"));
    EXPECT_FALSE(std::filesystem::exists(program.agent_home("ghost")));

    for (const char* bad : {"../up", "a/b", "", "..", "tmp_mine"}) {
        finished = program.run({"run", "--agent", bad, "--create-agent", "text"});
        EXPECT_NE(finished.exit_code, 0) << bad;
    }
    for (const char* reader : {"status", "transcript", "tail", "events"})
        EXPECT_EQ(program.run({reader, "--agent", "ghost"}).exit_code, 1);
    for (const auto& text : {std::string("not \xff text"), std::string(100'000, 'x') + "\xfe"}) {
        finished = program.run({"run", text});
        EXPECT_EQ(finished.exit_code, 1);
        EXPECT_THAT(finished.err, HasSubstr("not valid UTF-8"));
        EXPECT_EQ(program.run({"run", "--agent", "k", "--create-agent", text}).exit_code, 1);
    }
    EXPECT_EQ(program.json_of({"agent", "list"}), json::array{});
}

TEST(Run, RefusesAnUnknownKeyAndNamesTheNearest) {
    Program program;
    program.script({says("never")});
    std::filesystem::create_directories(program.home());
    program.write(program.home() / "config.json", R"({"runtime": {"max_output_tokenz": 5}})");
    const auto finished = program.run({"run", "--json", "text"});
    EXPECT_EQ(finished.exit_code, 1);
    EXPECT_EQ(base::string_at(base::parse_json(finished.out).value(), "code"), "bad_request");
    EXPECT_THAT(finished.err, HasSubstr("config.json"));
    EXPECT_THAT(finished.err, HasSubstr("max_output_tokenz"));
    EXPECT_THAT(finished.err, HasSubstr("max_output_tokens"));
}

TEST(Run, FailsWhenItsAnswerCannotBeWritten) {
    Program program;
    program.script({says("Lost.")});
    program.out = "/dev/full";
    for (const auto& arguments : std::vector<std::vector<std::string>>{
             {"run", "go"}, {"run", "--json", "go"}, {"agent", "list"}}) {
        const auto finished = program.run(arguments);
        EXPECT_EQ(finished.exit_code, 1) << testing::PrintToString(arguments);
        EXPECT_THAT(finished.err, HasSubstr("Error: the output could not be written"));
    }
}

TEST(Run, SaysSoWhenItsFolderIsGone) {
    Program program;
    program.script({says("never")});
    // The shell takes its folder away and becomes the program.
    program.started_in = program.folder();
    const auto finished =
        program.run_after("mkdir gone && cd gone && rmdir ../gone", {"run", "go"});
    EXPECT_EQ(finished.exit_code, 1);
    EXPECT_THAT(finished.err, StartsWith("Error: the folder holon was started in cannot be used"));
}

TEST(Run, RefusesAScenarioThatIsNotThere) {
    Program program;
    program.environment["HOLON_MODEL"] = "scripted/" + (program.folder() / "none.json").string();
    const auto finished = program.run({"run", "text"});
    EXPECT_NE(finished.exit_code, 0);
    EXPECT_THAT(finished.out + finished.err, HasSubstr("none.json"));
}

// contract: CORE-07, STATE-07
TEST(Run, RefusesAnAgentThatAnotherProcessRuns) {
    Program program;
    Signpost reached(program.folder() / "reached");
    Signpost go_on(program.folder() / "go_on");
    program.script({runs(fmt::format("echo here > {}; read line < {}", reached.path().string(),
                                     go_on.path().string())),
                    says("Done.")});
    auto first = program.start({"run", "--agent", "k", "--create-agent", "go"});
    ASSERT_EQ(reached.wait(), "here");
    const auto second = program.run({"run", "--agent", "k", "--workspace-root", "/", "me too"});
    EXPECT_EQ(second.exit_code, 1);
    EXPECT_THAT(second.err, HasSubstr("being run by another process"));
    EXPECT_THAT(second.err, HasSubstr(std::to_string(first.pid())));
    // Reading is free, and the refused run has changed nothing.
    const auto status = program.json_of({"status", "--agent", "k"});
    EXPECT_EQ(base::string_at(status.at("agent"), "status"), "awake_running");
    EXPECT_EQ(base::string_at(status.at("execution"), "cwd"), program.repo().string());
    const auto listed = program.json_of({"agent", "list"}).as_array();
    EXPECT_EQ(listed.at(0).at("current_run_id"), status.at("agent").at("current_run_id"));
    EXPECT_TRUE(listed.at(0).at("current_run_id").is_string());
    go_on.send("now");
    EXPECT_EQ(first.wait().exit_code, 0);
    EXPECT_EQ(program.events("k", "message_admitted").size(), 1U);
}

TEST(Run, KeepsItsTemporaryAgentOutOfTheList) {
    Program program;
    program.script(hello_story());
    const auto result = program.json_of({"run", "--json", "say hello"});
    const std::string agent = base::string_at(result, "agent_id");
    EXPECT_THAT(agent, testing::MatchesRegex("tmp_run_[0-9a-f]{32}"));
    EXPECT_EQ(program.json_of({"agent", "list"}), json::array{});
    EXPECT_EQ(program.run({"transcript", "--agent", agent}).exit_code, 0);
}

TEST(Run, KeepsATemporaryAgentThatFailedForInspection) {
    Program program;
    program.script({fault("auth_error", 401, "who are you?")});
    const auto result = program.json_of({"run", "--json", "try"}, 3);
    const auto entries =
        program.json_of({"transcript", "--agent", base::string_at(result, "agent_id")});
    EXPECT_EQ(of_kind(entries, "runtime_failure").size(), 1U);
}

TEST(Run, KeepsANamedAgent) {
    Program program;
    program.script(hello_story());
    EXPECT_EQ(program.run({"run", "--agent", "k", "--create-agent", "say hello"}).exit_code, 0);
    EXPECT_EQ(program.run({"run", "--agent", "k", "--create-agent", "again"}).exit_code, 0);
    const auto list = program.json_of({"agent", "list"}).as_array();
    ASSERT_EQ(list.size(), 1U);
    EXPECT_EQ(base::string_at(list[0].at("identity"), "agent_id"), "k");
    EXPECT_TRUE(std::filesystem::is_directory(program.agent_home("k")));
    EXPECT_EQ(program.events("k", "turn_started").size(), 2U);
}

std::string cwd_of_run(Program& program, const std::vector<std::string>& options) {
    program.script({runs("pwd"), says("Done.")});
    std::vector<std::string> arguments{"run", "--agent", "k", "--create-agent", "where"};
    arguments.insert(arguments.end(), options.begin(), options.end());
    const auto finished = program.run(arguments);
    EXPECT_EQ(finished.exit_code, 0) << finished.err;
    const auto entries = of_kind(program.json_of({"transcript", "--agent", "k"}), "tool_results");
    if (entries.empty()) return "";
    const std::string content =
        base::string_at(entries.back().at("data").at("results").at(0), "content");
    return content.substr(content.rfind('\n') + 1);
}

TEST(Run, WorksInTheFolderItWasStartedInAndThenWhereItWas) {
    Program program;
    EXPECT_EQ(cwd_of_run(program, {}), program.repo().string());
    program.started_in = program.folder();
    EXPECT_EQ(cwd_of_run(program, {}), program.repo().string());
}

TEST(Run, TakesTheWorkspaceFromOptionsThenFromTheEnvironment) {
    Program program;
    const auto other = program.folder() / "other", inner = other / "inner";
    std::filesystem::create_directories(inner);
    EXPECT_EQ(cwd_of_run(program, {"--workspace-root", other.string()}), other.string());
    EXPECT_EQ(cwd_of_run(program, {"--workspace-root", other.string(), "--cwd", inner.string()}),
              inner.string());
    // Started inside of the root, it works where it was started.
    program.started_in = inner;
    EXPECT_EQ(cwd_of_run(program, {"--workspace-root", other.string()}), inner.string());
    Program second;
    second.environment["HOLON_WORKSPACE_DIR"] = other.string();
    EXPECT_EQ(cwd_of_run(second, {}), other.string());
}

// contract: EXEC-08, EXEC-12
TEST(Run, FileToolsAndCommandsActOnTheExecutionRootAndTheRecordSaysWhichAndWhose) {
    Program program;
    const auto inner = program.repo() / "inner";
    std::filesystem::create_directories(inner);
    program.script({calls("ApplyPatch", {{"patch",
                                          "--- /dev/null\n+++ b/made.txt\n@@ -0,0 +1 @@\n+by a "
                                          "relative path\n"}}),
                    runs("cat made.txt; pwd"), says("Done.")});
    const auto finished = program.run({"run", "--agent", "k", "--create-agent", "--workspace-root",
                                       program.repo().string(), "--cwd", inner.string(), "go"});
    EXPECT_EQ(finished.exit_code, 0) << finished.err;
    const auto execution = program.json_of({"status", "--agent", "k", "--json"}).at("execution");
    const std::filesystem::path root = base::string_at(execution, "execution_root");
    EXPECT_EQ(root, program.repo());
    EXPECT_EQ(program.read(root / "inner/made.txt"), "by a relative path\n");
    EXPECT_THAT(program.run({"transcript", "--agent", "k", "--json"}).out,
                HasSubstr("by a relative path\\n" + base::string_at(execution, "cwd")));

    const auto requested = program.events("k", "process_execution_requested");
    ASSERT_EQ(requested.size(), 1U);
    const auto& data = requested[0].at("data");
    EXPECT_EQ(base::string_at(data, "agent_id"), "k");
    EXPECT_EQ(base::string_at(data, "execution_root"), root.string());
    EXPECT_EQ(base::string_at(data.at("boundary"), "execution_root_id"),
              "canonical_root:" + base::string_at(execution, "workspace_id"));
    EXPECT_EQ(base::string_at(data.at("boundary"), "backend"), "host_local");
}

TEST(Run, RefusesAWorkingDirectoryOutsideTheWorkspace) {
    Program program;
    program.script({says("never")});
    for (const auto& [root, cwd] : std::vector<std::pair<std::string, std::string>>{
             {program.repo().string(), program.folder().string()},
             {program.repo().string(), (program.repo() / "missing").string()},
             {(program.folder() / "missing").string(), program.repo().string()}}) {
        const auto finished =
            program.run({"run", "--workspace-root", root, "--cwd", cwd, "where am I"});
        EXPECT_EQ(finished.exit_code, 1) << root << " " << cwd;
        EXPECT_THAT(finished.err, StartsWith("Error: "));
    }
    EXPECT_EQ(program.json_of({"agent", "list"}), json::array{});
    EXPECT_FALSE(std::filesystem::exists(program.home() / "agents"));
}

TEST(Run, TakesTheHomeFromTheOption) {
    Program program;
    program.script({says("Done.")});
    const auto other = program.folder() / "other-home";
    EXPECT_EQ(program.run({"run", "--home", other.string(), "--agent", "k", "--create-agent", "go"})
                  .exit_code,
              0);
    EXPECT_TRUE(std::filesystem::exists(other / "holon.db"));
    EXPECT_FALSE(std::filesystem::exists(program.home()));
}

}  // namespace
}  // namespace e2e
