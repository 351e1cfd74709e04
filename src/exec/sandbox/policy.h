// What a confined command may touch. Values only; nothing here asks the machine.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "domain/execution.h"

namespace sandbox {

using Network = domain::SandboxNetwork;
using Limits = domain::SandboxLimits;

// Paths are absolute. The rest of the machine is there to read, and to write nowhere.
struct Policy {
    std::vector<std::string> writable_roots{};
    // Relative to each writable root, where they exist: what others would run or obey later.
    std::vector<std::string> read_only_inside{".git/hooks", ".git/config", ".git/config.worktree",
                                              ".holon"};
    // Folders that are there to read, though they lie in something hidden or in a writable root.
    std::vector<std::string> read_only{};
    // Folders that are empty for the command, and files in whose place it finds `stand_in`.
    std::vector<std::string> hidden{};
    std::string stand_in{};  // An empty file. Without one, a hidden file cannot be opened.
    Network network{Network::None};
    std::vector<std::string> allowed_hosts{};  // "example.com", "*.example.com", "example.com:8443"
    // Where each destination that was asked for is written down, a JSON line each. Empty: nowhere.
    std::string network_log{};
    Limits limits{};
    friend bool operator==(const Policy&, const Policy&) = default;
};
BOOST_DESCRIBE_STRUCT(Policy, (),
                      (writable_roots, read_only_inside, read_only, hidden, stand_in, network,
                       allowed_hosts, network_log, limits))

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

// And what of the hidden ones: programs and libraries that users install for themselves.
inline constexpr std::string_view kReadableInside[] = {
    ".cargo/bin",        ".cargo/config.toml", ".cargo/env",        ".cargo/git",
    ".cargo/registry",   ".gradle/wrapper",    ".local/bin",        ".local/lib",
    ".local/pipx",       ".local/share/fnm",   ".local/share/mise", ".local/share/pipx",
    ".local/share/pnpm", ".local/share/uv",    ".m2/repository",
};

// Does an environment variable of this name hold a secret, or lead to one (an agent's socket)?
bool is_secret_variable(std::string_view name);

}  // namespace sandbox
