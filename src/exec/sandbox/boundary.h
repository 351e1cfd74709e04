// The seam of the sandbox: turns a command into the command that is really started.
//
// With the backend `host_local` a command is started unchanged. With `bubblewrap`, which has the
// name of the program that built the boundary once, it runs confined: the kernel enforces which
// files it sees and writes, which network it reaches, and how much of the machine it uses. The
// operator's settings choose the backend; no argument, folder, shell or variable of a command can
// change it. It fails closed: a command that cannot be confined is not started, and the error says
// what is missing.
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
    // Files that the operator's own settings name for this command, without links: readable with
    // their folders, where programs find their modules, unless that is a home or lies above one.
    std::vector<std::filesystem::path> readable{};
    // Did the operator or the runtime ask for the command? What an integration or an external
    // sender asked for never gets the network of the host.
    bool has_operators_network{true};
    // If the execution root is a git worktree: its administrative folder in the repository. Commits
    // write there and to the objects, refs and logs of the repository, and nowhere else in it.
    std::filesystem::path worktree_git_dir{};
    // Definitions that bash reads before the command; empty: none.
    std::string shell_functions{};
};

// The folders of one git command of the runtime; without links.
struct GitWork {
    std::filesystem::path source;      // The checkout in which git runs.
    std::filesystem::path common_dir;  // The git folder of its repository.
    std::filesystem::path target{};    // An existing folder that gets a worktree; empty: none.
};

// Folders of an agent's home that only the runtime writes: complete outputs of commands and tools.
inline constexpr const char* kRuntimeFolders[] = {"task-output", "tool-artifacts"};

// A description of the boundary for result documents and for `holon doctor`.
struct Facts {
    std::string backend;    // As in Backend: "host_local", "bubblewrap".
    std::string version{};  // Of the kernel that enforces it.
    std::vector<std::pair<std::string, std::string>> limits{};  // Empty: none is enforced.
    Network network{Network::Host};
    std::vector<std::string> hosts{};  // The allow-list, if there is one.
};

// On return `policy` allows the writes of a commit in the worktree `work`, and reading its
// repository. The repository's settings and hooks, and the files that link the worktree to its
// repository, are read-only: the operator's next git command would obey them. Does nothing when
// `work` is not a worktree. Blocks on the file system; any thread.
void add_worktree(Policy& policy, const Work& work);

// Applies one set of sandbox settings to commands. A value: copies are cheap, and nothing in it
// is mutable, so any thread may call any member; the calls block on the file system and, once in a
// process, on the probe of the machine.
class Boundary {
public:
    // Confines nothing: every command is started unchanged.
    Boundary() = default;
    // Starts and checks nothing yet. `homes` are the user's home folders ($HOME and that of the
    // password file, if it is another), of which commands see toolchains only. Nothing of
    // `holon_home` but the home of the command's agent is visible. `readable` can be read in
    // addition to the system. Empty paths are left out.
    Boundary(Settings settings, std::vector<std::filesystem::path> homes,
             std::filesystem::path holon_home, std::vector<std::string> readable = {});
    // The same on a machine that is known and not probed.
    Boundary(Settings settings, std::vector<std::filesystem::path> homes,
             std::filesystem::path holon_home, Machine machine);

    // Gives the command to start instead of `spec`: the same program, arguments and folder behind
    // the boundary. Without confinement that is `spec` itself. Fails with Unavailable when this
    // machine cannot enforce the settings, or when the execution root is in holon's own folder;
    // otherwise as lay_out() does. After a failure the caller must not start the command. Nothing
    // is left to remove if it is never started. The result may inherit open files.
    base::Result<base::ProcessSpec> enclose(base::ProcessSpec spec, const Work& work) const;
    // The same for git that the runtime itself runs on a repository, whose settings and filters an
    // agent may have written: it reads the source, writes in the repository's git folder but for
    // settings and hooks, and in the target. Without a network.
    base::Result<base::ProcessSpec> enclose_git(base::ProcessSpec spec, const GitWork& work) const;
    // Succeeds if this machine can enforce the settings; otherwise the Unavailable of enclose(),
    // with everything that is missing. Always succeeds without confinement.
    base::Status check() const;
    // Are commands confined at all? A question about the settings; the machine is not asked.
    bool confines() const { return settings_.backend != Backend::HostLocal; }
    // Do confined commands reach the network through the proxy, and only the allowed hosts?
    bool has_allow_list() const { return confines() && settings_.network == Network::Allowlist; }

    // The network that a command of `work` gets. Pure.
    Network network_of(const Work& work) const;
    // The settings as given. The reference lives as long as this object.
    const Settings& settings() const { return settings_; }
    // Describes what is enforced. Confined, the first call probes the machine.
    Facts facts() const;
    // What this machine can enforce. The first call in this process runs a confined command;
    // concurrent calls wait for it. The reference lives as long as this object or one of its
    // copies.
    const Machine& machine() const;

private:
    // The policy of one command: the settings, its folders and the usual secrets.
    base::Result<Policy> policy_for(const Work& work) const;

    Settings settings_{};
    std::vector<std::filesystem::path> homes_{};
    std::filesystem::path holon_home_{};
    std::vector<std::string> readable_{};
    std::shared_ptr<const Machine> known_{};  // Null: this machine.
};

}  // namespace sandbox
