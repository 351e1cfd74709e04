// The scheduler and the turn runner together.
#include <gmock/gmock.h>

#include "tests/flow/fixture.h"

namespace scheduler {
namespace {

using SchedulerTest = FlowTest;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

constexpr std::string_view kOneAnswer = R"({"rounds":[{"text":"hello"}]})";

// contract: TURN-01, SLEEP-23, SLEEP-24
TEST_F(SchedulerTest, ATurnLeavesItsWholeStoryInOrder) {
    start(kOneAnswer);
    send("hi");
    run();
    EXPECT_THAT(kinds(),
                ElementsAre("message_admitted", "message_enqueued", "message_processing_started",
                            "continuation_trigger_received", "continuation_resolved",
                            "turn_started", "turn_context_built", "brief_created",
                            "agent_state_changed", "provider_round_completed",
                            "assistant_round_recorded", "turn_terminal", "brief_created",
                            "working_memory_updated", "closure_decided", "agent_state_changed"));
    EXPECT_EQ(rest_reason_, kNothingQueued);
}

// contract: TURN-07, TURN-09, BRIEF-07
TEST_F(SchedulerTest, AOneRoundTurnAsksTheModelOnce) {
    start(kOneAnswer);
    send("hi");
    run();
    EXPECT_EQ(model_->requests.size(), 1U);
    EXPECT_EQ(statistics().last_turn_terminal->last_assistant_message, "hello");
}

// contract: CORE-05
TEST_F(SchedulerTest, TwoMessagesSentTogetherRunOneAfterTheOther) {
    start(kOneAnswer);
    send("first");
    send("second");
    scheduler_->wake(agent_);
    loop_.run_until([&] { return !model_->requests.empty(); });
    EXPECT_EQ(read<std::int64_t>([&](store::Tx& tx) { return tx.pending_count(agent_); }), 1);
    loop_.run();
    ASSERT_EQ(model_->requests.size(), 2U);
    EXPECT_THAT(opening(0), HasSubstr("first"));
    EXPECT_THAT(opening(1), HasSubstr("second"));
}

// contract: CONT-03, CONT-04, STATE-26, SLEEP-25
TEST_F(SchedulerTest, TheContinuationReadsTheClosureFromBeforeTheMessage) {
    start(kOneAnswer);
    send("first");
    run();
    EXPECT_EQ(statistics().last_continuation->prior_closure_outcome,
              domain::ClosureOutcome::Waiting);
    EXPECT_EQ(statistics().last_continuation->prior_waiting_reason,
              domain::WaitingReason::AwaitingOperatorInput);
    send("second");
    run();
    EXPECT_EQ(statistics().last_continuation->prior_closure_outcome,
              domain::ClosureOutcome::Completed);
    EXPECT_EQ(statistics().last_continuation->class_, domain::ContinuationClass::LocalContinuation);
}

// contract: CONT-05
TEST_F(SchedulerTest, AFollowUpOfItsOwnReachesTheModel) {
    start(
        R"({"rounds":[{"tool_calls":[{"name":"Enqueue","input":{"text":"look again"}}]},{"text":"later"}]})");
    send("start");
    // The follow-up plays the same scenario and enqueues again, so only its opening is waited for.
    scheduler_->wake(agent_);
    loop_.run_until([&] { return model_->requests.size() == 3; });
    ASSERT_EQ(model_->requests.size(), 3U);
    EXPECT_THAT(opening(2), HasSubstr("[system:tool_enqueue]"));
    EXPECT_THAT(opening(2), HasSubstr("look again"));
}

// contract: SLEEP-01, SLEEP-14, SLEEP-15, SLEEP-17, CLOSE-09, CORE-08
TEST_F(SchedulerTest, SleepWithoutADurationRestsUntilWoken) {
    start(
        R"({"rounds":[{"text":"resting","tool_calls":[{"name":"Sleep","input":{"reason":"nothing to do"}}]}]})");
    send("hi");
    run();
    ASSERT_TRUE(agent().sleep);
    EXPECT_EQ(agent().sleep->reason, "nothing to do");
    EXPECT_EQ(agent().sleep->since, loop_.now());
    EXPECT_FALSE(agent().sleep->until);
    EXPECT_TRUE(read<std::vector<domain::Timer>>([&](store::Tx& tx) {
                    return tx.active_timers(agent_, 9);
                }).empty());
    const auto decided = last_event("scheduler_posture_decision");
    EXPECT_EQ(decided.at("evidence"),
              (json::value{{"reason", "nothing to do"}, {"since", base::to_text(loop_.now())}}));
    EXPECT_EQ(base::string_at(last_event("agent_state_changed"), "status"), "asleep");
    loop_.after(std::chrono::hours(24), [] {});
    loop_.run();
    EXPECT_EQ(model_->requests.size(), 1U);
    // Having nothing to do is not yet sleep.
    start(kOneAnswer);
    send("hi");
    run();
    EXPECT_FALSE(agent().sleep);
    EXPECT_EQ(base::string_at(last_event("agent_state_changed"), "status"), "awake_idle");
}

// contract: SLEEP-16
TEST_F(SchedulerTest, ATimedSleepNamesTheTimerThatEndsIt) {
    start(R"({"rounds":[{"tool_calls":[{"name":"Sleep","input":{"duration_ms":200}}]}]})");
    send("hi");
    run();
    ASSERT_TRUE(agent().sleep && agent().sleep->until);
    const auto timers = read<std::vector<domain::Timer>>(
        [&](store::Tx& tx) { return tx.active_timers(agent_, 9); });
    ASSERT_EQ(timers.size(), 1U);
    EXPECT_EQ(timers[0].next_fire_at, agent().sleep->until);
}

// contract: SLEEP-02, SLEEP-10
TEST_F(SchedulerTest, AWaitingMessageKeepsTheAgentFromFallingAsleepAndAPromptWakesIt) {
    start(R"({"rounds":[{"tool_calls":[{"name":"Sleep","input":{}}]}],"loop":true})");
    send("first");
    send("second");
    run();
    EXPECT_EQ(model_->requests.size(), 2U);
    EXPECT_TRUE(agent().sleep);  // Only after the second.
    send("third");
    run();
    EXPECT_EQ(model_->requests.size(), 3U);
    EXPECT_EQ(statistics().last_wake_reason, "operator_prompt");
}

TEST_F(SchedulerTest, AMessageBelowTheModelIsRecordedAndAnsweredWithoutIt) {
    start(kOneAnswer);
    send("ping", domain::SystemOrigin{"wake"}, domain::MessageKind::Control,
         domain::AdmissionContext::RuntimeOwned);
    run();
    EXPECT_TRUE(model_->requests.empty());
    EXPECT_THAT(kinds(), Contains("scheduler_decision"));
    EXPECT_EQ(read<std::int64_t>([&](store::Tx& tx) { return tx.pending_count(agent_); }), 0);
}

TEST_F(SchedulerTest, TheRoundBudgetEndsTheRunAndLeavesTheRestQueued) {
    start(
        R"({"rounds":[{"tool_calls":[{"name":"Sleep","input":{}},{"name":"NoSuchTool","input":{}}]}],"loop":true})",
        3);
    send("first");
    send("second");
    run();
    EXPECT_EQ(model_->requests.size(), 3U);
    EXPECT_EQ(rest_reason_, kBudgetSpent);
    EXPECT_EQ(statistics().last_turn_terminal->reason, domain::kReasonRoundLimit);
    EXPECT_EQ(read<std::int64_t>([&](store::Tx& tx) { return tx.pending_count(agent_); }), 1);
}

TEST_F(SchedulerTest, AnInterruptedTurnIsResumedWithItsRoundsByTheNextProcess) {
    start(
        R"({"rounds":[{"text":"one","tool_calls":[{"name":"NoSuchTool","input":{}}]},{"text":"two","delay_ms":5000}]})");
    send("work");
    scheduler_->wake(agent_);
    loop_.run_until([&] { return model_->requests.size() == 2; });
    scheduler_->interrupt(agent_, "operator_interrupt");
    loop_.run();
    EXPECT_EQ(rest_reason_, "operator_interrupt");
    EXPECT_EQ(statistics().last_turn_terminal->reason, domain::kReasonInterrupted);
    EXPECT_EQ(read<std::int64_t>([&](store::Tx& tx) { return tx.pending_count(agent_); }), 1);
    EXPECT_TRUE(read<std::vector<store::OutboxEntry>>([&](store::Tx& tx) {
                    return tx.outbox(agent_);
                }).empty());

    start(R"({"rounds":[{"text":"one"},{"text":"finished"}]})");
    run();
    ASSERT_EQ(model_->requests.size(), 1U);
    const auto& conversation = model_->requests[0].conversation;
    ASSERT_EQ(conversation.size(), 3U);  // First round, its results, the note.
    EXPECT_TRUE(std::holds_alternative<provider::ToolResultsTurn>(conversation[1]));
    EXPECT_THAT(std::get<provider::UserTurn>(conversation[2]).blocks[0].text,
                HasSubstr("interrupted"));
    EXPECT_EQ(statistics().last_turn_terminal->last_assistant_message, "finished");
}

// contract: EXEC-04, TRUST-03
TEST_F(SchedulerTest, TheToolsOfferedDoNotDependOnWhoSentTheMessage) {
    start(kOneAnswer);
    send("from the operator");
    send("from a channel", domain::ChannelOrigin{"c"}, domain::MessageKind::ChannelEvent);
    run();
    ASSERT_EQ(model_->requests.size(), 2U);
    EXPECT_EQ(model_->requests[0].tools, model_->requests[1].tools);
    EXPECT_EQ(model_->requests[0].frame.system_blocks, model_->requests[1].frame.system_blocks);
    EXPECT_THAT(opening(1), HasSubstr("external_evidence"));
    EXPECT_THAT(opening(0), Not(HasSubstr("external_evidence")));
}

// contract: IDENT-41, SLEEP-03
TEST_F(SchedulerTest, AChannelEventWakesASleepingAgent) {
    start(R"({"rounds":[{"tool_calls":[{"name":"Sleep","input":{}}]}],"loop":true})");
    send("rest");
    run();
    ASSERT_TRUE(agent().sleep);
    send("news", domain::ChannelOrigin{"c"}, domain::MessageKind::ChannelEvent);
    run();
    EXPECT_EQ(statistics().last_wake_reason, "channel_event");
    EXPECT_EQ(model_->requests.size(), 2U);
}

// contract: CALL-01, CALL-03, CALL-06
TEST_F(SchedulerTest, EveryCallOfATurnIsKeptWithItsEnvelopeAndTheReceiptTheModelSaw) {
    start(
        R"({"rounds":[{"tool_calls":[{"name":"Sleep","input":{"reason":"a"}},{"name":"NoSuchTool","input":{}}]},
                        {"text":"done"}]})");
    send("hi");
    run();
    const auto attempt =
        read<std::vector<domain::TranscriptEntry>>(
            [&](store::Tx& tx) -> base::Result<std::vector<domain::TranscriptEntry>> {
                std::vector<domain::TranscriptEntry> list;
                for (auto& entry : TRY(tx.transcript(agent_, {})))
                    list.push_back(std::move(entry.record));
                return list;
            })
            .front();
    const auto calls = read<std::vector<domain::ToolExecution>>(
        [&](store::Tx& tx) { return tx.tool_executions(attempt.run_id, std::nullopt); });
    ASSERT_EQ(calls.size(), 2U);
    EXPECT_NE(calls[0].call.call_id, calls[1].call.call_id);
    EXPECT_EQ(calls[0].call.tool, "Sleep");
    EXPECT_EQ(calls[0].call.args, (json::value{{"reason", "a"}}));
    EXPECT_EQ(calls[1].call.tool, "NoSuchTool");
    for (const auto& execution : calls) {
        const auto& call = execution.call;
        EXPECT_EQ(call.run_id, attempt.run_id);
        EXPECT_EQ(call.call_id.value.size(), 36U);  // A UUID.
        EXPECT_EQ(call.attempt, 1);
        EXPECT_TRUE(call.cancellable);
        EXPECT_EQ(call.risk_level, domain::RiskLevel::ReadOnly);
        EXPECT_EQ(execution.trust, domain::TrustLevel::TrustedOperator);
        ASSERT_TRUE(execution.result && execution.envelope && execution.receipt &&
                    execution.started_at);
        EXPECT_EQ(execution.result->call_id, call.call_id);
        EXPECT_LE(*execution.started_at, execution.result->ended_at);
        EXPECT_EQ(execution.envelope->as_object().size(), 5U);
    }
    EXPECT_EQ(calls[0].call.step_id, "round-1.1");
    EXPECT_EQ(calls[0].call.category, "agent");
    EXPECT_EQ(calls[1].call.step_id, "round-1.2");
    const auto& answered =
        std::get<provider::ToolResultsTurn>(model_->requests.at(1).conversation.at(1)).results;
    EXPECT_EQ(answered[0].content, *calls[0].receipt);
    EXPECT_EQ(answered[1].content, *calls[1].receipt);
}

constexpr std::string_view kLimited =
    R"({"rounds":[{"text":"at last","fault":{"kind":"rate_limited","message":"quota","retry_after_ms":3600000}}]})";

TEST_F(SchedulerTest, ALimitFarOffParksTheTurnWhichGoesOnByItself) {
    start(kLimited);
    send("hi");
    scheduler_->wake(agent_);
    loop_.run_until([&] { return has("turn_parked"); });
    EXPECT_EQ(model_->requests.size(), 1U);
    const base::Time parked_at = loop_.now();
    loop_.run();
    EXPECT_EQ(model_->requests.size(), 2U);
    EXPECT_GE(loop_.now() - parked_at, std::chrono::hours(1));
    EXPECT_EQ(statistics().last_turn_terminal->last_assistant_message, "at last");
    EXPECT_EQ(statistics().last_turn_terminal->kind, domain::TerminalKind::Completed);
}

TEST_F(SchedulerTest, AParkedTurnOutlivesItsProcessAndCanBeInterrupted) {
    start(kLimited);
    send("hi");
    scheduler_->wake(agent_);
    const auto is_parked = [&] {
        const auto open = read<std::optional<domain::Attempt>>(
            [&](store::Tx& tx) { return tx.open_attempt_of(agent_); });
        return open && std::holds_alternative<domain::Parked>(open->state);
    };
    loop_.run_until(is_parked);
    const auto outbox = [&] {
        return read<std::vector<store::OutboxEntry>>(
            [&](store::Tx& tx) { return tx.outbox(agent_); });
    };
    EXPECT_TRUE(outbox().empty()) << "the attempt has the time";
    ASSERT_TRUE(store_->write(store::Durability::Process, [&](store::Tx& tx) -> base::Status {
        const auto run = TRY(tx.open_attempt_of(agent_)).value().run_id;
        return tx.put_outbox({.effect_id = run.value + "/wait/1",  // As earlier versions stored it.
                              .agent_id = agent_,
                              .kind = "wait_until",
                              .payload = json::object{{"run_id", run.value}, {"round", 1}}});
    }));
    start(kLimited);  // Another process; the timer of the first one finds nobody.
    scheduler_->wake(agent_);
    loop_.run_until([&] { return has("attempt_resumed"); });
    EXPECT_TRUE(is_parked());
    scheduler_->interrupt(agent_, "operator_interrupt");
    loop_.run();
    EXPECT_EQ(statistics().last_turn_terminal->reason, domain::kReasonInterrupted);
    EXPECT_TRUE(model_->requests.empty());
    EXPECT_TRUE(outbox().empty());
    EXPECT_EQ(read<std::int64_t>([&](store::Tx& tx) { return tx.pending_count(agent_); }), 1);
}

}  // namespace
}  // namespace scheduler
