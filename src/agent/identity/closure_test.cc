#include "agent/identity/closure.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace identity {
namespace {

using domain::AgentStatus;
using domain::ClosureOutcome;
using domain::RuntimePosture;
using domain::TerminalKind;
using domain::WaitingReason;
using domain::WaitKind;
using domain::WaitStatus;

// The agent has had one turn, which ended like this.
AgentFacts ended(TerminalKind kind, std::optional<std::string> reason = {}) {
    return {.agent = {.agent_id = {"main"}, .turn_index = 2},
            .statistics = {.last_turn_terminal = domain::TurnTerminal{
                               .turn_index = 2, .kind = kind, .reason = std::move(reason)}}};
}
AgentFacts settled() {
    return ended(TerminalKind::Completed);
}
AgentFacts waiting_for(WaitKind kind, WaitStatus status = WaitStatus::Active) {
    AgentFacts facts = settled();
    facts.open_waits = {{.id = {"w"}, .kind = kind, .status = status, .waiting_for = "it"}};
    return facts;
}
template <class Change>
AgentFacts with(AgentFacts facts, Change change) {
    change(facts);
    return facts;
}

struct Row {
    std::string_view name;
    AgentFacts facts;
    ClosureOutcome outcome;
    std::optional<WaitingReason> reason{};
};

std::vector<Row> rows() {
    using O = ClosureOutcome;
    using R = WaitingReason;
    const auto open = [](AgentFacts& facts) { facts.open_attempt = domain::Attempt{}; };
    const auto timer = [](AgentFacts& facts) { facts.active_timers = {domain::Timer{}}; };
    return {
        {"no turn yet", {.agent = {.agent_id = {"main"}}}, O::Waiting, R::AwaitingOperatorInput},
        {"first turn open", with({.agent = {.turn_index = 1}}, open), O::Waiting,
         R::AwaitingExternalChange},
        {"turn open after one that failed", with(ended(TerminalKind::Aborted, "timeout"), open),
         O::Waiting, R::AwaitingExternalChange},
        {"turn open after one that completed", with(settled(), open), O::Waiting,
         R::AwaitingExternalChange},
        {"no terminal record", {.agent = {.turn_index = 1}}, O::Waiting, R::AwaitingExternalChange},
        {"terminal record of an earlier turn",
         with(settled(), [](AgentFacts& facts) { facts.agent.turn_index = 3; }), O::Waiting,
         R::AwaitingExternalChange},
        {"interrupted", ended(TerminalKind::Aborted, "interrupted"), O::Waiting,
         R::AwaitingOperatorInput},
        {"aborted", ended(TerminalKind::Aborted, "server_error"), O::Failed},
        {"aborted without a reason", ended(TerminalKind::Aborted), O::Failed},
        {"over budget", ended(TerminalKind::BaselineOverBudget), O::Failed},
        {"failed with a timer", with(ended(TerminalKind::Aborted, "timeout"), timer), O::Failed},
        {"waits for a task", waiting_for(WaitKind::Task), O::Waiting, R::AwaitingTaskResult},
        {"waits for an external event", waiting_for(WaitKind::External), O::Waiting,
         R::AwaitingExternalChange},
        {"waits for the system", waiting_for(WaitKind::System), O::Waiting,
         R::AwaitingExternalChange},
        {"waits for the operator", waiting_for(WaitKind::Operator), O::Waiting,
         R::AwaitingOperatorInput},
        {"waits for a timer", waiting_for(WaitKind::Timer), O::Waiting, R::AwaitingTimer},
        {"a wait before a timer", with(waiting_for(WaitKind::Task), timer), O::Waiting,
         R::AwaitingTaskResult},
        {"a wait that has fired", waiting_for(WaitKind::Task, WaitStatus::Triggered), O::Completed},
        {"a timer alone", with(settled(), timer), O::Waiting, R::AwaitingTimer},
        {"done", settled(), O::Completed},
        {"done with input waiting", with(settled(), [](AgentFacts& facts) { facts.pending = 1; }),
         O::Completed},
        {"done with a task in the background",
         with(settled(), [](AgentFacts& facts) { facts.active_tasks = {domain::Task{}}; }),
         O::Completed},
    };
}

// contract: CLOSE-05
TEST(Closure, DecidesFromTheFactsThatOwnEachQuestion) {
    for (const auto& row : rows()) {
        SCOPED_TRACE(row.name);
        const auto closure = decide_closure(row.facts);
        EXPECT_EQ(closure.outcome, row.outcome);
        EXPECT_EQ(closure.waiting_reason, row.reason);
        EXPECT_EQ(closure.work_signal, std::nullopt);
        EXPECT_EQ(closure.runtime_posture, RuntimePosture::Awake);
        EXPECT_EQ(closure.evidence.size(), 1U) << "each decision says why";
    }
}

// contract: CLOSE-04
TEST(Closure, NamesAWaitingReasonExactlyWhenItWaits) {
    for (const auto& row : rows()) {
        const json::value json = base::to_json(decide_closure(row.facts));
        EXPECT_EQ(json.as_object().contains("waiting_reason"),
                  base::string_at(json, "outcome") == "waiting")
            << row.name;
    }
}

// contract: CLOSE-11
TEST(Closure, WithoutAnObservedEndNothingCountsAsCompleted) {
    AgentFacts facts = settled();
    EXPECT_EQ(decide_closure(facts).outcome, ClosureOutcome::Completed);
    facts.statistics.last_turn_terminal.reset();
    EXPECT_NE(decide_closure(facts).outcome, ClosureOutcome::Completed);
}

// contract: CLOSE-09
TEST(Closure, PostureFollowsTheSleepAndTheOutcomeDoesNot) {
    for (auto row : rows()) {
        if (row.facts.open_attempt) continue;
        const auto awake = decide_closure(row.facts);
        row.facts.agent.sleep = domain::Sleep{.reason = "until called"};
        auto asleep = decide_closure(row.facts);
        EXPECT_EQ(asleep.runtime_posture, RuntimePosture::Sleeping) << row.name;
        asleep.runtime_posture = RuntimePosture::Awake;
        EXPECT_EQ(asleep, awake) << row.name;
    }
}

// contract: STATE-06, STATE-07, STATE-08, STATE-09, STATE-10, STATE-11
TEST(Status, NamesTheStrongestFactFirst) {
    const auto sleep = [](AgentFacts& facts) { facts.agent.sleep = domain::Sleep{}; };
    const auto open = [](AgentFacts& facts) { facts.open_attempt = domain::Attempt{}; };
    const auto pause = [](AgentFacts& facts) { facts.agent.paused = true; };
    const auto stop = [](AgentFacts& facts) { facts.agent.stopped = true; };
    const auto all = with(with(with(with(waiting_for(WaitKind::Task), sleep), open), pause), stop);
    const std::vector<std::tuple<std::string_view, AgentFacts, AgentStatus>> table{
        {"nothing", settled(), AgentStatus::AwakeIdle},
        {"input waiting", with(settled(), [](AgentFacts& facts) { facts.pending = 3; }),
         AgentStatus::AwakeIdle},
        {"rest", with(settled(), sleep), AgentStatus::Asleep},
        {"a task wait", waiting_for(WaitKind::Task), AgentStatus::AwaitingTask},
        {"a task wait and sleep", with(waiting_for(WaitKind::Task), sleep),
         AgentStatus::AwaitingTask},
        {"a task wait that has fired", waiting_for(WaitKind::Task, WaitStatus::Triggered),
         AgentStatus::AwakeIdle},
        {"a wait for an external event", waiting_for(WaitKind::External), AgentStatus::AwakeIdle},
        {"only a task in the background",
         with(settled(), [](AgentFacts& facts) { facts.active_tasks = {domain::Task{}}; }),
         AgentStatus::AwakeIdle},
        {"an open turn", with(settled(), open), AgentStatus::AwakeRunning},
        {"paused with an open turn", with(with(settled(), open), pause), AgentStatus::Paused},
        {"paused at rest", with(with(settled(), sleep), pause), AgentStatus::Paused},
        {"stopped and paused", with(with(settled(), pause), stop), AgentStatus::Stopped},
        {"everything at once", all, AgentStatus::Stopped},
    };
    for (const auto& [name, facts, status] : table) EXPECT_EQ(status_of(facts), status) << name;
}

TEST(Status, DoesNotShowWhetherTheWorkIsFinished) {
    for (const auto& facts :
         {settled(), ended(TerminalKind::Aborted, "timeout"), waiting_for(WaitKind::Operator)})
        EXPECT_EQ(status_of(facts), AgentStatus::AwakeIdle);
    EXPECT_EQ(decide_closure(settled()).outcome, ClosureOutcome::Completed);
    EXPECT_EQ(decide_closure(ended(TerminalKind::Aborted, "timeout")).outcome,
              ClosureOutcome::Failed);
    EXPECT_EQ(decide_closure(waiting_for(WaitKind::Operator)).outcome, ClosureOutcome::Waiting);
}

domain::WorkItem work_item(std::int64_t changed = 0) {
    return {.id = {"work_1"},
            .agent_id = {"main"},
            .updated_at = base::Time(std::chrono::seconds(changed))};
}

// contract: CLOSE-03, CLOSE-04, CLOSE-06, STATE-18
TEST(Closure, AnIdleAgentHasAnyOfTheFourOutcomes) {
    const auto work =
        with(settled(), [](AgentFacts& facts) { facts.queued_work_item = work_item(); });
    const std::vector<std::pair<AgentFacts, ClosureOutcome>> fixtures{
        {settled(), ClosureOutcome::Completed},
        {work, ClosureOutcome::Continuable},
        {ended(TerminalKind::Aborted, "timeout"), ClosureOutcome::Failed},
        {waiting_for(WaitKind::External), ClosureOutcome::Waiting}};
    for (const auto& [facts, outcome] : fixtures) {
        EXPECT_EQ(status_of(facts), AgentStatus::AwakeIdle);
        const auto closure = decide_closure(facts);
        EXPECT_EQ(closure.outcome, outcome);
        EXPECT_EQ(closure.waiting_reason.has_value(), outcome == ClosureOutcome::Waiting);
        EXPECT_EQ(closure.work_signal.has_value(), outcome == ClosureOutcome::Continuable);
    }
}

TEST(Closure, WorkIsHeldBackByATimedSleepAndByAFailedTurnUntilItChanges) {
    const auto failed = ended(TerminalKind::Aborted, "timeout");
    const auto asleep = with(settled(), [](AgentFacts& facts) {
        facts.agent.sleep = domain::Sleep{.until = base::Time(std::chrono::hours(1))};
    });
    for (auto facts : {failed, asleep}) {
        facts.current_work_item = work_item(0);
        EXPECT_NE(decide_closure(facts).outcome, ClosureOutcome::Continuable);
        facts.current_work_item = work_item(1);
        EXPECT_EQ(decide_closure(facts).outcome, ClosureOutcome::Continuable);
    }
    const auto dozing = with(settled(), [](AgentFacts& facts) {
        facts.agent.sleep = domain::Sleep{};
        facts.current_work_item = work_item(0);
    });
    EXPECT_EQ(decide_closure(dozing).outcome, ClosureOutcome::Continuable);
}

TEST(Closure, BlockedWorkIsWaitedForLastAndTheOperatorFirst) {
    AgentFacts facts = settled();
    const auto add = [&](WaitKind kind, bool of_work) {
        domain::Wait wait{.id = {"w"}, .kind = kind, .waiting_for = "it"};
        if (of_work) wait.work_item_id = domain::WorkItemId{"work_1"};
        facts.open_waits.push_back(wait);
    };
    const auto reason = [&] { return decide_closure(facts).waiting_reason; };
    domain::Timer reminder{.id = {"recheck"}};
    reminder.work_item_id = domain::WorkItemId{"work_1"};
    facts.active_timers = {reminder};
    EXPECT_EQ(decide_closure(facts).outcome, ClosureOutcome::Completed);
    add(WaitKind::External, true);
    EXPECT_EQ(reason(), WaitingReason::AwaitingExternalChange);
    add(WaitKind::Task, true);
    EXPECT_EQ(reason(), WaitingReason::AwaitingTaskResult);
    EXPECT_FALSE(is_blocked_by_task(facts));
    add(WaitKind::Operator, true);
    EXPECT_EQ(reason(), WaitingReason::AwaitingOperatorInput);
    facts.active_timers.push_back({.id = {"own"}});
    EXPECT_EQ(reason(), WaitingReason::AwaitingTimer);
    add(WaitKind::Task, false);
    EXPECT_EQ(reason(), WaitingReason::AwaitingTaskResult);
    EXPECT_TRUE(is_blocked_by_task(facts));
}

}  // namespace
}  // namespace identity
