// Where commands of an agent run, and what is enforced there. Values only.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/typed.h"

namespace domain {

// HostLocal enforces nothing. Bubblewrap enforces SandboxSettings by the kernel.
enum class SandboxBackend { HostLocal, Bubblewrap };
BOOST_DESCRIBE_ENUM(SandboxBackend, HostLocal, Bubblewrap)

// None: not even the loopback of the host. Allowlist: named hosts, through our proxy, which logs
// each destination. Host: the network of the machine, unconfined.
enum class SandboxNetwork { None, Allowlist, Host };
BOOST_DESCRIBE_ENUM(SandboxNetwork, None, Allowlist, Host)

// Each is enforced by the kernel, for every process of the command (cpu, memory, file size and open
// files: for each process by itself; private_tmp_bytes: for its private folders together).
struct SandboxLimits {
    std::int64_t cpu_s{600};
    std::int64_t memory_bytes{std::int64_t{8} << 30};
    std::int64_t processes{512};
    std::int64_t file_bytes{std::int64_t{8} << 30};
    std::int64_t open_files{4096};
    std::int64_t private_tmp_bytes{std::int64_t{1} << 30};
    friend bool operator==(const SandboxLimits&, const SandboxLimits&) = default;
};
BOOST_DESCRIBE_STRUCT(SandboxLimits, (),
                      (cpu_s, memory_bytes, processes, file_bytes, open_files, private_tmp_bytes))

// The operator's choice. No model output changes it.
struct SandboxSettings {
    SandboxBackend backend{SandboxBackend::HostLocal};
    SandboxNetwork network{SandboxNetwork::None};
    std::vector<std::string> allowed_hosts{};
    std::vector<std::string> writable_roots{};  // In addition to each command's execution root.
    std::vector<std::string> hidden{};          // In addition to the usual secrets.
    SandboxLimits limits{};
    friend bool operator==(const SandboxSettings&, const SandboxSettings&) = default;
};
BOOST_DESCRIBE_STRUCT(SandboxSettings, (),
                      (backend, network, allowed_hosts, writable_roots, hidden, limits))

// NotEnforced: nothing prevents it. HardEnforced: the kernel does.
enum class Enforcement { NotEnforced, HardEnforced };
BOOST_DESCRIBE_ENUM(Enforcement, NotEnforced, HardEnforced)

// What an agent may run, and what is hidden from it. An Agent has the one that applied when it was
// last written; what is enforced is always the operator's present choice.
struct Execution {
    SandboxBackend backend{SandboxBackend::HostLocal};
    bool process_execution_exposed{true};
    bool allow_background_tasks{true};
    bool supports_managed_worktrees{true};
    // May it enter folders that its operator has not attached?
    bool allow_new_workspaces{true};
    Enforcement path_confinement{Enforcement::NotEnforced};
    Enforcement write_confinement{Enforcement::NotEnforced};
    Enforcement network_confinement{Enforcement::NotEnforced};
    Enforcement secret_isolation{Enforcement::NotEnforced};
    Enforcement child_process_containment{Enforcement::NotEnforced};
    friend bool operator==(const Execution&, const Execution&) = default;
};
BOOST_DESCRIBE_STRUCT(Execution, (),
                      (backend, process_execution_exposed, allow_background_tasks,
                       supports_managed_worktrees, allow_new_workspaces, path_confinement,
                       write_confinement, network_confinement, secret_isolation,
                       child_process_containment))
constexpr auto describe_fields(const Execution*) {
    return std::to_array<base::FieldDoc>({{.field = "allow_new_workspaces", .has_default = true}});
}

// What these two enforce.
constexpr Execution execution_of(SandboxBackend backend, SandboxNetwork network) {
    Execution execution{.backend = backend};
    if (backend == SandboxBackend::HostLocal) return execution;
    execution.path_confinement = execution.write_confinement = execution.secret_isolation =
        execution.child_process_containment = Enforcement::HardEnforced;
    // The execution root is writable, so the choice of the root is the choice of what is confined.
    execution.allow_new_workspaces = false;
    if (network != SandboxNetwork::Host) execution.network_confinement = Enforcement::HardEnforced;
    return execution;
}

}  // namespace domain
