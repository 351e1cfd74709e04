#include "domain/labels.h"

#include <gtest/gtest.h>

#include "domain/agent.h"
#include "domain/message.h"
#include "domain/record.h"
#include "domain/tool.h"
#include "domain/turn.h"
#include "domain/waiting.h"

namespace domain {
namespace {

// The enum has exactly these wire names, each reads back, and no other word is taken.
template <class E>
void expect_exactly(const std::vector<std::string>& names) {
    const auto known = base::typed::type_of<E>().names;
    EXPECT_EQ(std::vector<std::string>(known.begin(), known.end()), names);
    for (const auto& name : names) {
        const auto read = base::from_json<E>(json::value(name));
        ASSERT_TRUE(read) << name << ": " << read.error().message;
        EXPECT_EQ(base::to_json(*read), json::value(name));
    }
    for (const auto* word : {"something_else", "", "OperatorPrompt"}) {
        const auto read = base::from_json<E>(json::value(word));
        ASSERT_FALSE(read) << word;
        EXPECT_EQ(read.error().code, base::ErrorCode::InvalidInput);
    }
}

// Ruling 27: the transport of an operator adds one name to each of the two.
// contract: MSG-30
TEST(Labels, DeliverySurfaceHasElevenNamesAndNoTwelfth) {
    expect_exactly<DeliverySurface>({"cli_prompt", "run_once", "http_public_enqueue",
                                     "http_webhook", "http_callback_enqueue", "http_callback_wake",
                                     "http_control_prompt", "remote_operator_transport",
                                     "timer_scheduler", "runtime_system", "task_rejoin"});
}

// contract: MSG-31
TEST(Labels, AdmissionContextHasSixNames) {
    expect_exactly<AdmissionContext>(
        {"public_unauthenticated", "control_authenticated", "operator_transport_authenticated",
         "external_trigger_capability", "local_process", "runtime_owned"});
}

// contract: MSG-32
TEST(Labels, MessageKindHasTwelveNames) {
    expect_exactly<MessageKind>({"operator_prompt", "channel_event", "webhook_event",
                                 "callback_event", "timer_tick", "system_tick", "task_result",
                                 "task_status", "control", "brief_ack", "brief_result",
                                 "internal_followup"});
}

// contract: TRUST-01
TEST(Labels, AuthorityClassHasFourNames) {
    expect_exactly<AuthorityClass>(
        {"operator_instruction", "runtime_instruction", "integration_signal", "external_evidence"});
}

// contract: TRUST-11
TEST(Labels, TrustLevelHasFourNames) {
    expect_exactly<TrustLevel>(
        {"trusted_operator", "trusted_system", "trusted_integration", "untrusted_external"});
}

// contract: TRUST-25
TEST(Labels, PriorityHasFourNamesFromFirstToLast) {
    expect_exactly<Priority>({"interject", "next", "normal", "background"});
}

// contract: STATE-04
TEST(Labels, AgentStatusHasSevenNames) {
    expect_exactly<AgentStatus>(
        {"booting", "awake_idle", "awake_running", "awaiting_task", "asleep", "paused", "stopped"});
}

TEST(Labels, TriggerAndContinuationNamesAreThoseOfTheWire) {
    expect_exactly<TriggerKind>({"operator_input", "task_result", "external_event", "timer_fire",
                                 "internal_followup", "system_tick", "task_status", "control",
                                 "brief_delivery"});
    expect_exactly<ContinuationClass>(
        {"resume_expected_wait", "resume_override", "local_continuation", "liveness_only"});
}

TEST(Labels, ClosureNamesAreThoseOfTheWire) {
    expect_exactly<ClosureOutcome>({"completed", "continuable", "failed", "waiting"});
    expect_exactly<WaitingReason>({"awaiting_operator_input", "awaiting_external_change",
                                   "awaiting_task_result", "awaiting_timer"});
    expect_exactly<RuntimePosture>({"awake", "sleeping"});
    expect_exactly<ReactivationMode>({"continue_active", "activate_queued"});
    expect_exactly<WorkSignalStatus>({"active", "queued"});
    expect_exactly<TerminalKind>({"completed", "aborted", "baseline_over_budget"});
}

TEST(Labels, RecordNamesAreThoseOfTheWire) {
    expect_exactly<QueueStatus>(
        {"queued", "claimed", "processed", "interjected", "interrupted", "dropped"});
    expect_exactly<BriefKind>({"ack", "result", "failure"});
    expect_exactly<TranscriptKind>({"incoming_message", "assistant_round", "tool_results",
                                    "runtime_failure", "continuation_prompt"});
    expect_exactly<TaskKind>({"command_task", "child_agent_task", "sleep_job", "subagent_task",
                              "worktree_subagent_task", "plan_task"});
    expect_exactly<TaskStatus>(
        {"queued", "running", "cancelling", "completed", "failed", "cancelled", "interrupted"});
    expect_exactly<TimerStatus>({"active", "completed", "cancelled"});
    expect_exactly<WaitStatus>({"active", "triggered", "resolved", "cancelled", "expired"});
    expect_exactly<WaitKind>({"task", "external", "operator", "timer", "system"});
    expect_exactly<ResultStatus>({"ok", "error", "timeout", "cancelled", "skipped"});
    expect_exactly<CallState>({"pending", "started", "finished"});
    expect_exactly<ProjectionKind>({"canonical_root", "git_worktree_root"});
    expect_exactly<AccessMode>({"shared_read", "exclusive_write"});
    expect_exactly<FailureCategory>({"transport", "protocol", "runtime", "task", "unknown"});
}

}  // namespace
}  // namespace domain
