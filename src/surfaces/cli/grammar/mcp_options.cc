#include "surfaces/cli/grammar/options.h"

namespace cli {

void add_mcp(CLI::App& app, Invocation& invocation) {
    auto* group = app.add_subcommand("mcp", "MCP servers: logins, questions and prompts");
    group->require_subcommand(1);
    group->footer(
        "\nExamples:\n"
        "  holon config set mcp.servers.tracker.url https://tracker.example/mcp\n"
        "  holon mcp login tracker\n"
        "  holon mcp status\n"
        "  holon mcp prompt tracker triage issue=12 --plain | holon run --agent main");
    add_to<McpCommand, McpStatusCommand>(
        *group, invocation, "status", "Show all servers, and which of them you are logged in to");
    const auto login = add_to<McpCommand, McpLoginCommand>(
        *group, invocation, "login", "Log in to a server that wants it (OAuth)");
    login.sub->add_option("server", login.action->server, "Its name")->required();
    login.sub->add_option("--scope", login.action->scope,
                          "The rights to ask for (default: what the server names)");
    login.sub->footer(
        "\nPrints the address to open in a browser, and waits until the browser comes\n"
        "back. With a browser on another machine, paste the address at which it ended\n"
        "into this command. The tokens are kept in credentials.json.");
    const auto logout = add_to<McpCommand, McpLogoutCommand>(*group, invocation, "logout",
                                                             "Forget the tokens of a server");
    logout.sub->add_option("server", logout.action->server, "Its name")->required();
    add_to<McpLiveCommand, McpQuestionsCommand>(*group, invocation, "questions",
                                                "Show what servers ask you while a call waits");
    const auto answer = add_to<McpLiveCommand, McpAnswerCommand>(*group, invocation, "answer",
                                                                 "Answer a server's question");
    answer.sub->add_option("id", answer.action->id, "Its id, see holon mcp questions")->required();
    auto* values =
        answer.sub->add_option("values", answer.action->values, "name=value for each field");
    answer.sub->add_flag("--decline", answer.action->decline, "Give no answer")->excludes(values);
    add_to<McpLiveCommand, McpPromptsCommand>(*group, invocation, "prompts",
                                              "List the prompts that servers offer");
    const auto prompt = add_to<McpLiveCommand, McpPromptCommand>(
        *group, invocation, "prompt", "Print what a server's prompt expands to");
    prompt.sub->add_option("server", prompt.action->server, "Its name")->required();
    prompt.sub->add_option("name", prompt.action->name, "The prompt, see holon mcp prompts")
        ->required();
    prompt.sub->add_option("values", prompt.action->values, "name=value for each argument");
}

}  // namespace cli
