#include "agent/children/decide.h"

#include <algorithm>

#include "agent/identity/closure.h"
#include "base/text.h"

namespace children {
namespace {

using domain::ClosureOutcome;
using domain::WaitingReason;

std::string last_words(const identity::AgentFacts& child) {
    const auto& terminal = child.statistics.last_turn_terminal;
    return terminal ? terminal->last_assistant_message.value_or("") : "";
}

std::string failure_of(const identity::AgentFacts& child) {
    const auto& failure = child.statistics.last_runtime_failure;
    if (failure) return failure->summary;
    const auto& terminal = child.statistics.last_turn_terminal;
    return terminal && terminal->reason ? *terminal->reason : "its last turn failed";
}

// What a task of its own is doing that it waits for.
std::optional<std::string> blocked_by(const identity::AgentFacts& child) {
    if (child.open_attempt || child.pending > 0) return std::nullopt;
    if (identity::is_blocked_by_task(child)) return "awaiting_managed_task";
    if (child.active_tasks.empty()) return std::nullopt;
    switch (child.active_tasks.front().status) {
        case domain::TaskStatus::Queued:
            return "managed_task_queued";
        case domain::TaskStatus::Cancelling:
            return "managed_task_cancelling";
        default:
            return "managed_task_running";
    }
}

std::optional<std::string> newest(const std::vector<domain::Brief>& briefs, bool is_progress) {
    for (const auto& brief : briefs)
        if ((brief.kind == domain::BriefKind::Ack) == is_progress && !brief.text.empty())
            return base::ellipsize(brief.text, kBriefChars);
    return std::nullopt;
}

bool is_over(const identity::AgentFacts& child) {
    return !std::holds_alternative<Continues>(judge(child)) &&
           !std::holds_alternative<AsksParent>(judge(child));
}

}  // namespace

Observability observe(const identity::AgentFacts& child, const std::vector<domain::Brief>& briefs) {
    Observability seen{.last_progress_brief = newest(briefs, true),
                       .last_result_brief = newest(briefs, false)};
    if (const auto& item = child.current_work_item) {
        seen.active_work_item_id = seen.current_work_item_id = item->id.value;
        seen.work_summary = base::ellipsize(item->objective, kBriefChars);
    }
    if (child.agent.identity.status == domain::IdentityStatus::Archived || is_over(child)) {
        seen.phase = Phase::Terminal;
        return seen;
    }
    if (child.open_attempt || child.pending > 0) return seen;
    seen.blocked_reason = blocked_by(child);
    if (seen.blocked_reason) {
        seen.phase = Phase::Blocked;
        return seen;
    }
    const auto closure = identity::decide_closure(child);
    if (closure.outcome != ClosureOutcome::Waiting) return seen;
    seen.phase = Phase::Waiting;
    if (closure.waiting_reason)
        seen.waiting_reason = std::string(base::enum_name(*closure.waiting_reason));
    return seen;
}

Verdict judge(const identity::AgentFacts& child, const std::optional<std::string>& spent) {
    if (child.open_attempt || !child.active_tasks.empty()) return Continues{};
    if (child.agent.stopped) return Ends{.how = Ending::Stopped, .report = last_words(child)};
    if (spent) return Ends{.how = Ending::Failed, .report = last_words(child), .error = spent};
    if (identity::is_set_aside(child))
        return Ends{.how = Ending::Failed,
                    .report = last_words(child),
                    .error = "the child is set aside after a fault: " + child.fault->reason};
    if (child.agent.paused || child.agent.booting || child.pending > 0 || child.pending_wake_hint)
        return Continues{};
    const auto closure = identity::decide_closure(child);
    switch (closure.outcome) {
        case ClosureOutcome::Continuable:
            return Continues{};
        case ClosureOutcome::Completed:
            return Ends{.how = Ending::Completed, .report = last_words(child)};
        case ClosureOutcome::Failed:
            return Ends{
                .how = Ending::Failed, .report = last_words(child), .error = failure_of(child)};
        case ClosureOutcome::Waiting:
            break;
    }
    if (closure.waiting_reason == WaitingReason::AwaitingOperatorInput &&
        child.agent.turn_index > 0) {
        std::string question = last_words(child);
        if (question.empty() && !closure.evidence.empty()) question = closure.evidence.front();
        return AsksParent{std::move(question)};
    }
    return Continues{};
}

bool is_resting(const identity::AgentFacts& child) {
    if (child.open_attempt || child.agent.booting || child.pending_wake_hint) return false;
    const bool may_run =
        !child.agent.stopped && !child.agent.paused && !identity::is_set_aside(child);
    if (child.pending > 0 && may_run) return false;
    if (!child.active_tasks.empty() || is_over(child)) return false;
    return !may_run || identity::decide_closure(child).outcome == domain::ClosureOutcome::Waiting;
}

}  // namespace children
