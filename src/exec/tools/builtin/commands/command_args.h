// One command line as a model asks for it, alone or in a batch.
#pragma once

#include <optional>
#include <string>

#include "base/typed.h"
#include "exec/tools/builtin/commands/shell.h"

namespace builtin {

// How long a command may take before it becomes a task, or in a batch before it is ended.
inline constexpr std::int64_t kYieldDefaultMs = 10'000;

struct CommandArgs {
    std::string cmd;
    std::optional<std::string> workdir{};
    std::optional<std::string> shell{};
    std::optional<bool> login{};
    std::optional<std::int64_t> yield_time_ms{};
    std::optional<std::int64_t> max_output_tokens{};
};
BOOST_DESCRIBE_STRUCT(CommandArgs, (),
                      (cmd, workdir, shell, login, yield_time_ms, max_output_tokens))
constexpr auto describe_fields(const CommandArgs*) {
    return std::to_array<base::FieldDoc>(
        {{"cmd", "The command line, run by a shell."},
         {"workdir", "Folder to run in, relative to cwd; must lie inside the execution root."},
         {"shell", "Shell program to use; omit for the default one."},
         {"login", "Run a login shell (default true)."},
         {"yield_time_ms",
          "End the command and everything it started after this long (default 10000).",
          R"("minimum":1,"maximum":3600000)"},
         {"max_output_tokens", "How much of the output to show, in estimated tokens.",
          R"("minimum":0)"}});
}

enum class DuplicatePolicy { ReuseRunning, StartNew };
BOOST_DESCRIBE_ENUM(DuplicatePolicy, ReuseRunning, StartNew)

struct ExecArgs {
    std::string cmd;
    std::optional<std::string> workdir{};
    std::optional<std::string> shell{};
    std::optional<bool> login{};
    std::optional<bool> tty{};
    DuplicatePolicy duplicate_policy{DuplicatePolicy::ReuseRunning};
    std::optional<bool> accepts_input{};
    std::optional<std::int64_t> yield_time_ms{};
    std::optional<std::int64_t> max_output_tokens{};
};
BOOST_DESCRIBE_STRUCT(ExecArgs, (),
                      (cmd, workdir, shell, login, tty, duplicate_policy, accepts_input,
                       yield_time_ms, max_output_tokens))
constexpr auto describe_fields(const ExecArgs*) {
    return std::to_array<base::FieldDoc>(
        {{"cmd", "The command line, run by a shell."},
         {"workdir", "Folder to run in, relative to cwd; must lie inside the execution root."},
         {"shell", "Shell program to use; omit for the default one."},
         {"login", "Run a login shell (default true)."},
         {"tty",
          "Run it in a terminal of its own (default false); stdout and stderr are then one."},
         {"duplicate_policy",
          "When the same command already runs as a task: point to that task, or start another.",
          R"("default":"reuse_running")", true},
         {"accepts_input",
          "Keep its standard input open for TaskInput (default: the value of tty)."},
         {"yield_time_ms",
          "Wait this long for its end (default 10000); then it continues as a task in the "
          "background, whose result comes back by itself.",
          R"("minimum":0,"maximum":3600000)"},
         {"max_output_tokens", "How much of the output to show, in estimated tokens.",
          R"("minimum":0)"}});
}

inline CommandSpec spec_of(CommandArgs args) {
    return {.cmd = std::move(args.cmd),
            .workdir = std::move(args.workdir),
            .shell = std::move(args.shell),
            .login = args.login.value_or(true),
            .timeout_ms = args.yield_time_ms.value_or(kYieldDefaultMs),
            .max_output_tokens = args.max_output_tokens};
}

}  // namespace builtin
