// holon: parses the command line, loads the configuration, and hands over to the surface.
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <thread>

#include <malloc.h>
#include <unistd.h>

#include "app/credentials.h"
#include "app/init.h"
#include "app/mcp.h"
#include "app/models.h"
#include "app/providers.h"
#include "app/runtime.h"
#include "app/sandbox.h"
#include "app/serve.h"
#include "app/store.h"
#include "base/log/log.h"
#include "base/os/signals.h"
#include "service/daemon/background.h"
#include "service/daemon/daemon.h"
#include "service/daemon/route.h"
#include "service/local/settings/local_settings.h"
#include "service/remote/remote_gate.h"
#include "service/remote/remote_plans.h"
#include "service/remote/remote_service.h"
#include "surfaces/cli/cli.h"

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

// The first Ctrl-C settles the turn; a second one ends the program at once, and the turn stays open
// for --resume.
void interrupt_on_signal(app::Runtime& runtime, const cli::Terminal& terminal, int& count) {
    if (++count > 1) std::_Exit(static_cast<int>(cli::Exit::Interrupted));
    if (terminal.err_is_terminal)
        terminal.note("\nstopping the turn; press Ctrl-C again to leave at once");
    runtime.service().interrupt("operator_interrupt");
}

// Others only read, and no server should be started for that.
app::Tools tools_of(const cli::Command& command) {
    return std::holds_alternative<cli::RunCommand>(command) ||
                   std::holds_alternative<cli::DebugPromptCommand>(command)
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
               std::is_same_v<Action, cli::PlanVerifyCommand> ||
               std::is_same_v<Action, cli::PlanActionsCommand> ||
               std::is_same_v<Action, cli::PlanForgetCommand>;
    };
    return std::visit(reads, command.action) ? app::Tools::Unused : app::Tools::Used;
}

cli::Exit in_process(const cli::Command& command, const config::Config& config,
                     const cli::Terminal& terminal) {
    const auto runtime = app::Runtime::open(config, tools_of(command));
    if (!runtime) return cli::report(terminal, runtime.error());
    int interrupts = 0;
    std::optional<base::Signals> signals;
    if (std::holds_alternative<cli::RunCommand>(command))
        signals.emplace((*runtime)->loop(), std::vector{SIGINT, SIGTERM, SIGHUP},
                        [&](int) { interrupt_on_signal(**runtime, terminal, interrupts); });
    return cli::execute(command, {.service = (*runtime)->service(),
                                  .terminal = terminal,
                                  .clock = (*runtime)->clock(),
                                  .default_agent = config.default_agent,
                                  .cwd = config.cwd});
}

cli::Exit over_there(const cli::Command& command, const service::Address& address,
                     const config::Config& config, const cli::Terminal& terminal) {
    base::SystemClock clock;
    service::RemoteService service({.address = address, .on_lost = [&](const base::Error& error) {
                                        terminal.note("lost the runtime (" + error.message +
                                                      "); waiting for it to come back");
                                    }});
    return cli::execute(command, {.service = service,
                                  .terminal = terminal,
                                  .clock = clock,
                                  .default_agent = config.default_agent,
                                  .cwd = config.cwd});
}

// A run without --agent has an agent of its own, which no runtime knows of.
bool is_private_run(const cli::Command& command) {
    const auto* run = std::get_if<cli::RunCommand>(&command);
    return run && !run->request.agent;
}

cli::Exit execute(const cli::Command& command, const config::Config& config,
                  const cli::Terminal& terminal) {
    if (is_private_run(command)) return in_process(command, config, terminal);
    const auto files = service::Daemon::files_of(config);
    if (const auto address = service::find_runtime(files, config.server))
        return over_there(command, *address, config, terminal);
    if (!cli::works_without_runtime(command))
        return cli::report(terminal, {base::ErrorCode::Unavailable,
                                      fmt::format("no runtime is running on {}; start one with: "
                                                  "holon daemon start",
                                                  config.home.string())});
    return in_process(command, config, terminal);
}

cli::Exit execute(const cli::DaemonCommand& command, const config::Config& config,
                  const std::optional<std::string>& home, const cli::Terminal& terminal) {
    base::SystemClock clock;
    std::error_code failed;
    service::DaemonParts parts{.config = config,
                               .clock = clock,
                               .program = std::filesystem::read_symlink("/proc/self/exe", failed),
                               .started_in = config.cwd};
    if (home) parts.home_arguments = {"--home", config.home.string()};
    service::Daemon daemon(std::move(parts));
    return cli::execute(command, {.daemon = daemon, .terminal = terminal, .clock = clock});
}

// The first Ctrl-C ends the run, as it does in process; a second one, or one while none is under
// way, ends the program.
cli::Exit over_there(const cli::PlanCommand& command, const service::Address& address,
                     const config::Config& config, const cli::Terminal& terminal) {
    base::SystemClock clock;
    service::RemotePlans plans(
        {.address = address, .vault = config.workspace_dir, .on_lost = [&](const auto& error) {
             terminal.note("lost the runtime (" + error.message + "); waiting for it to come back");
         }});
    base::AsioLoop loop;
    int interrupts = 0;
    const base::Signals signals(loop, {SIGINT, SIGTERM, SIGHUP}, [&](int) {
        if (++interrupts > 1 || !plans.interrupt("operator_interrupt"))
            std::_Exit(static_cast<int>(cli::Exit::Interrupted));
    });
    const std::jthread waiting([&] { loop.run(); });
    const auto exit = cli::execute(
        command, {.plans = plans, .terminal = terminal, .clock = clock, .user = user_name()});
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

// Whoever runs the agents also works at their gate. A check reads a file from here and changes
// nothing, so it is made here.
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

cli::Exit run(int argc, char** argv) {
    const auto terminal = cli::Terminal::standard();
    const auto invocation = cli::parse(argc, argv);
    if (!invocation) {
        const bool good = invocation.error().exit == cli::Exit::Success;
        std::fputs(invocation.error().text.c_str(), good ? stdout : stderr);
        return invocation.error().exit;
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
    const auto load = [&]() -> base::Result<config::Config> {
        auto config = TRY(config::load(flags, environment(), cwd));
        app::choose_model(config);
        return config;
    };
    const auto variables = environment();
    service::LocalSettings settings({.home = config::find_home(flags, variables, cwd),
                                     .load = load,
                                     .sandbox_report = app::sandbox_report,
                                     .check_model = app::check_model,
                                     .mcp_diagnosis = app::mcp_diagnosis});
    if (const auto* command = std::get_if<cli::SettingsCommand>(&invocation->command))
        return cli::execute(*command, {.settings = settings, .terminal = terminal});
    const auto config = load();
    if (!config) {
        service::notify_starter(config.error().message);
        return cli::report(terminal, config.error());
    }
    app::guard_credentials(*config);
    if (const auto* command = std::get_if<cli::DaemonCommand>(&invocation->command))
        return execute(*command, *config, invocation->home, terminal);
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
    return execute(std::get<cli::Command>(invocation->command), *config, terminal);
}

}  // namespace

int main(int argc, char** argv) {
    std::signal(SIGPIPE, SIG_IGN);
    // Without a bound each thread has a heap of its own, half a megabyte in a short run. Two are
    // enough: nearly all work is the loop's and the writer's.
    ::mallopt(M_ARENA_MAX, 2);
    base::set_log_level(base::Level::Warn);
    try {
        return static_cast<int>(run(argc, argv));
    } catch (const std::exception& bug) {
        base::log_error("holon met a fault of its own and stopped; nothing committed is lost: {}",
                        bug.what());
        return static_cast<int>(cli::Exit::Error);
    }
}
