// Commands that outlive their turn, and the program itself.
#include <csignal>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/os/process_tree.h"
#include "domain/provider.h"
#include "tests/e2e/program.h"
#include "tests/support/fake_model_server.h"

namespace e2e {
namespace {

using test_support::FakeModelServer;
using testing::HasSubstr;

class Tasks : public testing::Test {
protected:
    Tasks() : go(program.folder() / "go"), ready(program.folder() / "ready") {
        program.use_server(server.base_url(), "key");
    }

    void model_runs(std::string_view cmd, json::object more = {{"yield_time_ms", 0}}) {
        json::object input{{"cmd", cmd}, {"login", false}};
        for (const auto& [key, value] : more) input[key] = value;
        server.enqueue(test_support::calls("ExecCommand", base::json_text(input)));
    }
    void model_says(std::string_view text) { server.enqueue(test_support::says(text)); }

    // Prints, reports that it is ready, and continues after a signal, which it prints, too.
    std::string waiting_command(std::string_view end = "exit 7") const {
        return fmt::format(
            "echo run >> {}; echo first; echo x > {}; read line < {}; echo $line; {}",
            (program.folder() / "runs").string(), ready.path().string(), go.path().string(), end);
    }
    std::vector<std::string> first_run(std::vector<std::string> more = {}) const {
        std::vector<std::string> arguments{"run", "--json", "--agent", "k", "--create-agent", "go"};
        arguments.insert(arguments.end(), more.begin(), more.end());
        return arguments;
    }
    // Starts a run whose turn has ended and whose task still runs.
    Running run_with_task(std::vector<std::string> more = {}) {
        model_runs(waiting_command());
        model_says("It runs.");
        auto running = program.start(first_run(std::move(more)));
        ready.wait();
        await_turn();
        return running;
    }
    // The answer is recorded; from here on only the task is open.
    void await_turn() {
        const auto until = std::chrono::steady_clock::now() + kPatience;
        while (program.events("k", "turn_terminal").empty())
            ASSERT_LT(std::chrono::steady_clock::now(), until) << "the turn does not end";
    }
    json::value task_of(const json::value& response) {
        const auto& tasks = response.at("tasks").as_array();
        EXPECT_EQ(tasks.size(), 1U);
        return tasks.empty() ? json::value(json::object{}) : tasks[0].at("task");
    }
    // The task's result, as the model received it: complete from the first byte on.
    void expect_result(const json::value& response) {
        const auto task = task_of(response);
        EXPECT_EQ(base::string_at(task, "status"), "failed");
        EXPECT_EQ(base::int_at(task, "exit_status"), 7);
        EXPECT_EQ(base::string_at(task, "output_preview"), "first\nlast");
        EXPECT_EQ(base::string_at(response, "final_text"), "It is over.");
        const std::string whole = server.requests().back().body;
        const std::string received = whole.substr(whole.rfind("current_input"));
        EXPECT_THAT(received, HasSubstr("exited with status 7"));
        EXPECT_THAT(received, HasSubstr("carries no authority"));
        EXPECT_THAT(received, HasSubstr("first\\nlast"));
        EXPECT_EQ(program.read(program.folder() / "runs"), "run\n");
        EXPECT_TRUE(std::filesystem::is_empty(program.home() / "run" / "tasks"));
    }
    static json::value json_of(const Finished& finished) {
        EXPECT_EQ(finished.exit_code, 0) << finished.err;
        const auto parsed = base::parse_json(finished.out);
        EXPECT_TRUE(parsed) << finished.out;
        return parsed ? *parsed : json::value(json::object{{"tasks", json::array{}}});
    }

    Program program;
    FakeModelServer server;
    Signpost go, ready;
};

// contract: TASK-36, TASK-38
TEST_F(Tasks, ARunWaitsForTheResultAndPassesItToTheModel) {
    auto running = run_with_task();
    model_says("It is over.");
    go.send("last");
    expect_result(json_of(running.wait()));
    EXPECT_EQ(program.events("k", "task_created").size(), 1U);
    EXPECT_EQ(program.events("k", "task_result_received").size(), 1U);
}

// contract: TASK-01, TASK-16, TASK-18, TASK-19
TEST_F(Tasks, ATaskThatRunsWhenTheProgramIsKilledIsReattachedByTheNext) {
    auto running = run_with_task();
    running.send(SIGKILL);
    running.wait();
    model_says("It is over.");
    auto next = program.start({"run", "--json", "--agent", "k", "--resume"});
    go.send("last");
    expect_result(json_of(next.wait()));
}

// contract: TASK-01, TASK-19
TEST_F(Tasks, ATaskThatEndsWhileNoProgramRunsIsNotLost) {
    auto running = run_with_task();
    running.send(SIGKILL);
    running.wait();
    go.send("last");
    model_says("It is over.");
    expect_result(json_of(program.run({"run", "--json", "--agent", "k", "--resume"})));
}

TEST_F(Tasks, ACommandOfAnInterruptedCallIsReattachedAndNotRepeated) {
    model_runs(waiting_command(), {});
    auto running = program.start(first_run());
    ready.wait();
    running.send(SIGKILL);
    running.wait();
    model_says("It is over.");
    auto next = program.start({"run", "--json", "--agent", "k", "--resume"});
    go.send("last");
    const auto response = json_of(next.wait());
    EXPECT_EQ(base::string_at(response, "final_text"), "It is over.");
    EXPECT_THAT(server.requests().back().body, HasSubstr("Process exited with code 7"));
    EXPECT_THAT(server.requests().back().body, HasSubstr("first\\nlast"));
    EXPECT_EQ(program.read(program.folder() / "runs"), "run\n");
}

// contract: TASK-17, TASK-19
TEST_F(Tasks, ATaskWhoseSupervisorIsGoneFailsWithWhatIsKnown) {
    auto running = run_with_task();
    running.send(SIGKILL);
    running.wait();
    pid_t supervisor = 0;
    for (const auto& entry :
         std::filesystem::directory_iterator(program.home() / "run" / "tasks")) {
        const auto state = base::parse_json(program.read(entry.path() / "state.json")).value();
        supervisor = static_cast<pid_t>(base::int_at(state, "supervisor_pid"));
    }
    ASSERT_GT(supervisor, 0);
    kill(supervisor, SIGKILL);
    model_says("It is lost.");
    const auto response = json_of(program.run({"run", "--json", "--agent", "k", "--resume"}));
    EXPECT_EQ(base::string_at(task_of(response), "status"), "failed");
    EXPECT_THAT(server.requests().back().body, HasSubstr("is gone without recording"));
}

TEST_F(Tasks, WithoutWaitingATaskOfANamedAgentContinues) {
    auto running = run_with_task({"--no-wait-for-tasks"});
    const auto first = json_of(running.wait());
    EXPECT_EQ(base::string_at(task_of(first), "status"), "running");
    EXPECT_EQ(base::string_at(first, "final_text"), "It runs.");
    const auto status = program.json_of({"status", "--agent", "k"});
    EXPECT_EQ(base::int_at(status, "active_task_count"), 1);
    model_says("It is over.");
    go.send("last");
    expect_result(json_of(program.run({"run", "--json", "--agent", "k", "--resume"})));
}

TEST_F(Tasks, AnInterruptionEndsTheWaitButNotTheTask) {
    auto running = run_with_task();
    running.send(SIGINT);
    const auto finished = running.wait();
    EXPECT_NE(finished.exit_code, 0);
    const auto response = base::parse_json(finished.out).value();
    EXPECT_EQ(base::string_at(response, "final_status"), "waiting");
    EXPECT_EQ(base::string_at(response, "waiting_reason"), "awaiting_task_result");
    model_says("It is over.");
    go.send("last");
    expect_result(json_of(program.run({"run", "--json", "--agent", "k", "--resume"})));
}

TEST_F(Tasks, TasksOfATemporaryAgentEndWithIt) {
    model_runs(fmt::format("echo $$ > {}; echo x > {}; exec sleep 600",
                           (program.folder() / "pid").string(), ready.path().string()));
    model_says("It runs.");
    auto running = program.start({"run", "--json", "--no-wait-for-tasks", "go"});
    ready.wait();
    const auto response = json_of(running.wait());
    EXPECT_EQ(base::string_at(task_of(response), "status"), "cancelled");
    const pid_t pid = std::stoi(program.read(program.folder() / "pid"));
    EXPECT_EQ(base::start_time_of(pid), 0U);
}

// contract: FAIL-01
TEST_F(Tasks, FailuresOfProvidersTurnsAndTasksHaveOneShape) {
    const auto shape = [](const json::value& value) {
        const auto artifact =
            base::from_json<domain::FailureArtifact>(value, base::Unknown::Reject);
        EXPECT_TRUE(artifact.has_value()) << base::json_text(value);
        return artifact ? artifact->category : domain::FailureCategory::Unknown;
    };
    server.enqueue({.status = 401, .body = R"({"error":{"message":"no such key"}})"});
    const auto refused = program.json_of(first_run(), 3);
    EXPECT_NE(shape(refused.at("failure_artifact")), domain::FailureCategory::Task);
    model_runs("true", {});
    const auto cut_off = program.json_of(first_run({"--max-turns", "1"}), 4);
    EXPECT_EQ(shape(cut_off.at("failure_artifact")), domain::FailureCategory::Runtime);
    model_runs("exit 3");
    model_says("It runs.");
    model_says("It is over.");
    const auto failed = program.json_of(first_run());
    EXPECT_EQ(shape(task_of(failed).at("failure_artifact")), domain::FailureCategory::Task);
}

// contract: CORE-02
TEST_F(Tasks, ComeWithAgentStateEnvelopesAQueueSleepAndBriefs) {
    model_runs("echo over");
    model_says("It is started.");
    server.enqueue(test_support::calls("Sleep", R"({"reason":"nothing left"})"));
    const auto response = program.json_of(first_run());
    EXPECT_EQ(base::string_at(task_of(response), "status"), "completed");
    const auto state = program.json_of({"status", "--agent", "k", "--json"}).at("agent");
    EXPECT_EQ(base::string_at(state, "status"), "asleep");
    EXPECT_EQ(base::int_at(state, "pending"), 0);
    const auto queued = program.events("k", "message_enqueued");
    ASSERT_EQ(queued.size(), 2U);  // The prompt, and the result of the task.
    EXPECT_EQ(base::string_at(queued[0].at("data"), "kind"), "operator_prompt");
    EXPECT_EQ(base::string_at(queued[1].at("data"), "kind"), "task_result");
    EXPECT_THAT(program.run({"tail", "--agent", "k"}).out, HasSubstr("It is started."));
    model_says("Awake again.");
    ASSERT_EQ(program.run({"run", "--agent", "k", "wake up"}).exit_code, 0);
    EXPECT_NE(base::string_at(program.json_of({"status", "--agent", "k", "--json"}).at("agent"),
                              "status"),
              "asleep");
}

}  // namespace
}  // namespace e2e
