// What a confined command may read, write and reach. Values and pure functions: nothing here checks
// the machine or the file system. confine.h enforces a Policy.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "domain/execution.h"

namespace sandbox {

using Network = domain::SandboxNetwork;
using Limits = domain::SandboxLimits;

// The rules for one command. Paths are absolute. What no member names does not exist for the
// command, except for the system's own programs, libraries and settings (see layout.cc). Where
// members overlap, the deeper path applies: a readable folder inside a hidden one is readable.
struct Policy {
    // Existing folders in which the command may create, change and delete. Never "/", a home, a
    // folder above a home, or a folder in a git folder. Of a repository in them only what a commit
    // writes can be changed.
    std::vector<std::string> writable_roots{};
    // Relative to each writable root, where they exist: files that the operator's programs would
    // run or obey later.
    std::vector<std::string> read_only_inside{".holon"};
    // Git folders elsewhere, of which a commit may change what it writes.
    std::vector<std::string> git_folders{};
    // Folders of git folders elsewhere that a commit writes in: objects, refs, logs.
    std::vector<std::string> writable_git_parts{};
    // Folders and files that are readable and never writable, also inside hidden or writable ones.
    // Missing ones and symbolic links are left out.
    std::vector<std::string> read_only{};
    // Folders and files that are empty for the command, if they lie in what it can read.
    std::vector<std::string> hidden{};
    // Home folders: private, empty and writable for the command, deleted with it.
    std::vector<std::string> homes{};
    // Read-only files for the command: path and content.
    std::vector<std::pair<std::string, std::string>> files{};
    // Settings of git outside the writable roots whose words may name files in them.
    std::string git_settings{};
    // None: not even loopback. Allowlist: `allowed_hosts` through the proxy. Host: not confined.
    Network network{Network::None};
    std::vector<std::string> allowed_hosts{};  // "example.com", "*.example.com", "example.com:8443"
    // The proxy appends one JSON line for each requested destination here. Empty: no log.
    std::string network_log{};
    Limits limits{};  // Always enforced; see domain::SandboxLimits for what each one bounds.
    friend bool operator==(const Policy&, const Policy&) = default;
};

// Paths in a home folder that commands may read: programs and libraries that users install for
// themselves, and caches of packages. Nothing here holds credentials: registries' tokens, settings
// of package managers and shells' start files are not in this list.
inline constexpr std::string_view kReadableInHome[] = {
    ".asdf",
    ".bun/bin",
    ".cargo/bin",
    ".cargo/git",
    ".cargo/registry",
    ".deno/bin",
    ".fnm",
    ".ghcup/bin",
    ".ghcup/ghc",
    ".goenv",
    ".gradle/wrapper",
    ".jenv",
    ".juliaup",
    ".local/bin",
    ".local/lib",
    ".local/pipx",
    ".local/share/fnm",
    ".local/share/mise/installs",
    ".local/share/mise/shims",
    ".local/share/pipx",
    ".local/share/pnpm",
    ".local/share/uv/python",
    ".local/share/uv/tools",
    ".m2/repository",
    ".mise",
    ".nodenv",
    ".nvm",
    ".opam",
    ".perlbrew",
    ".pyenv",
    ".rbenv",
    ".rustup",
    ".rvm",
    ".sdkman/candidates",
    ".swiftly",
    ".volta",
    "go/bin",
    "go/pkg/mod",
    "miniconda3",
    "miniforge3",
    "anaconda3",
    "mambaforge",
};

// May a confined command have an environment variable of this name? An allow-list, of locale,
// terminal, search paths and the switches of toolchains; a name that says secret, token, key or
// password is never on it. Pure.
bool is_allowed_variable(std::string_view name);
// The variables of `environment` that a confined command may have: an allowed name, and no address
// with a user and password in the value. Pure.
std::vector<std::pair<std::string, std::string>> allowed_environment(
    std::vector<std::pair<std::string, std::string>> environment);

}  // namespace sandbox
