#include "base/text.h"
#include "surfaces/cli/actions/actions.h"
#include "surfaces/cli/view/run_view.h"

namespace cli {
namespace {

Exit exit_of(service::FinalStatus status) {
    switch (status) {
        case service::FinalStatus::Completed:
            return Exit::Success;
        case service::FinalStatus::Waiting:
            return Exit::Waiting;
        case service::FinalStatus::Failed:
            return Exit::Failed;
        case service::FinalStatus::MaxTurnsExceeded:
            return Exit::MaxTurnsExceeded;
        case service::FinalStatus::Interrupted:
            return Exit::Interrupted;
    }
    return Exit::Error;
}

void say_what_next(const service::RunResponse& response, const Terminal& terminal) {
    if (response.final_status == service::FinalStatus::Interrupted)
        terminal.note(
            fmt::format("Interrupted; nothing is lost. Resume with: holon run --resume --agent {}",
                        response.agent_id));
    if (response.final_status == service::FinalStatus::Failed)
        terminal.note(
            fmt::format("Show what happened with: holon transcript --agent {}", response.agent_id));
}

// The runtime may be another process, started in another folder.
service::RunRequest with_client_paths(service::RunRequest request, const Context& context) {
    for (auto* path : {&request.workspace_root, &request.cwd})
        if (*path && !(*path)->empty()) *path = (context.cwd / **path).string();
    if (!context.workspace_dir.empty())
        request.client_workspace = (context.cwd / context.workspace_dir).string();
    if (!context.cwd.empty()) request.client_cwd = context.cwd.string();
    return request;
}

}  // namespace

Exit on(const RunCommand& command, const Context& context) {
    service::RunClient own(context.service);
    auto& client = context.run_client ? *context.run_client : own;
    const auto request = with_client_paths(command.request, context);
    if (command.json) {
        QuietView view;
        const auto response = client.run(request, context.caller, view);
        if (!response) return report(context.terminal, response.error());
        context.terminal.print_line(base::pretty_json(base::to_json(*response)));
        return exit_of(response->final_status);
    }
    RunView view(context.terminal, context.clock);
    const auto response = client.run(request, context.caller, view);
    if (!response) return report(context.terminal, response.error());
    view.finish(*response);
    context.terminal.print_line(base::printable(run_text(*response), true));
    say_what_next(*response, context.terminal);
    return exit_of(response->final_status);
}

std::string run_text(const service::RunResponse& response) {
    std::vector<std::string> parts;
    if (!response.final_text.empty()) parts.push_back(response.final_text);
    if (response.final_status != service::FinalStatus::Completed)
        parts.push_back(fmt::format("Run status: {}", base::enum_name(response.final_status)));
    if (response.failure_artifact)
        parts.push_back("Failure: " + failure_text(response.failure_artifact->summary));
    if (response.waiting_reason)
        parts.push_back(
            fmt::format("Waiting reason: {}", base::enum_name(*response.waiting_reason)));
    if (response.sleep_reason) parts.push_back("Sleep reason: " + *response.sleep_reason);
    if (response.token_usage.total_tokens > 0)
        parts.push_back(fmt::format(
            "Token usage: input {}, output {}, total {}", response.token_usage.input_tokens,
            response.token_usage.output_tokens, response.token_usage.total_tokens));
    if (response.provider_cache_usage)
        parts.push_back(
            fmt::format("Provider cache: read {}, created {}, hit rate {}",
                        response.provider_cache_usage->read_input_tokens,
                        response.provider_cache_usage->creation_input_tokens,
                        response.provider_cache_usage->hit_rate
                            ? fmt::format("{:.1f}%", *response.provider_cache_usage->hit_rate * 100)
                            : "n/a"));
    if (!response.tasks.empty()) {
        std::string lines = "Tasks:";
        for (const auto& entry : response.tasks) {
            const auto* task = base::find(entry, "task");
            if (!task) continue;
            lines += fmt::format("\n- [{}] {}", base::string_at(*task, "status"),
                                 base::string_at(*task, "summary", base::string_at(*task, "kind")));
        }
        parts.push_back(std::move(lines));
    }
    if (parts.empty()) return "The run ended without a result.";
    return fmt::format("{}", fmt::join(parts, "\n\n"));
}

}  // namespace cli
