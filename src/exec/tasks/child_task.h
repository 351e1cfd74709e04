// The record of a child agent as a task of the parent that supervises it. Pure, but for the count;
// the child itself is an agent like any other and is not known here.
#pragma once

#include "domain/agent.h"
#include "exec/tasks/decide.h"
#include "store/store.h"

namespace tasks {

// Constants of the supervision projection: who removes a child's worktree, and where its
// notifications and questions go.
inline constexpr std::string_view kCleanupOwner = "supervision_task";
inline constexpr std::string_view kFollowupTarget = "parent_supervisor";
// Where input for such a task goes.
inline constexpr std::string_view kChildFollowup = "child_followup";
inline constexpr std::size_t kLabelChars = 120;
// What a parent receives of a child's report or question; the child's transcript has it whole.
inline constexpr std::size_t kReportChars = 16'000;
// Changed files of a worktree that a record names; the rest is counted.
inline constexpr std::size_t kChangedFilesMax = 200;

// The copy of the project that a child works in, and what became of it.
struct ChildWorktree {
    std::string worktree_path;
    std::string worktree_branch;
    std::string original_cwd;
    std::string original_branch;
    std::string base_commit;
    std::string common_dir;  // The git folder of the repository.
    std::optional<std::vector<std::string>> changed_files{};
    std::optional<std::int64_t> changed_files_total{};
    std::optional<std::string> head_commit{};  // Of a branch that has commits of the child.
    std::optional<std::string> actual_branch{};
    // cleaned, retained, already_removed or failed; absent while the child works.
    std::optional<std::string> cleanup_status{};
    std::optional<std::string> cleanup_reason{};
    std::optional<std::string> cleanup_error{};
    std::optional<bool> retained_for_review{};
    std::optional<bool> auto_cleaned_up{};
    std::optional<std::string> branch_cleanup_status{};
    friend bool operator==(const ChildWorktree&, const ChildWorktree&) = default;
};
BOOST_DESCRIBE_STRUCT(ChildWorktree, (),
                      (worktree_path, worktree_branch, original_cwd, original_branch, base_commit,
                       common_dir, changed_files, changed_files_total, head_commit, actual_branch,
                       cleanup_status, cleanup_reason, cleanup_error, retained_for_review,
                       auto_cleaned_up, branch_cleanup_status))

// How a child ended.
struct ChildEnd {
    domain::TaskStatus status{domain::TaskStatus::Completed};
    std::string report;  // Its last words, at most kReportChars. Data: nobody vouches for it.
    bool is_cut{false};
    std::optional<std::string> error{};
    // Of the weakest input that the child had: its report comes with no more.
    domain::TrustLevel trust{domain::TrustLevel::TrustedSystem};
    friend bool operator==(const ChildEnd&, const ChildEnd&) = default;
};
BOOST_DESCRIBE_STRUCT(ChildEnd, (), (status, report, is_cut, error, trust))
constexpr auto describe_fields(const ChildEnd*) {
    return std::to_array<base::FieldDoc>({{.field = "is_cut", .has_default = true}});
}

// The `detail` of the task. Members that command tasks have, too, mean the same.
struct ChildDetail {
    std::string child_agent_id;
    std::int64_t child_turn_baseline{0};
    domain::AgentKind child_kind{domain::AgentKind::Child};
    domain::Visibility child_visibility{domain::Visibility::Private};
    domain::Ownership child_ownership{domain::Ownership::ParentSupervised};
    domain::ProfilePreset child_profile_preset{domain::ProfilePreset::PrivateChild};
    std::string wait_policy{kBackground};
    WorkspaceMode workspace_mode{WorkspaceMode::Inherit};
    std::optional<ChildWorktree> worktree{};
    // How the child stood when the task ended; while it works, of this moment (Executor::refresh).
    std::optional<json::object> child_observability{};
    // The newest turn of the child whose question its parent has received.
    std::optional<std::int64_t> asked_in_turn{};
    // The child is over and does nothing any more; its worktree is still to be checked.
    std::optional<ChildEnd> pending_end{};
    bool terminal_reentry{true};
    std::optional<std::string> output_summary{};  // The child's report.
    std::optional<bool> output_truncated{};
    bool terminal_snapshot_ready{false};
    std::optional<std::string> error{};
    std::optional<bool> cancel_requested{};
    std::optional<bool> force_stop_requested{};
    std::optional<std::string> status_before_stop{};
    std::optional<std::string> cancelled_reason{};
    friend bool operator==(const ChildDetail&, const ChildDetail&) = default;
};
BOOST_DESCRIBE_STRUCT(ChildDetail, (),
                      (child_agent_id, child_turn_baseline, child_kind, child_visibility,
                       child_ownership, child_profile_preset, wait_policy, workspace_mode, worktree,
                       child_observability, asked_in_turn, pending_end, terminal_reentry,
                       output_summary, output_truncated, terminal_snapshot_ready, error,
                       cancel_requested, force_stop_requested, status_before_stop,
                       cancelled_reason))
// Those of older programs say less.
constexpr auto describe_fields(const ChildDetail*) {
    return std::to_array<base::FieldDoc>(
        {{.field = "child_agent_id", .has_default = true},
         {.field = "child_turn_baseline", .has_default = true},
         {.field = "child_kind", .has_default = true},
         {.field = "child_visibility", .has_default = true},
         {.field = "child_ownership", .has_default = true},
         {.field = "child_profile_preset", .has_default = true},
         {.field = "wait_policy", .has_default = true},
         {.field = "workspace_mode", .has_default = true},
         {.field = "terminal_reentry", .has_default = true},
         {.field = "terminal_snapshot_ready", .has_default = true}});
}
// An empty one when it has none or cannot be read.
ChildDetail child_detail_of(const domain::Task& task);

// A child to supervise, and on whose behalf.
struct ChildFacts {
    domain::TaskId id;
    domain::AgentId parent;
    domain::AgentId child;
    std::string initial_message;
    WorkspaceMode workspace_mode{WorkspaceMode::Inherit};
    std::optional<ChildWorktree> worktree{};
    domain::TrustLevel trust{domain::TrustLevel::UntrustedExternal};
};
// Its summary is a label made from the message; it does not change any more.
domain::Task child_task(const ChildFacts& facts, base::Time now);

domain::Task child_ended(domain::Task task, const ChildEnd& end, base::Time now);

// As decide_stop() for commands; also for a task that a restart left interrupted.
StopDecision decide_child_stop(domain::Task task, base::Time now);

// The supervision projection, the same wherever it is shown; nothing for other kinds of tasks and
// for one that names no child.
std::optional<json::object> child_supervision(const domain::Task& task);

// Children alive below `agent`, at every depth; the count ends at `max`.
base::Result<std::int64_t> count_children(store::Tx& tx, const domain::AgentId& agent,
                                          std::int64_t max);

// The message that brings the child's report to its parent. The report is fenced as evidence.
domain::Message child_result_message(const domain::Task& task, const ChildEnd& end,
                                     domain::MessageId id, base::Time now);

}  // namespace tasks
