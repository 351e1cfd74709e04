// How a command task's record moves. Pure.
#pragma once

#include <string>
#include <variant>

#include "domain/message.h"
#include "exec/results/preview.h"
#include "exec/tasks/output_gate.h"
#include "exec/tasks/spec.h"
#include "exec/tasks/supervisor/supervisor.h"

namespace tasks {

// A command to run, and on whose behalf.
struct CommandFacts {
    domain::TaskId id;
    domain::AgentId agent_id;
    std::string summary;
    CommandTaskSpec spec{};
    std::string workdir;  // Resolved.
    std::string output_path;
    bool confined{false};
    std::string network_log{};
    bool promoted_from_exec_command{false};
    std::optional<domain::MessageId> parent_message_id{};
    std::optional<domain::WorkItemId> work_item_id{};
    domain::TrustLevel trust{domain::TrustLevel::UntrustedExternal};
    bool withholds_output{false};  // Until it has passed the gate.
};

// The record of a command that runs, with what it has printed so far.
domain::Task running_task(const CommandFacts& facts, const results::Preview& initial_output,
                          base::Time now);

// The record of a task whose command is over. A stop that was asked for decides only when it was
// the stop that ended it; a process that ended by itself a moment before has its own outcome.
domain::Task ended_task(domain::Task task, const supervisor::End& end,
                        const results::Preview& output, base::Time now);

// The record as far as its output goes, when what passed the gate is known. No answer: nobody
// asked, and everything is shown.
domain::Task judged_task(domain::Task task, const std::optional<OutputAnswer>& answer);

// What asking a task to stop comes to. `force` is true from the second time on.
struct StopOrdered {
    domain::Task task;
    bool force{false};
    friend bool operator==(const StopOrdered&, const StopOrdered&) = default;
};
struct AlreadyOver {
    friend bool operator==(const AlreadyOver&, const AlreadyOver&) = default;
};
using StopDecision = std::variant<StopOrdered, AlreadyOver>;
StopDecision decide_stop(domain::Task task, base::Time now);
// The same for a task of any kind, by its detail: first softly, then by force.
template <class Detail>
StopDecision order_stop(domain::Task task, Detail detail, base::Time now) {
    if (domain::is_terminal(task.status)) return AlreadyOver{};
    const bool force = detail.cancel_requested.value_or(false);
    if (force)
        detail.force_stop_requested = true;
    else
        detail.status_before_stop = std::string(base::enum_name(task.status));
    detail.cancel_requested = true;
    task.status = domain::TaskStatus::Cancelling;
    task.detail = base::to_json(detail);
    task.updated_at = now;
    return StopOrdered{std::move(task), force};
}

// How the task ended, in a few words: "exited with status 3".
std::string outcome_words(const domain::Task& task);

// The message that brings the result back. Its output is fenced as evidence: whatever a command
// prints, it has no authority.
domain::Message result_message(const domain::Task& task, const results::Preview& output,
                               domain::MessageId id, base::Time now);

}  // namespace tasks
