// Events of where an agent works.
#pragma once

#include "domain/events/payload.h"
#include "domain/workspace.h"

namespace domain::events {

struct WorkspaceAttached {
    static constexpr std::string_view kKind = "workspace_attached";
    std::string workspace_id;
    std::string workspace_anchor;
};
BOOST_DESCRIBE_STRUCT(WorkspaceAttached, (), (workspace_id, workspace_anchor))

struct WorkspaceDetached {
    static constexpr std::string_view kKind = "workspace_detached";
    AgentId agent_id;
    std::string workspace_id;
};
BOOST_DESCRIBE_STRUCT(WorkspaceDetached, (), (agent_id, workspace_id))

// A workspace entry as events show it. The last two are of a worktree that was there already.
struct WorkspaceUsed {
    static constexpr std::string_view kKind = "workspace_used";
    std::string workspace_id;
    std::string workspace_anchor;
    std::string execution_root_id;
    std::string execution_root;
    ProjectionKind projection_kind{ProjectionKind::CanonicalRoot};
    AccessMode access_mode{AccessMode::SharedRead};
    std::string cwd;
    std::optional<std::string> detected_kind{};
    std::optional<WorktreeOwnership> ownership{};
};
BOOST_DESCRIBE_STRUCT(WorkspaceUsed, (),
                      (workspace_id, workspace_anchor, execution_root_id, execution_root,
                       projection_kind, access_mode, cwd, detected_kind, ownership))

struct WorkspaceEntered : WorkspaceUsed {
    static constexpr std::string_view kKind = "workspace_entered";
    json::object boundary{};
};
struct WorkspaceExited : WorkspaceUsed {
    static constexpr std::string_view kKind = "workspace_exited";
    json::object boundary{};
};
BOOST_DESCRIBE_STRUCT(WorkspaceEntered, (WorkspaceUsed), (boundary))
BOOST_DESCRIBE_STRUCT(WorkspaceExited, (WorkspaceUsed), (boundary))

struct WorktreeEntered {
    static constexpr std::string_view kKind = "worktree_entered";
    WorktreeSession worktree{};
    json::object boundary{};
};
BOOST_DESCRIBE_STRUCT(WorktreeEntered, (), (worktree, boundary))

struct WorktreeExited {
    static constexpr std::string_view kKind = "worktree_exited";
    std::string worktree_path;
    std::string worktree_branch;
    bool removed{false};
};
BOOST_DESCRIBE_STRUCT(WorktreeExited, (), (worktree_path, worktree_branch, removed))

struct RecoveryClearedMissingWorktreeSession {
    static constexpr std::string_view kKind = "recovery_cleared_missing_worktree_session";
    AgentId agent_id;
    std::string worktree_path;
    std::string reason;
};
BOOST_DESCRIBE_STRUCT(RecoveryClearedMissingWorktreeSession, (), (agent_id, worktree_path, reason))

}  // namespace domain::events
