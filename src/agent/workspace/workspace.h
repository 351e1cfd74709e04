// Where an agent works, and what is and is not enforced there.
#pragma once

#include <filesystem>

#include "base/json.h"
#include "base/result.h"
#include "domain/agent.h"

namespace workspace {

// The entry for a project folder. Both paths are made absolute with links resolved; `cwd` must lie
// inside `root` (empty: the root itself). The id depends on the root only, so it survives restarts.
base::Result<domain::WorkspaceEntry> enter(const std::filesystem::path& root,
                                           const std::filesystem::path& cwd);

// What an agent has before any project is chosen.
domain::WorkspaceEntry agent_home(const domain::AgentId& agent, const std::filesystem::path& home);

// ExecutionProfile: what the agent may start, and behind which backend.
json::object execution_profile(const domain::Execution& execution);

// The five confinements by name, each `hard_enforced` or `not_enforced`.
json::object confinements(const domain::Execution& execution);

// ExecutionSnapshot: profile, policy and place, as the agent's execution has them. With the
// host_local backend the five confinements are `not_enforced`, and nothing here suggests otherwise.
json::object execution_snapshot(const domain::Agent& agent, const domain::WorkspaceEntry& entry);

// The `boundary` object of process and workspace events.
json::object boundary(const domain::Execution& execution, const domain::WorkspaceEntry& entry);

}  // namespace workspace
