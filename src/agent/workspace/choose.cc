#include "agent/workspace/choose.h"

#include <algorithm>

#include "agent/workspace/workspace.h"
#include "base/text.h"

namespace workspace {
namespace {

namespace fs = std::filesystem;
using domain::ToolError;

constexpr const char* kTool = "UseWorkspace";

std::string shown(const std::string& text) {
    return base::printable(base::ellipsize(base::to_utf8(text), 200));
}

std::unexpected<ToolError> invalid(const char* field, std::string message, std::string hint) {
    return std::unexpected(ToolError{
        .kind = "invalid_tool_input",
        .message = message,
        .details =
            json::object{{"tool_name", kTool}, {"field", field}, {"validation_error", message}},
        .recovery_hint = std::move(hint)});
}

ToolError failed(std::string message, std::string hint, json::object details = {}) {
    details["tool_name"] = kTool;
    return {.kind = "tool_execution_failed",
            .message = std::move(message),
            .details = std::move(details),
            .recovery_hint = std::move(hint)};
}

bool is_attached(const Asker& asker, const std::string& id) {
    return std::ranges::any_of(asker.attached,
                               [&](const auto& entry) { return entry.workspace_id == id; });
}

// May the agent work in `root` as `id`? It may use attached workspaces and folders inside them.
std::optional<ToolError> refusal(const Asker& asker, const std::string& id, const fs::path& root) {
    if (root == root.root_path())
        return invalid("path", "The whole file system cannot be a workspace.",
                       "Name the project's folder.")
            .error();
    if (is_inside(root, asker.runtime_home))
        return invalid("path",
                       fmt::format("{} lies in the runtime's own folder.", shown(root.string())),
                       "Choose a project folder; workspace_id \"agent_home\" is your own.")
            .error();
    const bool is_known = std::ranges::any_of(asker.attached, [&](const auto& entry) {
        return entry.workspace_id == id || is_inside(root, entry.workspace_anchor);
    });
    if (!is_known && !asker.execution.allow_new_workspaces)
        return ToolError{
            .kind = "policy_denied",
            .message = fmt::format("The execution policy does not let this agent enter folders "
                                   "that its operator has not attached, such as {}.",
                                   shown(root.string())),
            .details = json::object{{"tool_name", kTool}, {"rule", "execution_policy"}},
            .recovery_hint = fmt::format("Ask your operator: holon workspace attach {} --agent {}",
                                         shown(root.string()), asker.agent_id)};
    if (!is_attached(asker, id) && asker.attached.size() >= kAttachedMax)
        return failed(fmt::format("{} workspaces are attached, and there may be no more.",
                                  asker.attached.size()),
                      "Ask your operator to detach some: holon workspace detach ID");
    return std::nullopt;
}

domain::WorkspaceEntry worktree_entry(const std::string& id, const fs::path& anchor,
                                      const fs::path& root) {
    return {.workspace_id = id,
            .workspace_anchor = anchor.string(),
            .execution_root_id = fmt::format("git_worktree_root:{}:{}", id, root.string()),
            .execution_root = root.string(),
            .projection_kind = domain::ProjectionKind::GitWorktreeRoot,
            .cwd = root.string()};
}

// An existing worktree of an attached repository: the project remains the repository.
domain::WorkspaceEntry adopted(const Target& target, const Asker& asker, const std::string& id) {
    const auto& checkout = *target.checkout;
    auto entry = worktree_entry(id, checkout.repository(), checkout.root);
    entry.cwd = target.folder.string();
    entry.projection_metadata = domain::ProjectionMetadata{.git_dir = checkout.git_dir.string()};
    if (!target.made || target.made->agent_id != asker.agent_id) return entry;
    entry.access_mode = domain::AccessMode::ExclusiveWrite;
    entry.projection_metadata->ownership = domain::WorktreeOwnership::Managed;
    entry.projection_metadata->worktree_session = target.made->session;
    return entry;
}

}  // namespace

Chosen choose_direct(const Target& target, const Asker& asker) {
    if (is_inside(target.folder, asker.home)) {
        auto entry = agent_home(asker.agent_id, asker.home);
        entry.cwd = target.folder.string();
        return entry;
    }
    const fs::path root = target.checkout ? target.checkout->root : target.folder;
    if (target.checkout && target.checkout->is_worktree()) {
        const auto id = workspace_id_of(target.checkout->repository());
        if (is_attached(asker, id)) {
            if (auto refused = refusal(asker, id, root))
                return std::unexpected(std::move(*refused));
            return adopted(target, asker, id);
        }
    }
    auto entry = entry_of_folder(root);
    entry.cwd = target.folder.string();
    if (auto refused = refusal(asker, entry.workspace_id, root))
        return std::unexpected(std::move(*refused));
    return entry;
}

Chosen choose_attached(const std::string& workspace_id, const Asker& asker) {
    if (workspace_id == kAgentHome || workspace_id == agent_home_id(asker.agent_id))
        return agent_home(asker.agent_id, asker.home);
    const auto found =
        std::ranges::find(asker.attached, workspace_id, &domain::WorkspaceEntry::workspace_id);
    if (found != asker.attached.end()) return entry_of_project(*found);
    std::vector<std::string> ids{std::string(kAgentHome)};
    for (const auto& entry : asker.attached) ids.push_back(entry.workspace_id);
    return invalid("workspace_id",
                   fmt::format("No workspace {} is attached to this agent.", shown(workspace_id)),
                   fmt::format("Use one of these: {}; or give a path.",
                               base::ellipsize(fmt::format("{}", fmt::join(ids, ", ")), 400)));
}

std::expected<Plan, ToolError> plan_isolated(const Target& target, const Asker& asker,
                                             const std::optional<std::string>& workspace_id,
                                             std::string_view label) {
    if (!target.checkout)
        return std::unexpected(
            failed(fmt::format("{} is in no git repository, and isolated work needs one.",
                               shown(target.folder.string())),
                   "Use mode direct, or make it a repository first: git init, then a commit."));
    const auto& checkout = *target.checkout;
    const auto branch = current_branch(checkout.git_dir);
    if (!branch)
        return std::unexpected(failed(fmt::format("{} has no branch checked out (detached HEAD).",
                                                  shown(checkout.root.string())),
                                      "Check out a branch there first, or use mode direct."));
    const fs::path repository = checkout.repository();
    auto anchor = entry_of_folder(repository);
    if (workspace_id) anchor = choose_attached(*workspace_id, asker).value_or(anchor);
    if (auto refused = refusal(asker, anchor.workspace_id, repository))
        return std::unexpected(std::move(*refused));
    const std::string name = clean_label(label);
    const fs::path path = managed_folder(repository) / name;
    Plan plan{.entry = worktree_entry(anchor.workspace_id, anchor.workspace_anchor, path),
              .worktree = {.agent_id = asker.agent_id,
                           .workspace_id = anchor.workspace_id,
                           .session = {.original_cwd = target.folder.string(),
                                       .original_branch = *branch,
                                       .worktree_path = path.string(),
                                       .worktree_branch = name}},
              .source = checkout.root,
              .common_dir = checkout.common_dir};
    plan.entry.access_mode = domain::AccessMode::ExclusiveWrite;
    if (is_inside(target.folder, checkout.root))
        plan.entry.cwd =
            (path / target.folder.lexically_relative(checkout.root)).lexically_normal().string();
    if (plan.entry.cwd.ends_with('/')) plan.entry.cwd.pop_back();
    return plan;
}

Isolation isolate(const Plan& plan, const Found& found) {
    const auto& session = plan.worktree.session;
    const bool is_ours = found.known && found.known->agent_id == plan.worktree.agent_id;
    const json::object details{{"worktree_path", session.worktree_path},
                               {"worktree_branch", session.worktree_branch}};
    if (found.known && !is_ours &&
        (found.path_exists || found.branch_exists || found.known_is_recent))
        return failed(fmt::format("The worktree {} is of agent {}.", session.worktree_path,
                                  found.known->agent_id),
                      "Choose another isolation_label.", details);
    const bool is_worktree = found.checkout && found.checkout->common_dir == plan.common_dir;
    if (found.path_exists && is_worktree && found.is_whole) {
        if (is_ours) return Reenter{};
        return failed(
            fmt::format("There is a worktree at {} already, and the runtime did not make it.",
                        session.worktree_path),
            "Choose another isolation_label, or work in it as it is: UseWorkspace with that path.",
            details);
    }
    if (found.path_exists)
        return failed(
            fmt::format("{} exists already and is not a complete worktree of {}{}.",
                        session.worktree_path, plan.source.string(),
                        is_ours ? "; its creation was interrupted or is still running" : ""),
            fmt::format("Choose another isolation_label; or check it, and if nothing in it is "
                        "needed: git -C {0} worktree remove --force --force {1}, or remove the "
                        "folder and run git -C {0} worktree prune.",
                        plan.source.string(), session.worktree_path),
            details);
    if (found.branch_exists && !is_ours)
        return failed(fmt::format("The branch {} is there already in {}.", session.worktree_branch,
                                  plan.source.string()),
                      fmt::format("Choose another isolation_label; or, if the branch is not "
                                  "needed: git -C {} branch -d {}.",
                                  plan.source.string(), session.worktree_branch),
                      details);
    return Create{.branch_exists = found.branch_exists};
}

std::expected<fs::path, ToolError> place_cwd(const fs::path& root, const std::string& cwd) {
    auto wanted = (root / cwd).lexically_normal();
    if (!wanted.has_filename()) wanted = wanted.parent_path();
    if (is_inside(wanted, root)) return wanted;
    return invalid("cwd",
                   fmt::format("The working directory {} is outside the workspace root {}.",
                               shown(cwd), root.string()),
                   "Give cwd relative to the workspace root, or leave it out.");
}

}  // namespace workspace
