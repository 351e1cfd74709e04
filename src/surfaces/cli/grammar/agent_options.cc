#include "surfaces/cli/grammar/options.h"

namespace cli {
namespace {

// The agent's name follows the command.
template <class T>
Added<T> add_named(CLI::App& group, Invocation& invocation, const char* name, const char* help) {
    const auto added = add_command<T>(group, invocation, name, help, NamesAgent::ByPlace);
    if constexpr (requires { added.action->model; })
        added.sub->add_option("model", added.action->model, "provider/model")->required();
    added.sub->add_option("agent", added.action->agent, kAgentHelp);
    return added;
}

void add_model(CLI::App& agent, Invocation& invocation) {
    auto* model = agent.add_subcommand("model", "Which model an agent uses");
    model->require_subcommand(1);
    model->footer("\nExample:\n  holon agent model set xai/grok-4 main");
    add_named<AgentModelGetCommand>(*model, invocation, "get", "Show the model of an agent");
    add_named<AgentModelSetCommand>(*model, invocation, "set",
                                    "Set the model of one agent, from its next turn on");
    add_named<AgentModelClearCommand>(*model, invocation, "clear", "Go back to the default model");
}

void add_lifecycle(CLI::App& agent, Invocation& invocation) {
    using service::LifecycleAction;
    struct Entry {
        const char* name;
        const char* help;
        LifecycleAction action;
    };
    for (const Entry& entry :
         {Entry{"start", "Start a stopped agent; it accepts messages again",
                LifecycleAction::Start},
          Entry{"stop", "Stop its turn and refuse messages until it is started",
                LifecycleAction::Stop},
          Entry{"pause", "Keep messages, but start no turn", LifecycleAction::Pause},
          Entry{"resume", "Continue after a pause", LifecycleAction::Resume}})
        add_named<LifecycleCommand>(agent, invocation, entry.name, entry.help).action->action =
            entry.action;
    const auto recover = add_named<LifecycleCommand>(
        agent, invocation, "recover", "Let an agent that was set aside after a fault try again");
    recover.action->action = LifecycleAction::Recover;
    recover.sub->add_flag_callback(
        "--drop-message",
        [action = recover.action] { action->action = LifecycleAction::RecoverDropMessage; },
        "Drop the message that it was at, or that is next; the others are kept");
}

}  // namespace

void add_agents(CLI::App& app, Invocation& invocation) {
    auto* agent = app.add_subcommand("agent", "Work with agents");
    agent->alias("agents");
    agent->require_subcommand(0, 1);
    agent->footer(
        "\nExamples:\n"
        "  holon agent create reviewer --template holon-reviewer\n"
        "  holon agent move reviewer ~/src/project\n"
        "  holon agent stop reviewer");
    agent->add_option("--home", invocation.home, kHomeHelp);
    // Without a subcommand it is the list.
    agent->preparse_callback(
        [&invocation](std::size_t) { invocation.command = Command(AgentListCommand{}); });
    add_command<AgentListCommand>(*agent, invocation, "list", "List all agents");
    add_named<StatusCommand>(*agent, invocation, "status", "Show an agent, as holon status does");
    const auto create =
        add_command<AgentCreateCommand>(*agent, invocation, "create", "Create a named agent");
    create.sub->add_option("agent", create.action->agent, "Its id")->required();
    create.sub->add_option("--template", create.action->template_name,
                           "An id of holon templates list, the absolute path of a folder, or "
                           "https://github.com/OWNER/REPO/tree/REF/PATH");
    create.sub->add_option("--workspace", create.action->workspace,
                           "The project folder it works in (default: its own home)");
    const auto move = add_command<AgentMoveCommand>(*agent, invocation, "move",
                                                    "Change the project folder of an agent");
    move.sub->add_option("agent", move.action->agent, "Its id")->required();
    move.sub->add_option("folder", move.action->path, "The project folder")->required();
    const auto remove = add_command<AgentDeleteCommand>(
        *agent, invocation, "delete", "Delete an agent with its history and its home");
    remove.sub->add_option("agent", remove.action->agent, "Its id")->required();
    remove.sub->add_flag("--yes", remove.action->yes, "Do not ask first");
    add_lifecycle(*agent, invocation);
    const auto abort = add_named<AbortCommand>(
        *agent, invocation, "abort", "Abort the current turn and leave the agent stopped");
    abort.sub->add_option("--run-id", abort.action->run_id,
                          "Only if this is the current turn's run id");
    add_named<CompactCommand>(*agent, invocation, "compact",
                              "Compact the conversation of an agent that is in no turn");
    add_model(*agent, invocation);
}

}  // namespace cli
