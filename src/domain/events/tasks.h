// Events of tasks.
#pragma once

#include "domain/events/payload.h"
#include "domain/waiting.h"

namespace domain::events {

// A whole TaskRecord, with its id under the name that other events use for it, too.
struct TaskRecord : Task {
    TaskId task_id;
    TaskRecord() = default;
    explicit TaskRecord(Task task) : Task(std::move(task)), task_id(id) {}
};
BOOST_DESCRIBE_STRUCT(TaskRecord, (Task), (task_id))

struct TaskCreated : TaskRecord {
    static constexpr std::string_view kKind = "task_created";
    using TaskRecord::TaskRecord;
};
struct TaskStatusUpdated : TaskRecord {
    static constexpr std::string_view kKind = "task_status_updated";
    using TaskRecord::TaskRecord;
};
struct TaskResultReceived : TaskRecord {
    static constexpr std::string_view kKind = "task_result_received";
    using TaskRecord::TaskRecord;
};
struct CommandTaskTerminalPersisted : TaskRecord {
    static constexpr std::string_view kKind = "command_task_terminal_persisted";
    using TaskRecord::TaskRecord;
};
// A child agent was made, and this task supervises it.
struct TaskChildSpawned : TaskRecord {
    static constexpr std::string_view kKind = "task_child_spawned";
    using TaskRecord::TaskRecord;
};
BOOST_DESCRIBE_STRUCT(TaskChildSpawned, (TaskRecord), ())
BOOST_DESCRIBE_STRUCT(TaskCreated, (TaskRecord), ())
BOOST_DESCRIBE_STRUCT(TaskStatusUpdated, (TaskRecord), ())
BOOST_DESCRIBE_STRUCT(TaskResultReceived, (TaskRecord), ())
BOOST_DESCRIBE_STRUCT(CommandTaskTerminalPersisted, (TaskRecord), ())

struct CommandTaskRunningPersisted {
    static constexpr std::string_view kKind = "command_task_running_persisted";
    TaskId task_id;
};
BOOST_DESCRIBE_STRUCT(CommandTaskRunningPersisted, (), (task_id))

struct TaskInputDelivered {
    static constexpr std::string_view kKind = "task_input_delivered";
    TaskId task_id;
    TaskKind task_kind{TaskKind::CommandTask};
    std::int64_t bytes_written{0};
    std::string input_target;
    std::optional<AgentId> child_agent_id{};  // Whose follow-up it is.
};
BOOST_DESCRIBE_STRUCT(TaskInputDelivered, (),
                      (task_id, task_kind, bytes_written, input_target, child_agent_id))

// What became of the worktree of a child whose task is over.
struct TaskWorktree {
    TaskId task_id;
    std::string worktree_path;
    std::string worktree_branch;
    std::string reason;
    std::optional<std::vector<std::string>> changed_files{};
    std::optional<std::string> head_commit{};
    std::optional<std::string> actual_branch{};
    std::optional<std::string> branch_cleanup_status{};
    std::optional<std::string> error{};
};
BOOST_DESCRIBE_STRUCT(TaskWorktree, (),
                      (task_id, worktree_path, worktree_branch, reason, changed_files, head_commit,
                       actual_branch, branch_cleanup_status, error))
// It has changes or commits: somebody has to review them.
struct WorktreeRetainedForReview : TaskWorktree {
    static constexpr std::string_view kKind = "worktree_retained_for_review";
};
struct WorktreeAutoCleanedUp : TaskWorktree {
    static constexpr std::string_view kKind = "worktree_auto_cleaned_up";
};
struct WorktreeAutoCleanupFailed : TaskWorktree {
    static constexpr std::string_view kKind = "worktree_auto_cleanup_failed";
};
// It is not as the runtime made it, or cannot be checked: nothing is removed.
struct TaskWorktreeCleanupRetained : TaskWorktree {
    static constexpr std::string_view kKind = "task_worktree_cleanup_retained";
};
struct TaskWorktreeCleanupAlreadyRemoved : TaskWorktree {
    static constexpr std::string_view kKind = "task_worktree_cleanup_already_removed";
};
BOOST_DESCRIBE_STRUCT(WorktreeRetainedForReview, (TaskWorktree), ())
BOOST_DESCRIBE_STRUCT(WorktreeAutoCleanedUp, (TaskWorktree), ())
BOOST_DESCRIBE_STRUCT(WorktreeAutoCleanupFailed, (TaskWorktree), ())
BOOST_DESCRIBE_STRUCT(TaskWorktreeCleanupRetained, (TaskWorktree), ())
BOOST_DESCRIBE_STRUCT(TaskWorktreeCleanupAlreadyRemoved, (TaskWorktree), ())

struct TaskCreateRequested {
    static constexpr std::string_view kKind = "task_create_requested";
    AgentId target_agent_id;
    TaskId task_id;
    AdmissionContext admission_context{AdmissionContext::PublicUnauthenticated};
    TrustLevel provided_trust{TrustLevel::UntrustedExternal};
    json::object boundary{};
};
BOOST_DESCRIBE_STRUCT(TaskCreateRequested, (),
                      (target_agent_id, task_id, admission_context, provided_trust, boundary))

}  // namespace domain::events
