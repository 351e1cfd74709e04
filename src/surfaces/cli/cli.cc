#include "surfaces/cli/cli.h"

#include "base/text.h"
#include "surfaces/cli/latency.h"
#include "surfaces/cli/run_view.h"

namespace cli {
namespace {

constexpr std::size_t kResultPreviewChars = 400;

template <class T>
json::array json_list(const std::vector<T>& records) {
    json::array list;
    for (const auto& record : records) list.push_back(base::to_json(record));
    return list;
}

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
            fmt::format("Interrupted; nothing is lost. Go on with: holon run --resume --agent {}",
                        response.agent_id));
    if (response.final_status == service::FinalStatus::Failed)
        terminal.note(
            fmt::format("See what happened with: holon transcript --agent {}", response.agent_id));
}

Exit on(const RunCommand& command, const Context& context) {
    if (command.json) {
        QuietView view;
        const auto response = context.service.run(command.request, view);
        if (!response) return report(context.terminal, response.error());
        context.terminal.print_line(base::pretty_json(base::to_json(*response)));
        return exit_of(response->final_status);
    }
    RunView view(context.terminal, context.clock);
    const auto response = context.service.run(command.request, view);
    if (!response) return report(context.terminal, response.error());
    view.finish(*response);
    context.terminal.print_line(base::printable(run_text(*response), true));
    say_what_next(*response, context.terminal);
    return exit_of(response->final_status);
}

std::string pointer_text(const json::value& value, std::string_view pointer) {
    boost::system::error_code missing;
    const auto* found =
        value.find_pointer(json::string_view(pointer.data(), pointer.size()), missing);
    if (!found || found->is_null()) return "-";
    return found->is_string() ? base::printable(std::string_view(found->get_string()))
                              : base::json_text(*found);
}

// "xai/grok-4 (this agent's own; the default is vllm/m)"
std::string model_text(const json::value& model) {
    const std::string effective = pointer_text(model, "/effective_model");
    if (base::string_at(model, "source") != "agent_override")
        return (effective.empty() ? "none configured" : effective) + " (the default)";
    return fmt::format("{} (this agent's own; the default is {})", effective,
                       pointer_text(model, "/runtime_default_model"));
}

Exit show_model(const base::Result<json::object>& answer, const std::string& agent, bool json,
                const Context& context) {
    if (!answer) return report(context.terminal, answer.error());
    if (json || !context.terminal.out_is_terminal) {
        context.terminal.print_line(base::pretty_json(*answer));
        return Exit::Success;
    }
    const auto* nested = answer->if_contains("model");
    const json::value model = nested ? *nested : json::value(*answer);
    context.terminal.print_line(
        fmt::format("agent {} asks {}", base::printable(agent), model_text(model)));
    return Exit::Success;
}

// What set and clear print: the outcome and the new state.
base::Result<json::object> changed(base::Result<json::object> state, const std::string& agent) {
    if (!state) return state;
    return json::object{{"ok", true}, {"agent_id", agent}, {"model", std::move(*state)}};
}

Exit on(const AgentModelGetCommand& command, const Context& context) {
    const std::string agent = command.agent.value_or(context.default_agent);
    return show_model(context.service.model(agent), agent, command.json, context);
}

Exit on(const AgentModelSetCommand& command, const Context& context) {
    const std::string agent = command.agent.value_or(context.default_agent);
    return show_model(changed(context.service.set_model(agent, command.model), agent), agent,
                      command.json, context);
}

Exit on(const AgentModelClearCommand& command, const Context& context) {
    const std::string agent = command.agent.value_or(context.default_agent);
    return show_model(changed(context.service.clear_model(agent), agent), agent, command.json,
                      context);
}

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
    line("closure", pointer_text(value, "/closure/outcome") + ", waiting for " +
                        pointer_text(value, "/closure/waiting_reason"));
    line("pending", pointer_text(value, "/agent/pending"));
    line("turns", pointer_text(value, "/agent/turn_index"));
    line("model", model_text(value.at("model")));
    line("workspace", pointer_text(value, "/execution/cwd"));
    line("tokens", pointer_text(value, "/token_usage/total/total_tokens") + " in " +
                       pointer_text(value, "/token_usage/total_model_rounds") + " rounds");
    return Exit::Success;
}

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

Exit on(const TailCommand& command, const Context& context) {
    const auto briefs =
        context.service.briefs(command.agent.value_or(context.default_agent), command.limit);
    if (!briefs) return report(context.terminal, briefs.error());
    if (command.json || !context.terminal.out_is_terminal) {
        context.terminal.print_line(base::pretty_json(json_list(*briefs)));
        return Exit::Success;
    }
    for (const auto& brief : *briefs) {
        const auto age = std::chrono::duration_cast<std::chrono::seconds>(context.clock.now() -
                                                                          brief.created_at);
        context.terminal.print_line(fmt::format("{:<9} {:<8} {}", age_text(age.count()),
                                                base::enum_name(brief.kind),
                                                base::printable(brief.text, true)));
    }
    return Exit::Success;
}

Exit on(const EventsCommand& command, const Context& context) {
    const auto events = context.service.events(command.agent.value_or(context.default_agent),
                                               command.after_seq, command.limit);
    if (!events) return report(context.terminal, events.error());
    for (const auto& event : *events)
        context.terminal.print_line(base::json_text(base::to_json(event)));
    return Exit::Success;
}

constexpr std::int64_t kEventPage = 1000;

// The newest `count` events; the log is read page by page and never held whole.
base::Result<std::vector<domain::Event>> newest_events(service::Service& service,
                                                       const std::string& agent,
                                                       std::size_t count) {
    std::vector<domain::Event> kept;
    while (true) {
        auto page =
            TRY(service.events(agent, kept.empty() ? 0 : kept.back().event_seq, kEventPage));
        const bool is_last = page.size() < static_cast<std::size_t>(kEventPage);
        std::ranges::move(page, std::back_inserter(kept));
        if (kept.size() > count)
            kept.erase(kept.begin(), kept.end() - static_cast<std::ptrdiff_t>(count));
        if (is_last) return kept;
    }
}

Exit on(const DebugLatencyCommand& command, const Context& context) {
    const std::string agent = command.agent.value_or(context.default_agent);
    const auto events =
        newest_events(context.service, agent, static_cast<std::size_t>(command.events_limit));
    if (!events) return report(context.terminal, events.error());
    const auto turns = latency_of(*events, static_cast<std::size_t>(command.limit));
    if (turns.empty()) context.terminal.print_line("no turns yet");
    for (const auto& turn : turns) context.terminal.print(latency_text(turn));
    return Exit::Success;
}

// AgentListEntry of the reference, out of an AgentSummary.
json::object list_entry(const json::value& summary) {
    const auto& agent = summary.at("agent");
    json::object entry{{"identity", summary.at("identity")},
                       {"status", agent.at("status")},
                       {"scheduling_posture", summary.at("scheduling_posture")},
                       {"lifecycle", summary.at("lifecycle")},
                       {"pending", agent.at("pending")},
                       {"model", summary.at("model")}};
    const auto add = [&](const json::value& from, std::string_view name) {
        const auto* value = base::find(from, name);
        if (value && !value->is_null()) entry[name] = *value;
    };
    if (auto* model = entry["model"].if_object()) model->erase("resolved_policy");
    add(agent, "current_run_id");
    add(summary.at("closure"), "waiting_reason");
    add(agent, "active_workspace_entry");
    return entry;
}

Exit on(const AgentListCommand& command, const Context& context) {
    const auto agents = context.service.agents();
    if (!agents) return report(context.terminal, agents.error());
    json::array list;
    for (const auto& agent : *agents) {
        const auto summary = context.service.status(agent);
        // Another process has removed its temporary agent in the meantime.
        if (!summary && summary.error().code == base::ErrorCode::NotFound) continue;
        if (!summary) return report(context.terminal, summary.error());
        const json::value value(*summary);
        if (!command.json && context.terminal.out_is_terminal)
            context.terminal.print_line(fmt::format(
                "{:<42} {:<14} {:>4} pending  {}", agent, pointer_text(value, "/agent/status"),
                pointer_text(value, "/agent/pending"), pointer_text(value, "/closure/outcome")));
        list.push_back(list_entry(value));
    }
    if (command.json || !context.terminal.out_is_terminal)
        context.terminal.print_line(base::pretty_json(list));
    if (agents->empty() && context.terminal.err_is_terminal)
        context.terminal.note(
            "No agents yet. Make one with: holon run --agent main --create-agent \"…\"");
    return Exit::Success;
}

}  // namespace

Exit report(const Terminal& terminal, const base::Error& error) {
    terminal.note("Error: " + base::printable(error.message, true));
    return Exit::Error;
}

std::string run_text(const service::RunResponse& response) {
    std::vector<std::string> parts;
    if (!response.final_text.empty()) parts.push_back(response.final_text);
    if (response.final_status != service::FinalStatus::Completed)
        parts.push_back(fmt::format("Run status: {}", base::enum_name(response.final_status)));
    if (response.failure_artifact)
        parts.push_back("Failure: " + response.failure_artifact->summary);
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

Exit settle(const Terminal& terminal, Exit exit) {
    if (terminal.is_written() || exit != Exit::Success) return exit;
    // A reader that closes its pipe has seen enough, as in `holon events | head`.
    if (terminal.out_is_pipe()) return Exit::Error;
    return report(terminal, {base::ErrorCode::Io, "the output could not be written"});
}

Exit execute(const Command& command, const Context& context) {
    const Exit exit = std::visit([&](const auto& action) { return on(action, context); }, command);
    return settle(context.terminal, exit);
}

}  // namespace cli
