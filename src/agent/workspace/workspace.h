// Where an agent works, and what is and is not enforced there.
#pragma once

#include <filesystem>

#include "base/json.h"
#include "base/result.h"
#include "domain/agent.h"

namespace workspace {

// What an agent calls its own home.
inline constexpr std::string_view kAgentHome = "agent_home";
std::string agent_home_id(const domain::AgentId& agent);

// The id of the project at this folder, links resolved. It depends on nothing else, so it is the
// same after a restart.
std::string workspace_id_of(const std::filesystem::path& anchor);
// The entry for working in a folder, links resolved, itself; and in that of a known workspace.
domain::WorkspaceEntry entry_of_folder(const std::filesystem::path& root);
domain::WorkspaceEntry entry_of_project(const domain::WorkspaceEntry& entry);

// The entry for a project folder. Both paths are made absolute with links resolved; `cwd` must lie
// inside `root` (empty: the root itself). The id depends on the root only, so it survives restarts.
base::Result<domain::WorkspaceEntry> enter(const std::filesystem::path& root,
                                           const std::filesystem::path& cwd);

// Does its folder still exist?
bool is_there(const domain::WorkspaceEntry& entry);

// The workspace of an agent before any project is chosen.
domain::WorkspaceEntry agent_home(const domain::AgentId& agent, const std::filesystem::path& home);

// ExecutionProfile: what the agent may start, and behind which backend.
json::object execution_profile(const domain::Execution& execution);

// The five confinements by name, each `hard_enforced` or `not_enforced`.
json::object confinements(const domain::Execution& execution);

// ExecutionSnapshot: profile, policy and place, as the agent's execution has them. The caller
// adds the attached workspaces, whose folders it knows. With the host_local backend the five
// confinements are `not_enforced`, and nothing here suggests otherwise.
json::object execution_snapshot(const domain::Agent& agent, const domain::WorkspaceEntry& entry);

// The `boundary` object of process and workspace events.
json::object boundary(const domain::Execution& execution, const domain::WorkspaceEntry& entry);

}  // namespace workspace
