#include "agent/children/decide.h"

#include <gtest/gtest.h>

namespace children {
namespace {

using domain::TerminalKind;

identity::AgentFacts finished(TerminalKind kind = TerminalKind::Completed) {
    identity::AgentFacts facts{.agent = {.agent_id = {"tmp_child_1"}, .turn_index = 1}};
    facts.statistics.last_turn_terminal =
        domain::TurnTerminal{.turn_index = 1, .kind = kind, .last_assistant_message = "All green."};
    return facts;
}
domain::Wait wait_for(domain::WaitKind kind) {
    return {.id = {"w"}, .kind = kind, .waiting_for = "an answer"};
}

TEST(Judge, AChildIsOverWhenItsLastTurnIsAndNothingIsWaitedFor) {
    EXPECT_EQ(judge(finished()), Verdict(Ends{Ending::Completed, "All green."}));
    auto failed = finished(TerminalKind::Aborted);
    failed.statistics.last_runtime_failure =
        domain::RuntimeFailure{.summary = "the provider is down"};
    EXPECT_EQ(judge(failed), Verdict(Ends{Ending::Failed, "All green.", "the provider is down"}));
}

// contract: IDENT-47
TEST(Judge, AChildGoesOnWhileAnythingRunsWaitsOrIsQueued) {
    auto running = finished();
    running.open_attempt.emplace();
    auto queued = finished();
    queued.pending = 1;
    auto busy = finished();
    busy.active_tasks.emplace_back();
    auto booting = finished();
    booting.agent.booting = true;
    auto paused = finished();
    paused.agent.paused = true;
    auto hinted = finished();
    hinted.pending_wake_hint.emplace();
    auto asleep = finished();
    asleep.open_waits = {wait_for(domain::WaitKind::Timer)};
    identity::AgentFacts fresh{.agent = {.agent_id = {"tmp_child_1"}}};
    int i = 0;
    for (const auto& facts : {running, queued, busy, booting, paused, hinted, asleep, fresh})
        EXPECT_EQ(judge(facts), Verdict(Continues{})) << i++;
}

TEST(Judge, AQuestionForTheOperatorGoesToTheParent) {
    auto asks = finished();
    asks.open_waits = {wait_for(domain::WaitKind::Operator)};
    EXPECT_EQ(judge(asks), Verdict(AsksParent{"All green."}));
}

TEST(Judge, AStoppedChildIsOverAsSoonAsItsOwnTasksAre) {
    auto stopped = finished();
    stopped.agent.stopped = true;
    stopped.pending = 3;
    EXPECT_EQ(judge(stopped), Verdict(Ends{Ending::Stopped, "All green."}));
    stopped.active_tasks.emplace_back();
    EXPECT_EQ(judge(stopped), Verdict(Continues{}));
}

TEST(Judge, ASpentBudgetAndAFaultAreFailures) {
    auto queued = finished();
    queued.pending = 1;
    EXPECT_EQ(judge(queued, "no tokens are left"),
              Verdict(Ends{Ending::Failed, "All green.", "no tokens are left"}));
    queued.fault = domain::AgentFault{.reason = "a torn record"};
    const auto verdict = judge(queued);
    ASSERT_TRUE(std::holds_alternative<Ends>(verdict));
    EXPECT_EQ(std::get<Ends>(verdict).error, "the child is set aside after a fault: a torn record");
}

// contract: CMD-33, CMD-34, CMD-35, CMD-36, CMD-37, CMD-38
TEST(Observe, ShowsThePhaseWithItsReasonAndTheNewestBriefs) {
    auto running = finished();
    running.open_attempt.emplace();
    EXPECT_EQ(observe(running, {}).phase, Phase::Running);

    auto blocked = finished();
    blocked.active_tasks = {{.status = domain::TaskStatus::Running}};
    EXPECT_EQ(observe(blocked, {}).phase, Phase::Blocked);
    EXPECT_EQ(observe(blocked, {}).blocked_reason, "managed_task_running");
    blocked.open_waits = {wait_for(domain::WaitKind::Task)};
    EXPECT_EQ(observe(blocked, {}).blocked_reason, "awaiting_managed_task");

    auto waiting = finished();
    waiting.open_waits = {wait_for(domain::WaitKind::Timer)};
    EXPECT_EQ(observe(waiting, {}).phase, Phase::Waiting);
    EXPECT_EQ(observe(waiting, {}).waiting_reason, "awaiting_timer");
    waiting.open_waits = {wait_for(domain::WaitKind::Operator)};
    EXPECT_EQ(observe(waiting, {}).waiting_reason, "awaiting_operator_input");

    auto done = finished();
    done.current_work_item = domain::WorkItem{.id = {"work_1"}, .objective = "Fix the parser"};
    done.current_work_item->state = domain::WorkItemState::Completed;
    const auto seen = observe(done, {{.kind = domain::BriefKind::Result, .text = "Fixed."},
                                     {.kind = domain::BriefKind::Ack, .text = "Working on it"},
                                     {.kind = domain::BriefKind::Result, .text = "Older."}});
    EXPECT_EQ(seen, (Observability{.phase = Phase::Terminal,
                                   .active_work_item_id = "work_1",
                                   .current_work_item_id = "work_1",
                                   .work_summary = "Fix the parser",
                                   .last_progress_brief = "Working on it",
                                   .last_result_brief = "Fixed."}));
}

TEST(Resting, AChildThatOnlyWaitsForSomethingFromElsewhereRests) {
    auto asleep = finished();
    asleep.open_waits = {wait_for(domain::WaitKind::Timer)};
    EXPECT_TRUE(is_resting(asleep));
    asleep.pending = 1;
    EXPECT_FALSE(is_resting(asleep));
    EXPECT_FALSE(is_resting(finished())) << "its task ends now";
    auto paused = finished();
    paused.agent.paused = true;
    paused.pending = 1;
    EXPECT_TRUE(is_resting(paused));
}

}  // namespace
}  // namespace children
