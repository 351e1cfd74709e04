// One command line as a model asks for it, alone or in a batch.
#pragma once

#include <optional>
#include <string>

#include "base/typed.h"
#include "exec/tools/builtin/shell.h"

namespace builtin {

struct CommandArgs {
    std::string cmd;
    std::optional<std::string> workdir{};
    std::optional<std::string> shell{};
    std::optional<bool> login{};
    std::optional<std::int64_t> timeout_ms{};
    std::optional<std::int64_t> max_output_tokens{};
};
BOOST_DESCRIBE_STRUCT(CommandArgs, (), (cmd, workdir, shell, login, timeout_ms, max_output_tokens))
constexpr auto describe_fields(const CommandArgs*) {
    return std::to_array<base::FieldDoc>(
        {{"cmd", "The command line, run by a shell."},
         {"workdir", "Folder to run in, relative to cwd; must lie inside the execution root."},
         {"shell", "Shell program to use; omit for the default one."},
         {"login", "Run a login shell (default true)."},
         {"timeout_ms",
          "End the command and everything it started after this long (default 600000).",
          R"("minimum":1,"maximum":3600000)"},
         {"max_output_tokens", "How much of the output to show, in estimated tokens.",
          R"("minimum":0)"}});
}

inline CommandSpec spec_of(CommandArgs args) {
    return {.cmd = std::move(args.cmd),
            .workdir = std::move(args.workdir),
            .shell = std::move(args.shell),
            .login = args.login.value_or(true),
            .timeout_ms = args.timeout_ms,
            .max_output_tokens = args.max_output_tokens};
}

}  // namespace builtin
