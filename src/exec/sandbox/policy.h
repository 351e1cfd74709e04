// What a confined command may touch. Values only; nothing here asks the machine.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/typed.h"

namespace sandbox {

// None: not even the loopback of the host. Allowlist: named hosts, through a proxy of ours that
// writes down each destination. Host: the network of the machine, unconfined.
enum class Network { None, Allowlist, Host };
BOOST_DESCRIBE_ENUM(Network, None, Allowlist, Host)

// Each is enforced by the kernel, for every process of the command (cpu, memory, file size and open
// files: for each process by itself).
struct Limits {
    std::int64_t cpu_s{600};
    std::int64_t memory_bytes{std::int64_t{8} << 30};
    std::int64_t processes{512};
    std::int64_t file_bytes{std::int64_t{8} << 30};
    std::int64_t open_files{4096};
    std::int64_t private_tmp_bytes{std::int64_t{1} << 30};
    friend bool operator==(const Limits&, const Limits&) = default;
};
BOOST_DESCRIBE_STRUCT(Limits, (),
                      (cpu_s, memory_bytes, processes, file_bytes, open_files, private_tmp_bytes))

// Paths are absolute. The rest of the machine is there to read, and to write nowhere.
struct Policy {
    std::vector<std::string> writable_roots{};
    // Relative to each writable root, where they exist: what others would run or obey later.
    std::vector<std::string> read_only_inside{".git/hooks", ".git/config", ".holon"};
    // Files and folders that are not there at all for the command.
    std::vector<std::string> hidden{};
    Network network{Network::None};
    std::vector<std::string> allowed_hosts{};  // "example.com", "*.example.com", "example.com:8443"
    // Where each destination that was asked for is written down, a JSON line each. Empty: nowhere.
    std::string network_log{};
    Limits limits{};
    friend bool operator==(const Policy&, const Policy&) = default;
};
BOOST_DESCRIBE_STRUCT(Policy, (),
                      (writable_roots, read_only_inside, hidden, network, allowed_hosts,
                       network_log, limits))

// What of a home folder commands may read although its name starts with a dot: shells and
// toolchains. Every other dot-name is a secret until somebody says otherwise.
inline constexpr std::string_view kReadableDotNames[] = {
    ".asdf",          ".bash_profile", ".bashrc",   ".bun",      ".deno",    ".fnm",
    ".ghcup",         ".goenv",        ".inputrc",  ".jenv",     ".juliaup", ".mise",
    ".nodenv",        ".nvm",          ".opam",     ".perlbrew", ".poetry",  ".profile",
    ".pyenv",         ".rbenv",        ".rustup",   ".rvm",      ".sdkman",  ".swiftly",
    ".tool-versions", ".volta",        ".zprofile", ".zshenv",   ".zshrc",
};
bool is_readable_dot_name(std::string_view name);

}  // namespace sandbox
