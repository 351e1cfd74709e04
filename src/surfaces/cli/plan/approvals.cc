// `holon approvals`: what waits for the operator's yes, with the exact command.
#include "base/text.h"
#include "surfaces/cli/plan/call.h"
#include "surfaces/show/columns.h"
#include "surfaces/show/times.h"

namespace cli {
namespace {

constexpr std::int64_t kRunsSearched = 1000;
constexpr std::chrono::hours kApprovedFor{24};

// What one step does: its command, or its tool with what it is called with.
std::string step_text(const json::value& step) {
    const auto* args = base::find(step, "args");
    if (args)
        if (const std::string cmd = base::string_at(*args, "cmd"); !cmd.empty()) return "$ " + cmd;
    return base::string_at(step, "tool") + (args ? " " + base::json_text(*args) : "");
}

// The steps of a run, each in a line of its own, whole: the operator answers for every letter.
std::string steps_text(const json::value& shown) {
    const auto* plan = base::find(shown, "plan");
    const auto* steps = plan ? base::find(*plan, "steps") : nullptr;
    std::string text;
    if (steps && steps->is_array())
        for (const auto& step : steps->get_array())
            text += (text.empty() ? "" : "\n") + step_text(step);
    return base::printable(text, true);
}

std::string who_asks(const domain::PlanRun& run) {
    return run.owner ? "agent " + base::printable(run.owner->agent_id.value) : "you";
}

// "y" approves, "n" rejects, anything else leaves it for later.
base::Status decide(const PlanCall& call, const domain::PlanRun& run) {
    const auto& terminal = call.context.terminal;
    const auto answer = terminal.ask("Allow it? [y]es, [n]o, anything else: later  ");
    if (answer == "y" || answer == "yes") {
        terminal.note(approved_text(
            TRY(call.context.plans.approve(run.run_id.value, call.context.user, kApprovedFor))));
    } else if (answer == "n" || answer == "no") {
        TRY(call.context.plans.reject(run.run_id.value, call.context.user,
                                      "rejected at the terminal"));
        terminal.note("Rejected.");
    }
    return {};
}

}  // namespace

base::Result<Exit> on(const ApprovalsCommand& /*command*/, const PlanCall& call) {
    const auto& terminal = call.context.terminal;
    const auto runs = TRY(call.context.plans.runs({.limit = kRunsSearched}));
    json::array list;
    bool is_any = false;
    for (const auto& run : runs.items) {
        const bool is_approved =
            run.approval && run.approval->expires_at > call.context.clock.now();
        if (run.status != domain::PlanRunStatus::AwaitingApproval || is_approved) continue;
        is_any = true;
        const std::string steps = steps_text(TRY(call.context.plans.show(run.run_id.value)));
        if (call.wants_json()) {
            json::object entry = service::plan_run_json(run);
            entry["asks"] = steps;
            list.push_back(std::move(entry));
            continue;
        }
        const auto age = std::chrono::duration_cast<std::chrono::seconds>(call.context.clock.now() -
                                                                          run.created_at);
        terminal.print_line(
            fmt::format("{}  {}  {}", run.run_id, show::age_text(age.count()), who_asks(run)));
        for (const auto line : base::split_lines(steps))
            for (const auto& part : show::wrapped(line, out_columns(terminal) - 2))
                terminal.print_line("  " + part);
        if (terminal.in_is_terminal && terminal.err_is_terminal) TRY(decide(call, run));
    }
    // What MCP servers ask is answered with values, by a command of its own.
    const auto questions =
        call.context.mcp ? call.context.mcp->questions() : std::vector<service::McpQuestion>{};
    for (const auto& question : questions.value_or(std::vector<service::McpQuestion>{})) {
        is_any = true;
        if (call.wants_json()) {
            json::value entry = base::to_json(question);
            entry.as_object()["kind"] = "mcp_question";
            list.push_back(std::move(entry));
            continue;
        }
        terminal.print_line(fmt::format("{}  the MCP server {} asks: {}", question.id,
                                        base::printable(question.server),
                                        base::printable(question.message)));
        terminal.print_line("  holon mcp questions shows it, holon mcp answer answers it");
    }
    if (call.wants_json())
        terminal.print_line(base::pretty_json(list));
    else if (!is_any)
        terminal.note("Nothing waits for your approval.");
    else if (!terminal.in_is_terminal)
        terminal.note("Decide with: holon plan approve ID, or holon plan reject ID");
    return Exit::Success;
}

}  // namespace cli
