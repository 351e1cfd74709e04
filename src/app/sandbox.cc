#include "app/sandbox.h"

#include <pwd.h>
#include <unistd.h>

#include <array>

#include "agent/workspace/workspace.h"
#include "config/stored.h"

namespace app {
namespace {

// $HOME can be set to anything; the secrets of the user lie in the home of the password file, too.
std::vector<std::filesystem::path> homes_of(const config::Config& config) {
    std::vector<std::filesystem::path> homes{config.user_home};
    passwd entry{};
    passwd* found = nullptr;
    std::array<char, 16384> room{};
    if (::getpwuid_r(::getuid(), &entry, room.data(), room.size(), &found) == 0 && found &&
        found->pw_dir && found->pw_dir != config.user_home)
        homes.emplace_back(found->pw_dir);
    return homes;
}

// What the operator made readable, and the user's skills, which are there for agents to read.
std::vector<std::string> readable_of(const config::Config& config, const config::Sandbox& sandbox) {
    auto list = sandbox.readable_roots;
    if (config.user_home.empty()) return list;
    for (const char* root : {".agents/skills", ".codex/skills", ".claude/skills"}) {
        std::error_code failed;
        const auto path = config.user_home / root;
        if (std::filesystem::is_directory(std::filesystem::symlink_status(path, failed)))
            list.push_back(path.string());
    }
    return list;
}

std::string root_note() {
    return "holon runs as root: commands of agents are confined, but own every file that they see, "
           "and a fault of the kernel gives them the machine. Run holon as an ordinary user";
}

json::object report_of(const config::Config& config, const config::Sandbox& sandbox) {
    const auto boundary = boundary_of(config, sandbox);
    const auto facts = boundary.facts();
    const auto execution = config::execution_of(sandbox);
    json::object report{{"backend", facts.backend},
                        {"allow_processes", sandbox.allow_processes},
                        {"allow_background_tasks", execution.allow_background_tasks},
                        {"allow_worktrees", execution.supports_managed_worktrees},
                        {"allow_new_workspaces", execution.allow_new_workspaces},
                        {"enforced", workspace::confinements(execution)},
                        {"ready", boundary.check().has_value()},
                        {"missing", json::array{}}};
    if (!boundary.confines()) {
        if (sandbox.allow_processes)
            report["warning"] =
                "commands run unconfined, with your files and credentials: holon config set "
                "sandbox.backend bubblewrap";
        return report;
    }
    report["version"] = facts.version;
    report["network"] = base::enum_name(facts.network);
    report["limits"] = base::to_json(boundary.settings().limits);
    auto missing = sandbox::missing(boundary.machine());
    if (const auto able = boundary.check(); !able && missing.empty())
        missing.push_back(able.error().message);
    report["missing"] = base::to_json(missing);
    report["weaker"] = base::to_json(sandbox::weaker(boundary.machine()));
    return report;
}

}  // namespace

sandbox::Boundary boundary_of(const config::Config& config, const config::Sandbox& sandbox) {
    return {sandbox.settings, homes_of(config), config.home, readable_of(config, sandbox)};
}

base::Result<std::vector<std::string>> choose_sandbox(config::Config& config,
                                                      const std::optional<std::string>& wanted,
                                                      const std::string& new_home) {
    std::vector<std::string> notes;
    bool confines = false;
    auto file = TRY(config::read_config(config.home));
    std::error_code failed;
    const bool is_new = !std::filesystem::exists(config.database(), failed);
    const bool is_open = !file.sandbox || !file.sandbox->backend;
    if (is_new && is_open && new_home != "none") {
        const auto lacks = sandbox::missing(sandbox::this_machine());
        confines = lacks.empty();
        if (!lacks.empty() && !wanted)
            notes.push_back(fmt::format(
                "WARNING: commands of agents run UNCONFINED, with your files and credentials: this "
                "machine cannot confine them: {}. After that: holon config set sandbox.backend "
                "bubblewrap",
                fmt::join(lacks, "; ")));
    }
    if (confines && ::geteuid() == 0) notes.push_back("WARNING: " + root_note());
    if (!confines && !wanted) return notes;
    if (!file.sandbox) file.sandbox.emplace();
    if (confines) {
        file.sandbox->backend = sandbox::Backend::Bubblewrap;
        if (!file.sandbox->network) file.sandbox->network = sandbox::Network::Host;
    }
    if (wanted) {
        const auto backend =
            *wanted == "none" ? sandbox::Backend::HostLocal : sandbox::Backend::Bubblewrap;
        file.sandbox->backend = backend;
        if (file.agents)
            for (auto& [agent, section] : *file.agents)
                if (section.sandbox) section.sandbox->backend = backend;
    }
    config.sandboxes = TRY(config::load_sandboxes(file, config.home));
    return notes;
}

base::Status keep_sandbox(const config::Config& config) {
    const auto& chosen = config.sandboxes.general.settings;
    std::error_code failed;
    if (chosen.backend == sandbox::Backend::HostLocal ||
        std::filesystem::exists(config.database(), failed))
        return {};
    auto document = TRY(config::read_document(config.home));
    auto& section = document["sandbox"];
    if (!section.is_object()) section = json::object{};
    auto& settings = section.as_object();
    if (settings.contains("backend")) return {};
    settings["backend"] = base::enum_name(chosen.backend);
    settings["network"] = base::enum_name(chosen.network);
    return config::write_document(config.home, document);
}

std::string boundary_note(const config::Config& config) {
    const auto& general = config.sandboxes.general;
    if (!general.allow_processes) return "";
    if (general.settings.backend != sandbox::Backend::HostLocal)
        return ::geteuid() == 0 ? root_note() : "";
    return "commands of agents run unconfined, with your files and credentials; confine them: "
           "holon "
           "config set sandbox.backend bubblewrap";
}

json::object sandbox_report(const config::Config& config) {
    json::object report = report_of(config, config.sandboxes.general);
    json::object agents;
    for (const auto& [agent, sandbox] : config.sandboxes.agents)
        agents[agent] = report_of(config, sandbox);
    report["agents"] = std::move(agents);
    return report;
}

}  // namespace app
