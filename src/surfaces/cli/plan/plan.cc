// `holon plan …` and `holon tools`.
#include "base/text.h"
#include "surfaces/cli/plan/call.h"
#include "surfaces/cli/plan/progress.h"
#include "surfaces/cli/plan/view.h"
#include "surfaces/show/times.h"

namespace cli {
namespace {

using domain::PlanRunStatus;

Exit exit_of(PlanRunStatus status) {
    switch (status) {
        case PlanRunStatus::Succeeded:
            return Exit::Success;
        case PlanRunStatus::AwaitingApproval:
            return Exit::Waiting;
        case PlanRunStatus::Cancelled:
            return Exit::Interrupted;
        case PlanRunStatus::Running:
        case PlanRunStatus::Partial:
        case PlanRunStatus::Failed:
            return Exit::Failed;
    }
    return Exit::Error;
}

}  // namespace

std::string approved_text(const domain::PlanRun& run) {
    std::string text = fmt::format("Run {} is approved by {} until {}", run.run_id,
                                   base::printable(run.approval->approver),
                                   show::local_time(run.approval->expires_at));
    // The daemon begins what an agent asked for; what the operator made waits for the operator.
    if (run.owner) return text + "; the daemon runs it for agent " + run.owner->agent_id.value;
    return text + fmt::format(". Begin it with: holon plan resume {}", run.run_id);
}

Exit print_status(const PlanCall& call, const domain::PlanRun& run) {
    if (call.wants_json())
        call.context.terminal.print_line(base::json_text(service::plan_run_json(run)));
    else
        call.context.terminal.print_line(run_summary(run));
    return exit_of(run.status);
}

json::array fault_list(const std::vector<service::PlanFault>& faults) {
    json::array list;
    for (const auto& fault : faults) list.push_back(base::to_json(fault));
    return list;
}

namespace {

Exit refuse(const PlanCall& call, const std::vector<service::PlanFault>& faults) {
    if (call.wants_json())
        call.context.terminal.print_line(
            base::pretty_json(json::object{{"ok", false}, {"faults", fault_list(faults)}}));
    else
        call.context.terminal.note(faults_text(faults));
    return Exit::Faults;
}

base::Result<Exit> on(const PlanCheckCommand& command, const PlanCall& call) {
    const auto request = TRY(request_of(command.source, call.context.terminal));
    const auto check = TRY(call.context.plans.check(request));
    if (!check.ok) return refuse(call, check.faults);
    if (call.wants_json())
        call.context.terminal.print_line(
            base::pretty_json(json::object{{"ok", true},
                                           {"goal", check.goal},
                                           {"steps", check.steps},
                                           {"riskLevel", check.risk_level},
                                           {"planHash", check.plan_hash},
                                           {"params", base::to_json(check.params)},
                                           {"paramTypes", base::to_json(check.param_types)}}));
    else
        call.context.terminal.print_line(
            fmt::format("No faults: {}, {}. {}", base::counted(check.steps, "step"),
                        check.risk_level, base::printable(check.goal)));
    return Exit::Success;
}

// The request of a stored run, for a preview before its approval.
base::Result<service::PlanRequest> request_of_run(const std::string& run, const PlanCall& call) {
    const json::value shown = TRY(call.context.plans.show(run));
    const auto& stored = shown.at("run");
    service::PlanRequest request{.text = base::json_text(shown.at("plan")),
                                 .vault = base::string_at(stored, "vault")};
    for (const auto& [name, to] :
         {std::pair("params", &request.params), std::pair("policy", &request.policy),
          std::pair("context", &request.context)})
        if (const auto* value = base::find(stored, name); value && value->is_object())
            *to = value->get_object();
    return request;
}

base::Result<Exit> show_preview(const PlanSource& source, const PlanCall& call) {
    std::error_code ignored;
    const bool is_run = !source.action && source.file != "-" &&
                        !std::filesystem::exists(source.file, ignored) &&
                        call.context.plans.run(source.file).has_value();
    const auto request = is_run ? TRY(request_of_run(source.file, call))
                                : TRY(request_of(source, call.context.terminal));
    const auto preview = TRY(call.context.plans.preview(request));
    const auto* ok = preview.if_contains("ok");
    const bool good = ok && ok->is_bool() && ok->get_bool();
    if (call.wants_json())
        call.context.terminal.print_line(base::pretty_json(preview));
    else if (!good)
        call.context.terminal.note(faults_text(
            TRY(base::from_json<std::vector<service::PlanFault>>(preview.at("faults")))));
    else
        call.context.terminal.print_line(preview_text(call.context.terminal, preview));
    return good ? Exit::Success : Exit::Faults;
}

base::Result<Exit> on(const PlanPreviewCommand& command, const PlanCall& call) {
    return show_preview(command.source, call);
}

// With bars, on a terminal.
base::Result<Exit> execute_watched(const PlanCall& call, const std::string& run) {
    const auto& context = call.context;
    const auto shown = TRY(context.plans.show(run));
    PlanProgress progress(context.terminal, context.clock, shown.at("plan"));
    for (const auto& record : TRY(context.plans.records(run, 0, kRecordsCaughtUp)))
        progress.on_record(record);
    const auto ended = context.plans.execute(run, progress);
    progress.finish();
    return print_status(call, TRY(ended));
}

base::Result<Exit> execute(const PlanCall& call, const std::string& run) {
    if (!call.json && call.context.terminal.err_is_terminal) return execute_watched(call, run);
    PlanView people(call.context.terminal);
    PlanLines scripts(call.context.terminal);
    service::PlanObserver& observer = call.json ? static_cast<service::PlanObserver&>(scripts)
                                                : static_cast<service::PlanObserver&>(people);
    return print_status(call, TRY(call.context.plans.execute(run, observer)));
}

constexpr std::chrono::hours kOwnApproval{24};

// True when the person at the terminal approved the preview.
base::Result<bool> ask(const service::PlanRequest& request, const PlanCall& call) {
    const auto& terminal = call.context.terminal;
    terminal.note(preview_text(terminal, TRY(call.context.plans.preview(request))));
    return terminal.confirm("Run it? [y/N] ");
}

base::Result<Exit> on(const PlanRunCommand& command, const PlanCall& call) {
    if (command.dry_run) return show_preview(command.source, call);
    auto& plans = call.context.plans;
    const auto& terminal = call.context.terminal;
    const auto request = TRY(request_of(command.source, terminal));
    const auto created = TRY(plans.create(request));
    if (!created.run) return refuse(call, created.faults);
    const std::string run = created.run->run_id.value;
    if (created.needs_approval && !command.yes) {
        if (!terminal.in_is_terminal || !terminal.err_is_terminal || call.json ||
            command.source.file == "-")
            return print_status(call, *created.run);
        if (!TRY(ask(request, call)))
            return print_status(
                call, TRY(plans.reject(run, call.context.user, "rejected at the terminal")));
    }
    if (created.needs_approval) TRY(plans.approve(run, call.context.user, kOwnApproval));
    return execute(call, run);
}

base::Result<Exit> on(const PlanApproveCommand& command, const PlanCall& call) {
    const auto run = TRY(call.context.plans.approve(command.run, call.context.user,
                                                    std::chrono::hours(command.hours)));
    if (call.wants_json())
        call.context.terminal.print_line(base::json_text(service::plan_run_json(run)));
    else
        call.context.terminal.print_line(approved_text(run));
    return Exit::Success;
}

base::Result<Exit> on(const PlanRejectCommand& command, const PlanCall& call) {
    const auto run = TRY(call.context.plans.reject(command.run, call.context.user, command.reason));
    print_status(call, run);
    return Exit::Success;
}

base::Result<Exit> on(const PlanResumeCommand& command, const PlanCall& call) {
    if (command.yes) TRY(call.context.plans.approve(command.run, call.context.user, kOwnApproval));
    return execute(call, command.run);
}

base::Result<Exit> on(const PlanCancelCommand& command, const PlanCall& call) {
    print_status(call, TRY(call.context.plans.cancel(command.run, command.reason)));
    return Exit::Success;
}

}  // namespace

Exit execute(const PlanCommand& command, const PlanContext& context) {
    const PlanCall call{context, command.json};
    const auto exit =
        std::visit([&](const auto& action) { return on(action, call); }, command.action);
    if (!exit) {
        const Exit reported = report(context.terminal, exit.error());
        return exit.error().kind == domain::kWaitsForApproval ? Exit::Waiting : reported;
    }
    return settle(context.terminal, *exit);
}

}  // namespace cli
