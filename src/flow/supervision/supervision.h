// Children and the agents that supervise them, inside the caller's transaction.
#pragma once

#include <optional>
#include <string>

#include "agent/identity/facts.h"
#include "exec/tasks/child_task.h"
#include "exec/tools/mutation.h"
#include "record/events/events.h"

namespace supervision {

// Of the first message of a named agent that another agent made.
inline constexpr std::string_view kSpawnSubsystem = "spawn_agent";

// The turn that asks, as far as it matters here.
struct Asking {
    const domain::Agent& agent;
    const domain::Attempt& attempt;
    const domain::Message& message;                                   // That the turn answers.
    domain::TrustLevel trust{domain::TrustLevel::UntrustedExternal};  // That it may pass on.
};

// Makes the child, its first message and the supervising task. When the tree has grown to its bound
// since the call was decided, the task fails at once and no child is made.
base::Status spawn(events::Log& log, const Asking& asking, const tools::SpawnChild& spawn);

// Stores a named agent that does not exist yet, and gives it its first message, if there is one.
base::Status introduce(events::Log& log, const Asking& asking, const tools::SpawnNamed& spawn);

// Hands the text to the child of the task; nothing when the task is over.
base::Status follow_up(events::Log& log, const Asking& asking, const tools::ChildInput& input);

// A notification of a child: its parent receives it, and no operator.
base::Status notify_parent(events::Log& log, const domain::Agent& child,
                           domain::OperatorNotification notification);

// There is nothing to do for this agent right now: when it is a child that is done, its task ends;
// when it asks its operator something, its parent receives the question, once. `spent`: the budget
// that keeps it from going on. False when nothing was written.
base::Result<bool> settle(events::Log& log, const identity::AgentFacts& child,
                          const std::optional<std::string>& spent = {});

// The worktree of a child that is over was checked: ends its task. False when the task had ended.
base::Result<bool> finish(events::Log& log, const domain::TaskId& task,
                          const tasks::ChildWorktree& worktree);

// Stops the child of a task: it runs no further turn. False when there is no such child; then the
// task has ended here.
base::Result<bool> stop(events::Log& log, const domain::Task& task);

// What a step of a child has spent is paid by everyone above it, too. Nothing for other agents.
base::Status charge(store::Tx& tx, const domain::Agent& agent,
                    const domain::AgentStatistics& before, const domain::AgentStatistics& after);

// How the child of a task stands now; empty when it is gone.
base::Result<std::optional<json::object>> observe(store::Tx& tx, const domain::AgentId& child);

}  // namespace supervision
