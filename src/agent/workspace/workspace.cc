#include "agent/workspace/workspace.h"

#include "agent/workspace/git.h"
#include "base/hash.h"
#include "base/os/fs/open_path.h"
#include "base/typed.h"

namespace workspace {
namespace {

json::object policy(const domain::Execution& execution) {
    json::object processes{{"cwd_rooting", "runtime_shaped"},
                           {"projection_rooting", "runtime_shaped"}};
    for (const auto& [name, value] : confinements(execution)) processes[name] = value;
    return {{"backend", base::enum_name(execution.backend)},
            {"process_execution_exposed", execution.process_execution_exposed},
            {"managed_worktree_supported", execution.supports_managed_worktrees},
            {"resource_authority",
             {{"message_ingress", "hard_enforced"},
              {"agent_state", "hard_enforced"},
              {"control_plane", "hard_enforced"},
              {"workspace_projection", "runtime_shaped"},
              {"process_execution", "runtime_shaped"}}},
            {"process_execution", std::move(processes)}};
}

}  // namespace

base::Result<domain::WorkspaceEntry> enter(const std::filesystem::path& root,
                                           const std::filesystem::path& cwd) {
    std::error_code failed;
    const auto real_root = std::filesystem::canonical(root, failed);
    if (failed || !std::filesystem::is_directory(real_root))
        return base::fail(base::ErrorCode::NotFound, "the workspace root {} is not a folder",
                          root.string());
    const auto real_cwd = cwd.empty() ? real_root : std::filesystem::canonical(cwd, failed);
    if (failed || !std::filesystem::is_directory(real_cwd))
        return base::fail(base::ErrorCode::NotFound, "the working directory {} is not a folder",
                          cwd.string());
    if (!is_inside(real_cwd, real_root))
        return base::fail(base::ErrorCode::InvalidInput,
                          "the working directory {} is outside the workspace root {}",
                          real_cwd.string(), real_root.string());
    auto entry = entry_of_folder(real_root);
    entry.cwd = real_cwd.string();
    return entry;
}

bool is_there(const domain::WorkspaceEntry& entry) {
    std::error_code ignored;
    return std::filesystem::is_directory(entry.execution_root, ignored);
}

std::string agent_home_id(const domain::AgentId& agent) {
    return fmt::format("{}:{}", kAgentHome, agent);
}

std::string workspace_id_of(const std::filesystem::path& anchor) {
    return "ws-" + base::sha256_hex(anchor.string()).substr(0, 32);
}

domain::WorkspaceEntry entry_of_folder(const std::filesystem::path& root) {
    return entry_of_project(
        {.workspace_id = workspace_id_of(root), .workspace_anchor = root.string()});
}

domain::WorkspaceEntry entry_of_project(const domain::WorkspaceEntry& entry) {
    return {.workspace_id = entry.workspace_id,
            .workspace_anchor = entry.workspace_anchor,
            .execution_root_id = "canonical_root:" + entry.workspace_id,
            .execution_root = entry.workspace_anchor,
            .cwd = entry.workspace_anchor};
}

domain::WorkspaceEntry agent_home(const domain::AgentId& agent, const std::filesystem::path& home) {
    // Without links, as every other workspace: tools follow none on the way to their root.
    std::error_code failed;
    const auto real = base::real_path(home, failed);
    return entry_of_project({.workspace_id = agent_home_id(agent),
                             .workspace_anchor = failed ? home.string() : real.string()});
}

json::object confinements(const domain::Execution& execution) {
    return {{"path_confinement", base::enum_name(execution.path_confinement)},
            {"write_confinement", base::enum_name(execution.write_confinement)},
            {"network_confinement", base::enum_name(execution.network_confinement)},
            {"secret_isolation", base::enum_name(execution.secret_isolation)},
            {"child_process_containment", base::enum_name(execution.child_process_containment)}};
}

json::object execution_profile(const domain::Execution& execution) {
    return {{"backend", base::enum_name(execution.backend)},
            {"process_execution_exposed", execution.process_execution_exposed},
            {"allow_background_tasks", execution.allow_background_tasks},
            {"supports_managed_worktrees", execution.supports_managed_worktrees}};
}

json::object execution_snapshot(const domain::Agent& agent, const domain::WorkspaceEntry& entry) {
    json::object snapshot{{"profile", execution_profile(agent.execution)},
                          {"policy", policy(agent.execution)},
                          {"workspace_id", entry.workspace_id},
                          {"workspace_anchor", entry.workspace_anchor},
                          {"execution_root", entry.execution_root},
                          {"cwd", entry.cwd},
                          {"execution_root_id", entry.execution_root_id},
                          {"projection_kind", base::enum_name(entry.projection_kind)},
                          {"access_mode", base::enum_name(entry.access_mode)}};
    if (entry.projection_kind == domain::ProjectionKind::GitWorktreeRoot)
        snapshot["worktree_root"] = entry.execution_root;
    return snapshot;
}

json::object boundary(const domain::Execution& execution, const domain::WorkspaceEntry& entry) {
    json::object out = execution_profile(execution);
    out["projection_kind"] = base::enum_name(entry.projection_kind);
    out["access_mode"] = base::enum_name(entry.access_mode);
    out["execution_root_id"] = entry.execution_root_id;
    return out;
}

}  // namespace workspace
