#include "base/text.h"
#include "surfaces/cli/actions.h"

namespace cli {
namespace {

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

std::string_view done_text(service::LifecycleAction action) {
    switch (action) {
        case service::LifecycleAction::Start:
            return "started";
        case service::LifecycleAction::Stop:
            return "stopped; it refuses messages until holon agent start";
        case service::LifecycleAction::Pause:
            return "paused; messages are kept until holon agent resume";
        case service::LifecycleAction::Resume:
            return "goes on";
    }
    return "";
}

}  // namespace

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

Exit on(const AgentCreateCommand& command, const Context& context) {
    const auto identity =
        context.service.create_agent(command.agent, command.template_name, context.caller);
    if (!identity) return report(context.terminal, identity.error());
    return tell(context, command.json, base::to_json(*identity),
                fmt::format("agent {0} is there; say something with: holon prompt --agent {0} "
                            "\"...\"",
                            base::printable(command.agent)));
}

Exit on(const LifecycleCommand& command, const Context& context) {
    const std::string agent = agent_of(command.agent, context);
    const auto done = context.service.set_lifecycle(agent, command.action, context.caller);
    if (!done) return report(context.terminal, done.error());
    return tell(context, command.json, json::object{{"ok", true}},
                fmt::format("agent {}: {}", base::printable(agent), done_text(command.action)));
}

Exit on(const AbortCommand& command, const Context& context) {
    const std::string agent = agent_of(command.agent, context);
    const auto aborted = context.service.abort_run(agent, command.run_id, context.caller);
    if (!aborted) return report(context.terminal, aborted.error());
    return tell(context, command.json, *aborted,
                fmt::format("the run of agent {0} was ended and the agent is stopped; go on with: "
                            "holon agent start {0}",
                            base::printable(agent)));
}

}  // namespace cli
