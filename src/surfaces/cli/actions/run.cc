#include <algorithm>

#include "base/text.h"
#include "surfaces/cli/actions/actions.h"
#include "surfaces/cli/view/run_view.h"
#include "surfaces/show/columns.h"
#include "surfaces/show/table.h"

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

// The newest temporary run, of this folder if there is one.
base::Result<std::string> last_run(const Context& context) {
    const auto runs = TRY(context.service.recent_runs(service::kRecentRunsMax));
    if (runs.empty())
        return base::fail(base::ErrorCode::NotFound,
                          "there is no earlier run to continue; begin one with: holon run \"...\"");
    const auto here = std::ranges::find(runs, context.cwd.string(),
                                        [](const auto& run) { return run.cwd.value_or(""); });
    return here == runs.end() ? runs.front().agent_id : here->agent_id;
}

Exit list_runs(const RunCommand& command, const Context& context) {
    const auto runs = context.service.recent_runs(command.limit);
    if (!runs) return report(context.terminal, runs.error());
    if (wants_json(context, command.json))
        return answer(context, command.json, json_list(*runs), "");
    show::Rows rows;
    for (const auto& run : *runs)
        rows.push_back({run.agent_id, age_of(run.started_at, context),
                        run.is_open ? "not done" : "done", base::printable(run.text)});
    if (rows.empty()) {
        context.terminal.note("No runs yet. Begin one with: holon run \"...\"");
        return Exit::Success;
    }
    context.terminal.print_line(show::table(rows, out_columns(context.terminal)));
    if (context.terminal.err_is_terminal)
        context.terminal.note(
            "Continue the newest with: holon run --continue \"...\"\n"
            "Another with: holon run --agent ID \"...\"");
    return Exit::Success;
}

}  // namespace

Exit on(const RunCommand& command, const Context& context) {
    if (command.list) return list_runs(command, context);
    service::RunClient own(context.service);
    auto& client = context.run_client ? *context.run_client : own;
    auto request = with_client_paths(command.request, context);
    if (command.continues) {
        auto last = last_run(context);
        if (!last) return report(command, context.terminal, last.error());
        request.agent = std::move(*last);
    }
    const auto run = [&](service::RunObserver& view) {
        return client.run(request, context.caller, view);
    };
    if (command.json) {
        QuietView view;
        const auto response = run(view);
        if (!response) return report(command, context.terminal, response.error());
        context.terminal.print_line(base::pretty_json(base::to_json(*response)));
        return exit_of(response->final_status);
    }
    if (command.stream_json) {
        StreamView view(context.terminal);
        const auto response = run(view);
        if (!response) return report(command, context.terminal, response.error());
        view.finish(*response);
        return exit_of(response->final_status);
    }
    RunView view(context.terminal, context.clock);
    const auto response = run(view);
    if (!response) return report(context.terminal, response.error());
    view.finish(*response);
    say_what_next(*response, context.terminal);
    return exit_of(response->final_status);
}

}  // namespace cli
