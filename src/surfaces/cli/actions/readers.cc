#include "base/text.h"
#include "surfaces/cli/actions/actions.h"
#include "surfaces/cli/actions/follow.h"

namespace cli {
namespace {

constexpr std::ptrdiff_t kWaitsShown = 5;

constexpr std::size_t kResultPreviewChars = 400;

void print_entry(const domain::TranscriptEntry& entry, const Terminal& terminal) {
    const auto say = [&](std::string_view who, std::string_view text) {
        std::string lines;
        for (const auto line : base::split_lines(text))
            lines += fmt::format("{:>9}  {}\n", lines.empty() ? who : "", base::printable(line));
        terminal.print(lines);
    };
    switch (entry.kind) {
        case domain::TranscriptKind::IncomingMessage: {
            const auto* body = base::find(entry.data, "body");
            say("operator", body ? base::string_at(*body, "text", base::json_text(*body)) : "");
            return;
        }
        case domain::TranscriptKind::AssistantRound: {
            const auto* blocks = base::find(entry.data, "blocks");
            if (!blocks || !blocks->is_array()) return;
            for (const auto& block : blocks->get_array()) {
                if (base::string_at(block, "type") == "text")
                    say("agent", base::string_at(block, "text"));
                if (base::string_at(block, "type") != "tool_use") continue;
                const auto* input = base::find(block, "input");
                say("calls",
                    base::string_at(block, "name") + " " + (input ? base::json_text(*input) : ""));
            }
            return;
        }
        case domain::TranscriptKind::ToolResults: {
            const auto* results = base::find(entry.data, "results");
            if (!results || !results->is_array()) return;
            for (const auto& result : results->get_array())
                say(base::bool_at(result, "is_error") ? "error" : "result",
                    base::ellipsize(base::string_at(result, "content"), kResultPreviewChars));
            return;
        }
        case domain::TranscriptKind::RuntimeFailure:
            return say("failure", base::string_at(entry.data, "text"));
        case domain::TranscriptKind::ContinuationPrompt:
            return say("runtime", base::string_at(entry.data, "text"));
    }
}

// What would let the agent continue, in words.
std::string state_text(const json::value& summary) {
    if (const std::string fault = pointer_text(summary, "/lifecycle/fault/reason"); fault != "-")
        return fmt::format("set aside after a fault: {}; let it try again with: {}", fault,
                           pointer_text(summary, "/lifecycle/fault/recover_cli_hint"));
    const std::string outcome = pointer_text(summary, "/closure/outcome");
    if (outcome == "completed") return "done";
    if (outcome == "continuable") return "has work to continue";
    if (outcome == "failed") return "the last turn failed";
    const std::string reason = pointer_text(summary, "/closure/waiting_reason");
    if (reason == "awaiting_operator_input") return "waiting for your next prompt";
    if (reason == "awaiting_external_change") return "waiting for an external event";
    if (reason == "awaiting_task_result") return "waiting for a background task";
    if (reason == "awaiting_timer") return "waiting for a timer";
    return outcome;
}

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
    std::string cwd = pointer_text(summary, "/execution/cwd");
    if (pointer_text(summary, "/execution/workspace_id").starts_with("agent_home"))
        return cwd + " (its own home)";
    if (pointer_text(summary, "/execution/projection_kind") != "git_worktree_root") return cwd;
    const auto* session = base::find(summary.at("agent"), "worktree_session");
    const bool is_managed = session && session->is_object();
    return fmt::format(
        "{} (worktree of {}{})", cwd, pointer_text(summary, "/execution/workspace_anchor"),
        is_managed ? ", branch " + base::printable(base::string_at(*session, "worktree_branch"))
                   : "");
}

}  // namespace

Exit on(const StatusCommand& command, const Context& context) {
    const auto summary = context.service.status(command.agent.value_or(context.default_agent));
    if (!summary) return report(context.terminal, summary.error());
    if (command.json || !context.terminal.out_is_terminal) {
        context.terminal.print_line(base::pretty_json(*summary));
        return Exit::Success;
    }
    const json::value value(*summary);
    const auto line = [&](std::string_view label, const std::string& text) {
        context.terminal.print_line(fmt::format("{:<10} {}", label, text));
    };
    line("agent", pointer_text(value, "/identity/agent_id"));
    line("status", pointer_text(value, "/agent/status"));
    line("state", state_text(value));
    line("pending", pointer_text(value, "/agent/pending"));
    line("turns", pointer_text(value, "/agent/turn_index"));
    if (const std::string work = pointer_text(value, "/current_work_item/objective"); work != "-")
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
    line("tokens", pointer_text(value, "/token_usage/total/total_tokens") + " in " +
                       pointer_text(value, "/token_usage/total_model_rounds") + " rounds");
    return Exit::Success;
}

Exit on(const TranscriptCommand& command, const Context& context) {
    const auto entries =
        context.service.transcript(command.agent.value_or(context.default_agent), command.limit);
    if (!entries) return report(context.terminal, entries.error());
    if (command.json || !context.terminal.out_is_terminal)
        context.terminal.print_line(base::pretty_json(json_list(*entries)));
    else
        for (const auto& entry : *entries) print_entry(entry, context.terminal);
    return Exit::Success;
}

Exit on(const EventsCommand& command, const Context& context) {
    const std::string agent = agent_of(command.agent, context);
    const auto print = [&](const domain::Event& event) {
        context.terminal.print_line(base::json_text(base::to_json(event)));
    };
    if (command.follow) return follow(agent, command.after_seq, context, print);
    const auto events = context.service.events(agent, command.after_seq, command.limit);
    if (!events) return report(context.terminal, events.error());
    for (const auto& event : *events) print(event);
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
