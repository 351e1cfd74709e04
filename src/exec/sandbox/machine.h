// What this machine can enforce.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "base/typed.h"

namespace sandbox {

// The result of one probe. A value; a later change of the machine does not show in it.
struct Machine {
    std::string version{};     // Of the kernel, which enforces the boundary: "Linux 6.1.0-40".
    bool memory_files{false};  // Our embedded programs can be put into sealed files.
    bool mounts_by_fd{false};  // open_tree, move_mount and mount_setattr: Linux 5.12.
    bool namespaces{false};    // A confined command could be run.
    bool seccomp{false};
    // How the number of processes is bounded: by the user's limit, which the kernel does not apply
    // to root, or by the size of the process table of the sandbox (kernel 6.14).
    bool is_root{false};
    bool bounded_process_table{false};
    // Where control groups can be made that bound the memory of commands; empty: nowhere.
    std::string memory_group{};
    std::string failure{};  // What the confined command said when it could not be run.
    friend bool operator==(const Machine&, const Machine&) = default;
};
BOOST_DESCRIBE_STRUCT(Machine, (),
                      (version, memory_files, mounts_by_fd, namespaces, seccomp, is_root,
                       bounded_process_table, memory_group, failure))

// Checks this machine; runs a confined command, so it blocks for as long as that takes. Never
// fails: a missing part is an empty or false member. Any thread.
Machine probe();

// The same, probed by the first call of this process; concurrent calls wait for it. Any thread.
const Machine& this_machine();

// The reasons why commands cannot be confined, each with its remedy. Empty: they can be. Pure.
std::vector<std::string> missing(const Machine& machine);

// What is enforced here, but less strictly than elsewhere, for `holon doctor`. Pure.
std::vector<std::string> weaker(const Machine& machine);

}  // namespace sandbox
