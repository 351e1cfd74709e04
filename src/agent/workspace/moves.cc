#include "agent/workspace/moves.h"

#include <algorithm>

#include "agent/workspace/workspace.h"

namespace workspace {
namespace {

// An agent never exits its home: that is its place without another workspace.
void leave(std::vector<Note>& notes, const domain::Agent& agent,
           const domain::WorkspaceEntry& entry) {
    if (entry.workspace_id == agent_home_id(agent.agent_id)) return;
    if (const auto session = domain::worktree_session(entry))
        notes.push_back(domain::events::WorktreeExited{
            .worktree_path = session->worktree_path, .worktree_branch = session->worktree_branch});
    notes.push_back(
        domain::events::WorkspaceExited{place_of(entry), boundary(agent.execution, entry)});
}

}  // namespace

domain::events::WorkspaceUsed place_of(const domain::WorkspaceEntry& entry) {
    domain::events::WorkspaceUsed used{.workspace_id = entry.workspace_id,
                                       .workspace_anchor = entry.workspace_anchor,
                                       .execution_root_id = entry.execution_root_id,
                                       .execution_root = entry.execution_root,
                                       .projection_kind = entry.projection_kind,
                                       .access_mode = entry.access_mode,
                                       .cwd = entry.cwd};
    const auto& metadata = entry.projection_metadata;
    if (metadata && metadata->ownership == domain::WorktreeOwnership::External) {
        used.detected_kind = "existing_git_worktree";
        used.ownership = metadata->ownership;
    }
    return used;
}

std::vector<Note> attach(domain::Agent& agent, const domain::WorkspaceEntry& entry) {
    auto& attached = agent.attached_workspaces;
    if (entry.workspace_id == agent_home_id(agent.agent_id) ||
        std::ranges::find(attached, entry.workspace_id) != attached.end())
        return {};
    attached.push_back(entry.workspace_id);
    return {domain::events::WorkspaceAttached{.workspace_id = entry.workspace_id,
                                              .workspace_anchor = entry.workspace_anchor}};
}

std::vector<Note> move_to(domain::Agent& agent, const domain::WorkspaceEntry& entry) {
    auto notes = attach(agent, entry);
    const auto previous = agent.active_workspace_entry;
    if (previous == entry) return notes;
    agent.active_workspace_entry = entry;
    const bool same_root = previous && previous->execution_root_id == entry.execution_root_id;
    if (previous && !same_root) leave(notes, agent, *previous);
    notes.push_back(
        domain::events::WorkspaceEntered{place_of(entry), boundary(agent.execution, entry)});
    const auto session = domain::worktree_session(entry);
    if (session && !same_root)
        notes.push_back(domain::events::WorktreeEntered{
            .worktree = *session, .boundary = boundary(agent.execution, entry)});
    return notes;
}

}  // namespace workspace
