// Turns a command into the same command behind a boundary that the kernel enforces.
//
// The boundary is bubblewrap (its own mount, process, network, ipc, host name and user namespace),
// a system call filter and resource limits, set by `holon-init`, our first program inside. Nothing
// that a command contains changes it. It fails closed: what cannot be enforced is not run.
// All functions are free of shared state, so any thread may call them; those that say so block on
// the file system.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "base/os/process.h"
#include "base/result.h"
#include "exec/sandbox/machine.h"
#include "exec/sandbox/policy.h"

namespace sandbox {

// The paths of a policy as they are in the file system at the moment of resolve_paths(): absolute,
// without links, and only those that exist.
struct ResolvedPaths {
    struct Path {
        std::string path;  // Links resolved.
        bool is_folder{false};
        friend bool operator==(const Path&, const Path&) = default;
    };
    std::vector<std::string> writable_roots{};
    std::vector<Path> read_only{};
    std::vector<std::string> anchors{};  // Folders above those, which must not be moved.
    std::vector<Path> hidden{};
    friend bool operator==(const ResolvedPaths&, const ResolvedPaths&) = default;
};

// Resolves the paths of `policy`; blocks on the file system. NotFound for a writable root that is
// not an existing folder, InvalidInput for "/", Unavailable for one whose .git/commondir redirects
// git. Missing hidden and read-only paths are left out: a command cannot create them either, unless
// they are in a writable root. Creates an empty .git/hooks where .git has none, so that the command
// cannot.
base::Result<ResolvedPaths> resolve_paths(const Policy& policy);

// The command line of bwrap, up to and without the confined command. Pure.
std::vector<std::string> arguments(const Policy& policy, const ResolvedPaths& seen,
                                   const Machine& machine);

// Succeeds if `machine` can enforce `policy`. Otherwise Unavailable, with everything that is
// missing and how to install it. Pure.
base::Status can_confine(const Policy& policy, const Machine& machine);

// Gives the spec of the confined command: program, arguments and folder of `spec` inside the
// boundary, with the variables TMPDIR and HOLON_SANDBOX and those of the proxy set. Fails as
// can_confine() and resolve_paths() do; the command must not be started then. Leaves nothing behind
// that belongs to this command if it is never started. Blocks on the file system.
base::Result<base::ProcessSpec> confine(base::ProcessSpec spec, const Policy& policy,
                                        const Machine& machine);

// Paths to hide from every command, sorted: dot files and folders of `home` that are not part of a
// toolchain, credential stores of the system, and the whole of `holon_home`. A folder that cannot
// be read adds nothing; an empty `holon_home` is not hidden. Blocks on the file system.
std::vector<std::string> usual_secrets(const std::filesystem::path& home,
                                       const std::filesystem::path& holon_home);

}  // namespace sandbox
