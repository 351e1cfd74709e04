#include "flow/scheduler/continuation.h"

#include <gtest/gtest.h>

namespace scheduler {
namespace {

using domain::ClosureDecision;
using domain::ClosureOutcome;
using domain::ContinuationClass;
using domain::TriggerKind;
using domain::WaitingReason;

constexpr WaitingReason kReasons[] = {
    WaitingReason::AwaitingOperatorInput, WaitingReason::AwaitingExternalChange,
    WaitingReason::AwaitingTaskResult, WaitingReason::AwaitingTimer};
constexpr TriggerKind kTriggers[] = {
    TriggerKind::OperatorInput, TriggerKind::TaskResult,       TriggerKind::ExternalEvent,
    TriggerKind::TimerFire,     TriggerKind::InternalFollowup, TriggerKind::SystemTick,
    TriggerKind::TaskStatus,    TriggerKind::Control,          TriggerKind::BriefDelivery};

domain::Message message(TriggerKind trigger, std::string text = "something happened") {
    return {.trigger_kind = trigger, .body = domain::TextBody{std::move(text)}};
}

ClosureDecision closure(ClosureOutcome outcome, std::optional<WaitingReason> reason = {}) {
    return {.outcome = outcome, .waiting_reason = reason};
}

bool expected_pair(WaitingReason reason, TriggerKind trigger) {
    return (reason == WaitingReason::AwaitingOperatorInput &&
            trigger == TriggerKind::OperatorInput) ||
           (reason == WaitingReason::AwaitingExternalChange &&
            (trigger == TriggerKind::ExternalEvent || trigger == TriggerKind::SystemTick)) ||
           (reason == WaitingReason::AwaitingTaskResult && trigger == TriggerKind::TaskResult) ||
           (reason == WaitingReason::AwaitingTimer && trigger == TriggerKind::TimerFire);
}

bool below_the_model(TriggerKind trigger) {
    return trigger == TriggerKind::TaskStatus || trigger == TriggerKind::Control ||
           trigger == TriggerKind::BriefDelivery;
}

// contract: CONT-01
TEST(Continuation, HasTheFieldsThatItsReadersExpect) {
    const auto resolution = resolve(closure(ClosureOutcome::Waiting, WaitingReason::AwaitingTimer),
                                    message(TriggerKind::TimerFire));
    const json::value value = base::to_json(resolution);
    for (const char* field : {"trigger_kind", "class", "model_visible", "prior_closure_outcome",
                              "prior_waiting_reason", "matched_waiting_reason", "evidence"})
        EXPECT_TRUE(value.as_object().contains(field)) << field;
    EXPECT_EQ(value.as_object().size(), 7U);
}

// Ruling 26: only what is below the model, and ticks without content, are held by a wait.
// contract: CONT-14
TEST(Continuation, EveryTriggerAgainstEveryWaitIsNamed) {
    for (const auto reason : kReasons)
        for (const auto trigger : kTriggers) {
            const auto resolution =
                resolve(closure(ClosureOutcome::Waiting, reason), message(trigger));
            SCOPED_TRACE(
                fmt::format("{} while {}", base::enum_name(trigger), base::enum_name(reason)));
            EXPECT_EQ(resolution.prior_closure_outcome, ClosureOutcome::Waiting);
            EXPECT_EQ(resolution.prior_waiting_reason, reason);
            EXPECT_EQ(resolution.matched_waiting_reason, expected_pair(reason, trigger));
            EXPECT_EQ(resolution.model_visible, !below_the_model(trigger));
            EXPECT_EQ(resolution.class_, below_the_model(trigger) ? ContinuationClass::LivenessOnly
                                         : expected_pair(reason, trigger)
                                             ? ContinuationClass::ResumeExpectedWait
                                             : ContinuationClass::ResumeOverride);
        }
}

TEST(Continuation, WithoutAWaitWorkGoesOnLocally) {
    for (const auto outcome :
         {ClosureOutcome::Completed, ClosureOutcome::Failed, ClosureOutcome::Continuable})
        for (const auto trigger : kTriggers) {
            const auto resolution = resolve(closure(outcome), message(trigger));
            EXPECT_FALSE(resolution.matched_waiting_reason);
            EXPECT_EQ(resolution.class_, below_the_model(trigger)
                                             ? ContinuationClass::LivenessOnly
                                             : ContinuationClass::LocalContinuation);
        }
}

// contract: CONT-10, CONT-11, CONT-12, CONT-02, TICK-07
TEST(Continuation, ATickReachesTheModelOnlyWithContent) {
    auto bare = message(TriggerKind::SystemTick, "wake up");
    bare.metadata = json::object{{"wake_hint", json::object{{"body", nullptr}}}};
    auto hint = bare;
    hint.metadata = json::object{
        {"wake_hint", json::object{{"body", {{"type", "text"}, {"text", "the build is red"}}}}}};
    const auto done = closure(ClosureOutcome::Completed);
    EXPECT_EQ(resolve(done, bare).class_, ContinuationClass::LivenessOnly);
    EXPECT_FALSE(resolve(done, bare).model_visible);
    EXPECT_EQ(resolve(done, hint).class_, ContinuationClass::LocalContinuation);
    EXPECT_TRUE(resolve(done, hint).model_visible);
    const auto external = closure(ClosureOutcome::Waiting, WaitingReason::AwaitingExternalChange);
    EXPECT_EQ(resolve(external, hint).class_, ContinuationClass::ResumeExpectedWait);
    EXPECT_FALSE(resolve(done, message(TriggerKind::SystemTick, "  \n")).model_visible);
}

// contract: CONT-08
TEST(Continuation, ATaskStatusNeverStartsATurn) {
    for (const auto reason : kReasons)
        EXPECT_FALSE(
            resolve(closure(ClosureOutcome::Waiting, reason), message(TriggerKind::TaskStatus))
                .model_visible);
}

TEST(Continuation, JsonIsAlwaysContent) {
    auto event = message(TriggerKind::SystemTick);
    event.body = domain::JsonBody{json::object{}};
    EXPECT_TRUE(is_contentful(event));
}

}  // namespace
}  // namespace scheduler
