#include "surfaces/cli/grammar/options.h"

namespace cli {
namespace {

const std::map<std::string, service::Access> kAccesses{{"local", service::Access::Local},
                                                       {"tunnel", service::Access::Tunnel},
                                                       {"lan", service::Access::Lan},
                                                       {"tailnet", service::Access::Tailnet}};

// The same for serve, start and restart.
void add_serve_options(CLI::App& sub, service::ServeOptions& options) {
    sub.add_option("--access", options.access, "From where clients reach it")
        ->transform(CLI::CheckedTransformer(kAccesses).description("{local,tunnel,lan,tailnet}"))
        ->default_str("local");
    sub.add_option("--host", options.host, "The name or address that clients use (lan, tailnet)");
    auto* listen = sub.add_option("--listen", options.listen, "Listen at exactly ADDRESS:PORT");
    sub.add_option("--port", options.port, "Change only the port")
        ->check(CLI::Range(std::int64_t{1}, std::int64_t{65535}))
        ->excludes(listen);
    sub.add_option("--advertise", options.advertise, "The URL that clients use");
    auto* token = sub.add_option("--token", options.token,
                                 "The control token; others on this machine may see it here");
    sub.add_option("--token-file", options.token_file, "A file that holds the control token")
        ->excludes(token);
    sub.add_option("--tls-cert", options.tls_cert, "Serve https with this certificate chain (PEM)");
    sub.add_option("--tls-key", options.tls_key, "The private key of the certificate (PEM)");
}

template <class T>
Added<T> add_lifecycle(CLI::App& group, Invocation& invocation, const char* name,
                       const char* help) {
    auto action = std::make_shared<T>();
    auto json = std::make_shared<bool>(false);
    auto* sub = group.add_subcommand(name, help);
    if constexpr (requires { action->options; }) {
        add_serve_options(*sub, action->options);
        add_sandbox(*sub, invocation);
    }
    auto* as_json = sub->add_flag("--json", *json, kJsonHelp);
    sub->add_flag("--plain", invocation.plain, kPlainHelp)->excludes(as_json);
    sub->add_option("--home", invocation.home, kHomeHelp);
    sub->callback([&invocation, action, json] {
        invocation.command = DaemonCommand{.json = *json, .action = *action};
    });
    return {sub, action};
}

}  // namespace

void add_daemon(CLI::App& app, Invocation& invocation) {
    auto serve = std::make_shared<ServeCommand>();
    auto* sub =
        app.add_subcommand("serve", "Run the daemon in the foreground, until Ctrl-C or SIGTERM");
    add_serve_options(*sub, serve->options);
    add_sandbox(*sub, invocation);
    sub->add_option("--log-file", serve->options.log_file,
                    "Log to this file instead of standard error; rotated, reopened on SIGHUP");
    sub->add_option("--home", invocation.home, kHomeHelp);
    sub->callback([&invocation, serve] { invocation.command = *serve; });
    sub->footer(
        "\nExamples:\n"
        "  holon serve\n"
        "  HOLON_CONTROL_TOKEN=... holon serve --access lan --host box.local");

    auto* daemon = app.add_subcommand("daemon", "Run the daemon in the background");
    daemon->require_subcommand(1);
    daemon->footer(
        "\nExamples:\n"
        "  holon daemon start\n"
        "  holon daemon status\n"
        "  holon daemon restart --port 7900\n"
        "  holon daemon logs -f");
    add_lifecycle<DaemonStartCommand>(*daemon, invocation, "start",
                                      "Start the daemon, unless it runs already");
    add_lifecycle<DaemonStopCommand>(
        *daemon, invocation, "stop",
        "Stop the daemon; interrupted turns resume after the next start");
    add_lifecycle<DaemonStatusCommand>(
        *daemon, invocation, "status",
        "Show whether the daemon is up and healthy; check this first");
    add_lifecycle<DaemonRestartCommand>(*daemon, invocation, "restart",
                                        "Stop the daemon and start it with these options");
    const auto logs = add_lifecycle<DaemonLogsCommand>(
        *daemon, invocation, "logs", "Show failures and the end of the log; check this next");
    logs.sub->add_option("--tail", logs.action->tail, "How many lines of the log")
        ->check(CLI::Range(std::int64_t{0}, kListMax))
        ->capture_default_str();
    logs.sub->add_flag("-f,--follow", logs.action->follow,
                       "Show new lines as they are written, until Ctrl-C");
}

}  // namespace cli
