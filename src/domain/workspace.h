// Where an agent works: the project, the folder its tools act in, and how that folder came about.
#pragma once

#include <optional>
#include <string>

#include "base/typed.h"
#include "domain/ids.h"

namespace domain {

enum class ProjectionKind { CanonicalRoot, GitWorktreeRoot };
enum class AccessMode { SharedRead, ExclusiveWrite };
BOOST_DESCRIBE_ENUM(ProjectionKind, CanonicalRoot, GitWorktreeRoot)
BOOST_DESCRIBE_ENUM(AccessMode, SharedRead, ExclusiveWrite)

// A worktree that the runtime made for an agent, and what it was made from.
struct WorktreeSession {
    std::string original_cwd;
    std::string original_branch;
    std::string worktree_path;
    std::string worktree_branch;
    friend bool operator==(const WorktreeSession&, const WorktreeSession&) = default;
};
BOOST_DESCRIBE_STRUCT(WorktreeSession, (),
                      (original_cwd, original_branch, worktree_path, worktree_branch))

// Managed: the runtime made it. External: it was there.
enum class WorktreeOwnership { Managed, External };
BOOST_DESCRIBE_ENUM(WorktreeOwnership, Managed, External)

// Of an execution root that is a worktree.
struct ProjectionMetadata {
    WorktreeOwnership ownership{WorktreeOwnership::External};
    // The worktree's own folder in its repository, <repository>/.git/worktrees/<name>. Found when
    // the root was entered: what lies in the root itself may be changed by those who work there.
    std::string git_dir;
    std::optional<WorktreeSession> worktree_session{};  // Of a managed one.
    friend bool operator==(const ProjectionMetadata&, const ProjectionMetadata&) = default;
};
BOOST_DESCRIBE_STRUCT(ProjectionMetadata, (), (ownership, git_dir, worktree_session))

// The project the agent works on and the folder its tools act in.
struct WorkspaceEntry {
    std::string workspace_id;
    std::string workspace_anchor;
    std::string execution_root_id;
    std::string execution_root;
    ProjectionKind projection_kind{ProjectionKind::CanonicalRoot};
    AccessMode access_mode{AccessMode::SharedRead};
    std::string cwd;  // Never outside execution_root.
    std::optional<ProjectionMetadata> projection_metadata{};
    friend bool operator==(const WorkspaceEntry&, const WorkspaceEntry&) = default;
};
BOOST_DESCRIBE_STRUCT(WorkspaceEntry, (),
                      (workspace_id, workspace_anchor, execution_root_id, execution_root,
                       projection_kind, access_mode, cwd, projection_metadata))

// The session of the worktree that `entry` is in, if the runtime made it.
inline std::optional<WorktreeSession> worktree_session(const std::optional<WorkspaceEntry>& entry) {
    if (!entry || !entry->projection_metadata) return std::nullopt;
    return entry->projection_metadata->worktree_session;
}

// A managed worktree, recorded before it is created, so that the owner of its folder is always
// known.
struct ManagedWorktree {
    AgentId agent_id;
    std::string workspace_id;
    WorktreeSession session{};
    std::string base_commit;
    Time created_at{};
    friend bool operator==(const ManagedWorktree&, const ManagedWorktree&) = default;
};
BOOST_DESCRIBE_STRUCT(ManagedWorktree, (),
                      (agent_id, workspace_id, session, base_commit, created_at))

}  // namespace domain
