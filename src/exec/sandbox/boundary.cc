#include "exec/sandbox/boundary.h"

#include <algorithm>
#include <ranges>

#include "base/os/files.h"
#include "exec/sandbox/confine.h"
#include "exec/sandbox/git/git_settings.h"
#include "exec/sandbox/layout.h"

namespace sandbox {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kGitSettingsVariable = "GIT_CONFIG_GLOBAL";
constexpr const char* kGitSettings = "/run/holon/gitconfig";
constexpr const char* kShellFunctions = "/run/holon/functions";
constexpr std::size_t kSettingsBytesMax = std::size_t{1} << 20;

fs::path real(const fs::path& path) {
    std::error_code failed;
    auto found = fs::weakly_canonical(path, failed);
    return failed ? path : found;
}

bool is_inside(const fs::path& path, const fs::path& folder) {
    const auto [end, ignored] =
        std::mismatch(folder.begin(), folder.end(), path.begin(), path.end());
    return end == folder.end();
}

// Paths that the operator hides stay hidden, even if they hold programs.
void add_toolchains(Policy& policy, const fs::path& home, const std::vector<fs::path>& hidden) {
    const fs::path real_home = real(home);
    for (const auto name : kReadableInHome) {
        const fs::path path = real_home / name;
        if (std::ranges::none_of(hidden,
                                 [&](const auto& folder) { return is_inside(path, folder); }))
            policy.read_only.push_back(path.string());
    }
}

// A commit needs a name, so git gets settings with the user's name and address and nothing else.
void add_git_settings(const std::vector<fs::path>& homes, Policy& policy, base::ProcessSpec& spec) {
    // As in git, the later setting wins; the home of the environment comes first in the list.
    for (const auto& home : std::views::reverse(homes))
        for (const char* file : {".config/git/config", ".gitconfig"})
            policy.git_settings +=
                base::read_file(home / file, kSettingsBytesMax).value_or("") + "\n";
    policy.files.emplace_back(kGitSettings, git_identity(policy.git_settings));
    std::erase_if(spec.environment,
                  [](const auto& variable) { return variable.first == kGitSettingsVariable; });
    spec.environment.emplace_back(kGitSettingsVariable, kGitSettings);
}

}  // namespace

void add_worktree(Policy& policy, const Work& work) {
    if (work.worktree_git_dir.empty()) return;
    const fs::path own = work.worktree_git_dir;
    const fs::path common = own.parent_path().parent_path();
    policy.read_only.push_back(common.string());
    std::error_code failed;
    for (const fs::path& folder : {common / "objects", common / "refs", common / "logs"})
        if (fs::exists(fs::symlink_status(folder, failed)))
            policy.writable_git_parts.push_back(folder.string());
    policy.git_folders.push_back(own.string());
}

Boundary::Boundary(Settings settings, std::vector<fs::path> homes, fs::path holon_home,
                   std::vector<std::string> readable)
    : settings_(std::move(settings)),
      homes_(std::move(homes)),
      holon_home_(std::move(holon_home)),
      readable_(std::move(readable)) {
    std::erase(homes_, fs::path());
}

Boundary::Boundary(Settings settings, std::vector<fs::path> homes, fs::path holon_home,
                   Machine machine)
    : Boundary(std::move(settings), std::move(homes), std::move(holon_home)) {
    known_ = std::make_shared<const Machine>(std::move(machine));
}

const Machine& Boundary::machine() const {
    return known_ ? *known_ : this_machine();
}

Network Boundary::network_of(const Work& work) const {
    const bool is_refused = settings_.network == Network::Host && !work.has_operators_network;
    return is_refused ? Network::None : settings_.network;
}

// The runtime's own folder is hidden except for the agent's home. An execution root elsewhere in it
// would make hidden files visible.
base::Result<Policy> Boundary::policy_for(const Work& work) const {
    const fs::path root = real(work.execution_root);
    const fs::path home = real(work.agent_home);
    const bool has_home = !work.agent_home.empty();
    const bool is_home = has_home && is_inside(root, home);
    if (!is_home && !holon_home_.empty() && is_inside(root, real(holon_home_)))
        return base::fail(
            base::ErrorCode::Unavailable,
            "the command was not run: its execution root {} lies in the runtime's own "
            "folder {}, which is hidden; choose another workspace",
            root.string(), holon_home_.string());
    Policy policy{.writable_roots = settings_.writable_roots,
                  .read_only = readable_,
                  .hidden = system_secrets(),
                  .network = network_of(work),
                  .allowed_hosts = settings_.allowed_hosts,
                  .network_log = work.network_log.string(),
                  .limits = settings_.limits};
    // The way to holon's own folder is the operator's and may have links.
    policy.writable_roots.push_back((is_home ? root : work.execution_root).string());
    for (const auto& file : work.readable) {
        const fs::path folder = file.parent_path();
        if (is_inside(folder, root)) continue;  // Visible already, and writable.
        const auto holds = [&](const fs::path& home) { return is_inside(real(home), folder); };
        const bool shows_too_much = std::ranges::any_of(homes_, holds) ||
                                    (!holon_home_.empty() && holds(holon_home_)) || folder == "/";
        policy.read_only.push_back((shows_too_much ? file : folder).string());
    }
    policy.hidden.insert(policy.hidden.end(), settings_.hidden.begin(), settings_.hidden.end());
    if (!holon_home_.empty()) policy.hidden.push_back(holon_home_.string());
    std::vector<fs::path> hidden;
    for (const auto& path : settings_.hidden) hidden.push_back(real(path));
    for (const auto& home : homes_) {
        policy.homes.push_back(home.string());
        add_toolchains(policy, home, hidden);
    }
    add_worktree(policy, work);
    if (!has_home) return policy;
    if (root != home) policy.read_only.push_back(home.string());
    std::error_code exists;
    for (const char* folder : kRuntimeFolders) {
        // If it were missing, a command could create a link there.
        fs::create_directory(home / folder, exists);
        policy.read_only.push_back((home / folder).string());
    }
    return policy;
}

base::Result<base::ProcessSpec> Boundary::enclose_git(base::ProcessSpec spec,
                                                      const GitWork& work) const {
    if (!confines()) return spec;
    TRY(check());
    Policy policy{.read_only = {work.source.string()},
                  .hidden = settings_.hidden,
                  .network = Network::None,
                  .limits = settings_.limits};
    for (const auto& home : homes_) policy.homes.push_back(home.string());
    if (!holon_home_.empty()) policy.hidden.push_back(holon_home_.string());
    policy.writable_git_parts.push_back(work.common_dir.string());
    for (const char* name : {"config", "config.worktree", "hooks", "info"})
        policy.read_only.push_back((work.common_dir / name).string());
    if (!work.target.empty()) policy.writable_roots.push_back(work.target.string());
    add_git_settings(homes_, policy, spec);
    return confine(std::move(spec), policy, machine());
}

base::Status Boundary::check() const {
    if (!confines()) return {};
    return can_confine(machine());
}

base::Result<base::ProcessSpec> Boundary::enclose(base::ProcessSpec spec, const Work& work) const {
    if (!confines()) return spec;
    TRY(check());  // Before any path is resolved or created.
    auto policy = TRY(policy_for(work));
    add_git_settings(homes_, policy, spec);
    if (!work.shell_functions.empty()) {
        policy.files.emplace_back(kShellFunctions, "unset BASH_ENV\n" + work.shell_functions);
        spec.environment.emplace_back("BASH_ENV", kShellFunctions);
    }
    return confine(std::move(spec), policy, machine());
}

Facts Boundary::facts() const {
    Facts facts{.backend = std::string(base::enum_name(settings_.backend))};
    if (!confines()) return facts;
    facts.version = machine().version;
    facts.network = settings_.network;
    if (has_allow_list()) facts.hosts = settings_.allowed_hosts;
    for (const auto& [name, value] : base::to_json(settings_.limits).as_object())
        facts.limits.emplace_back(name, base::json_text(value));
    return facts;
}

}  // namespace sandbox
