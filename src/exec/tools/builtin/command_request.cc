#include "exec/tools/builtin/command_request.h"

#include <algorithm>

#include "base/text.h"
#include "exec/tools/builtin/command_text.h"

namespace builtin {
namespace {

constexpr std::size_t kSummaryCharsMax = 80;

// What a terminal needs; the command's own environment decides where it says something.
void add_terminal(base::ProcessSpec& process) {
    process.environment.emplace_back("HOLON_PROCESS_GROUP", "1");
    const auto is_term = [](const auto& variable) { return variable.first == "TERM"; };
    if (std::ranges::none_of(process.environment, is_term))
        process.environment.emplace_back("TERM", "dumb");
}

}  // namespace

std::expected<tasks::CommandRequest, domain::ToolError> command_request(
    const Shell& shell, const tools::Place& place, const domain::TaskId& id,
    const tasks::CommandTaskSpec& spec, std::string_view tool) {
    auto process = shell.prepare({.cmd = spec.cmd,
                                  .workdir = spec.workdir,
                                  .shell = spec.shell,
                                  .login = spec.login,
                                  .max_output_tokens = spec.max_output_tokens},
                                 place, tool);
    if (!process) return std::unexpected(process.error());
    if (spec.tty) add_terminal(*process);
    return tasks::CommandRequest{
        .id = id,
        .agent_id = place.agent_id,
        .summary = "Command: " + base::ellipsize(command_preview(spec.cmd), kSummaryCharsMax),
        .spec = spec,
        .argv = std::move(process->argv),
        .workdir = std::move(process->cwd),
        .environment = std::move(process->environment),
        .output_path = output_log(place.agent_home, id)};
}

std::filesystem::path output_log(const std::filesystem::path& agent_home,
                                 const domain::TaskId& id) {
    return agent_home / "task-output" / (id.value + ".log");
}

}  // namespace builtin
