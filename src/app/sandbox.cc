#include "app/sandbox.h"

#include "agent/workspace/workspace.h"

namespace app {
namespace {

// Its helpers lie beside it.
std::filesystem::path own_program() {
    std::error_code failed;
    auto program = std::filesystem::read_symlink("/proc/self/exe", failed);
    return failed ? std::filesystem::path() : program;
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
    if (!boundary.confines()) return report;
    report["version"] = facts.version;
    report["network"] = base::enum_name(facts.network);
    report["limits"] = base::to_json(boundary.settings().limits);
    auto missing = sandbox::missing(boundary.machine());
    if (const auto able = boundary.check(); !able && missing.empty())
        missing.push_back(able.error().message);
    report["missing"] = base::to_json(missing);
    return report;
}

}  // namespace

sandbox::Boundary boundary_of(const config::Config& config, const config::Sandbox& sandbox) {
    return {sandbox.settings, own_program(), config.user_home, config.home};
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
