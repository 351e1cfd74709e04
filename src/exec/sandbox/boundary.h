// Where the commands of a runtime run: as they are, or behind the boundary, as its operator said.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/os/process.h"
#include "base/result.h"
#include "exec/sandbox/machine.h"
#include "exec/sandbox/policy.h"

namespace sandbox {

using Backend = domain::SandboxBackend;
using Settings = domain::SandboxSettings;

// The folders a command works in, and where its network destinations are written down.
struct Work {
    std::filesystem::path execution_root;
    std::filesystem::path network_log{};  // Empty: nowhere.
    // The home of the command's agent, if it has one: there to read, and to write where it is the
    // execution root. What the runtime writes there (kRuntimeFolders) is never to write.
    std::filesystem::path agent_home{};
    // Of an execution root that is a git worktree: its own folder in its repository. Commits made
    // in the worktree go there and to the repository's objects and refs, and nowhere else in it.
    std::filesystem::path worktree_git_dir{};
};

// Folders of an agent's home that the runtime fills: whole outputs of commands and of tools.
inline constexpr const char* kRuntimeFolders[] = {"task-output", "tool-artifacts"};

// What a result document and an operator are told of the boundary.
struct Facts {
    std::string backend;  // As in Backend: "host_local", "bubblewrap".
    std::string version{};
    std::vector<std::pair<std::string, std::string>> limits{};  // None where none is enforced.
    Network network{Network::Host};
    std::vector<std::string> hosts{};  // Those of an allow-list.
};

// Adds what git writes when somebody commits in a worktree. The repository's settings and hooks
// stay as they are, and so does what tells the worktree which repository it is of: whoever runs git
// there next obeys them.
void add_worktree(Policy& policy, const Work& work);

class Boundary {
public:
    // Of nothing: every command runs as it is.
    Boundary() = default;
    // `own_program` is the file that runs; its helpers lie beside it. `user_home` and `holon_home`
    // hold the usual secrets.
    Boundary(Settings settings, std::filesystem::path own_program, std::filesystem::path user_home,
             std::filesystem::path holon_home);

    // The command as it is to be started, or Unavailable with all that is missing to keep it in.
    // Any thread may call it.
    base::Result<base::ProcessSpec> enclose(base::ProcessSpec spec, const Work& work) const;
    // Whether enclose() could keep anything in here at all; the same error when not.
    base::Status check() const;
    bool confines() const { return settings_.backend != Backend::HostLocal; }
    bool has_allow_list() const { return confines() && settings_.network == Network::Allowlist; }

    const Settings& settings() const { return settings_; }
    Facts facts() const;
    // What this machine can enforce; found out at the first call, which runs bwrap once.
    const Machine& machine() const;

private:
    struct Probed;
    base::Result<Policy> policy_for(const Work& work) const;

    Settings settings_{};
    std::filesystem::path own_program_{};
    std::filesystem::path user_home_{};
    std::filesystem::path holon_home_{};
    std::shared_ptr<Probed> probed_{};  // Shared by copies: the machine is the same.
};

}  // namespace sandbox
