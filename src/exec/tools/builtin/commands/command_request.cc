#include "exec/tools/builtin/commands/command_request.h"

#include "base/text.h"
#include "exec/tools/builtin/commands/command_text.h"

namespace builtin {
namespace {

constexpr std::size_t kSummaryCharsMax = 80;

}  // namespace

std::expected<tasks::CommandRequest, domain::ToolError> command_request(
    const Shell& shell, const tools::ExecutionContext& place, const domain::TaskId& id,
    const tasks::CommandTaskSpec& spec, std::string_view tool, bool started,
    domain::AuthorityClass instructed_by) {
    const auto& boundary = shell.boundary(place.agent_id);
    tasks::CommandRequest request{
        .id = id,
        .agent_id = place.agent_id,
        .summary = "Command: " + base::ellipsize(command_preview(spec.cmd), kSummaryCharsMax),
        .spec = spec,
        .output_path = output_log(place.agent_home, id),
        .confined = boundary.confines()};
    if (boundary.has_allow_list())
        request.network_log = request.output_path.parent_path() / (id.value + ".network.jsonl");
    if (started) {
        auto workdir = resolve_workdir(place, spec.workdir, tool);
        request.workdir = workdir.value_or(place.workspace.cwd);
        return request;
    }
    auto process = shell.prepare({.cmd = spec.cmd,
                                  .workdir = spec.workdir,
                                  .shell = spec.shell,
                                  .login = spec.login,
                                  .tty = spec.tty,
                                  .instructed_by = instructed_by,
                                  .max_output_tokens = spec.max_output_tokens,
                                  .network_log = request.network_log},
                                 place, tool);
    if (!process) return std::unexpected(process.error());
    request.argv = std::move(process->argv);
    request.workdir = std::move(process->cwd);
    request.environment = std::move(process->environment);
    request.files = std::move(process->files);
    return request;
}

std::filesystem::path output_log(const std::filesystem::path& agent_home,
                                 const domain::TaskId& id) {
    return agent_home / tasks::kOutputFolder / (id.value + ".log");
}

}  // namespace builtin
