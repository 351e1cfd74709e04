// Tasks and turns together: results that come before, during and after what waits for them.
#include <gmock/gmock.h>

#include "agent/identity/closure.h"
#include "base/os/files.h"
#include "base/os/process.h"
#include "tests/flow/fixture.h"
#include "tests/support/fake_tasks.h"

namespace scheduler {
namespace {

using supervisor::Ended;
using testing::HasSubstr;
using testing::Not;

// No batch runs here.
class NoProcesses final : public base::ProcessRunner {
public:
    base::Result<std::shared_ptr<Handle>> start(
        base::ProcessSpec, std::move_only_function<void(base::ProcessExit)>) override {
        return base::fail(base::ErrorCode::Unavailable, "no processes");
    }
};

class TaskFlowTest : public FlowTest {
protected:
    void SetUp() override {
        registry_.add(builtin::task_output(tasks_.host, loop_));
        registry_.add(builtin::task_stop(tasks_.host));
        registry_.add(builtin::exec_command(shell_, tasks_.host));
        FlowTest::SetUp();
        tasks_.host.set_listener(
            {.on_result = [&](const domain::AgentId& agent) { scheduler_->wake(agent); }});
    }
    // The only command that runs; its task has the same id.
    std::string command() const {
        EXPECT_EQ(tasks_.machine.commands.size(), 1U);
        return tasks_.machine.commands.begin()->first;
    }
    std::vector<store::QueuedMessage> results() {
        std::vector<store::QueuedMessage> found;
        for (auto& entry : read<std::vector<store::Numbered<store::QueuedMessage>>>(
                 [&](store::Tx& tx) { return tx.messages(agent_, {.limit = 100}); }))
            if (entry.record.message.kind == domain::MessageKind::TaskResult)
                found.push_back(std::move(entry.record));
        return found;
    }
    std::string receipt() {
        for (const auto& turn : model_->requests.back().conversation)
            if (const auto* results = std::get_if<provider::ToolResultsTurn>(&turn))
                return results->results.back().content;
        return "";
    }

    NoProcesses processes_;
    test_support::FakeTasks tasks_{*store_, loop_, loop_, ids_, feed_};
    builtin::Shell shell_{loop_, processes_, {}};
};

constexpr std::string_view kLongCommand = R"({"rounds":[
    {"tool_calls":[{"name":"ExecCommand","input":{"cmd":"make","yield_time_ms":10}}]},
    {"text":"It runs."}]})";

// contract: TASK-44
TEST_F(TaskFlowTest, AResultResumesTheAgentThatWaitsForIt) {
    start(kLongCommand);
    send("go");
    run();
    const std::string task = command();
    ASSERT_TRUE(store_->write(store::Durability::Disk, [&](store::Tx& tx) {
        return tx.put_wait({.id = {"w"},
                            .agent_id = agent_,
                            .kind = domain::WaitKind::Task,
                            .subject_ref = task,
                            .waiting_for = "the build",
                            .created_at = loop_.now(),
                            .updated_at = loop_.now()});
    }));
    start(R"({"rounds":[{"text":"Seen."}]})");
    tasks_.machine.commands.at(task).out = "built";
    tasks_.supervisor.end(task, Ended{.exit_code = 0});
    loop_.run();
    ASSERT_EQ(model_->requests.size(), 1U);
    EXPECT_THAT(opening(0), HasSubstr("exited with status 0"));
    EXPECT_EQ(results().at(0).entry.status, domain::QueueStatus::Processed);
    EXPECT_EQ(statistics().last_continuation->trigger_kind, domain::TriggerKind::TaskResult);
    EXPECT_EQ(statistics().last_continuation->prior_waiting_reason,
              domain::WaitingReason::AwaitingTaskResult);
    EXPECT_TRUE(statistics().last_continuation->matched_waiting_reason);
    const auto wait = read<std::optional<domain::Wait>>(
        [](store::Tx& tx) { return tx.wait(domain::WaitId{"w"}); });
    EXPECT_EQ(wait->status, domain::WaitStatus::Resolved);
    EXPECT_EQ(wait->triggered_by, results().at(0).message.id);
}

// contract: AUDIT-04, BRIEF-04, CONT-06, CONT-07, TASK-37
TEST_F(TaskFlowTest, ABackgroundTaskBlocksNobodyAndItsResultStartsTheTurn) {
    start(kLongCommand);
    send("go");
    run();
    const auto facts =
        read<identity::AgentFacts>([&](store::Tx& tx) { return identity::load_facts(tx, agent_); });
    ASSERT_EQ(facts.active_tasks.size(), 1U);
    const auto& made = facts.active_tasks[0];
    EXPECT_EQ(made.id.value, command());
    EXPECT_EQ(made.agent_id, agent_);
    ASSERT_TRUE(made.parent_message_id);
    EXPECT_EQ(made.parent_message_id->value,
              base::string_at(last_event("message_admitted"), "message_id"));
    EXPECT_EQ(identity::status_of(facts), domain::AgentStatus::AwakeIdle);
    EXPECT_EQ(identity::decide_closure(facts).outcome, domain::ClosureOutcome::Completed);

    start(R"({"rounds":[{"text":"Seen."}]})");
    const std::string task = command();
    tasks_.supervisor.end(task, Ended{.exit_code = 0});
    loop_.run();
    const auto result = results().at(0).message.id.value;
    std::string started_by;
    std::string task_of_message;
    for (const auto& event : read<std::vector<domain::Event>>(
             [&](store::Tx& tx) { return tx.events(agent_, {.limit = 1000}); })) {
        if (event.kind == "turn_started") started_by = base::string_at(event.data, "message_id");
        if (event.kind == "message_admitted" && base::string_at(event.data, "message_id") == result)
            task_of_message = base::string_at(event.data, "task_id");
    }
    EXPECT_EQ(started_by, result);
    EXPECT_EQ(task_of_message, task);
    std::vector<domain::BriefKind> kinds;
    for (const auto& brief : read<std::vector<store::Numbered<domain::Brief>>>(
             [&](store::Tx& tx) { return tx.briefs(agent_, {.limit = 10}); }))
        kinds.push_back(brief.record.kind);
    using enum domain::BriefKind;
    EXPECT_EQ(kinds, (std::vector{Ack, Result, Ack, Result}));
}

// contract: TASK-39
TEST_F(TaskFlowTest, OutputReachesAPromptByItsMessageOrByAReadAndByNothingElse) {
    constexpr std::string_view kPrinted = "printed-by-the-task";
    const auto shown = [&] {
        std::string all;
        for (const auto& request : model_->requests) {
            all += request.frame.system_prompt;
            for (const auto& block : request.frame.system_blocks) all += block.text;
            provider::each_turn(request, [&](const provider::ConversationTurn& turn) {
                all += base::json_text(base::to_json(turn));
            });
        }
        return all;
    };
    start(kLongCommand);
    send("go");
    run();
    const std::string task = command();
    const auto log = tasks_.machine.commands.at(task).spec.log;
    ASSERT_TRUE(base::write_file_atomic(log, kPrinted, 0600));

    start(R"({"rounds":[{"text":"It still runs."}]})");
    send("What is new?");
    run();
    ASSERT_EQ(model_->requests.size(), 1U);
    EXPECT_THAT(shown(), Not(HasSubstr(std::string(kPrinted)))) << "nobody asked for it";

    start(fmt::format(R"({{"rounds":[
        {{"tool_calls":[{{"name":"TaskOutput","input":{{"task_id":"{}","block":false}}}}]}},
        {{"text":"Read."}}]}})",
                      task));
    send("Read it.");
    run();
    ASSERT_EQ(model_->requests.size(), 2U);
    EXPECT_THAT(shown(), HasSubstr(std::string(kPrinted)));

    start(R"({"rounds":[{"text":"Seen."}]})");
    tasks_.supervisor.end(task, Ended{.exit_code = 0});
    loop_.run();
    ASSERT_EQ(results().size(), 1U);
    EXPECT_THAT(domain::readable(results()[0].message.body), HasSubstr(std::string(kPrinted)));
    ASSERT_EQ(model_->requests.size(), 1U);
    EXPECT_THAT(opening(0), HasSubstr(std::string(kPrinted)));
    std::filesystem::remove(log);
}

// contract: AUDIT-02
TEST_F(TaskFlowTest, ACommandCanBeTracedToItsMessageAndItsAuthority) {
    dispatcher_.emplace(tools::DispatcherParts{
        .registry = registry_, .clock = loop_, .ids = ids_, .external_calls = [](const auto&) {
            return domain::ExternalCalls::Allow;
        }});
    start(R"({"rounds":[
        {"tool_calls":[{"name":"ExecCommand","input":{"cmd":"make TOKEN=abcdef","yield_time_ms":10}}]},
        {"text":"It runs."}]})");
    send("build it", domain::ChannelOrigin{"c"}, domain::MessageKind::ChannelEvent,
         domain::AdmissionContext::PublicUnauthenticated);
    run();
    const auto asked = last_event("process_execution_requested");
    const auto executed = last_event("tool_executed");
    EXPECT_EQ(base::string_at(asked, "message_id"),
              base::string_at(last_event("message_admitted"), "message_id"));
    EXPECT_EQ(base::string_at(asked, "tool_call_id"), base::string_at(executed, "tool_call_id"));
    EXPECT_EQ(base::string_at(asked, "authority_class"), "external_evidence");
    EXPECT_EQ(base::string_at(asked, "trust"), "untrusted_external");
    EXPECT_EQ(base::string_at(asked, "cmd_preview"), "make TOKEN=***");
    EXPECT_EQ(base::string_at(asked, "execution_root"),
              agent().active_workspace_entry->execution_root);
    EXPECT_TRUE(asked.at("boundary").is_object());
}

// contract: TASK-45
TEST_F(TaskFlowTest, TheEndOfATaskAnswersNoQuestionToTheOperator) {
    start(kLongCommand);
    send("go");
    run();
    const std::string task = command();
    ASSERT_TRUE(store_->write(store::Durability::Disk, [&](store::Tx& tx) {
        return tx.put_wait({.id = {"w"},
                            .agent_id = agent_,
                            .kind = domain::WaitKind::Operator,
                            .waiting_for = "may I delete it?"});
    }));
    start(R"({"rounds":[{"text":"Seen."}]})");
    tasks_.supervisor.end(task, Ended{.exit_code = 0});
    loop_.run();
    ASSERT_EQ(model_->requests.size(), 1U);
    EXPECT_FALSE(statistics().last_continuation->matched_waiting_reason);
    const auto facts =
        read<identity::AgentFacts>([&](store::Tx& tx) { return identity::load_facts(tx, agent_); });
    ASSERT_EQ(facts.open_waits.size(), 1U);
    EXPECT_EQ(facts.open_waits[0].status, domain::WaitStatus::Active);
    EXPECT_EQ(identity::decide_closure(facts).waiting_reason,
              domain::WaitingReason::AwaitingOperatorInput);
}

// contract: TASK-41, TASK-42, TASK-43
TEST_F(TaskFlowTest, AResultIsStoredAsTheRuntimesOwnWord) {
    start(kLongCommand);
    send("go");
    run();
    const std::string task = command();
    start(R"({"rounds":[{"text":"Seen."}]})");
    tasks_.supervisor.end(task, Ended{.exit_code = 3});
    loop_.run();
    const auto message = results().at(0).message;
    EXPECT_EQ(message.origin, domain::Origin(domain::TaskOrigin{{task}}));
    EXPECT_EQ(message.trust, domain::TrustLevel::TrustedSystem);
    EXPECT_EQ(message.authority_class, domain::AuthorityClass::RuntimeInstruction);
    EXPECT_EQ(message.delivery_surface, domain::DeliverySurface::TaskRejoin);
    EXPECT_EQ(message.task_id, domain::TaskId{task});
    EXPECT_TRUE(message.causation_id);
}

TEST_F(TaskFlowTest, AResultThatComesDuringATurnFollowsIt) {
    start(kLongCommand);
    send("go");
    scheduler_->wake(agent_);
    ASSERT_TRUE(loop_.run_until([&] { return model_->requests.size() == 2; }));
    tasks_.supervisor.end(command(), Ended{.exit_code = 0});
    model_->requests.clear();
    loop_.run_until([&] { return !results().empty(); });
    EXPECT_EQ(results().at(0).entry.status, domain::QueueStatus::Queued)
        << "the turn is still open";
    start(R"({"rounds":[{"text":"Seen."}]})");
    scheduler_->wake(agent_);
    loop_.run();
    EXPECT_EQ(results().at(0).entry.status, domain::QueueStatus::Processed);
}

TEST_F(TaskFlowTest, AResultThatATurnHasReadDoesNotComeAgain) {
    start(kLongCommand);
    send("go");
    run();
    const std::string task = command();
    start(fmt::format(R"({{"rounds":[
        {{"tool_calls":[{{"name":"TaskOutput","input":{{"task_id":"{}"}}}}]}},
        {{"text":"Read."}}]}})",
                      task));
    send("how is it?");
    scheduler_->wake(agent_);
    // The call waits for the task, and only then the task ends.
    loop_.after(std::chrono::seconds(1),
                [&] { tasks_.supervisor.end(task, Ended{.exit_code = 0}); });
    loop_.run();
    EXPECT_EQ(model_->requests.size(), 2U);
    EXPECT_THAT(receipt(), HasSubstr("Status: completed"));
    ASSERT_EQ(results().size(), 1U);
    EXPECT_EQ(results()[0].entry.status, domain::QueueStatus::Dropped);
    EXPECT_EQ(results()[0].entry.reason, "the result was read in a turn");
    EXPECT_EQ(statistics().total_message_count, 2);
}

TEST_F(TaskFlowTest, AnInterruptionEndsTheWaitForATaskButNotTheTask) {
    start(kLongCommand);
    send("go");
    run();
    const std::string task = command();
    start(fmt::format(R"({{"rounds":[
        {{"tool_calls":[{{"name":"TaskOutput","input":{{"task_id":"{}","timeout_ms":600000}}}}]}},
        {{"text":"Read."}}]}})",
                      task));
    send("how is it?");
    scheduler_->wake(agent_);
    const auto before = loop_.now();
    ASSERT_TRUE(loop_.run_until([&] { return model_->requests.size() == 1; }));
    loop_.after(std::chrono::seconds(1), [&] { scheduler_->interrupt(agent_, "operator"); });
    loop_.run();
    EXPECT_LT(loop_.now() - before, std::chrono::seconds(10));
    EXPECT_EQ(
        read<std::optional<domain::Task>>([&](store::Tx& tx) { return tx.task({task}); })->status,
        domain::TaskStatus::Running);
    EXPECT_TRUE(tasks_.machine.commands.at(task).stops.empty());
}

// contract: TASK-06
TEST_F(TaskFlowTest, ATaskOfAnOlderProgramNeverBlocksTheAgent) {
    domain::Task old{.id = {"old"},
                     .agent_id = agent_,
                     .kind = domain::TaskKind::SubagentTask,
                     .status = domain::TaskStatus::Running};
    old.detail = json::object{{"wait_policy", "blocking"}};
    ASSERT_TRUE(
        store_->write(store::Durability::Disk, [&](store::Tx& tx) { return tx.put_task(old); }));
    start(R"({"rounds":[{"text":"Answered."}]})");
    send("are you there?");
    run();
    EXPECT_EQ(model_->requests.size(), 1U);
    const auto facts =
        read<identity::AgentFacts>([&](store::Tx& tx) { return identity::load_facts(tx, agent_); });
    EXPECT_EQ(identity::status_of(facts), domain::AgentStatus::AwakeIdle);
    EXPECT_EQ(identity::decide_closure(facts).outcome, domain::ClosureOutcome::Completed);
}

// contract: TASK-36
TEST_F(TaskFlowTest, AnAgentWithATaskAnswersWhatItIsAsked) {
    start(kLongCommand);
    send("go");
    run();
    start(R"({"rounds":[{"text":"Answered."}]})");
    send("are you there?");
    run();
    EXPECT_EQ(statistics().last_turn_terminal->last_assistant_message, "Answered.");
    EXPECT_EQ(read<std::vector<domain::Task>>([&](store::Tx& tx) {
                  return tx.active_tasks(agent_);
              }).size(),
              1U);
}

TEST_F(TaskFlowTest, AnInterruptedCallEndsItsCommand) {
    start(R"({"rounds":[{"tool_calls":[{"name":"ExecCommand","input":{"cmd":"make"}}]}]})");
    send("go");
    scheduler_->wake(agent_);
    ASSERT_TRUE(loop_.run_until([&] { return tasks_.machine.commands.size() == 1; }));
    scheduler_->interrupt(agent_, "operator");
    const std::string id = command();
    EXPECT_EQ(tasks_.machine.commands.at(id).stops.size(), 1U);
    tasks_.supervisor.end(id, Ended{.signal = 15, .stopped = true});
    loop_.run();
    EXPECT_TRUE(results().empty());
    EXPECT_EQ(statistics().last_turn_terminal->reason, domain::kReasonInterrupted);
}

}  // namespace
}  // namespace scheduler
