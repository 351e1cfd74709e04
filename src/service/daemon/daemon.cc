#include "service/daemon/daemon.h"

#include <csignal>
#include <thread>

#include "base/text.h"
#include "service/daemon/access/surface.h"
#include "service/daemon/background.h"
#include "service/daemon/log_tail.h"
#include "service/daemon/probe.h"
#include "service/remote/client.h"

namespace service {
namespace {

using base::ErrorCode;
using base::fail;

constexpr std::string_view kLogsHint = "holon daemon logs";

std::string_view state_text(DaemonState state) {
    switch (state) {
        case DaemonState::Running:
        case DaemonState::Unresponsive:
            return "running";
        case DaemonState::Stale:
            return "stale";
        case DaemonState::Foreign:
        case DaemonState::Stopped:
            return "stopped";
    }
    return "stopped";
}

std::string message_for(const DaemonFacts& facts) {
    switch (state_of(facts)) {
        case DaemonState::Running:
            return "the daemon is up";
        case DaemonState::Unresponsive:
            return "a daemon process exists but does not answer; see holon daemon logs";
        case DaemonState::Foreign:
            return "no daemon; another program listens at the control socket";
        case DaemonState::Stale:
            return "no daemon; files of one that ended without cleaning up are left, and the next "
                   "start removes them";
        case DaemonState::Stopped:
            return "no daemon; start it with holon daemon start";
    }
    return "";
}

// An empty report of a file is better than a path that has to be guessed.
void put_failure(json::object& report, const char* name, const std::filesystem::path& file) {
    report[std::string(name) + "_path"] = file.string();
    if (const auto failure = read_failure(file)) report[name] = base::to_json(*failure);
}

// The newer one of the runtime's last failed turn and the recorded failure of a start or stop.
void put_newer_failure(json::object& report, const std::optional<FailureSummary>& on_file) {
    if (!on_file) return;
    const auto* failure = base::find(report, "last_failure");
    const auto failed_at =
        base::parse_time(failure ? base::string_at(*failure, "occurred_at") : "");
    if (failed_at && *failed_at >= on_file->occurred_at) return;
    report["last_failure"] = base::to_json(*on_file);
}

ServeOptions with_full_paths(ServeOptions options, const std::filesystem::path& started_in) {
    for (auto* path : {&options.token_file, &options.tls_cert, &options.tls_key})
        if (*path) *path = (started_in / **path).lexically_normal().string();
    return options;
}

}  // namespace

Daemon::Daemon(DaemonParts parts) : parts_(std::move(parts)), files_(files_of(parts_.config)) {}

RunFiles Daemon::files_of(const config::Config& config) {
    return {.folder = config.home / "run", .socket = config.server.socket_path};
}

base::Error Daemon::failed(FailurePhase phase, base::Error error) {
    if (!error.message.contains(kLogsHint)) error.message += "; see holon daemon logs";
    // A failure to record the failure is ignored: the failure itself is reported.
    (void)record_failure(files_, {.occurred_at = parts_.clock.now(),
                                  .summary = error.message,
                                  .phase = phase,
                                  .detail_hint = std::string(kLogsHint)});
    return error;
}

base::Result<json::object> Daemon::start(const ServeOptions& options) {
    const auto full = with_full_paths(options, parts_.started_in);
    const ServePlan plan = TRY(resolve(full, parts_.config.server));
    const base::Fd lock = TRY(lock_lifecycle(files_));
    auto report = start_locked(full, plan);
    if (report) (*report)["action"] = "start";
    return report;
}

base::Result<json::object> Daemon::start_locked(const ServeOptions& options,
                                                const ServePlan& plan) {
    DaemonFacts facts = inspect(files_, parts_.config.home);
    // The lock is held, and nobody listens: a daemon that starts, or one that was killed and has
    // not ended yet. Wait until it is clear which.
    for (auto waited = 0ms;
         facts.lock_held && facts.control == Control::Absent && waited < kPassingTimeout;
         waited += kPassingLook) {
        std::this_thread::sleep_for(kPassingLook);
        facts = inspect(files_, parts_.config.home);
    }
    // Only where it says that it listens: any other program there would receive the token.
    if (facts.control == Control::Answers && (options.token || options.token_file) &&
        base::string_at(facts.runtime, "http_addr") == plan.http_addr())
        facts.same_token = takes_token(plan.local_url(), plan.token);
    const auto decision = decide_start(facts, fingerprint(parts_.config, plan));
    if (const auto* refused = std::get_if<RefuseStart>(&decision)) {
        base::Error error{ErrorCode::Conflict, refused->reason};
        // A healthy daemon with another configuration is no failure to record.
        if (state_of(facts) == DaemonState::Running) return std::unexpected(std::move(error));
        return std::unexpected(failed(FailurePhase::Startup, std::move(error)));
    }
    if (std::holds_alternative<AlreadyRunning>(decision)) {
        clear_failures(files_);
        return report(facts, "the daemon was already running");
    }
    const auto* launch_decision = std::get_if<Launch>(&decision);
    if (launch_decision->clean_first) remove_state(files_);
    // Earlier failures are obsolete; a failure now writes its own file.
    clear_failures(files_);
    if (const auto launched = launch(options); !launched)
        return std::unexpected(failed(FailurePhase::Startup, launched.error()));
    return report(inspect(files_, parts_.config.home), "the daemon was started");
}

base::Status Daemon::launch(const ServeOptions& options) {
    ServeOptions for_child = options;
    for_child.log_file = files_.log().string();
    BackgroundSpec spec{.argv = {parts_.program.string(), "serve"}, .log = files_.log()};
    for (const auto& argument : arguments(for_child)) spec.argv.push_back(argument);
    for (const auto& argument : parts_.home_arguments) spec.argv.push_back(argument);
    if (options.token) spec.environment.emplace_back("HOLON_CONTROL_TOKEN", *options.token);
    TRY(start_in_background(spec, kStartTimeout));
    return {};
}

base::Result<json::object> Daemon::stop() {
    const base::Fd lock = TRY(lock_lifecycle(files_));
    auto report = stop_locked();
    if (report) (*report)["action"] = "stop";
    return report;
}

base::Result<json::object> Daemon::stop_locked() {
    const DaemonFacts facts = inspect(files_, parts_.config.home);
    auto how = end(facts);
    if (!how) return std::unexpected(failed(FailurePhase::Shutdown, std::move(how).error()));
    clear_failures(files_);
    return report(inspect(files_, parts_.config.home), std::move(*how));
}

// Returns the message about how it ended.
base::Result<std::string> Daemon::end(const DaemonFacts& facts) {
    const auto decision = decide_stop(facts);
    if (const auto* refused = std::get_if<RefuseStop>(&decision))
        return fail(ErrorCode::Conflict, "{}", refused->reason);
    if (const auto* nothing = std::get_if<NothingToStop>(&decision)) {
        if (nothing->clean_first) remove_state(files_);
        return nothing->clean_first ? "no daemon was running; its leftover files were removed"
                                    : "no daemon was running";
    }
    std::string how = "the daemon was stopped";
    if (const auto* asked = std::get_if<AskToStop>(&decision)) {
        const OtherProcess process(asked->pid.value_or(0));
        const Client client({.socket = files_.socket});
        const auto answer = client.ask({.method = Method::Post,
                                        .path = "/control/runtime/shutdown",
                                        .body = "{}",
                                        .timeout = kDrainTimeout});
        if (!asked->pid && !answer) return std::unexpected(answer.error());
        const bool ended = answer && asked->pid && process.ends_within(kDrainTimeout);
        if (asked->pid && !ended) TRY(end_process(*asked->pid, how));
    } else {
        TRY(end_process(std::get<Terminate>(decision).pid, how));
    }
    // A daemon that drained has removed them itself.
    if (!is_runtime_locked(files_)) remove_state(files_);
    return how;
}

base::Status Daemon::end_process(pid_t pid, std::string& how) {
    const OtherProcess process(pid);
    if (!process.exists()) return {};
    TRY(process.send(SIGTERM));
    how = "the daemon did not end when asked to and was terminated";
    if (process.ends_within(kTerminateTimeout)) return {};
    TRY(process.send(SIGKILL));
    how = "the daemon did not end when asked to and was killed; nothing committed is lost";
    if (process.ends_within(kKillTimeout)) return {};
    return fail(ErrorCode::Unavailable, "process {} does not end, not even after SIGKILL", pid);
}

base::Result<json::object> Daemon::restart(const ServeOptions& options) {
    const auto full = with_full_paths(options, parts_.started_in);
    const ServePlan plan = TRY(resolve(full, parts_.config.server));
    if (parts_.check_start) {
        if (const auto ready = parts_.check_start(); !ready)
            return fail(ready.error().code, "{}; nothing was stopped", ready.error().message);
    }
    const base::Fd lock = TRY(lock_lifecycle(files_));
    TRY(stop_locked());
    auto report = start_locked(full, plan);
    if (!report) return report;
    (*report)["action"] = "restart";
    (*report)["message"] = "the daemon was restarted";
    return report;
}

base::Result<json::object> Daemon::status() {
    const DaemonFacts facts = inspect(files_, parts_.config.home);
    return report(facts, message_for(facts));
}

// Would a start now, with the same options, give the same configuration?
std::optional<bool> Daemon::fingerprint_matches(const DaemonFacts& facts) const {
    if (facts.control != Control::Answers) return std::nullopt;
    const auto running = base::string_at(facts.runtime, "config_fingerprint");
    if (running.empty()) return std::nullopt;
    const auto metadata = read_metadata(files_);
    ServeOptions options;
    if (metadata && metadata->serve_options) options = from_recorded(*metadata->serve_options);
    // The token is not part of it, so that a shell without the token can still compare.
    config::Server server = parts_.config.server;
    if (server.control_token.empty()) server.control_token = "any";
    options.token_file.reset();
    const auto plan = resolve(options, server);
    return plan && fingerprint(parts_.config, *plan) == running;
}

json::object Daemon::report(const DaemonFacts& facts, std::string message) {
    const DaemonState state = state_of(facts);
    const auto reported = [&](const char* name, const std::string& fallback) {
        return base::string_at(facts.runtime, name, fallback);
    };
    const auto metadata = read_metadata(files_);
    json::object report{
        {"ok", true},
        {"state", state_text(state)},
        {"healthy", state == DaemonState::Running && base::bool_at(facts.runtime, "healthy", true)},
        {"home_dir", reported("home_dir", parts_.config.home.string())},
        {"socket_path", reported("socket_path", files_.socket.string())},
        {"http_addr",
         reported("http_addr", facts.lock_held && metadata ? metadata->http_addr
                                                           : parts_.config.server.http_addr)},
        {"control_connectivity", state == DaemonState::Running},
        {"message", std::move(message)}};
    if (const auto pid = pid_of(facts)) report["pid"] = *pid;
    if (const auto* surface = base::find(facts.runtime, "startup_surface"))
        if (const auto file = base::string_at(*surface, "control_token_file"); !file.empty())
            report["control_token_file"] = file;
    for (const char* name : {"started_at", "activity", "last_failure"})
        if (const auto* value = base::find(facts.runtime, name); value && !value->is_null())
            report[name] = *value;
    if (const auto running = reported("config_fingerprint", ""); !running.empty())
        report["runtime_config_fingerprint"] = running;
    if (const auto matches = fingerprint_matches(facts))
        report["config_fingerprint_match"] = *matches;
    put_newer_failure(report, read_failure(files_.last_failure()));
    if (state == DaemonState::Stale) {
        json::array files;
        for (const auto& file : facts.left_behind) files.emplace_back(file);
        report["stale_files"] = std::move(files);
    }
    return report;
}

base::Result<json::object> Daemon::logs(std::int64_t tail_lines) {
    json::object report{{"ok", true},
                        {"log_path", files_.log().string()},
                        {"metadata_path", files_.metadata().string()}};
    if (const auto metadata = read_metadata(files_))
        report["runtime_metadata"] = base::to_json(*metadata);
    put_failure(report, "last_failure", files_.last_failure());
    put_failure(report, "startup_failure", files_.failure(FailurePhase::Startup));
    put_failure(report, "shutdown_failure", files_.failure(FailurePhase::Shutdown));
    json::array lines;
    for (auto& line : TRY(log_tail(files_.log(), tail_lines))) lines.emplace_back(std::move(line));
    report["message"] =
        lines.empty() ? "nothing is logged yet; a daemon in the foreground (holon serve) logs to "
                        "its terminal"
                      : fmt::format("the last {} lines", lines.size());
    if (!lines.empty()) report["tail"] = std::move(lines);
    return report;
}

}  // namespace service
