// What a shell knows after its start files: variables, functions, options. Read from a real shell
// that prints it; compared, so that a shell without start files can be given the same.
#pragma once

#include <chrono>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/os/files.h"
#include "base/result.h"

namespace builtin {

using Variables = std::vector<std::pair<std::string, std::string>>;

enum class ShellKind { Bash, Zsh, Posix };

// The program of a shell's name, in the folders where systems install programs; nothing for any
// other shell. PATH is not asked: it may lead into a workspace.
struct KnownShell {
    ShellKind kind{ShellKind::Posix};
    std::filesystem::path program;
};
std::optional<KnownShell> known_shell(const std::string& name);

struct ShellState {
    std::map<std::string, std::string> environment{};
    // Those that are not exported; with bash, the statements that make them.
    std::map<std::string, std::string> unexported{};
    std::set<std::string> functions{};  // Their names; those of bash that are not exported.
    std::string function_text{};        // Their definitions, with bash.
    std::set<std::string> options{};    // Statements that set them.
    std::string umask{};
    std::string traps{};
    std::string folder{};
    friend bool operator==(const ShellState&, const ShellState&) = default;
};

struct ShellRun {
    KnownShell shell;
    bool is_login{false};
    std::filesystem::path folder;
    Variables environment;
    std::shared_ptr<const base::Fd> preamble{};  // Its BASH_ENV, or none.
    std::chrono::milliseconds timeout{10'000};
};

// Starts the shell, has it print its state and waits for that, not for programs that its start
// files leave running. Unavailable when it does not print it in time. Blocks; any thread.
base::Result<ShellState> read_state(const ShellRun& run);

// The flag and the command line of a shell that reads no start files.
const char* plain_flag(ShellKind kind);

// How a plain shell that has the variables of `login` differs from it: what a preamble can make up
// for. Nothing when no preamble can.
struct Difference {
    std::string settings{};   // Options, umask and variables that are not exported.
    std::string functions{};  // Definitions.
    std::set<std::string> function_names{};
};
std::optional<Difference> difference(ShellKind kind, const ShellState& login,
                                     const ShellState& plain);

}  // namespace builtin
