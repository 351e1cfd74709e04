// Where the commands of a runtime run: as they are, or behind the boundary, as its operator said.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/process.h"
#include "base/result.h"
#include "exec/sandbox/machine.h"
#include "exec/sandbox/policy.h"

namespace sandbox {

// HostLocal keeps nothing from a command. Bubblewrap is confine.h.
enum class Backend { HostLocal, Bubblewrap };
BOOST_DESCRIBE_ENUM(Backend, HostLocal, Bubblewrap)

// What the operator chose. Nothing that a model says reaches it.
struct Settings {
    Backend backend{Backend::HostLocal};
    Network network{Network::None};
    std::vector<std::string> allowed_hosts{};
    std::vector<std::string> writable_roots{};  // Beside the execution root of each command.
    std::vector<std::string> hidden{};          // Beside the usual secrets.
    Limits limits{};
};

// The folders a command works in, and where its network destinations are written down.
struct Work {
    std::filesystem::path execution_root;
    std::filesystem::path network_log{};  // Empty: nowhere.
};

// What a result document and an operator are told of the boundary.
struct Facts {
    std::string backend;  // As in Backend: "host_local", "bubblewrap".
    std::string version{};
    std::vector<std::pair<std::string, std::string>> limits{};  // None where none is enforced.
    Network network{Network::Host};
};

class Boundary {
public:
    // Of nothing: every command runs as it is.
    Boundary() = default;
    // `own_program` is the file that runs; its helpers lie beside it. `user_home` and `holon_home`
    // hold the usual secrets.
    Boundary(Settings settings, std::filesystem::path own_program, std::filesystem::path user_home,
             std::filesystem::path holon_home);

    // The command as it is to be started, or Unavailable with all that is missing to keep it in.
    base::Result<base::ProcessSpec> enclose(base::ProcessSpec spec, const Work& work) const;

    const Settings& settings() const { return settings_; }
    Facts facts() const;
    // What this machine can enforce; found out at the first call, which runs bwrap once.
    const Machine& machine() const;

private:
    Policy policy_for(const Work& work) const;

    Settings settings_{};
    std::filesystem::path own_program_{};
    std::filesystem::path user_home_{};
    std::filesystem::path holon_home_{};
    mutable std::optional<Machine> machine_{};
};

}  // namespace sandbox
