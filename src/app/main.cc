// holon: parses the command line, loads the configuration, and hands over to the surface.
#include <csignal>
#include <cstdlib>
#include <filesystem>

#include <unistd.h>

#include "app/models.h"
#include "app/providers.h"
#include "app/runtime.h"
#include "base/log.h"
#include "base/signals.h"
#include "service/local/local_settings.h"
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

// The first Ctrl-C settles the turn; a second one ends the program at once, and the turn stays open
// for --resume.
void interrupt_on_signal(app::Runtime& runtime, const cli::Terminal& terminal, int& count) {
    if (++count > 1) std::_Exit(static_cast<int>(cli::Exit::Interrupted));
    if (terminal.err_is_terminal)
        terminal.note("\nstopping the turn; press Ctrl-C again to leave at once");
    runtime.service().interrupt("operator_interrupt");
}

cli::Exit execute(const cli::Command& command, const config::Config& config,
                  const cli::Terminal& terminal) {
    const auto runtime = app::Runtime::open(config);
    if (!runtime) return cli::report(terminal, runtime.error());
    int interrupts = 0;
    std::optional<base::Signals> signals;
    if (std::holds_alternative<cli::RunCommand>(command))
        signals.emplace((*runtime)->loop(), std::vector{SIGINT, SIGTERM, SIGHUP},
                        [&](int) { interrupt_on_signal(**runtime, terminal, interrupts); });
    return cli::execute(command, {.service = (*runtime)->service(),
                                  .terminal = terminal,
                                  .clock = (*runtime)->clock(),
                                  .default_agent = config.default_agent});
}

cli::Exit execute(const cli::PlanCommand& command, const config::Config& config,
                  const cli::Terminal& terminal) {
    const auto runtime = app::Runtime::open(config);
    if (!runtime) return cli::report(terminal, runtime.error());
    const char* user = std::getenv("USER");
    return cli::execute(command, {.plans = (*runtime)->plans(),
                                  .terminal = terminal,
                                  .clock = (*runtime)->clock(),
                                  .user = user != nullptr && *user != 0 ? user : "operator"});
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
    if (const auto* command = std::get_if<cli::SettingsCommand>(&invocation->command)) {
        service::LocalSettings settings({.home = config::find_home(flags, environment(), cwd),
                                         .load = load,
                                         .check_model = app::check_model});
        return cli::execute(*command, {.settings = settings, .terminal = terminal});
    }
    const auto config = load();
    if (!config) return cli::report(terminal, config.error());
    if (const auto* command = std::get_if<cli::PlanCommand>(&invocation->command))
        return execute(*command, *config, terminal);
    return execute(std::get<cli::Command>(invocation->command), *config, terminal);
}

}  // namespace

int main(int argc, char** argv) {
    std::signal(SIGPIPE, SIG_IGN);
    base::set_log_level(base::Level::Warn);
    try {
        return static_cast<int>(run(argc, argv));
    } catch (const std::exception& bug) {
        base::log_error("holon met a fault of its own and stopped; nothing committed is lost: {}",
                        bug.what());
        return static_cast<int>(cli::Exit::Error);
    }
}
