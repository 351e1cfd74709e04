#include <algorithm>
#include <iterator>

#include "base/text.h"
#include "surfaces/cli/actions/actions.h"
#include "surfaces/show/columns.h"
#include "surfaces/show/table.h"
#include "surfaces/show/words.h"

namespace cli {
namespace {

Exit show_model(const base::Result<json::object>& answer, const std::string& agent, bool json,
                const Context& context) {
    if (!answer) return report(context.terminal, answer.error());
    if (json || !context.terminal.is_for_people()) {
        context.terminal.print_line(base::pretty_json(*answer));
        return Exit::Success;
    }
    const auto* nested = answer->if_contains("model");
    const json::value model = nested ? *nested : json::value(*answer);
    context.terminal.print_line(
        fmt::format("agent {} uses {}", base::printable(agent), model_text(model)));
    return Exit::Success;
}

// What set and clear print: the outcome and the new state.
base::Result<json::object> changed(base::Result<json::object> state, const std::string& agent) {
    if (!state) return state;
    return json::object{{"ok", true}, {"agent_id", agent}, {"model", std::move(*state)}};
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
            return "continues";
        case service::LifecycleAction::Recover:
            return "tries again; see its state with holon agent status";
        case service::LifecycleAction::RecoverDropMessage:
            return "tries again without the message; holon events names it (message_quarantined)";
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

namespace {

base::Result<std::vector<json::object>> all_agents(service::Service& service) {
    std::vector<json::object> all;
    for (service::AgentsQuery query;;) {
        auto page = TRY(service.agent_list(query));
        const bool is_last = std::ssize(page) < query.limit;
        std::ranges::move(page, std::back_inserter(all));
        if (is_last) return all;
        query.after = show::pointer_text(json::value(all.back()), "/identity/agent_id");
    }
}

}  // namespace

Exit on(const AgentListCommand& command, const Context& context) {
    const auto agents = all_agents(context.service);
    if (!agents) return report(context.terminal, agents.error());
    if (wants_json(context, command.json)) {
        json::array list;
        for (const auto& entry : *agents) list.push_back(entry);
        return answer(context, command.json, list, "");
    }
    show::Rows rows;
    for (const json::value entry : *agents) {
        const std::string fault = show::pointer_text(entry, "/lifecycle/fault/reason");
        const auto pending = show::pointer_text(entry, "/pending");
        rows.push_back({show::pointer_text(entry, "/identity/agent_id"),
                        show::status_text(show::pointer_text(entry, "/status")),
                        pending == "0" ? "" : pending + " pending",
                        fault == "-" ? show::posture_text(
                                           show::pointer_text(entry, "/scheduling_posture/posture"))
                                     : fault});
    }
    if (!rows.empty())
        context.terminal.print_line(show::table(rows, out_columns(context.terminal)));
    if (agents->empty())
        context.terminal.note("No agents yet. Create one with: holon agent create main");
    return Exit::Success;
}

Exit on(const AgentCreateCommand& command, const Context& context) {
    const auto identity =
        context.service.create_agent(command.agent, command.template_name, context.caller);
    if (!identity) return report(context.terminal, identity.error());
    if (command.workspace) {
        const auto moved = context.service.move_agent(
            command.agent, (context.cwd / *command.workspace).lexically_normal(), context.caller);
        if (!moved) return report(context.terminal, moved.error());
    }
    return answer(
        context, command.json, base::to_json(*identity),
        fmt::format("agent {0} is ready; send it a message with: holon prompt --agent {0} "
                    "\"...\"",
                    base::printable(command.agent)));
}

Exit on(const AgentMoveCommand& command, const Context& context) {
    const auto moved = context.service.move_agent(
        command.agent, (context.cwd / command.path).lexically_normal(), context.caller);
    if (!moved) return report(context.terminal, moved.error());
    return answer(context, command.json, base::to_json(*moved),
                  fmt::format("agent {} works in {} from now on", base::printable(command.agent),
                              base::printable(moved->execution_root)));
}

Exit on(const AgentDeleteCommand& command, const Context& context) {
    const auto& terminal = context.terminal;
    if (!command.yes) {
        if (!terminal.in_is_terminal || !terminal.err_is_terminal)
            return report(terminal, {base::ErrorCode::InvalidInput,
                                     "this deletes the agent's history for good; add --yes"});
        if (!terminal.confirm(fmt::format("Delete agent {} with its history and home? [y/N] ",
                                          base::printable(command.agent))))
            return Exit::Error;
    }
    const auto deleted = context.service.delete_agent(command.agent, context.caller);
    if (!deleted) return report(terminal, deleted.error());
    return answer(context, command.json, json::object{{"ok", true}, {"agent_id", command.agent}},
                  fmt::format("agent {} was deleted", base::printable(command.agent)));
}

Exit on(const LifecycleCommand& command, const Context& context) {
    const std::string agent = agent_of(command.agent, context);
    const auto done = context.service.set_lifecycle(agent, command.action, context.caller);
    if (!done) return report(context.terminal, done.error());
    return answer(context, command.json, json::object{{"ok", true}},
                  fmt::format("agent {}: {}", base::printable(agent), done_text(command.action)));
}

Exit on(const AbortCommand& command, const Context& context) {
    const std::string agent = agent_of(command.agent, context);
    const auto aborted = context.service.abort_run(agent, command.run_id, context.caller);
    if (!aborted) return report(context.terminal, aborted.error());
    return answer(
        context, command.json, *aborted,
        fmt::format(
            "the turn of agent {0} was aborted and the agent is stopped; start it again with: "
            "holon agent start {0}",
            base::printable(agent)));
}

Exit on(const CompactCommand& command, const Context& context) {
    const std::string agent = agent_of(command.agent, context);
    const auto made = context.service.compact_conversation(agent, context.caller);
    if (!made) return report(context.terminal, made.error());
    const auto name = base::printable(agent);
    if (!base::bool_at(*made, "compacted"))
        return answer(context, command.json, *made,
                      fmt::format("agent {}: {}", name, base::string_at(*made, "reason")));
    return answer(context, command.json, *made,
                  fmt::format("agent {}: the conversation was compacted from about {} to {} tokens",
                              name, base::int_at(*made, "previous_estimated_tokens"),
                              base::int_at(*made, "projected_estimated_tokens")));
}

}  // namespace cli
