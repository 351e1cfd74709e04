#include <sys/stat.h>

#include <csignal>
#include <fstream>

#include "base/os/process_tree.h"
#include "exec/results/artifacts.h"
#include "exec/tasks/snapshot/snapshot.h"
#include "exec/tasks/spec.h"
#include "exec/tools/builtin/fixture_for_test.h"
#include "tests/support/run_until.h"

namespace builtin {
namespace {

using domain::ResultStatus;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

std::vector<std::string> keys(const json::value& object) {
    std::vector<std::string> names;
    for (const auto& member : object.as_object()) names.emplace_back(member.key_c_str());
    std::ranges::sort(names);
    return names;
}

class TaskToolsTest : public BuiltinTest {
protected:
    json::object promoted(std::string cmd, json::object more = {}) {
        json::object args{{"cmd", std::move(cmd)}, {"login", false}, {"yield_time_ms", 0}};
        for (const auto& [key, value] : more) args[key] = value;
        return run("ExecCommand", std::move(args)).envelope.result();
    }
    // A task, by its id, that begins with `cmd` only now: one that is quick could be over before it
    // is a task.
    std::string task_that_runs(const std::string& cmd, json::object more = {}) {
        const std::string go = folder_.at("go");
        EXPECT_EQ(::mkfifo(go.c_str(), 0600), 0);
        const auto task = promoted(fmt::format("read line < {}; {}", go, cmd), std::move(more));
        std::ofstream(go) << "on\n";
        return base::string_at(task.at("task_handle"), "task_id");
    }
    json::object snapshot(const std::string& id) {
        return run("TaskStatus", {{"task_id", id}}).envelope.result().at("task").as_object();
    }
    json::object output(const std::string& id, bool block = true) {
        return run("TaskOutput", {{"task_id", id}, {"block", block}}).envelope.result();
    }
};

// Programs act on the other fields: without the texts for people they are the same.
// contract: CMD-73
TEST_F(TaskToolsTest, TextsForPeopleCarryNoFactOfTheirOwn) {
    const std::string id = task_that_runs("echo out; exit 3");
    const json::object whole = output(id).at("task").as_object();
    EXPECT_EQ(base::string_at(whole, "status"), "failed");
    EXPECT_EQ(whole.at("exit_status"), 3);
    domain::Task record = task(id);
    record.summary = "an entirely different text";
    json::object other = tasks::output_snapshot(record);
    EXPECT_NE(other.at("summary"), whole.at("summary"));
    for (const char* text : {"summary", "result_summary"}) other[text] = whole.at(text);
    EXPECT_EQ(other, whole);
}

// contract: CMD-02, CMD-04, CMD-08, RCPT-02
TEST_F(TaskToolsTest, ACommandThatTakesLongGoesOnAsATask) {
    make_ready_fifo();
    const auto running = start("ExecCommand", {{"cmd", "echo begun; : > ready; exec sleep 600"},
                                               {"login", false},
                                               {"yield_time_ms", 300}});
    await_ready();
    const auto promotion = end();
    const auto& result = promotion.envelope.result();
    EXPECT_EQ(keys(result), (std::vector<std::string>{"command_diagnostics", "disposition",
                                                      "initial_output_preview",
                                                      "initial_output_truncated", "task_handle"}));
    EXPECT_EQ(base::string_at(result, "disposition"), "promoted_to_task");
    EXPECT_EQ(base::string_at(result, "initial_output_preview"), "begun");
    EXPECT_EQ(
        result.at("task_handle"),
        (json::value{{"task_id", "call-1"}, {"task_kind", "command_task"}, {"status", "running"}}));
    EXPECT_THAT(promotion.receipt, testing::EndsWith("Task: call-1\n\nOutput so far:\nbegun"));
    EXPECT_EQ(promotion.result.status, ResultStatus::Ok);
    const auto record = task("call-1");
    EXPECT_EQ(record.status, domain::TaskStatus::Running);
    EXPECT_EQ(record.agent_id.value, "default");
}

// contract: CMD-03, CMD-08
TEST_F(TaskToolsTest, ACommandThatIsOverInTimeLeavesNoTask) {
    const auto end = exec("printf a; printf b >&2; exit 3");
    const auto& result = end.envelope.result();
    EXPECT_EQ(base::int_at(result, "exit_status"), 3);
    EXPECT_EQ(base::string_at(result, "stdout_preview"), "a");
    EXPECT_EQ(base::string_at(result, "stderr_preview"), "b");
    EXPECT_FALSE(result.contains("task_handle"));
    EXPECT_TRUE(active().empty());
    exec("true");  // The next command has what the first one left removed, in the background.
    EXPECT_TRUE(test_support::run_until(loop_, [&] {
        return !std::filesystem::exists(folder_.at("home/task-output/call-1.log")) &&
               !std::filesystem::exists(folder_.at("run/call-1"));
    }));
}

// contract: CMD-05, CMD-07, CMD-26, CMD-27, CMD-28
TEST_F(TaskToolsTest, TheSameCommandIsNotStartedTwiceUnlessAskedFor) {
    std::filesystem::create_directory(folder_.at("repo/sub"));
    const std::string cmd = "exec sleep 600";
    const auto first = promoted(cmd);
    const auto second = run("ExecCommand", {{"cmd", cmd}, {"login", false}});
    const auto& again = second.envelope.result();
    EXPECT_EQ(base::string_at(again, "disposition"), "already_running");
    EXPECT_EQ(again.at("task_handle"), first.at("task_handle"));
    EXPECT_EQ(base::string_at(again.at("command"), "cmd"), cmd);
    EXPECT_EQ(base::string_at(again.at("command"), "cmd_digest"), tasks::cmd_digest(cmd));
    EXPECT_THAT(second.receipt, HasSubstr("Task: call-1\nStatus: running"));
    EXPECT_EQ(base::string_at(snapshot("call-1"), "status"), "running");
    EXPECT_EQ(base::string_at(output("call-1", false), "retrieval_status"), "not_ready");
    // Another folder, another text with an equal preview: other commands.
    EXPECT_EQ(base::string_at(promoted(cmd, {{"workdir", "sub"}}), "disposition"),
              "promoted_to_task");
    const std::string long_cmd = "exec sleep 600 # " + std::string(500, 'x');
    EXPECT_EQ(base::string_at(promoted(long_cmd + "1"), "disposition"), "promoted_to_task");
    EXPECT_EQ(base::string_at(promoted(long_cmd + "2"), "disposition"), "promoted_to_task");
    EXPECT_EQ(active().size(), 4U);
}

// contract: CMD-06
TEST_F(TaskToolsTest, AskedForItTheSameCommandRunsOnceMore) {
    const auto first = promoted("exec sleep 600");
    const auto second = promoted("exec sleep 600", {{"duplicate_policy", "start_new"}});
    EXPECT_EQ(base::string_at(second, "disposition"), "promoted_to_task");
    EXPECT_NE(first.at("task_handle"), second.at("task_handle"));
}

// contract: TASK-12
TEST_F(TaskToolsTest, NobodyCanAskForTheResultToComeBackOrNot) {
    for (const char* field : {"continue_on_result", "terminal_reentry"}) {
        json::object args{{"cmd", "true"}};
        args[field] = false;
        EXPECT_EQ(run("ExecCommand", std::move(args)).envelope.error().kind, "invalid_tool_input");
    }
}

// contract: CMD-21, CMD-22, CMD-23, CMD-24, CMD-25, CMD-29, TASK-14
TEST_F(TaskToolsTest, TheStatusOfATaskHasNoOutput) {
    const auto id = long_task();
    const auto status = snapshot(id);
    EXPECT_EQ(keys(status),
              (std::vector<std::string>{"command", "created_at", "kind", "status", "summary",
                                        "task_id", "updated_at", "wait_policy"}));
    const auto& command = status.at("command");
    EXPECT_EQ(keys(command), (std::vector<std::string>{"cmd", "cmd_digest", "login", "output_path",
                                                       "promoted_from_exec_command",
                                                       "terminal_reentry", "tty", "workdir"}));
    EXPECT_EQ(base::string_at(command, "cmd"), "echo begun; exec sleep 600");
    EXPECT_TRUE(base::bool_at(command, "terminal_reentry"));
    EXPECT_EQ(base::string_at(status, "wait_policy"), "background");
    const std::string text = run("TaskStatus", {{"task_id", id}}).receipt;
    EXPECT_THAT(text, Not(HasSubstr("artifacts")));
    EXPECT_THAT(text, Not(HasSubstr("\"begun\"")));
}

// contract: CMD-54, CMD-57, CMD-58, CMD-60, TASK-26, TASK-29
TEST_F(TaskToolsTest, TheOutputOfATaskThatIsOverIsStable) {
    const auto id = task_that_runs("echo out; echo err >&2");
    const auto first = output(id);
    EXPECT_EQ(keys(first), (std::vector<std::string>{"retrieval_status", "task"}));
    EXPECT_EQ(base::string_at(first, "retrieval_status"), "success");
    const auto& shown = first.at("task");
    EXPECT_EQ(keys(shown),
              (std::vector<std::string>{"artifacts", "exit_status", "kind", "output_artifact",
                                        "output_preview", "output_truncated", "result_summary",
                                        "status", "summary", "task_id"}));
    EXPECT_EQ(base::int_at(shown, "exit_status", -1), 0);
    EXPECT_FALSE(base::bool_at(shown, "output_truncated", true));
    EXPECT_THAT(base::string_at(shown, "output_preview"), testing::AnyOf("out\nerr", "err\nout"));
    const auto artifact = static_cast<std::size_t>(base::int_at(shown, "output_artifact"));
    EXPECT_EQ(keys(shown.at("artifacts").at(artifact)), (std::vector<std::string>{"path"}));
    EXPECT_EQ(bytes_of(base::string_at(shown.at("artifacts").at(artifact), "path")).size(), 8U);
    EXPECT_EQ(output(id), first);
}

// contract: TASK-20, TASK-22, TASK-23, TASK-24
TEST_F(TaskToolsTest, TheRecordOfATaskIsBelievedAndNotAStaleMessageAboutIt) {
    const auto id = task_that_runs("echo out; exit 3");
    const auto before = output(id);
    ASSERT_EQ(base::string_at(before, "retrieval_status"), "success");
    ASSERT_TRUE(store_->write(store::Durability::Disk, [&](store::Tx& tx) -> base::Status {
        domain::Message stale{.id = {"stale"}, .agent_id = {"default"}};
        stale.kind = domain::MessageKind::TaskStatus;
        stale.origin = domain::TaskOrigin{{id}};
        stale.task_id = domain::TaskId{id};
        stale.body = domain::JsonBody{{{"task_id", id}, {"status", "running"}}};
        TRY(tx.append_message(stale, std::nullopt));
        return {};
    }));
    EXPECT_EQ(output(id), before);
    EXPECT_EQ(base::string_at(before.at("task"), "status"), "failed");
    EXPECT_EQ(base::string_at(snapshot(id), "status"), "failed");
}

// contract: CMD-56, CMD-57, TASK-25
TEST_F(TaskToolsTest, MuchOutputIsShownShortAndKeptWhole) {
    const auto id = task_that_runs("yes line | head -n 300000");
    const json::object result = output(id);
    const auto& shown = result.at("task");
    EXPECT_LE(base::string_at(shown, "output_preview").size(), 8000U);
    EXPECT_TRUE(base::bool_at(shown, "output_truncated"));
    EXPECT_EQ(bytes_of(base::string_at(shown.at("artifacts").at(0), "path")).size(), 1'500'000U);
}

// contract: CMD-61, CMD-62, CMD-63, FAIL-07, FAIL-11, FAIL-15
TEST_F(TaskToolsTest, ATaskThatFailedShowsItsEvidence) {
    const auto id = task_that_runs("yes noise | head -c 3000000; echo broken >&2; exit 3");
    const auto end = run("TaskOutput", {{"task_id", id}});
    const auto& shown = end.envelope.result().at("task");
    EXPECT_EQ(base::string_at(shown, "status"), "failed");
    EXPECT_EQ(base::int_at(shown, "exit_status"), 3);
    const auto& failure = shown.at("failure_artifact");
    EXPECT_EQ(base::string_at(failure, "category"), "task");
    EXPECT_EQ(base::string_at(failure, "kind"), "command_task_exit_nonzero");
    EXPECT_EQ(base::int_at(failure, "exit_status"), 3);
    EXPECT_THAT(base::json_text(failure), testing::Not(HasSubstr("noise\\nnoise")));
    if (const auto* metadata = base::find(failure, "metadata"); metadata && metadata->is_object()) {
        EXPECT_LT(base::json_text(*metadata).size(), 2000U);
        for (const auto& [name, value] : metadata->get_object())
            EXPECT_TRUE(value.is_string()) << std::string(name);
    }
    EXPECT_THAT(end.receipt, HasSubstr("Exit status: 3\n"));
    EXPECT_THAT(end.receipt, HasSubstr("Failure evidence: The task exited with status 3."));
}

TEST_F(TaskToolsTest, WaitingForOutputEndsWithPatienceAndWithAnInterruption) {
    const auto id = long_task();
    const auto late = run("TaskOutput", {{"task_id", id}, {"timeout_ms", 1}});
    EXPECT_EQ(base::string_at(late.envelope.result(), "retrieval_status"), "timeout");
    EXPECT_TRUE(late.mutations.empty());
    const auto waiting = start("TaskOutput", {{"task_id", id}});
    waiting->cancel();
    EXPECT_EQ(end().result.status, ResultStatus::Cancelled);
}

TEST_F(TaskToolsTest, AResultThatWasReadIsNotToldAgain) {
    const auto id = task_that_runs("true");
    const auto read = run("TaskOutput", {{"task_id", id}});
    ASSERT_EQ(read.mutations.size(), 1U);
    EXPECT_EQ(*read.mutations[0].as<tools::ResultRead>(), (tools::ResultRead{{id}}));
}

// contract: CMD-48, CMD-50, CMD-51
TEST_F(TaskToolsTest, InputReachesATaskThatAcceptsIt) {
    const auto id = base::string_at(
        promoted("read line; echo got $line", {{"accepts_input", true}}).at("task_handle"),
        "task_id");
    const auto command = snapshot(id).at("command");
    EXPECT_TRUE(base::bool_at(command, "accepts_input"));
    EXPECT_EQ(base::string_at(command, "input_target"), "stdin");
    const auto receipt = run("TaskInput", {{"task_id", id}, {"input", "hello\n"}});
    const auto& result = receipt.envelope.result();
    EXPECT_EQ(keys(result), (std::vector<std::string>{"accepted_input", "bytes_written",
                                                      "input_target", "task"}));
    EXPECT_TRUE(base::bool_at(result, "accepted_input"));
    EXPECT_EQ(base::int_at(result, "bytes_written"), 6);
    EXPECT_NE(receipt.envelope.summary_text(), "");
    const json::object read = output(id);
    EXPECT_EQ(base::string_at(read.at("task"), "output_preview"), "got hello");
}

// contract: CMD-10, CMD-52, CMD-64
TEST_F(TaskToolsTest, ATerminalTaskTakesInputAndShowsOneTranscript) {
    const auto id = base::string_at(
        promoted("test -t 0 && echo tty; read line; echo got $line >&2", {{"tty", true}})
            .at("task_handle"),
        "task_id");
    const auto receipt = run("TaskInput", {{"task_id", id}, {"input", "hello\n"}});
    EXPECT_EQ(base::string_at(receipt.envelope.result(), "input_target"), "tty");
    const json::object read = output(id);
    const std::string transcript = base::string_at(read.at("task"), "output_preview");
    EXPECT_THAT(transcript, HasSubstr("tty"));
    EXPECT_THAT(transcript, testing::EndsWith("got hello"));
}

// contract: CMD-09
TEST_F(TaskToolsTest, ACommandThatWantsATerminalIsNotQuietlyGivenOne) {
    const auto end = exec("echo run >> ../runs; test -t 0");
    EXPECT_EQ(base::int_at(end.envelope.result(), "exit_status"), 1);
    EXPECT_EQ(bytes_of(folder_.at("runs")), "run\n");
}

// contract: CMD-49, CMD-50
TEST_F(TaskToolsTest, InputThatIsRefusedIsNoError) {
    const auto deaf = long_task();
    EXPECT_FALSE(snapshot(deaf).at("command").as_object().contains("accepts_input"));
    const auto over = task_that_runs("true", {{"accepts_input", true}});
    output(over);
    for (const auto& id : {deaf, over}) {
        const auto receipt = run("TaskInput", {{"task_id", id}, {"input", "x"}});
        ASSERT_TRUE(receipt.envelope.ok()) << receipt.receipt;
        EXPECT_FALSE(base::bool_at(receipt.envelope.result(), "accepted_input", true));
    }
}

// contract: CMD-67, CMD-68
TEST_F(TaskToolsTest, StoppingATaskEndsItsTree) {
    make_ready_fifo();
    const auto id = base::string_at(
        promoted("sleep 600 & echo $! > ../child; : > ready; wait").at("task_handle"), "task_id");
    await_ready();
    const auto receipt = run("TaskStop", {{"task_id", id}});
    const auto& result = receipt.envelope.result();
    EXPECT_EQ(base::string_at(result.at("task"), "status"), "cancelling");
    EXPECT_TRUE(base::bool_at(result, "stop_requested"));
    EXPECT_FALSE(base::bool_at(result, "force_stop_requested", true));
    await_results(1);
    EXPECT_EQ(task(id).status, domain::TaskStatus::Cancelled);
    EXPECT_EQ(base::start_time_of(std::stoi(bytes_of(folder_.at("child")))), 0U);
    const auto again = run("TaskStop", {{"task_id", id}});
    EXPECT_EQ(again.envelope.error().kind, "tool_execution_failed");
    const json::object read = output(id);
    EXPECT_EQ(base::string_at(read.at("task").at("failure_artifact"), "kind"), "task_cancelled");
}

// contract: CMD-69
TEST_F(TaskToolsTest, StoppingATaskAgainEndsItByForce) {
    make_ready_fifo();
    const auto id = base::string_at(
        promoted("trap '' TERM; : > ready; while :; do sleep 1; done").at("task_handle"),
        "task_id");
    await_ready();
    run("TaskStop", {{"task_id", id}});
    const auto receipt = run("TaskStop", {{"task_id", id}});
    EXPECT_TRUE(base::bool_at(receipt.envelope.result(), "force_stop_requested"));
    await_results(1);
    EXPECT_EQ(task(id).status, domain::TaskStatus::Cancelled);
}

TEST_F(TaskToolsTest, TheListNamesWhatRunsLastChangedFirst) {
    const auto first = long_task(), second = long_task(), ended = long_task();
    run("TaskStop", {{"task_id", ended}});
    output(ended);
    const json::object listed = run("TaskList", json::object{}).envelope.result();
    std::vector<std::string> ids;
    for (const auto& entry : listed.at("tasks").as_array()) {
        ids.push_back(base::string_at(entry, "id"));
        EXPECT_EQ(keys(entry), (std::vector<std::string>{"command", "id", "kind", "status",
                                                         "summary", "updated_at", "wait_policy"}));
    }
    EXPECT_THAT(ids, ElementsAre(second, first));
}

TEST_F(TaskToolsTest, OneAgentDoesNotSeeTheTasksOfAnother) {
    const auto id = long_task();
    place_.agent_id = {"other"};
    for (const char* tool : {"TaskStatus", "TaskOutput", "TaskStop"})
        EXPECT_EQ(run(tool, {{"task_id", id}}).envelope.error().kind, "tool_execution_failed");
    place_.agent_id = {"default"};
}

TEST_F(TaskToolsTest, TooManyTasksAreRefusedWithAWayOut) {
    ASSERT_TRUE(store_->write(store::Durability::Process, [](store::Tx& tx) -> base::Status {
        for (std::size_t i = 0; i < tasks::kCommandTasksPerAgentMax; ++i)
            TRY(tx.put_task({.id = {fmt::format("t{}", i)},
                             .agent_id = {"full"},
                             .status = domain::TaskStatus::Running}));
        return {};
    }));
    place_.agent_id = {"full"};
    const auto error = exec("true").envelope.error();
    EXPECT_EQ(error.kind, "task_limit_reached");
    EXPECT_THAT(*error.recovery_hint, HasSubstr("TaskStop"));
    place_.agent_id = {"default"};
}

// contract: CMD-13, CMD-15
TEST_F(TaskToolsTest, ABatchPointsToExecCommandForTerminalsAndInput) {
    for (const char* field : {"tty", "accepts_input"}) {
        json::object item{{"cmd", "touch ran"}};
        item[field] = false;
        const auto end = run("ExecCommandBatch", {{"items", {{{"cmd", "touch ran"}}, item}}});
        const auto& error = end.envelope.error();
        EXPECT_EQ(error.kind, "invalid_tool_input");
        EXPECT_THAT(*error.recovery_hint, HasSubstr("ExecCommand"));
        EXPECT_EQ(base::string_at(*error.details, "field"), fmt::format("items/1/{}", field));
    }
    EXPECT_EQ(run("ExecCommandBatch", {{"items", {{{"tool", "Sleep"}}}}}).envelope.error().kind,
              "invalid_tool_input");
    EXPECT_FALSE(std::filesystem::exists(folder_.at("repo/ran")));
}

// contract: CMD-14
TEST_F(TaskToolsTest, ABatchItemHasSixFields) {
    const auto& schema = registry_.find("ExecCommandBatch")->spec().input_schema;
    const json::value& items = schema.at("properties").at("items").at("items").at("properties");
    EXPECT_EQ(keys(items), (std::vector<std::string>{"cmd", "login", "max_output_tokens", "shell",
                                                     "workdir", "yield_time_ms"}));
}

// contract: CMD-16
TEST_F(TaskToolsTest, ABatchNeverBecomesATask) {
    run("ExecCommandBatch", {{"items", {{{"cmd", "sleep 600"}, {"yield_time_ms", 50}}}}});
    EXPECT_TRUE(active().empty());
}

// Both are children of ours in sessions of their own; only one of them is what a command left.
TEST_F(TaskToolsTest, ABatchThatEndsWhatItLeftBehindDoesNotTouchTasks) {
    const auto id = long_task();
    run("ExecCommandBatch",
        {{"items", {{{"cmd", "(setsid sleep 600 &)"}, {"login", false}}, {{"cmd", "true"}}}}});
    EXPECT_EQ(base::string_at(output(id, false), "retrieval_status"), "not_ready");
    run("TaskStop", {{"task_id", id}});
    await_results(1);
    EXPECT_EQ(task(id).status, domain::TaskStatus::Cancelled) << "it ran until it was stopped";
}

// A new process finds the call still open and makes it again: nothing starts twice.
TEST_F(TaskToolsTest, ACallThatWasCutOffIsTakenUpAndNotRepeated) {
    make_ready_fifo();
    start("ExecCommand", {{"cmd", "echo run >> ../runs; : > ready; read line < ../go; echo done"},
                          {"login", false}});
    ASSERT_EQ(mkfifo(folder_.at("go").c_str(), 0600), 0);
    await_ready();
    supervisor::SystemSupervisor second(loop_, folder_.path() / "run");
    tasks::Host other({.store = *store_,
                       .loop = loop_,
                       .clock = clock_,
                       .ids = ids_,
                       .feed = feed_,
                       .supervisor = second});
    const auto tool = exec_command(shell_, other);
    const domain::ToolCall call{
        .call_id = {"call-1"},
        .args = {{"cmd", "echo run >> ../runs; : > ready; read line < ../go; echo done"},
                 {"login", false}}};
    std::optional<bool> can_resume;
    tool->can_resume(call, [&](bool answer) {
        can_resume = answer;
        loop_.stop();
    });
    while (!can_resume) loop_.run();
    ASSERT_EQ(can_resume, true);
    results::FileArtifacts sink(folder_.path() / "artifacts", "exec", ids_);
    std::optional<tools::Outcome> outcome;
    const auto running = tool->start(call, place_, sink, [&](tools::Outcome end) {
        outcome = std::move(end);
        loop_.stop();
    });
    loop_.offload([path = folder_.at("go")] { std::ofstream(path) << "\n"; }, [] {});
    while (!outcome) loop_.run();
    const auto canonical = (*outcome->completed)->project(sink, {}).value();
    EXPECT_EQ(base::string_at(canonical.result, "stdout_preview"), "done");
    EXPECT_EQ(bytes_of(folder_.at("runs")), "run\n");
    EXPECT_FALSE(outcome->effects.observed);
    while (!ended_) loop_.run();
}

}  // namespace
}  // namespace builtin
