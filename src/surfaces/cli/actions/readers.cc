#include <limits>

#include "base/text.h"
#include "surfaces/cli/actions/actions.h"
#include "surfaces/cli/actions/follow.h"
#include "surfaces/cli/view/transcript_view.h"
#include "surfaces/show/columns.h"
#include "surfaces/show/words.h"

namespace cli {
namespace {

constexpr std::ptrdiff_t kWaitsShown = 5;
constexpr std::int64_t kEventPage = 512;

// What has not reached the operator: a line for each delivery that failed or is still tried.
std::vector<std::string> undelivered(const json::value& summary) {
    std::vector<std::string> lines;
    const auto* deliveries = base::find(summary, "recent_operator_deliveries");
    if (!deliveries || !deliveries->is_array()) return lines;
    for (const auto& one : deliveries->get_array()) {
        const auto status = base::string_at(one, "status");
        if (status == "accepted_by_transport") continue;
        const auto why = base::printable(base::string_at(one, "failure_summary"));
        auto line = base::printable(base::string_at(one, "route_id"));
        if (status == "failed_to_submit")
            line += " failed: " + why;
        else
            line += why.empty() ? ": being sent" : ": will be tried again: " + why;
        lines.push_back(std::move(line));
    }
    return lines;
}

// The folder it works in, and its relation to the project.
std::string workspace_text(const json::value& summary) {
    std::string cwd = show::pointer_text(summary, "/execution/cwd");
    if (show::pointer_text(summary, "/execution/workspace_id").starts_with("agent_home"))
        return cwd + " (its own home)";
    if (show::pointer_text(summary, "/execution/projection_kind") != "git_worktree_root")
        return cwd;
    const auto* session = base::find(summary.at("agent"), "worktree_session");
    const bool is_managed = session && session->is_object();
    return fmt::format(
        "{} (worktree of {}{})", cwd, show::pointer_text(summary, "/execution/workspace_anchor"),
        is_managed ? ", branch " + base::printable(base::string_at(*session, "worktree_branch"))
                   : "");
}

}  // namespace

Exit on(const StatusCommand& command, const Context& context) {
    const auto summary = context.service.status(command.agent.value_or(context.default_agent));
    if (!summary) return report(context.terminal, summary.error());
    if (command.json || !context.terminal.is_for_people()) {
        context.terminal.print_line(base::pretty_json(*summary));
        return Exit::Success;
    }
    const json::value value(*summary);
    // A path or an error may be longer than a line, and is then continued below itself.
    const std::size_t columns = out_columns(context.terminal);
    const auto line = [&](std::string_view label, const std::string& text) {
        std::string shown;
        for (const auto& part : show::wrapped(text, columns > 31 ? columns - 11 : 20))
            shown += fmt::format("{}{:<10} {}", shown.empty() ? "" : "\n",
                                 shown.empty() ? label : "", part);
        context.terminal.print_line(shown);
    };
    line("agent", show::pointer_text(value, "/identity/agent_id"));
    line("status", show::status_text(show::pointer_text(value, "/agent/status")));
    line("state", show::state_text(value));
    line("pending", show::pointer_text(value, "/agent/pending"));
    line("turns", show::pointer_text(value, "/agent/turn_index"));
    if (const std::string work = show::pointer_text(value, "/current_work_item/objective");
        work != "-")
        line("work", base::ellipsize(base::collapse_whitespace(work), 100));
    if (const auto* waits = base::find(value, "active_wait_conditions"); waits && waits->is_array())
        for (const auto& wait : waits->get_array()) {
            if (&wait - waits->get_array().data() == kWaitsShown) {
                line("waits for", fmt::format("{} more; holon wait list shows all",
                                              waits->get_array().size() - kWaitsShown));
                break;
            }
            line("waits for", base::printable(base::string_at(wait, "waiting_for")));
        }
    for (const auto& notice : undelivered(value)) line("notices", notice);
    line("model", model_text(value.at("model")));
    line("workspace", workspace_text(value));
    const std::string rounds = show::pointer_text(value, "/token_usage/total_model_rounds");
    line("tokens",
         fmt::format("{} in {} {}", show::pointer_text(value, "/token_usage/total/total_tokens"),
                     rounds, rounds == "1" ? "round" : "rounds"));
    return Exit::Success;
}

Exit on(const TranscriptCommand& command, const Context& context) {
    const auto entries = context.service.transcript(command.agent.value_or(context.default_agent),
                                                    {command.limit, command.before});
    if (!entries) return report(context.terminal, entries.error());
    if (command.json || !context.terminal.is_for_people())
        context.terminal.print_line(base::pretty_json(json_list(entries->items)));
    else
        TranscriptView(context.terminal).print(entries->items);
    tell_next(context.terminal, entries->next);
    return Exit::Success;
}

Exit on(const EventsCommand& command, const Context& context) {
    const std::string agent = agent_of(command.agent, context);
    const auto print = [&](const domain::Event& event) {
        context.terminal.print_line(base::json_text(base::to_json(event)));
    };
    if (command.follow) return follow(agent, command.after_seq, context, print);
    const auto newest = context.service.newest_event(agent);
    if (!newest) return report(context.terminal, newest.error());
    std::int64_t after_seq = command.after_seq;
    std::int64_t left = command.limit.value_or(std::numeric_limits<std::int64_t>::max());
    while (left > 0 && after_seq < *newest) {
        const auto page = context.service.events(agent, after_seq, std::min(left, kEventPage));
        if (!page) return report(context.terminal, page.error());
        for (const auto& event : *page) print(event);
        if (page->empty() || !context.terminal.is_written()) break;
        left -= std::ssize(*page);
        after_seq = page->back().event_seq;
    }
    if (after_seq < *newest && context.terminal.is_written())
        context.terminal.note(fmt::format("There are {} more events: holon events --after-seq {}",
                                          *newest - after_seq, after_seq));
    return Exit::Success;
}

Exit on(const DebugPromptCommand& command, const Context& context) {
    const auto dump =
        context.service.debug_prompt(agent_of(command.agent, context), command.text, command.trust);
    if (!dump) return report(context.terminal, dump.error());
    context.terminal.print_line(base::printable(*dump, true));
    return Exit::Success;
}

}  // namespace cli
