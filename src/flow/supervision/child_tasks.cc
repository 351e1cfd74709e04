#include "flow/supervision/child_tasks.h"

#include "agent/children/decide.h"
#include "base/log/log.h"
#include "domain/events/messages.h"
#include "domain/events/tasks.h"

namespace supervision {
namespace {

// These steps have nobody who would repeat them, so they are retried until they are committed.
constexpr events::CommitOptions kUntilCommitted{.on_fault = events::OnFault::Retry};

domain::AgentId child_of(const domain::Task& task) {
    return {tasks::child_detail_of(task).child_agent_id};
}

std::optional<domain::Task> child_task_in(const domain::Event& event) {
    auto task = base::from_json<domain::Task>(event.data);
    if (!task || task->kind != domain::TaskKind::ChildAgentTask) return std::nullopt;
    return std::move(*task);
}

}  // namespace

ChildTasks::ChildTasks(ChildTaskParts parts)
    : parts_(std::move(parts)),
      committer_({parts_.store, parts_.loop, parts_.clock, parts_.ids, parts_.feed}) {
    parts_.tasks.add(*this);
    subscription_ = parts_.feed.subscribe([this](const events::Committed& one) { committed(one); });
}

ChildTasks::~ChildTasks() {
    parts_.tasks.remove(*this);
}

void ChildTasks::committed(const events::Committed& committed) {
    namespace kinds = domain::events;
    const auto& event = committed.event;
    if (kinds::is<kinds::TaskInputDelivered>(event)) {
        if (const auto child = base::string_at(event.data, "child_agent_id"); !child.empty())
            parts_.wake({child});
        return;
    }
    if (kinds::is<kinds::MessageAdmitted>(event)) {
        const auto* origin = base::find(event.data, "origin");
        if (origin && base::string_at(*origin, "subsystem") == kSpawnSubsystem && parts_.wake_named)
            parts_.wake_named(committed.agent_id);
        return;
    }
    const bool is_spawned = kinds::is<kinds::TaskChildSpawned>(event);
    const bool is_updated = kinds::is<kinds::TaskStatusUpdated>(event);
    const bool is_over = kinds::is<kinds::TaskResultReceived>(event);
    if (!is_spawned && !is_updated && !is_over) return;
    const auto task = child_task_in(event);
    if (!task) return;
    if (is_spawned)
        parts_.wake(child_of(*task));
    else if (is_over)
        parts_.tasks.has_ended(task->agent_id, task->id);
    else if (tasks::child_detail_of(*task).pending_end && !domain::is_terminal(task->status))
        clean(*task);
    else if (!domain::is_terminal(task->status))
        parts_.wake(task->agent_id);  // The child may have asked it something.
}

tasks::StopDecision ChildTasks::decide_stop(domain::Task task, base::Time now) const {
    return tasks::decide_child_stop(std::move(task), now);
}

void ChildTasks::stop(const domain::Task& task, bool /*force*/) {
    committer_.commit<bool>(
        lifetime_, kUntilCommitted,
        [task](events::Log& log) { return supervision::stop(log, task); },
        [this, task](const base::Result<bool>& has_child) {
            if (!has_child)
                return base::log_error("the child of task {} could not be stopped: {}", task.id,
                                       has_child.error().message);
            if (!*has_child) return;
            const auto child = child_of(task);
            parts_.halt(child, "supervisor_stopped");
            // Everything below it, too: the end of each comes back to the child, which then ends.
            parts_.tasks.active(
                child, [this, child](const base::Result<std::vector<domain::Task>>& active) {
                    if (!active) return;
                    for (const auto& one : *active)
                        parts_.tasks.stop(child, one.id,
                                          [](const base::Result<tasks::StopReceipt>&) {});
                });
            parts_.wake(child);
        });
}

void ChildTasks::resume(const domain::Task& task) {
    if (tasks::child_detail_of(task).pending_end) return clean(task);
    if (task.status == domain::TaskStatus::Cancelling) return stop(task, false);
    resumed_.push_back({.parent = task.agent_id, .task = task.id, .child = child_of(task)});
    look_at_next();
}

void ChildTasks::look_at_next() {
    if (looks_ || resumed_.empty()) return;
    looks_ = true;
    const auto next = std::move(resumed_.front());
    resumed_.pop_front();
    struct Found {
        bool is_parent_stopped{false};
        bool has_tasks{false};
        bool is_resting{false};
    };
    committer_.load<Found>(
        lifetime_,
        [next](store::Tx& tx) -> base::Result<Found> {
            Found found;
            const auto above = TRY(tx.agent(next.parent));
            found.is_parent_stopped = !above || above->stopped;
            if (!TRY(tx.agent(next.child))) return found;
            const auto facts = TRY(identity::load_facts(tx, next.child));
            found.has_tasks = !facts.active_tasks.empty();
            found.is_resting = children::is_resting(facts);
            return found;
        },
        [this, next](const base::Result<Found>& found) {
            looks_ = false;
            look_at_next();
            // What cannot be read is reported when the child is worked on.
            if (found && found->is_parent_stopped)
                return parts_.tasks.stop(next.parent, next.task,
                                         [](const base::Result<tasks::StopReceipt>&) {});
            if (found && found->has_tasks) parts_.tasks.recover({next.child});
            if (!found || !found->is_resting) parts_.wake(next.child);
        });
}

base::Status ChildTasks::refresh(store::Tx& tx, domain::Task& task) const {
    if (domain::is_terminal(task.status)) return {};
    auto detail = tasks::child_detail_of(task);
    if (detail.pending_end) return {};
    if (auto seen = TRY(observe(tx, child_of(task)))) {
        detail.child_observability = std::move(*seen);
        task.detail = base::to_json(detail);
    }
    return {};
}

void ChildTasks::check(const domain::AgentId& agent) {
    committer_.commit<bool>(
        lifetime_, {},
        [agent](events::Log& log) -> base::Result<bool> {
            if (!TRY(log.tx().agent(agent))) return false;
            const auto facts = TRY(identity::load_facts(log.tx(), agent));
            return settle(log, facts);
        },
        [](const base::Result<bool>&) {});  // A record that cannot be read says so elsewhere.
}

void ChildTasks::clean(const domain::Task& task) {
    const auto detail = tasks::child_detail_of(task);
    if (!detail.worktree) return finish(task, {});
    if (!parts_.clean_worktree) {
        auto kept = *detail.worktree;
        kept.cleanup_status = "retained";
        kept.cleanup_reason = "change_detection_failed";
        return finish(task, kept);
    }
    if (!cleaning_.insert(task.id).second) return;
    parts_.clean_worktree(child_of(task), *detail.worktree,
                          lifetime_.guard([this, task](const tasks::ChildWorktree& worktree) {
                              cleaning_.erase(task.id);
                              finish(task, worktree);
                          }));
}

void ChildTasks::finish(const domain::Task& task, const tasks::ChildWorktree& worktree) {
    committer_.commit<bool>(
        lifetime_, kUntilCommitted,
        [id = task.id, worktree](events::Log& log) {
            return supervision::finish(log, id, worktree);
        },
        [id = task.id](const base::Result<bool>& done) {
            if (!done)
                base::log_error("the end of task {} could not be recorded: {}", id,
                                done.error().message);
        });
}

}  // namespace supervision
