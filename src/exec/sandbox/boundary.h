// The seam of the sandbox: turns a command into the command that is really started.
//
// With the backend `host_local` a command is started unchanged. With `bubblewrap` it runs confined:
// the kernel enforces which files it sees and writes, which network it reaches, and how much of the
// machine it uses. The operator's settings choose the backend; no argument, folder, shell or
// variable of a command can change it. It fails closed: a command that cannot be confined is not
// started, and the error says what is missing.
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

// The folders of one command, and the log of its network destinations. Paths are absolute; the
// caller has checked that the agent may work in `execution_root`.
struct Work {
    // An existing folder. The command may write in it, whatever else is confined.
    std::filesystem::path execution_root;
    // With an allow-list, the proxy appends one JSON line for each destination. Empty: no log.
    std::filesystem::path network_log{};
    // The home of the command's agent, if it has one: readable, and writable where it is the
    // execution root. The runtime's own folders in it (kRuntimeFolders) are never writable.
    std::filesystem::path agent_home{};
    // If the execution root is a git worktree: its administrative folder in the repository. Commits
    // write there and to the objects, refs and logs of the repository, and nowhere else in it.
    std::filesystem::path worktree_git_dir{};
};

// Folders of an agent's home that only the runtime writes: complete outputs of commands and tools.
inline constexpr const char* kRuntimeFolders[] = {"task-output", "tool-artifacts"};

// A description of the boundary for result documents and for `holon doctor`.
struct Facts {
    std::string backend;  // As in Backend: "host_local", "bubblewrap".
    std::string version{};
    std::vector<std::pair<std::string, std::string>> limits{};  // Empty: none is enforced.
    Network network{Network::Host};
    std::vector<std::string> hosts{};  // The allow-list, if there is one.
};

// On return `policy` allows the writes of a commit in the worktree `work`. The repository's
// settings and hooks, and the files that link the worktree to its repository, are read-only: the
// operator's next git command would obey them. May create an empty `config.worktree`, so that the
// command cannot. Does nothing when `work` is not a worktree. Blocks on the file system; any
// thread.
void add_worktree(Policy& policy, const Work& work);

// Applies one set of sandbox settings to commands. A value: copies are cheap and share what the
// probe of the machine found. Nothing but the private probe is mutable, so any thread may call any
// member; the calls block on the file system and, once, on a process.
class Boundary {
public:
    // Confines nothing: every command is started unchanged.
    Boundary() = default;
    // Starts and checks nothing yet. `own_program` is the running executable; `holon-init` and
    // `holon-proxy` are expected in its folder. The secrets below `user_home` and `holon_home` are
    // hidden from commands; an empty path hides nothing.
    Boundary(Settings settings, std::filesystem::path own_program, std::filesystem::path user_home,
             std::filesystem::path holon_home);

    // Gives the command to start instead of `spec`: the same program, arguments and folder behind
    // the boundary. Without confinement that is `spec` itself. Fails with Unavailable when this
    // machine cannot enforce the settings, when the execution root is in holon's own folder, or
    // when git would be redirected to foreign settings; with NotFound or InvalidInput for a
    // writable root that is not a folder or is "/". After a failure the caller must not start the
    // command. Creates files only below `holon_home` and in the agent's home; none of them belongs
    // to this one command, so nothing is left to remove if it is never started.
    base::Result<base::ProcessSpec> enclose(base::ProcessSpec spec, const Work& work) const;
    // Succeeds if this machine can enforce the settings; otherwise the Unavailable of enclose(),
    // with everything that is missing. Always succeeds without confinement.
    base::Status check() const;
    // Are commands confined at all? A question about the settings; the machine is not asked.
    bool confines() const { return settings_.backend != Backend::HostLocal; }
    // Do confined commands reach the network through the proxy, and only the allowed hosts?
    bool has_allow_list() const { return confines() && settings_.network == Network::Allowlist; }

    // The settings as given. The reference lives as long as this object.
    const Settings& settings() const { return settings_; }
    // Describes what is enforced. Confined, the first call probes the machine.
    Facts facts() const;
    // What this machine can enforce. The first call on this object or a copy runs bwrap; concurrent
    // calls wait for it. The reference lives as long as this object or one of its copies.
    const Machine& machine() const;

private:
    struct Probed;
    // The policy of one command: the settings, its folders and the usual secrets.
    base::Result<Policy> policy_for(const Work& work) const;

    Settings settings_{};
    std::filesystem::path own_program_{};
    std::filesystem::path user_home_{};
    std::filesystem::path holon_home_{};
    std::shared_ptr<Probed> probed_{};  // Shared by copies.
};

}  // namespace sandbox
