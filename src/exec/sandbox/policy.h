// What a confined command may read, write and reach. Values and pure functions: nothing here checks
// the machine or the file system. confine.h enforces a Policy.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "domain/execution.h"

namespace sandbox {

using Network = domain::SandboxNetwork;
using Limits = domain::SandboxLimits;

// The rules for one command. Paths are absolute. Everything that no member names can be read and
// not written. Where members overlap, the deeper path applies: a readable folder inside a hidden
// one is readable.
struct Policy {
    // Existing folders in which the command may create, change and delete. Never "/".
    std::vector<std::string> writable_roots{};
    // Relative to each writable root, where they exist: files that the operator's programs would
    // run or obey later.
    std::vector<std::string> read_only_inside{".git/hooks", ".git/config", ".git/config.worktree",
                                              ".holon"};
    // Folders and files that are readable and never writable, also inside hidden or writable ones.
    std::vector<std::string> read_only{};
    // Folders that are empty for the command, and files that it sees as `stand_in`.
    std::vector<std::string> hidden{};
    std::string stand_in{};  // An empty file. Without one, a hidden file cannot be opened.
    // None: not even loopback. Allowlist: `allowed_hosts` through the proxy. Host: not confined.
    Network network{Network::None};
    std::vector<std::string> allowed_hosts{};  // "example.com", "*.example.com", "example.com:8443"
    // The proxy appends one JSON line for each requested destination here. Empty: no log.
    std::string network_log{};
    Limits limits{};  // Always enforced; see domain::SandboxLimits for what each one bounds.
    friend bool operator==(const Policy&, const Policy&) = default;
};
BOOST_DESCRIBE_STRUCT(Policy, (),
                      (writable_roots, read_only_inside, read_only, hidden, stand_in, network,
                       allowed_hosts, network_log, limits))

// Dot files and folders of a home folder that commands may read: shells and toolchains. Every other
// dot name is hidden, because it may hold a secret.
inline constexpr std::string_view kReadableDotNames[] = {
    ".asdf",          ".bash_profile", ".bashrc",   ".bun",      ".deno",    ".fnm",
    ".ghcup",         ".goenv",        ".inputrc",  ".jenv",     ".juliaup", ".mise",
    ".nodenv",        ".nvm",          ".opam",     ".perlbrew", ".poetry",  ".profile",
    ".pyenv",         ".rbenv",        ".rustup",   ".rvm",      ".sdkman",  ".swiftly",
    ".tool-versions", ".volta",        ".zprofile", ".zshenv",   ".zshrc",
};
// Is `name`, one name without a folder, in that list?
bool is_readable_dot_name(std::string_view name);

// Paths inside hidden dot folders that commands may read: programs and libraries that users install
// for themselves. Relative to the home folder.
inline constexpr std::string_view kReadableInside[] = {
    ".cargo/bin",        ".cargo/config.toml", ".cargo/env",        ".cargo/git",
    ".cargo/registry",   ".gradle/wrapper",    ".local/bin",        ".local/lib",
    ".local/pipx",       ".local/share/fnm",   ".local/share/mise", ".local/share/pipx",
    ".local/share/pnpm", ".local/share/uv",    ".m2/repository",
};

// Does an environment variable of this name probably hold a secret, or lead to one (the socket of
// an ssh agent)? Judges the name only, in any case of letters. Confined commands do not get such
// variables.
bool is_secret_variable(std::string_view name);

}  // namespace sandbox
