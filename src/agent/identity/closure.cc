#include "agent/identity/closure.h"

#include <algorithm>

#include "agent/work/decide.h"
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

// Blocked work is waited for when nothing else is: the operator's word first, then tasks.
std::optional<domain::ClosureDecision> waiting_for_work(const AgentFacts& facts) {
    for (const auto kind :
         {domain::WaitKind::Operator, domain::WaitKind::Task, domain::WaitKind::External})
        for (const auto& wait : facts.open_waits)
            if (wait.work_item_id && wait.kind == kind && wait.status == domain::WaitStatus::Active)
                return waiting(reason_for(kind), "a work item waits: " + wait.waiting_for);
    return std::nullopt;
}

domain::ClosureDecision decide_outcome(const AgentFacts& facts) {
    const auto& agent = facts.agent;
    if (facts.open_attempt && std::holds_alternative<domain::Parked>(facts.open_attempt->state))
        return waiting(WaitingReason::AwaitingTimer,
                       "the turn waits for a provider's limit to reset");
    if (facts.open_attempt) return waiting(WaitingReason::AwaitingExternalChange, "a turn is open");
    const auto& terminal = facts.statistics.last_turn_terminal;
    if (agent.turn_index > 0 && (!terminal || terminal->turn_index != agent.turn_index))
        return waiting(WaitingReason::AwaitingExternalChange,
                       "the last turn has no terminal record");
    if (auto signal = work_signal(facts))
        return {.outcome = ClosureOutcome::Continuable,
                .work_signal = std::move(signal),
                .evidence = {"a work item is runnable"}};
    if (agent.turn_index == 0)
        return waiting(WaitingReason::AwaitingOperatorInput, "no turn has run yet");
    if (terminal->reason == domain::kReasonInterrupted)
        return waiting(WaitingReason::AwaitingOperatorInput,
                       "the last turn was interrupted and can be resumed");
    if (terminal->kind != domain::TerminalKind::Completed)
        return {.outcome = ClosureOutcome::Failed,
                .evidence = {"the last turn ended as a failure"}};
    for (const auto& wait : facts.open_waits)
        if (wait.status == domain::WaitStatus::Active && !wait.work_item_id)
            return waiting(reason_for(wait.kind), "an active wait: " + wait.waiting_for);
    if (std::ranges::any_of(facts.active_timers,
                            [](const auto& timer) { return !timer.work_item_id; }))
        return waiting(WaitingReason::AwaitingTimer, "an active timer");
    if (auto blocked = waiting_for_work(facts)) return *blocked;
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

std::optional<domain::WorkSignal> work_signal(const AgentFacts& facts) {
    return work::activation({.current = facts.current_work_item,
                             .queued = facts.queued_work_item,
                             .held_since = work_held_since(facts.agent, facts.statistics)});
}

bool is_blocked_by_task(const AgentFacts& facts) {
    return std::ranges::any_of(facts.open_waits, [](const domain::Wait& wait) {
        return wait.kind == domain::WaitKind::Task && wait.status == domain::WaitStatus::Active &&
               !wait.work_item_id;
    });
}

bool is_set_aside(const AgentFacts& facts) {
    return facts.fault && facts.fault->is_set_aside;
}

domain::AgentStatus status_of(const AgentFacts& facts) {
    using domain::AgentStatus;
    if (facts.agent.stopped) return AgentStatus::Stopped;
    if (facts.agent.paused || is_set_aside(facts)) return AgentStatus::Paused;
    if (facts.agent.booting) return AgentStatus::Booting;
    if (facts.open_attempt) return AgentStatus::AwakeRunning;
    if (is_blocked_by_task(facts)) return AgentStatus::AwaitingTask;
    return facts.agent.sleep ? AgentStatus::Asleep : AgentStatus::AwakeIdle;
}

}  // namespace identity
