#include "surfaces/cli/grammar/options.h"

namespace cli {

void add_tui(CLI::App& app, Invocation& invocation) {
    auto tui = std::make_shared<TuiCommand>();
    auto* sub = app.add_subcommand(
        "tui", "Open the console, as holon alone does; starts the daemon if none runs");
    auto* agent = sub->add_option("--agent", tui->agent, kAgentHelp);
    sub->add_flag("--continue", tui->continues, "Show the agent that was shown last")
        ->excludes(agent);
    auto* full = sub->add_flag_callback(
        "--fullscreen", [tui] { tui->alternate_screen = "always"; },
        "Use the whole terminal instead of its scrollback");
    sub->add_flag_callback(
           "--no-alt-screen", [tui] { tui->alternate_screen = "never"; },
           "Never switch to the alternate screen, also for overlays")
        ->excludes(full);
    auto* connect =
        sub->add_option("--connect", tui->connect, "The URL of a runtime on another machine");
    auto* token = sub->add_option("--token", tui->token,
                                  "Its control token; others on this machine may see it here");
    token->needs(connect);
    sub->add_option("--token-file", tui->token_file, "A file that holds its control token")
        ->needs(connect)
        ->excludes(token);
    sub->add_option("--home", invocation.home, kHomeHelp);
    add_sandbox(*sub, invocation);
    sub->callback([&invocation, tui] { invocation.command = *tui; });
    sub->footer(
        "\nWithout --agent and --continue it offers the agents to choose from, where\n"
        "there are several.\n\nExamples:\n"
        "  holon tui\n"
        "  holon tui --agent main\n"
        "  holon tui --connect https://box.local:7878 --token-file ~/.holon-token");
}

}  // namespace cli
