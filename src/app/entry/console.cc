#include "app/entry/console.h"

#include <cstdlib>

#include "app/models/models.h"
#include "app/sandbox.h"
#include "base/text.h"
#include "config/sections/server.h"
#include "service/daemon/route.h"
#include "service/remote/remote_mcp.h"
#include "service/remote/remote_plans.h"
#include "service/remote/remote_service.h"
#include "surfaces/tui/console.h"

namespace app {
namespace {

struct Reached {
    service::Address address;
    std::string where{};     // Empty for the daemon of this home.
    std::string greeting{};  // What was done to reach it.
};

base::Result<Reached> reach_elsewhere(const cli::TuiCommand& command) {
    std::string url = *command.connect;
    while (url.ends_with('/')) url.pop_back();
    if (!url.starts_with("http://") && !url.starts_with("https://"))
        return base::fail(base::ErrorCode::InvalidInput,
                          "--connect needs a URL such as https://box.local:7878");
    std::string token;
    if (command.token) token = TRY(config::check_token(*command.token, "--token"));
    if (command.token_file) {
        const auto text = TRY(base::read_file(*command.token_file, config::kTokenBytesMax + 1));
        token = TRY(config::check_token(text, *command.token_file));
    }
    Reached reached{.address = {.url = url, .token = token}, .where = url};
    TRY(service::Client(reached.address).get("/handshake"));
    return reached;
}

base::Result<Reached> reach_here(const config::Config& config, const cli::Invocation& invocation) {
    const auto files = service::Daemon::files_of(config);
    if (const auto address = service::find_runtime(files, config.server))
        return Reached{.address = *address};
    base::SystemClock clock;
    service::Daemon daemon(daemon_parts(config, invocation, clock));
    TRY(daemon.start({}));
    const auto address = service::find_runtime(files, config.server);
    if (!address)
        return base::fail(base::ErrorCode::Unavailable,
                          "the daemon was started and does not answer; see holon daemon logs");
    Reached reached{.address = *address,
                    .greeting =
                        "No daemon was running, so one was started; it continues when you "
                        "leave (holon daemon stop ends it)."};
    if (const auto note = boundary_note(config); !note.empty())
        reached.greeting += " Warning: " + note;
    return reached;
}

// As the runtime sees them: its configuration may be another one than ours.
base::Result<std::vector<service::ModelAvailability>> models_of(const service::Address& address) {
    const auto answer = TRY(service::Client(address).get("/models"));
    const auto* list = base::find(answer, "model_availability");
    auto models = base::from_json<std::vector<service::ModelAvailability>>(
        list ? *list : json::value(json::array{}));
    if (!models) return service::unreadable_answer("models", models.error().message);
    return models;
}

std::string operator_name() {
    const char* user = std::getenv("USER");
    return user != nullptr && *user != 0 ? user : "operator";
}

}  // namespace

service::DaemonParts daemon_parts(const config::Config& config, const cli::Invocation& invocation,
                                  base::Clock& clock) {
    std::error_code failed;
    service::DaemonParts parts{.config = config,
                               .clock = clock,
                               .program = std::filesystem::read_symlink("/proc/self/exe", failed),
                               .started_in = config.cwd,
                               .check_start = [&config] {
                                   return check_run(config,
                                                    config.model ? config.model->text() : "");
                               }};
    if (invocation.home) parts.home_arguments = {"--home", config.home.string()};
    if (invocation.sandbox)
        parts.home_arguments.insert(parts.home_arguments.end(), {"--sandbox", *invocation.sandbox});
    return parts;
}

cli::Exit run_console(const cli::TuiCommand& command, const config::Config& config,
                      const cli::Invocation& invocation, const cli::Terminal& terminal) {
    if (const auto possible = tui::check_terminal_for_console(); !possible)
        return cli::report(terminal, possible.error());
    const auto reached =
        command.connect ? reach_elsewhere(command) : reach_here(config, invocation);
    if (!reached) return cli::report(terminal, reached.error());
    base::SystemClock clock;
    const auto link = std::make_shared<tui::Link>();
    service::RemoteService service(
        {.address = reached->address,
         .on_lost = [link](const base::Error& error) { link->lost(error); }});
    service::RemotePlans plans({.address = reached->address, .vault = config.workspace_dir});
    const std::stop_source leaves;
    service::RemoteMcp mcp(reached->address, leaves.get_token());
    const auto shown = tui::run_console(
        {.service = service,
         .plans = plans,
         .clock = clock,
         .link = link,
         .agent = command.agent.value_or(command.continues ? "" : config.default_agent),
         .default_agent = config.default_agent,
         .where = reached->where,
         .user = operator_name(),
         .cwd = config.cwd,
         .kept_file = config.home / "console.json",
         .alternate_screen = tui::parse_alternate_screen(
             command.alternate_screen.value_or(config.alternate_screen)),
         .colours = terminal.colours,
         .greeting = reached->greeting,
         .picks = !command.agent && !command.continues,
         .models = [&reached] { return models_of(reached->address); },
         .mcp = &mcp,
         .leaves = leaves});
    return shown ? cli::Exit::Success : cli::report(terminal, shown.error());
}

}  // namespace app
