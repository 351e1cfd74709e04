#include "exec/sandbox/confine.h"

#include <algorithm>

#include "base/os/fs/memory_file.h"
#include "exec/sandbox/embedded.h"
#include "exec/sandbox/layout.h"
#include "exec/sandbox/program/program.h"
#include "exec/sandbox/settings/system_settings.h"

namespace sandbox {
namespace {

using Variables = std::vector<std::pair<std::string, std::string>>;

void set(Variables& environment, const std::string& name, const std::string& value) {
    std::erase_if(environment, [&](const auto& variable) { return variable.first == name; });
    environment.emplace_back(name, value);
}

void add_proxy_variables(Variables& environment) {
    for (const char* name : {"all_proxy", "ALL_PROXY", "no_proxy", "NO_PROXY"})
        std::erase_if(environment, [&](const auto& variable) { return variable.first == name; });
    for (const char* name : {"http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY"})
        set(environment, name, fmt::format("http://127.0.0.1:{}", kProxyPort));
}

std::uint64_t bound(std::int64_t limit) {
    return static_cast<std::uint64_t>(std::max<std::int64_t>(limit, 0));
}

}  // namespace

base::Status can_confine(const Machine& machine) {
    if (const auto lacks = missing(machine); !lacks.empty())
        return base::fail(base::ErrorCode::Unavailable,
                          "the command was not run, because it cannot be confined: {}",
                          fmt::join(lacks, "; "));
    return {};
}

base::Result<Plan> plan_for(const base::ProcessSpec& spec, const Policy& policy,
                            const Machine& machine,
                            const std::vector<std::string>& mounted_settings) {
    const auto& limits = policy.limits;
    Plan plan{.parts = TRY(lay_out(policy, mounted_settings)),
              .private_bytes = bound(limits.private_tmp_bytes),
              .shares_network = policy.network == Network::Host,
              .bounds_process_table = machine.is_root && machine.bounded_process_table,
              .allowed_hosts = policy.allowed_hosts,
              .has_proxy = policy.network == Network::Allowlist,
              .network_log = policy.network_log,
              .memory_group = limits.memory_bytes > 0 ? machine.memory_group : "",
              .cpu_s = bound(limits.cpu_s),
              .memory_bytes = bound(limits.memory_bytes),
              .processes = bound(limits.processes),
              .file_bytes = bound(limits.file_bytes),
              .open_files = bound(limits.open_files),
              .folder = spec.cwd.string(),
              .argv = spec.argv};
    auto environment = spec.environment;
    if (plan.has_proxy) add_proxy_variables(environment);
    set(environment, "TMPDIR", "/tmp");
    set(environment, "HOLON_SANDBOX", "confined");
    for (const auto& [name, value] : environment) plan.environment.push_back(name + "=" + value);
    return plan;
}

base::Result<base::ProcessSpec> confine(base::ProcessSpec spec, const Policy& policy,
                                        const Machine& machine) {
    TRY(can_confine(machine));
    const auto settings = TRY(system_settings());
    const auto plan = TRY(plan_for(spec, policy, machine, settings.mounted));
    const auto own = TRY(programs());
    auto file = TRY(base::make_memory_file("holon-plan", encode(plan), base::MemoryFile::Data));
    spec.files = {own.confine, std::make_shared<const base::Fd>(std::move(file)), settings.file};
    if (plan.has_proxy) spec.files.push_back(own.proxy);
    spec.argv = {base::kFirstFile, std::string(kConfine)};
    spec.environment.clear();
    return spec;
}

}  // namespace sandbox
