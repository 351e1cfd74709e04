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
        notes.push_back({"worktree_exited",
                         {{"worktree_path", session->worktree_path},
                          {"worktree_branch", session->worktree_branch},
                          {"removed", false}}});
    json::object data = place_of(entry);
    data["boundary"] = boundary(agent.execution, entry);
    notes.push_back({"workspace_exited", std::move(data)});
}

}  // namespace

json::object place_of(const domain::WorkspaceEntry& entry) {
    json::object data = base::to_json(entry).as_object();
    data.erase("projection_metadata");
    const auto& metadata = entry.projection_metadata;
    if (metadata && metadata->ownership == domain::WorktreeOwnership::External) {
        data["detected_kind"] = "existing_git_worktree";
        data["ownership"] = "external";
    }
    return data;
}

std::vector<Note> attach(domain::Agent& agent, const domain::WorkspaceEntry& entry) {
    auto& attached = agent.attached_workspaces;
    if (entry.workspace_id == agent_home_id(agent.agent_id) ||
        std::ranges::find(attached, entry.workspace_id) != attached.end())
        return {};
    attached.push_back(entry.workspace_id);
    return {{"workspace_attached",
             {{"workspace_id", entry.workspace_id}, {"workspace_anchor", entry.workspace_anchor}}}};
}

std::vector<Note> move_to(domain::Agent& agent, const domain::WorkspaceEntry& entry) {
    auto notes = attach(agent, entry);
    const auto previous = agent.active_workspace_entry;
    if (previous == entry) return notes;
    agent.active_workspace_entry = entry;
    const bool same_root = previous && previous->execution_root_id == entry.execution_root_id;
    if (previous && !same_root) leave(notes, agent, *previous);
    json::object data = place_of(entry);
    data["boundary"] = boundary(agent.execution, entry);
    notes.push_back({"workspace_entered", std::move(data)});
    const auto session = domain::worktree_session(entry);
    if (session && !same_root)
        notes.push_back({"worktree_entered",
                         {{"worktree", base::to_json(*session)},
                          {"boundary", boundary(agent.execution, entry)}}});
    return notes;
}

}  // namespace workspace
