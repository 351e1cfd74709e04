// Which workspace a path or an id means, and what is to be done to work there apart. Pure: what the
// file system, git and the store say is looked up before.
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

// What a path or an id was found to be.
struct Target {
    std::filesystem::path folder;  // Links resolved; for an id, its anchor.
    std::optional<Checkout> checkout{};
    // The runtime's record of a worktree that `folder` lies in.
    std::optional<domain::ManagedWorktree> made{};
};

// Whom it is for.
struct Asker {
    domain::AgentId agent_id;
    std::filesystem::path home;  // The agent's own; links resolved.
    std::filesystem::path runtime_home;
    domain::Execution execution{};
    std::vector<domain::WorkspaceEntry> attached{};  // As the host knows them.
};

using Chosen = std::expected<domain::WorkspaceEntry, domain::ToolError>;

// The entry for working in the folder itself; `cwd` is the folder. Attached is not yet: that is
// refused where the execution policy has no new workspaces.
Chosen choose_direct(const Target& target, const Asker& asker);
// The entry of an attached workspace, as it was attached.
Chosen choose_attached(const std::string& workspace_id, const Asker& asker);

// A worktree to be made, or gone back to.
struct Plan {
    domain::WorkspaceEntry entry;  // Without `projection_metadata.git_dir`, which git chooses.
    domain::ManagedWorktree worktree;
    std::filesystem::path source;  // Where git is asked.
    std::filesystem::path common_dir;
};
// Where a worktree of the target would lie and what it would be called. `base_commit` and
// `created_at` are the caller's to fill in. `workspace_id`: of the attached one that was named.
std::expected<Plan, domain::ToolError> plan_isolated(const Target& target, const Asker& asker,
                                                     const std::optional<std::string>& workspace_id,
                                                     std::string_view label);

// What is already there under the plan's path and branch.
struct Found {
    std::optional<domain::ManagedWorktree> known{};  // The record of that path.
    bool known_is_recent{false};  // Another process may be creating it right now.
    bool path_exists{false};
    std::optional<Checkout> checkout{};  // Whose root is that path.
    bool is_whole{false};
    bool branch_exists{false};
};
struct Create {
    bool branch_exists{false};  // Left by an attempt that was cut off, or by earlier work.
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
