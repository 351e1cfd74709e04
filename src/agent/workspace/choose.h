// Which workspace a path or an id means, and what to do for isolated work there. Pure: the facts of
// the file system, git and the store are loaded before.
#pragma once

#include <expected>
#include <filesystem>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "agent/workspace/git.h"
#include "domain/agent.h"
#include "domain/tool.h"

namespace workspace {

// Workspaces that one agent may have attached.
inline constexpr std::size_t kAttachedMax = 100;

enum class Mode { Direct, Isolated };
BOOST_DESCRIBE_ENUM(Mode, Direct, Isolated)

// What a path or an id refers to.
struct Target {
    std::filesystem::path folder;  // Links resolved; for an id, its anchor.
    std::optional<Checkout> checkout{};
    // The runtime's record of a worktree that `folder` lies in.
    std::optional<domain::ManagedWorktree> made{};
};

// The agent that asks.
struct Asker {
    domain::AgentId agent_id;
    std::filesystem::path home;  // The agent's own; links resolved.
    std::filesystem::path runtime_home;
    domain::Execution execution{};
    std::vector<domain::WorkspaceEntry> attached{};  // As the host knows them.
};

using Chosen = std::expected<domain::WorkspaceEntry, domain::ToolError>;

// The entry for working in the folder itself; `cwd` is the folder. Refused when it is not attached
// and the execution policy allows no new workspaces.
Chosen choose_direct(const Target& target, const Asker& asker);
// The entry of an attached workspace, as it was attached.
Chosen choose_attached(const std::string& workspace_id, const Asker& asker);

// A worktree to create, or to enter again.
struct Plan {
    domain::WorkspaceEntry entry;  // Without `projection_metadata.git_dir`, which git chooses.
    domain::ManagedWorktree worktree;
    std::filesystem::path source;  // The folder in which git runs.
    std::filesystem::path common_dir;
};
// The place and the name of a worktree of the target. The caller fills in `base_commit` and
// `created_at`. `workspace_id`: of the attached one that was named.
std::expected<Plan, domain::ToolError> plan_isolated(const Target& target, const Asker& asker,
                                                     const std::optional<std::string>& workspace_id,
                                                     std::string_view label);

// What exists already under the plan's path and branch.
struct Found {
    std::optional<domain::ManagedWorktree> known{};  // The record of that path.
    bool known_is_recent{false};  // Another process may be creating it right now.
    bool path_exists{false};
    std::optional<Checkout> checkout{};  // Whose root is that path.
    bool is_whole{false};
    bool branch_exists{false};
};
struct Create {
    bool branch_exists{false};  // From an interrupted attempt, or from earlier work.
    friend bool operator==(const Create&, const Create&) = default;
};
struct Reenter {
    friend bool operator==(const Reenter&, const Reenter&) = default;
};
using Isolation = std::variant<Create, Reenter, domain::ToolError>;
// Nothing that exists is ever removed or taken from another owner.
Isolation isolate(const Plan& plan, const Found& found);

// `cwd` inside the execution root, relative to it or absolute; links are not followed here.
std::expected<std::filesystem::path, domain::ToolError> place_cwd(const std::filesystem::path& root,
                                                                  const std::string& cwd);

}  // namespace workspace
