// holon: parses the command line, loads the configuration, and hands over to the surface.
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <future>
#include <thread>

#include <fcntl.h>
#include <malloc.h>
#include <unistd.h>

#include "app/entry/console.h"
#include "app/entry/init.h"
#include "app/entry/serve.h"
#include "app/hide_credentials.h"
#include "app/mcp.h"
#include "app/mcp/live.h"
#include "app/mcp/logins.h"
#include "app/models/credentials.h"
#include "app/models/models.h"
#include "app/models/probe.h"
#include "app/models/providers.h"
#include "app/runtime.h"
#include "app/sandbox.h"
#include "app/store.h"
#include "base/log/log.h"
#include "base/os/crash/crash_marks.h"
#include "base/os/files.h"
#include "base/os/signals.h"
#include "base/text.h"
#include "service/daemon/background.h"
#include "service/daemon/daemon.h"
#include "service/daemon/route.h"
#include "service/local/settings/local_settings.h"
#include "service/remote/remote_gate.h"
#include "service/remote/remote_mcp.h"
#include "service/remote/remote_plans.h"
#include "service/remote/remote_service.h"
#include "service/run_client.h"
#include "surfaces/cli/actions/stdin.h"
#include "surfaces/cli/cli.h"
#include "surfaces/show/columns.h"

namespace {

config::Environment environment() {
    config::Environment variables;
    for (char** entry = environ; *entry != nullptr; ++entry) {
        const std::string_view text = *entry;
        const std::size_t equals = text.find('=');
        if (equals != std::string_view::npos)
            variables.emplace(text.substr(0, equals), text.substr(equals + 1));
    }
    return variables;
}

std::string user_name() {
    const char* user = std::getenv("USER");
    return user != nullptr && *user != 0 ? user : "operator";
}

const std::vector kEndSignals{SIGINT, SIGTERM, SIGHUP};

// The first Ctrl-C settles the turn; a second one ends the program at once, and the turn stays open
// for --resume. Any thread.
class RunInterrupt {
public:
    RunInterrupt(service::RunClient& client, const cli::Terminal& terminal)
        : client_(client), terminal_(terminal) {}

    void operator()(int) {
        if (++count_ > 1) leave();
        if (terminal_.err_is_terminal)
            terminal_.note("\nstopping the turn; press Ctrl-C again to leave at once");
        client_.interrupt("operator_interrupt");
    }

private:
    [[noreturn]] void leave() const {
        if (const std::string agent = client_.agent(); !agent.empty())
            terminal_.note(fmt::format(
                "\nLeft at once; the turn is kept. Resume with: holon run --resume --agent {}",
                agent));
        std::_Exit(static_cast<int>(cli::Exit::Interrupted));
    }

    service::RunClient& client_;
    const cli::Terminal& terminal_;
    int count_{0};
};

// Keeps a signal that comes while the runtime is being opened, for the run to be interrupted with:
// it still ends with its result.
class EarlySignals {
public:
    EarlySignals() {
        caught_ = 0;
        for (const int signal : kEndSignals)
            std::signal(signal, [](int number) { caught_ = number; });
    }
    static bool is_caught() { return caught_ != 0; }

private:
    static inline volatile std::sig_atomic_t caught_ = 0;
};

constexpr std::chrono::milliseconds kFlushPatience = std::chrono::seconds(15);
constexpr std::chrono::seconds kRetentionDelay{1};  // The first request of a run comes first.

constexpr std::string_view kFault =
    "holon met a fault of its own and stopped; nothing committed is lost: {}";

// Runs a loop on a thread of its own for as long as this lives.
class LoopThread {
public:
    explicit LoopThread(base::AsioLoop& loop)
        : loop_(loop), thread_([&loop] {
              try {
                  loop.run();
              } catch (const std::exception& bug) {
                  // What waits for the loop would wait for ever.
                  base::log_error(kFault, bug.what());
                  std::_Exit(static_cast<int>(cli::Exit::Error));
              }
          }) {}
    ~LoopThread() { loop_.stop(); }
    LoopThread(const LoopThread&) = delete;
    LoopThread& operator=(const LoopThread&) = delete;

private:
    base::AsioLoop& loop_;
    std::jthread thread_;
};

// Does the command make a run, and not only list them?
bool is_run(const cli::Command& command) {
    const auto* run = std::get_if<cli::RunCommand>(&command);
    return run && !run->list;
}

// Others only read, and no server should be started for that.
app::Tools tools_of(const cli::Command& command) {
    return is_run(command) || std::holds_alternative<cli::DebugPromptCommand>(command)
               ? app::Tools::Used
               : app::Tools::Unused;
}
app::Tools tools_of(const cli::PlanCommand& command) {
    const auto reads = [](const auto& action) {
        using Action = std::decay_t<decltype(action)>;
        return std::is_same_v<Action, cli::PlanRejectCommand> ||
               std::is_same_v<Action, cli::PlanCancelCommand> ||
               std::is_same_v<Action, cli::PlanStatusCommand> ||
               std::is_same_v<Action, cli::PlanListCommand> ||
               std::is_same_v<Action, cli::PlanShowCommand> ||
               std::is_same_v<Action, cli::ApprovalsCommand> ||
               std::is_same_v<Action, cli::PlanVerifyCommand> ||
               std::is_same_v<Action, cli::PlanActionsCommand> ||
               std::is_same_v<Action, cli::PlanForgetCommand>;
    };
    return std::visit(reads, command.action) ? app::Tools::Unused : app::Tools::Used;
}

cli::Context context_of(service::Service& service, base::Clock& clock, const config::Config& config,
                        const cli::Terminal& terminal) {
    return {.service = service,
            .terminal = terminal,
            .clock = clock,
            .default_agent = config.default_agent,
            .cwd = config.cwd,
            .workspace_dir = config.workspace_dir};
}

// What the operator is to receive of the run that is over. What does not arrive in time is kept for
// the next process.
void flush_notices(app::Runtime& runtime) {
    std::promise<void> flushed;
    runtime.loop().post(
        [&] { runtime.notifier().flush(kFlushPatience, [&flushed] { flushed.set_value(); }); });
    flushed.get_future().wait();
}

cli::Exit in_process(const cli::Command& command, const config::Config& config,
                     const cli::Terminal& terminal) {
    std::unique_ptr<base::CrashMarks> marks;  // Outlives the runtime, whose threads use it.
    const auto runtime = app::Runtime::open(config, tools_of(command));
    if (!runtime) return cli::report(command, terminal, runtime.error());
    auto context = context_of((*runtime)->service(), (*runtime)->clock(), config, terminal);
    if (!is_run(command)) return cli::execute(command, context);
    auto opened = base::CrashMarks::open(app::marks_folder(config));
    if (!opened) return cli::report(command, terminal, opened.error());
    marks = std::move(*opened);
    (*runtime)->service().count_crashes(marks->left());
    marks->forget_left();
    service::RunClient client((*runtime)->service());
    context.run_client = &client;
    const base::Signals signals((*runtime)->loop(), kEndSignals, RunInterrupt(client, terminal));
    if (EarlySignals::is_caught()) client.interrupt("operator_interrupt");
    (*runtime)->loop().post([&runtime = **runtime] {
        runtime.retention().start(kRetentionDelay);
        runtime.notifier().start();
    });
    const LoopThread looping((*runtime)->loop());
    const auto exit = cli::execute(command, context);
    flush_notices(**runtime);
    return exit;
}

cli::Exit over_there(const cli::Command& command, const service::Address& address,
                     const config::Config& config, const cli::Terminal& terminal) {
    base::SystemClock clock;
    service::RemoteParts parts{.address = address};
    // A run does not wait for another daemon: its error says what to do.
    if (!is_run(command))
        parts.on_lost = [&](const base::Error& error) {
            terminal.note("lost the daemon (" + error.message + "); waiting for it to come back");
        };
    service::RemoteService service(std::move(parts));
    auto context = context_of(service, clock, config, terminal);
    if (!is_run(command)) return cli::execute(command, context);
    service::RunClient client(service);
    context.run_client = &client;
    base::AsioLoop loop;
    const base::Signals signals(loop, kEndSignals, RunInterrupt(client, terminal));
    if (EarlySignals::is_caught()) client.interrupt("operator_interrupt");
    const LoopThread looping(loop);
    return cli::execute(command, context);
}

cli::Exit execute(const cli::Command& command, const config::Config& config,
                  const cli::Terminal& terminal) {
    const auto files = service::Daemon::files_of(config);
    if (const auto address = service::find_runtime(files, config.server))
        return over_there(command, *address, config, terminal);
    if (!cli::works_without_runtime(command))
        return cli::report(terminal, {base::ErrorCode::Unavailable,
                                      fmt::format("no daemon runs for {}; start it with: "
                                                  "holon daemon start",
                                                  config.home.string())});
    return in_process(command, config, terminal);
}

cli::Exit execute(const cli::DaemonCommand& command, const config::Config& config,
                  const cli::Invocation& invocation, const cli::Terminal& terminal) {
    base::SystemClock clock;
    const bool starts = std::holds_alternative<cli::DaemonStartCommand>(command.action) ||
                        std::holds_alternative<cli::DaemonRestartCommand>(command.action);
    // An operator who has chosen this needs no warning.
    const auto variables = environment();
    const auto chosen = variables.find("HOLON_NEW_HOME_SANDBOX");
    const bool is_chosen =
        invocation.sandbox || (chosen != variables.end() && chosen->second == "none");
    if (const auto note = app::boundary_note(config); starts && !is_chosen && !note.empty())
        terminal.note(show::folded("warning: " + note, cli::err_columns(terminal)));
    service::Daemon daemon(app::daemon_parts(config, invocation, clock));
    return cli::execute(command, {.daemon = daemon, .terminal = terminal, .clock = clock});
}

// The first Ctrl-C ends the run, as it does in process; a second one, or one while none is under
// way, ends the program.
cli::Exit over_there(const cli::PlanCommand& command, const service::Address& address,
                     const config::Config& config, const cli::Terminal& terminal) {
    base::SystemClock clock;
    service::RemotePlans plans(
        {.address = address, .vault = config.workspace_dir, .on_lost = [&](const auto& error) {
             terminal.note("lost the daemon (" + error.message + "); waiting for it to come back");
         }});
    service::RemoteMcp mcp(address);
    base::AsioLoop loop;
    int interrupts = 0;
    const base::Signals signals(loop, kEndSignals, [&](int) {
        if (++interrupts > 1 || !plans.interrupt("operator_interrupt"))
            std::_Exit(static_cast<int>(cli::Exit::Interrupted));
    });
    const std::jthread waiting([&] { loop.run(); });
    const auto exit = cli::execute(
        command,
        {.plans = plans, .terminal = terminal, .clock = clock, .user = user_name(), .mcp = &mcp});
    loop.stop();
    return exit;
}

cli::Exit execute(const cli::PlanCommand& command, const config::Config& config,
                  const cli::Terminal& terminal) {
    const auto files = service::Daemon::files_of(config);
    // What asks a model, and what removes files, is done here.
    const bool is_local = std::holds_alternative<cli::PlanMakeCommand>(command.action) ||
                          std::holds_alternative<cli::PlanPruneCommand>(command.action);
    if (const auto address = service::find_runtime(files, config.server); address && !is_local)
        return over_there(command, *address, config, terminal);
    const auto runtime = app::Runtime::open(config, tools_of(command));
    if (!runtime) return cli::report(terminal, runtime.error());
    return cli::execute(command, {.plans = (*runtime)->plan_service(),
                                  .terminal = terminal,
                                  .clock = (*runtime)->clock(),
                                  .drafts = config.home / "plan-drafts",
                                  .user = user_name()});
}

// The process that runs the agents also works at their gate. A check reads a file from here and
// changes nothing, so it is made here.
cli::Exit execute(const cli::GateCommand& command, const config::Config& config,
                  const cli::Terminal& terminal) {
    if (!std::holds_alternative<cli::GateCheckCommand>(command.action))
        if (const auto address =
                service::find_runtime(service::Daemon::files_of(config), config.server)) {
            service::RemoteGate gate(*address);
            return cli::execute(command, {.gate = gate, .terminal = terminal});
        }
    const auto gate = app::open_gate(config);
    if (!gate) return cli::report(terminal, gate.error());
    return cli::execute(command, {.gate = **gate, .terminal = terminal});
}

// The daemon is not asked: copying needs the file only, and must work when nothing else does.
cli::Exit execute(const cli::StoreCommand& command, const config::Config& config,
                  const cli::Terminal& terminal) {
    base::SystemClock clock;
    app::FileBackups backups(config, clock);
    return cli::execute(command, {.backups = backups, .terminal = terminal});
}

cli::Exit execute(const cli::McpCommand& command, const config::Config& config,
                  const cli::Terminal& terminal) {
    base::SystemClock clock;
    app::McpLogins logins(config, clock);
    return cli::execute(command, {.mcp = logins, .terminal = terminal});
}

cli::Exit execute(const cli::McpLiveCommand& command, const config::Config& config,
                  const cli::Terminal& terminal) {
    const auto use = [&](service::McpLive& mcp) {
        return static_cast<int>(cli::execute(command, {.mcp = mcp, .terminal = terminal}));
    };
    if (const auto address =
            service::find_runtime(service::Daemon::files_of(config), config.server)) {
        service::RemoteMcp mcp(*address);
        return static_cast<cli::Exit>(use(mcp));
    }
    return static_cast<cli::Exit>(app::with_mcp_servers(config, use));
}

// With what the running daemon does, which may have been started with other settings.
json::object live_sandbox_report(const config::Config& config) {
    auto report = app::sandbox_report(config);
    base::SystemClock clock;
    service::Daemon daemon(
        {.config = config, .clock = clock, .program = "/proc/self/exe", .started_in = config.cwd});
    const auto status = daemon.status();
    if (status && !base::bool_at(*status, "config_fingerprint_match", true))
        report["stale"] =
            "the running daemon was started with other settings, so this is not what it enforces: "
            "holon daemon restart";
    return report;
}

// Will agents work in this process, or in the one that it starts?
template <class Commands>
bool makes_a_runtime(const Commands& commands) {
    if (std::holds_alternative<cli::ServeCommand>(commands)) return true;
    const auto* command = std::get_if<cli::Command>(&commands);
    return command && is_run(*command);
}

// A daemon that runs can be stopped, asked and watched, however broken the settings have become
// since. Nothing when the command needs them.
std::optional<cli::Exit> without_settings(const cli::Invocation& invocation,
                                          const config::Config& connection,
                                          const base::Error& error, const cli::Terminal& terminal) {
    const auto warn = [&] {
        terminal.note("warning: the settings cannot be used: " +
                      base::printable(error.message, true));
    };
    if (const auto* command = std::get_if<cli::DaemonCommand>(&invocation.command)) {
        if (std::holds_alternative<cli::DaemonStartCommand>(command->action) ||
            std::holds_alternative<cli::DaemonRestartCommand>(command->action))
            return std::nullopt;
        warn();
        base::SystemClock clock;
        service::Daemon daemon({.config = connection,
                                .clock = clock,
                                .program = "/proc/self/exe",
                                .started_in = connection.cwd});
        return cli::execute(*command, {.daemon = daemon, .terminal = terminal, .clock = clock});
    }
    const auto* command = std::get_if<cli::Command>(&invocation.command);
    if (!command || is_run(*command)) return std::nullopt;
    const auto address =
        service::find_runtime(service::Daemon::files_of(connection), connection.server);
    if (!address) return std::nullopt;
    warn();
    return over_there(*command, *address, connection, terminal);
}

cli::Exit run(int argc, char** argv) {
    auto terminal = cli::Terminal::standard();
    auto invocation = cli::parse(argc, argv);
    // `holon` alone, on a terminal, is the console.
    if (argc == 1 && terminal.in_is_terminal && terminal.out_is_terminal && !terminal.is_dumb) {
        invocation.emplace();
        invocation->command = cli::TuiCommand{};
    }
    if (!invocation) {
        const bool good = invocation.error().exit == cli::Exit::Success;
        std::fputs(invocation.error().text.c_str(), good ? stdout : stderr);
        return invocation.error().exit;
    }
    terminal.plain = invocation->plain;
    if (terminal.plain) terminal.colours = false;
    std::optional<EarlySignals> early;
    if (auto* command = std::get_if<cli::Command>(&invocation->command)) {
        if (const auto added = cli::add_standard_input(*command, terminal); !added) {
            cli::report(*command, terminal, added.error());
            return cli::Exit::Usage;
        }
        if (is_run(*command)) early.emplace();
    }
    config::Flags flags;
    if (invocation->home) flags.home = *invocation->home;
    std::error_code failed;
    const auto cwd = std::filesystem::current_path(failed);
    if (failed)
        return cli::report(terminal, {base::ErrorCode::Io,
                                      "the folder holon was started in cannot "
                                      "be used: " +
                                          failed.message()});
    const auto variables = environment();
    std::vector<std::string> notes;
    const auto load = [&]() -> base::Result<config::Config> {
        auto config = TRY(config::load(flags, variables, cwd));
        app::choose_model(config);
        const auto new_home = variables.find("HOLON_NEW_HOME_SANDBOX");
        notes = TRY(app::choose_sandbox(config, invocation->sandbox,
                                        new_home == variables.end() ? "" : new_home->second));
        return config;
    };
    service::LocalSettings settings({.home = config::find_home(flags, variables, cwd),
                                     .load = load,
                                     .sandbox_report = live_sandbox_report,
                                     .store_report = app::store_report,
                                     .check_model = app::check_model,
                                     .ask_model = app::ask_model,
                                     .mcp_diagnosis = app::mcp_diagnosis});
    if (const auto* command = std::get_if<cli::SettingsCommand>(&invocation->command))
        return cli::execute(*command, {.settings = settings, .terminal = terminal});
    const auto config = load();
    if (!config) {
        service::notify_starter(config.error().message);
        if (const auto connection = config::load_connection(flags, variables, cwd))
            if (const auto exit =
                    without_settings(*invocation, *connection, config.error(), terminal))
                return *exit;
        if (const auto* command = std::get_if<cli::Command>(&invocation->command))
            return cli::report(*command, terminal, config.error());
        return cli::report(terminal, config.error());
    }
    app::guard_credentials(*config);
    // A command that starts a daemon passes them on.
    const auto* console = std::get_if<cli::TuiCommand>(&invocation->command);
    if (!console && !std::holds_alternative<cli::DaemonCommand>(invocation->command))
        app::hide_credentials(*config);
    if (console) return app::run_console(*console, *config, *invocation, terminal);
    if (makes_a_runtime(invocation->command))
        for (const auto& note : notes)
            terminal.note(show::folded(note, cli::err_columns(terminal)));
    if (const auto* command = std::get_if<cli::DaemonCommand>(&invocation->command))
        return execute(*command, *config, *invocation, terminal);
    if (const auto* command = std::get_if<cli::ServeCommand>(&invocation->command)) {
        if (const auto exit = app::act_as_init()) return static_cast<cli::Exit>(*exit);
        base::set_log_level(base::Level::Info);
        return app::serve(command->options, {.config = *config,
                                             .environment = variables,
                                             .terminal = terminal,
                                             .settings = settings});
    }
    if (const auto* command = std::get_if<cli::PlanCommand>(&invocation->command))
        return execute(*command, *config, terminal);
    if (const auto* command = std::get_if<cli::GateCommand>(&invocation->command))
        return execute(*command, *config, terminal);
    if (const auto* command = std::get_if<cli::StoreCommand>(&invocation->command))
        return execute(*command, *config, terminal);
    if (const auto* command = std::get_if<cli::McpCommand>(&invocation->command))
        return execute(*command, *config, terminal);
    if (const auto* command = std::get_if<cli::McpLiveCommand>(&invocation->command))
        return execute(*command, *config, terminal);
    return execute(std::get<cli::Command>(invocation->command), *config, terminal);
}

}  // namespace

namespace {

// The kernel's table of our descriptors has room for 64, and the first command needs one beyond.
// With several threads the kernel waits for all processors when it grows, some twenty milliseconds;
// with one it does not. Where descriptors are few it does not grow, and nothing is lost.
void grow_descriptor_table() {
    constexpr int kDescriptors = 255;
    const base::Fd any(::open("/", O_PATH | O_CLOEXEC));
    const base::Fd high(any ? ::fcntl(any.get(), F_DUPFD_CLOEXEC, kDescriptors) : -1);
}

}  // namespace

int main(int argc, char** argv) {
    grow_descriptor_table();
    std::signal(SIGPIPE, SIG_IGN);
    // Without a bound each thread has a heap of its own, half a megabyte in a short run. Two are
    // enough: nearly all work is the loop's and the writer's.
    ::mallopt(M_ARENA_MAX, 2);
    base::set_log_level(base::Level::Warn);
    try {
        return static_cast<int>(run(argc, argv));
    } catch (const std::exception& bug) {
        base::log_error(kFault, bug.what());
        return static_cast<int>(cli::Exit::Error);
    }
}
