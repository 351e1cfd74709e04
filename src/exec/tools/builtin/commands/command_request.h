#pragma once

#include <expected>

#include "exec/tasks/host.h"
#include "exec/tools/builtin/commands/shell.h"

namespace builtin {

// The file that gets the output of a command while it runs.
std::filesystem::path output_log(const std::filesystem::path& agent_home, const domain::TaskId& id);

// The command of `spec` as it is started at `place`, whether a call asked for it or an operator:
// its folder and environment, and the file that gets its output. `tool` is named in errors;
// `instructed_by` decides the network where the boundary does so by the instruction.
//
// A command that has been `started` already is only reattached to: it runs as it was started,
// whatever the boundary is now.
std::expected<tasks::CommandRequest, domain::ToolError> command_request(
    const Shell& shell, const tools::ExecutionContext& place, const domain::TaskId& id,
    const tasks::CommandTaskSpec& spec, std::string_view tool, bool started = false,
    domain::AuthorityClass instructed_by = domain::AuthorityClass::OperatorInstruction);

}  // namespace builtin
