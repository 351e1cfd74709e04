#include "agent/work/decide.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/text.h"

namespace work {
namespace {

using domain::PlanStatus;
using domain::WorkItem;
using domain::WorkItemState;
using domain::WorkReadiness;

void touch(WorkItem& item, base::Time now) {
    ++item.revision;
    item.updated_at = now;
}

// Only what is weaker than the runtime's own word is kept, and the weakest of several.
void label(WorkItem& item, const std::optional<domain::TrustLevel>& trust) {
    if (!trust || *trust <= domain::TrustLevel::TrustedSystem) return;
    item.trust = item.trust ? std::max(*item.trust, *trust) : *trust;
}

void clear_blocker(WorkItem& item) {
    item.blocked_by.reset();
    item.recheck_at.reset();
    item.recheck_consumed_at.reset();
}

void set_blocker(WorkItem& item, const Update& change, base::Time now) {
    item.blocked_by = *change.blocked_by;
    item.recheck_at =
        now + (change.recheck_after_ms ? std::chrono::milliseconds(*change.recheck_after_ms)
                                       : kRecheckDefault);
    item.recheck_consumed_at.reset();
}

// The file as it is now; nothing when nobody read it.
bool takes_plan(WorkItem& item, const std::optional<domain::PlanArtifact>& artifact) {
    if (!artifact || item.plan_artifact == artifact) return false;
    const bool changed = !item.plan_artifact || item.plan_artifact->hash != artifact->hash;
    item.plan_artifact = artifact;
    return changed;
}

std::optional<Refusal> too_long(std::string_view field, std::string_view text,
                                std::size_t chars_max) {
    if (base::char_count(text) <= chars_max) return std::nullopt;
    return Refusal{.kind = "invalid_tool_input",
                   .message = fmt::format("{} has {} characters; the limit is {}", field,
                                          base::char_count(text), chars_max),
                   .field = std::string(field)};
}

std::optional<Refusal> blank(std::string_view field, std::string_view text) {
    if (!base::trim(text).empty()) return std::nullopt;
    return Refusal{.kind = "invalid_tool_input",
                   .message = fmt::format("{} must not be blank", field),
                   .field = std::string(field)};
}

std::optional<Refusal> check_todos(const std::vector<domain::TodoItem>& todos) {
    if (todos.size() > kTodosMax)
        return Refusal{.kind = "invalid_tool_input",
                       .message = fmt::format("todo_list has {} entries; the limit is {}",
                                              todos.size(), kTodosMax),
                       .field = "todo_list"};
    for (const auto& todo : todos) {
        if (auto refusal = blank("todo_list", todo.text)) return refusal;
        if (auto refusal = too_long("todo_list", todo.text, kTodoCharsMax)) return refusal;
    }
    return std::nullopt;
}

}  // namespace

ActiveWaits active_waits(const domain::WorkItemId& item, const std::vector<domain::Wait>& waits) {
    ActiveWaits active;
    for (const auto& wait : waits) {
        if (wait.work_item_id != item || wait.status != domain::WaitStatus::Active) continue;
        if (wait.kind == domain::WaitKind::Task) active.task = true;
        if (wait.kind == domain::WaitKind::External) active.external = true;
    }
    return active;
}

SchedulingState scheduling_state(const WorkItem& item, ActiveWaits waits) {
    if (item.state == WorkItemState::Completed) return SchedulingState::Completed;
    if (item.plan_status == PlanStatus::NeedsInput) return SchedulingState::WaitingOperator;
    if (waits.task) return SchedulingState::WaitingTask;
    if (waits.external) return SchedulingState::WaitingExternal;
    return item.blocked_by ? SchedulingState::Blocked : SchedulingState::Runnable;
}

WorkReadiness label_of(SchedulingState state) {
    switch (state) {
        case SchedulingState::Runnable:
            return WorkReadiness::Runnable;
        case SchedulingState::WaitingOperator:
            return WorkReadiness::WaitingForOperator;
        case SchedulingState::WaitingTask:
        case SchedulingState::WaitingExternal:
        case SchedulingState::Blocked:
            return WorkReadiness::Blocked;
        case SchedulingState::Completed:
            return WorkReadiness::Completed;
    }
    return WorkReadiness::Blocked;
}

Focus focus_of(const WorkItem& item, bool is_current) {
    if (item.state == WorkItemState::Completed) return Focus::Completed;
    if (is_current) return Focus::Current;
    return item.blocked_by ? Focus::Blocked : Focus::Queued;
}

WorkItem create(const NewItem& made, base::Time now) {
    WorkItem item{.id = made.id,
                  .agent_id = made.agent_id,
                  .workspace_id = made.workspace_id,
                  .objective = made.objective,
                  .plan_status = made.plan_status,
                  .plan_artifact = made.plan_artifact,
                  .todo_list = made.todo_list,
                  .created_at = now,
                  .updated_at = now};
    label(item, made.trust);
    return item;
}

Changed update(WorkItem item, const Update& change, base::Time now) {
    Changed changed{.item = std::move(item)};
    auto& next = changed.item;
    const WorkItem before = next;
    if (change.objective) next.objective = *change.objective;
    if (change.plan_status) next.plan_status = *change.plan_status;
    if (change.todo_list) next.todo_list = *change.todo_list;
    if (change.blocked_by && change.blocked_by->empty()) {
        clear_blocker(next);
        next.turns_without_progress = 0;
    } else if (change.blocked_by) {
        set_blocker(next, change, now);
        changed.releases_focus = "work_item_blocked";
    }
    if (change.plan_status == PlanStatus::NeedsInput)
        changed.releases_focus = "work_item_needs_input";
    takes_plan(next, change.plan_artifact);
    if (next == before && !change.objective && !change.plan_status && !change.todo_list &&
        !change.blocked_by)
        return changed;
    label(next, change.trust);
    touch(next, now);
    changed.is_written = true;
    return changed;
}

Changed complete(WorkItem item, const Complete& change, base::Time now) {
    Changed changed{.item = std::move(item)};
    auto& next = changed.item;
    if (next.state == WorkItemState::Completed) return changed;
    next.state = WorkItemState::Completed;
    clear_blocker(next);
    next.turns_without_progress = 0;
    next.progress_digest.reset();
    takes_plan(next, change.plan_artifact);
    touch(next, now);
    changed.is_written = true;
    changed.releases_focus = "work_item_completed";
    return changed;
}

std::optional<Refusal> may_change(const std::optional<WorkItem>& item, const domain::WorkItemId& id,
                                  const domain::AgentId& agent) {
    // One of another agent is as unknown as one that does not exist.
    if (!item || item->agent_id != agent)
        return Refusal{.kind = "unknown_work_item",
                       .code = base::ErrorCode::NotFound,
                       .message = fmt::format("agent {} has no work item {}", agent, id)};
    if (item->state == WorkItemState::Completed)
        return Refusal{.kind = "work_item_completed",
                       .code = base::ErrorCode::Conflict,
                       .message = fmt::format("work item {} is completed", id)};
    return std::nullopt;
}

std::optional<Refusal> check(const NewItem& made) {
    if (auto refusal = blank("objective", made.objective)) return refusal;
    if (auto refusal = too_long("objective", made.objective, kObjectiveCharsMax)) return refusal;
    return check_todos(made.todo_list);
}

std::optional<Refusal> check(const Update& change) {
    if (change.objective) {
        if (auto refusal = blank("objective", *change.objective)) return refusal;
        if (auto refusal = too_long("objective", *change.objective, kObjectiveCharsMax))
            return refusal;
    }
    if (change.todo_list)
        if (auto refusal = check_todos(*change.todo_list)) return refusal;
    if (change.blocked_by)
        if (auto refusal = too_long("blocked_by", *change.blocked_by, kBlockerCharsMax))
            return refusal;
    if (!change.recheck_after_ms) return std::nullopt;
    if (!change.blocked_by || change.blocked_by->empty())
        return Refusal{.kind = "invalid_tool_input",
                       .message = "recheck_after needs a blocked_by in the same call",
                       .field = "recheck_after"};
    if (*change.recheck_after_ms < 1 || *change.recheck_after_ms > kRecheckMsMax)
        return Refusal{.kind = "invalid_tool_input",
                       .message = fmt::format("recheck_after is {} ms; it must be from 1 to {}",
                                              *change.recheck_after_ms, kRecheckMsMax),
                       .field = "recheck_after"};
    return std::nullopt;
}

Transition transition(const std::optional<WorkItem>& previous, const WorkItem& picked,
                      const std::optional<std::string>& reason) {
    Transition moved{.current_work_item_id = picked.id,
                     .reason = reason,
                     .current_readiness = readiness_of(picked)};
    if (previous) {
        moved.previous_work_item_id = previous->id;
        moved.previous_readiness = readiness_of(*previous);
    }
    if (!previous || previous->id == picked.id)
        moved.switch_kind = "same_work_item";
    else if (moved.previous_readiness == WorkReadiness::Runnable)
        moved.switch_kind = "explicit_focus_override";
    else
        moved.switch_kind = "explicit_focus_pick";
    moved.lacks_reason = moved.switch_kind == "explicit_focus_override" && !reason;
    moved.current_focus_mode =
        moved.current_readiness == WorkReadiness::Runnable ? "runnable" : "inspection";
    return moved;
}

std::optional<domain::WorkSignal> activation(const Queue& queue) {
    const auto wakes = [&](const std::optional<WorkItem>& item) {
        return item && readiness_of(*item) == WorkReadiness::Runnable &&
               (!queue.held_since || item->updated_at > *queue.held_since);
    };
    if (wakes(queue.current))
        return domain::WorkSignal{.work_item_id = queue.current->id,
                                  .status = domain::WorkSignalStatus::Active,
                                  .reactivation_mode = domain::ReactivationMode::ContinueActive};
    if (wakes(queue.queued))
        return domain::WorkSignal{.work_item_id = queue.queued->id,
                                  .status = domain::WorkSignalStatus::Queued,
                                  .reactivation_mode = domain::ReactivationMode::ActivateQueued};
    return std::nullopt;
}

bool is_recheck_due(const WorkItem& item, base::Time now) {
    return item.state == WorkItemState::Open && item.blocked_by && item.recheck_at &&
           *item.recheck_at <= now &&
           (!item.recheck_consumed_at || *item.recheck_consumed_at < *item.recheck_at);
}

WorkItem consume_recheck(WorkItem item, base::Time now) {
    item.recheck_consumed_at = now;
    touch(item, now);
    return item;
}

Settled settle(WorkItem item, const TurnEnd& end, base::Time now) {
    Settled settled{.item = std::move(item)};
    auto& next = settled.item;
    const WorkItem before = next;
    settled.plan_changed = takes_plan(next, end.plan_artifact);
    const bool is_runnable = readiness_of(next) == WorkReadiness::Runnable;
    if (end.is_completed && is_runnable && end.has_open_task) {
        next.blocked_by = std::string(kBlockedByTask);
        settled.waits_for_task = true;
    } else if (end.is_completed && is_runnable) {
        const bool is_progress =
            settled.plan_changed ||
            (!end.progress_digest.empty() && end.progress_digest != next.progress_digest);
        if (is_progress) {
            next.turns_without_progress = 0;
            if (!end.progress_digest.empty()) next.progress_digest = end.progress_digest;
        } else if (end.was_started_for_it) {
            ++next.turns_without_progress;
        }
        if (next.turns_without_progress >= end.turns_without_progress_max) {
            settled.lacks_progress = true;
            next.blocked_by =
                fmt::format("no progress in {} turns in a row", next.turns_without_progress);
        }
    }
    // Bookkeeping alone is no change that a client has to see.
    settled.is_written = settled.plan_changed || next.blocked_by != before.blocked_by;
    if (settled.is_written) touch(next, now);
    return settled;
}

}  // namespace work
