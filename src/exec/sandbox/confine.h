// Turns a command into the same command behind a boundary that the kernel keeps.
//
// The boundary is bubblewrap (an own mount, process, network, ipc, host name and user namespace), a
// system call filter and resource limits, put on by `holon-init`, our first program inside. Nothing
// a command says changes it. It fails closed: what cannot be enforced is not run.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "base/os/process.h"
#include "base/result.h"
#include "exec/sandbox/machine.h"
#include "exec/sandbox/policy.h"

namespace sandbox {

// What the policy's paths are in the file system right now.
struct Seen {
    struct Path {
        std::string path;  // Links resolved.
        bool is_folder{false};
        friend bool operator==(const Path&, const Path&) = default;
    };
    std::vector<std::string> writable_roots{};
    std::vector<Path> read_only{};
    std::vector<std::string> anchors{};  // Folders above them that must not be moved away.
    std::vector<Path> hidden{};
    friend bool operator==(const Seen&, const Seen&) = default;
};

// NotFound for a writable root that is not there; Unavailable for one in which git was led astray.
// What is hidden or read-only and is not there is left out: it cannot be made either, unless it
// lies in a writable root.
base::Result<Seen> look(const Policy& policy);

// The arguments of bwrap up to the command. Pure.
std::vector<std::string> arguments(const Policy& policy, const Seen& seen, const Machine& machine);

// Unavailable, with all that is missing on this machine and how to get it.
base::Status can_confine(const Policy& policy, const Machine& machine);

// The spec of the confined command, or what can_confine() and look() complain about. Makes nothing
// that would be left behind if the command is never started.
base::Result<base::ProcessSpec> confine(base::ProcessSpec spec, const Policy& policy,
                                        const Machine& machine);

// The secrets of this user and machine: dot-names of the home folder that are no toolchain,
// credential stores, and what the runtime keeps below `holon_home`.
std::vector<std::string> usual_secrets(const std::filesystem::path& home,
                                       const std::filesystem::path& holon_home);

}  // namespace sandbox
