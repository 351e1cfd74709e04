// What commands may do, for all agents and for single ones.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "config/file.h"
#include "domain/execution.h"

namespace config {

struct Sandbox {
    domain::SandboxSettings settings{};
    // What confined commands may read, in addition to the system, toolchains and their root.
    std::vector<std::string> readable_roots{};
    bool allow_processes{true};
    bool allow_background_tasks{true};
    bool allow_worktrees{true};
    std::optional<bool> allow_new_workspaces{};  // Absent: where nothing is confined.
    friend bool operator==(const Sandbox&, const Sandbox&) = default;
};

struct Sandboxes {
    Sandbox general{};
    std::map<std::string, Sandbox> agents{};  // Those that have one of their own.

    const Sandbox& of(const std::string& agent) const {
        const auto found = agents.find(agent);
        return found == agents.end() ? general : found->second;
    }
    friend bool operator==(const Sandboxes&, const Sandboxes&) = default;
};

// What an agent's commands may do and what is enforced, as it is shown.
domain::Execution execution_of(const Sandbox& sandbox);

// Checks these sections; an error names the place and the valid values.
base::Status check_sandbox(const ConfigFile& file);

// `home` is the runtime's own folder: no writable root may lie in it.
base::Result<Sandboxes> load_sandboxes(const ConfigFile& file, const std::filesystem::path& home);

}  // namespace config
