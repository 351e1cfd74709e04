// What this machine lets us enforce.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/typed.h"

namespace sandbox {

struct Machine {
    std::filesystem::path bwrap{};  // Empty: not installed.
    std::filesystem::path init{};   // Our own first program inside; empty: not found beside ours.
    std::filesystem::path proxy{};  // The way to allowed hosts; needed for nothing else.
    std::string version{};          // Of bwrap.
    bool namespaces{false};         // bwrap could make all of them here.
    bool seccomp{false};
    // How the number of processes is bounded: by the user's limit, which the kernel does not apply
    // to root, or by the size of the process table of the sandbox (kernel 6.14).
    bool is_root{false};
    bool bounded_process_table{false};
    std::string failure{};  // What bwrap said when it could not.
    friend bool operator==(const Machine&, const Machine&) = default;
};
BOOST_DESCRIBE_STRUCT(Machine, (),
                      (bwrap, init, proxy, version, namespaces, seccomp, is_root,
                       bounded_process_table, failure))

// Looks, by running bwrap. `own_program` is the file that runs; init lies beside it.
Machine probe(const std::filesystem::path& own_program);

// What is missing for a command to be confined, each with the way to get it. Empty: nothing.
std::vector<std::string> missing(const Machine& machine);

}  // namespace sandbox
