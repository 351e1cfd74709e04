#include "agent/identity/closure.h"

#include <algorithm>

#include "domain/turn.h"

namespace identity {
namespace {

using domain::ClosureOutcome;
using domain::WaitingReason;

WaitingReason reason_for(domain::WaitKind kind) {
    switch (kind) {
        case domain::WaitKind::Task:
            return WaitingReason::AwaitingTaskResult;
        case domain::WaitKind::External:
        case domain::WaitKind::System:
            return WaitingReason::AwaitingExternalChange;
        case domain::WaitKind::Operator:
            return WaitingReason::AwaitingOperatorInput;
        case domain::WaitKind::Timer:
            return WaitingReason::AwaitingTimer;
    }
    return WaitingReason::AwaitingExternalChange;
}

domain::ClosureDecision waiting(WaitingReason reason, std::string evidence) {
    return {.outcome = ClosureOutcome::Waiting,
            .waiting_reason = reason,
            .evidence = {std::move(evidence)}};
}

domain::ClosureDecision decide_outcome(const AgentFacts& facts) {
    const auto& agent = facts.agent;
    if (facts.open_attempt && std::holds_alternative<domain::Parked>(facts.open_attempt->state))
        return waiting(WaitingReason::AwaitingTimer,
                       "the turn waits for a provider's limit to reset");
    if (facts.open_attempt) return waiting(WaitingReason::AwaitingExternalChange, "a turn is open");
    if (agent.turn_index == 0)
        return waiting(WaitingReason::AwaitingOperatorInput, "no turn has run yet");
    const auto& terminal = facts.statistics.last_turn_terminal;
    if (!terminal || terminal->turn_index != agent.turn_index)
        return waiting(WaitingReason::AwaitingExternalChange,
                       "the last turn has no terminal record");
    if (terminal->reason == domain::kReasonInterrupted)
        return waiting(WaitingReason::AwaitingOperatorInput,
                       "the last turn was interrupted and can be resumed");
    if (terminal->kind != domain::TerminalKind::Completed)
        return {.outcome = ClosureOutcome::Failed,
                .evidence = {"the last turn ended as a failure"}};
    for (const auto& wait : facts.open_waits)
        if (wait.status == domain::WaitStatus::Active)
            return waiting(reason_for(wait.kind), "an active wait: " + wait.waiting_for);
    if (!facts.active_timers.empty())
        return waiting(WaitingReason::AwaitingTimer, "an active timer");
    return {.outcome = ClosureOutcome::Completed,
            .evidence = {"the last turn completed and nothing is waited for"}};
}

}  // namespace

domain::ClosureDecision decide_closure(const AgentFacts& facts) {
    auto decision = decide_outcome(facts);
    decision.runtime_posture =
        facts.agent.sleep ? domain::RuntimePosture::Sleeping : domain::RuntimePosture::Awake;
    return decision;
}

bool is_blocked_by_task(const AgentFacts& facts) {
    return std::ranges::any_of(facts.open_waits, [](const domain::Wait& wait) {
        return wait.kind == domain::WaitKind::Task && wait.status == domain::WaitStatus::Active;
    });
}

domain::AgentStatus status_of(const AgentFacts& facts) {
    using domain::AgentStatus;
    if (facts.agent.stopped) return AgentStatus::Stopped;
    if (facts.agent.paused) return AgentStatus::Paused;
    if (facts.agent.booting) return AgentStatus::Booting;
    if (facts.open_attempt) return AgentStatus::AwakeRunning;
    if (is_blocked_by_task(facts)) return AgentStatus::AwaitingTask;
    return facts.agent.sleep ? AgentStatus::Asleep : AgentStatus::AwakeIdle;
}

}  // namespace identity
