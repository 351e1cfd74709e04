#include "exec/sandbox/boundary.h"

#include <algorithm>
#include <fstream>
#include <mutex>

#include "exec/sandbox/confine.h"
#include "exec/sandbox/stand_ins.h"

namespace sandbox {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kGitSettingsVariable = "GIT_CONFIG_GLOBAL";

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
void add_readable_inside(Policy& policy, const fs::path& user_home,
                         const std::vector<std::string>& hidden) {
    for (const auto name : kReadableInside) {
        const fs::path path = user_home / name;
        if (std::ranges::none_of(
                hidden, [&](const auto& folder) { return is_inside(real(path), real(folder)); }))
            policy.read_only.push_back(path.string());
    }
}

// Hidden files are hidden without the stand-ins, too, but more programs fail then.
void use_stand_ins(const fs::path& user_home, const fs::path& holon_home, Policy& policy,
                   base::ProcessSpec& spec) {
    const auto made = make_stand_ins(user_home, holon_home);
    if (!made) return;
    policy.stand_in = made->empty.string();
    policy.read_only.push_back(made->folder.string());
    std::erase_if(spec.environment,
                  [](const auto& variable) { return variable.first == kGitSettingsVariable; });
    spec.environment.emplace_back(kGitSettingsVariable, made->git_settings.string());
}

}  // namespace

void add_worktree(Policy& policy, const Work& work) {
    if (work.worktree_git_dir.empty()) return;
    const fs::path own = work.worktree_git_dir;
    const fs::path common = own.parent_path().parent_path();
    std::error_code failed;
    for (const fs::path& folder : {common / "objects", common / "refs", common / "logs", own})
        if (fs::is_directory(folder, failed)) policy.writable_roots.push_back(folder.string());
    // If it were missing, a command could create it, and git would obey it.
    if (!fs::exists(own / "config.worktree", failed)) std::ofstream(own / "config.worktree");
    for (const fs::path& file :
         {own / "commondir", own / "gitdir", own / "config.worktree", work.execution_root / ".git"})
        policy.read_only.push_back(file.string());
}

struct Boundary::Probed {
    std::once_flag once;
    Machine machine;
};

Boundary::Boundary(Settings settings, fs::path own_program, fs::path user_home, fs::path holon_home)
    : settings_(std::move(settings)),
      own_program_(std::move(own_program)),
      user_home_(std::move(user_home)),
      holon_home_(std::move(holon_home)),
      probed_(std::make_shared<Probed>()) {}

const Machine& Boundary::machine() const {
    static const Machine kNothing;
    if (!probed_) return kNothing;
    std::call_once(probed_->once, [this] { probed_->machine = probe(own_program_); });
    return probed_->machine;
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
                  .hidden = usual_secrets(user_home_, holon_home_),
                  .network = settings_.network,
                  .allowed_hosts = settings_.allowed_hosts,
                  .network_log = work.network_log.string(),
                  .limits = settings_.limits};
    policy.writable_roots.push_back(work.execution_root.string());
    policy.hidden.insert(policy.hidden.end(), settings_.hidden.begin(), settings_.hidden.end());
    if (!user_home_.empty()) add_readable_inside(policy, user_home_, settings_.hidden);
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

base::Status Boundary::check() const {
    if (!confines()) return {};
    return can_confine({.network = settings_.network}, machine());
}

base::Result<base::ProcessSpec> Boundary::enclose(base::ProcessSpec spec, const Work& work) const {
    if (!confines()) return spec;
    TRY(check());  // Before any path is resolved or created.
    auto policy = TRY(policy_for(work));
    if (!holon_home_.empty()) use_stand_ins(user_home_, holon_home_, policy, spec);
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
