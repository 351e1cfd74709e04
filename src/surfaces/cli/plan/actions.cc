// Saved plans, deletion of old runs, and `holon tools`.
#include "base/calendar/calendar.h"
#include "base/text.h"
#include "surfaces/cli/plan/call.h"
#include "surfaces/cli/plan/view.h"

namespace cli {
namespace {

// "folder: string, limit: integer"
std::string params_text(const domain::PlanAction& action) {
    std::string text;
    for (const auto& name : action.params) {
        text += (text.empty() ? "" : ", ") + name;
        if (!action.param_types) continue;
        const auto type = action.param_types->find(name);
        if (type != action.param_types->end()) text += ": " + type->second;
    }
    return text;
}

Exit show_action(const PlanCall& call, const domain::PlanAction& action) {
    if (call.wants_json())
        print_json(call, action);
    else
        call.context.terminal.print_line(fmt::format(
            "{}: {}{}", action.name, base::printable(action.description),
            action.params.empty() ? "" : fmt::format(" (--param {})", params_text(action))));
    return Exit::Success;
}

}  // namespace

base::Result<Exit> on(const PlanSaveCommand& command, const PlanCall& call) {
    std::optional<std::string> text;
    if (command.file) text = TRY(read_input(call.context.terminal, *command.file));
    const auto run = command.run || text ? command.run : std::optional<std::string>("last");
    return show_action(call,
                       TRY(call.context.plans.save(command.name, command.description, run, text)));
}

base::Result<Exit> on(const PlanActionsCommand&, const PlanCall& call) {
    const auto actions = TRY(call.context.plans.actions());
    json::array list;
    for (const auto& action : actions) {
        if (!call.wants_json()) {
            show_action(call, action);
            continue;
        }
        list.push_back({{"name", action.name},
                        {"description", action.description},
                        {"params", base::to_json(action.params)},
                        {"paramTypes", base::to_json(action.param_types)},
                        {"planHash", action.plan_hash}});
    }
    if (call.wants_json()) call.context.terminal.print_line(base::pretty_json(list));
    return Exit::Success;
}

base::Result<Exit> on(const PlanExportCommand& command, const PlanCall& call) {
    const auto action = TRY(call.context.plans.action(command.name));
    call.context.terminal.print_line(
        base::pretty_json(json::object{{"name", action.name},
                                       {"description", action.description},
                                       {"planHash", action.plan_hash},
                                       {"plan", action.plan}}));
    return Exit::Success;
}

base::Result<Exit> on(const PlanImportCommand& command, const PlanCall& call) {
    const auto text = TRY(read_input(call.context.terminal, command.file));
    const auto document = base::parse_json(text).value_or(nullptr);
    const auto* plan = base::find(document, "plan");
    if (!plan)
        return base::fail(base::ErrorCode::InvalidInput,
                          "{} is not an exported action; save a plan with holon plan save --file",
                          command.file);
    const auto action = TRY(call.context.plans.save(
        command.name.value_or(base::string_at(document, "name")),
        base::string_at(document, "description"), std::nullopt, base::json_text(*plan)));
    const std::string promised = base::string_at(document, "planHash");
    if (!promised.empty() && promised != action.plan_hash)
        call.context.terminal.note("The plan was changed after it was exported.");
    return show_action(call, action);
}

base::Result<Exit> on(const PlanForgetCommand& command, const PlanCall& call) {
    TRY(call.context.plans.remove_action(command.name));
    if (call.wants_json())
        call.context.terminal.print_line(
            base::pretty_json(json::object{{"ok", true}, {"name", command.name}}));
    else
        call.context.terminal.print_line("Removed " + command.name + ".");
    return Exit::Success;
}

base::Result<Exit> on(const PlanPruneCommand& command, const PlanCall& call) {
    std::optional<std::chrono::milliseconds> older_than;
    if (command.older_than)
        older_than =
            std::chrono::milliseconds(TRY(calendar::parse_duration_ms(*command.older_than)));
    const auto pruned = TRY(call.context.plans.prune(older_than, command.dry_run));
    if (call.wants_json()) {
        print_json(call, pruned);
        return Exit::Success;
    }
    if (command.dry_run)
        for (const auto& run : pruned.removed) call.context.terminal.print_line(run);
    call.context.terminal.print_line(
        fmt::format("{} {}, {} kB.{}", command.dry_run ? "Would remove" : "Removed",
                    base::counted(std::ssize(pruned.removed), "run"), pruned.bytes / 1000,
                    pruned.has_more ? " There are more; run it again." : ""));
    return Exit::Success;
}

base::Result<Exit> on(const ToolsCommand& command, const PlanCall& call) {
    const auto all = TRY(call.context.plans.tools());
    json::array list;
    std::vector<std::string> names;
    for (const auto& tool : all) {
        names.push_back(tool.name);
        if (command.name && *command.name != tool.name) continue;
        if (call.wants_json())
            list.push_back(service::plan_json(tool));
        else if (command.name)
            call.context.terminal.print_line(base::pretty_json(service::plan_json(tool)));
        else
            call.context.terminal.print_line(
                fmt::format("{:<28} {:<10} {}", tool.name, tool.risk_level,
                            base::printable(base::ellipsize(tool.description, 80))));
    }
    if (command.name && std::ranges::find(names, *command.name) == names.end()) {
        const std::string near = base::nearest(*command.name, names);
        return base::fail(base::ErrorCode::NotFound, "there is no tool '{}'{}", *command.name,
                          near.empty() ? "" : "; did you mean " + near + "?");
    }
    if (call.wants_json()) call.context.terminal.print_line(base::pretty_json(list));
    return Exit::Success;
}

}  // namespace cli
