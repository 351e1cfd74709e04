// What this machine can enforce.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/typed.h"

namespace sandbox {

// The result of one probe. A value; a later change of the machine does not show in it.
struct Machine {
    std::filesystem::path bwrap{};  // Empty: not installed.
    std::filesystem::path init{};   // holon-init, our first program inside; empty: not found.
    std::filesystem::path proxy{};  // holon-proxy, needed for an allow-list only; empty: not found.
    std::string version{};          // Of bwrap.
    bool namespaces{false};         // bwrap could create all of them.
    bool seccomp{false};
    // How the number of processes is bounded: by the user's limit, which the kernel does not apply
    // to root, or by the size of the process table of the sandbox (kernel 6.14).
    bool is_root{false};
    bool bounded_process_table{false};
    std::string failure{};  // The output of bwrap when it could not.
    friend bool operator==(const Machine&, const Machine&) = default;
};
BOOST_DESCRIBE_STRUCT(Machine, (),
                      (bwrap, init, proxy, version, namespaces, seccomp, is_root,
                       bounded_process_table, failure))

// Checks this machine; runs bwrap, so it blocks for as long as that takes. `own_program` is the
// running executable; our helper programs are expected in its folder. Never fails: a missing part
// is an empty or false member. Any thread.
Machine probe(const std::filesystem::path& own_program);

// The reasons why commands cannot be confined, each with its remedy. Empty: they can be. Pure.
std::vector<std::string> missing(const Machine& machine);

}  // namespace sandbox
