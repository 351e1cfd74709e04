#include "app/entry/serve.h"

#include <malloc.h>
#include <sys/resource.h>
#include <unistd.h>

#include <condition_variable>
#include <csignal>
#include <mutex>
#include <thread>

#include "app/models/models.h"
#include "app/models/providers.h"
#include "app/notify.h"
#include "app/runtime.h"
#include "base/log/log.h"
#include "base/log/log_file.h"
#include "base/os/crash/crash_marks.h"
#include "base/os/files.h"
#include "base/os/signals.h"
#include "base/scan/secrets.h"
#include "base/text.h"
#include "config/sections/control_token.h"
#include "domain/events/turn.h"
#include "record/telemetry/metrics.h"
#include "service/daemon/access/access.h"
#include "service/daemon/access/surface.h"
#include "service/daemon/background.h"
#include "service/daemon/daemon.h"
#include "service/views/presentation.h"
#include "store/sql/sqlite/repair/check.h"
#include "surfaces/http/server/server.h"

namespace app {
namespace {

// Connections may use half of them; the rest is for the store, commands and files.
constexpr rlim_t kOpenFilesWanted = 16'384;
// A start has other things to read, and what both keep in memory would be mixed.
constexpr std::chrono::seconds kCheckDelay{10};
constexpr std::chrono::milliseconds kCheckStepPause{20};
constexpr std::chrono::hours kCheckPause{24};
constexpr std::chrono::seconds kRetentionDelay{10};  // Agents that were at work come first.
// How long the end waits for attempts to notify the operator; the next start makes them again.
constexpr std::chrono::milliseconds kNoticeGrace = std::chrono::seconds(5);
constexpr std::chrono::milliseconds kRequestGrace{3000};
constexpr std::size_t kTlsKeyBytesMax = 64 * 1024;
constexpr int kLoggedLevel = views::level_of(views::Visibility::TurnResult);

struct FileLimit {
    std::string text{"fd limits: unknown"};  // "fd limits: soft 16384, hard 524288"
    std::optional<rlim_t> soft{};
};
FileLimit raise_file_limit() {
    rlimit limit{};
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return {};
    const rlim_t wanted = std::min(kOpenFilesWanted, limit.rlim_max);
    if (limit.rlim_cur < wanted) {
        limit.rlim_cur = wanted;
        setrlimit(RLIMIT_NOFILE, &limit);
        getrlimit(RLIMIT_NOFILE, &limit);
    }
    return {fmt::format("fd limits: soft {}, hard {}", limit.rlim_cur, limit.rlim_max),
            limit.rlim_cur};
}

http_surface::AuthMode auth_mode(config::AuthMode mode) {
    switch (mode) {
        case config::AuthMode::Auto:
            return http_surface::AuthMode::Auto;
        case config::AuthMode::Required:
            return http_surface::AuthMode::Required;
        case config::AuthMode::Disabled:
            return http_surface::AuthMode::Disabled;
    }
    return http_surface::AuthMode::Required;
}

http_surface::Options http_options(const service::ServePlan& plan, const FileLimit& files) {
    http_surface::Options options{
        .tcp = {{.host = plan.listen.host, .port = static_cast<std::uint16_t>(plan.listen.port)}},
        .socket_path = plan.socket_path,
        .auth_mode = auth_mode(plan.auth_mode)};
    if (files.soft)
        options.limits.connections =
            std::min<std::size_t>(options.limits.connections, *files.soft / 2);
    if (!plan.token.empty()) options.token = plan.token;
    if (!plan.viewer_token.empty()) options.viewer_token = plan.viewer_token;
    if (plan.tls)
        options.tls =
            http_surface::TlsFiles{.certificate = plan.tls->certificate, .key = plan.tls->key};
    if (plan.advertise_url) {
        const auto start = plan.advertise_url->find("//") + 2;
        const auto authority =
            plan.advertise_url->substr(start, plan.advertise_url->find('/', start) - start);
        if (const auto host = config::parse_host_port(authority))
            options.allowed_hosts.push_back(host->host);
    }
    return options;
}

// What only this server has: the tokens that it accepts and its private key.
void know_secrets(const service::ServePlan& plan) {
    scan::know({plan.token, plan.viewer_token});
    if (!plan.tls) return;
    if (const auto key = base::read_file(plan.tls->key, kTlsKeyBytesMax))
        scan::know({std::string(base::trim(*key))});
}

// A job of the loop threw where nothing says for whom it ran: that job is lost, the others run.
void log_bug(const std::exception_ptr& thrown) {
    try {
        std::rethrow_exception(thrown);
    } catch (const std::exception& bug) {
        base::log_error("the daemon met a fault of its own and continues: {}", bug.what());
    }
}

// An event in the log, in the words that every surface uses for it.
void log_event(const events::Committed& committed) {
    const auto presented = views::present(committed.event);
    const bool is_error = domain::events::is<domain::events::RuntimeError>(committed.event);
    const auto level = is_error                                                ? base::Level::Warn
                       : views::level_of(presented.visibility) <= kLoggedLevel ? base::Level::Info
                                                                               : base::Level::Debug;
    if (presented.category == views::Category::StateSync || !base::is_logged(level)) return;
    const auto text = fmt::format("agent {} #{}: {}", committed.agent_id, committed.event.event_seq,
                                  presented.summary);
    switch (level) {
        case base::Level::Warn:
            return base::log_warn("{}", text);
        case base::Level::Info:
            return base::log_info("{}", text);
        case base::Level::Error:
        case base::Level::Debug:
            return base::log_debug("{}", text);
    }
}

// Lives as long as the runtime serves.
class Serving {
public:
    Serving(const service::ServeOptions& options, const ServeParts& parts)
        : options_(options),
          parts_(parts),
          files_(service::Daemon::files_of(parts.config)),
          notify_(parts.environment) {}

    cli::Exit run() {
        if (const auto opened = open(); !opened) return fail_to_start(opened.error());
        runtime_->loop().run();
        return cli::Exit::Success;
    }

private:
    base::Status open();
    base::Status open_log();
    base::Status start_server();
    std::string runtime_metrics();
    void announce();
    cli::Exit fail_to_start(const base::Error& error);
    void on_signal(int number);
    void drain(const std::string& why);
    void finish();
    void keep_watchdog_quiet();
    void check_store();
    void store_checked(const sqlite::CheckReport& report);

    const service::ServeOptions& options_;
    const ServeParts& parts_;
    const service::RunFiles files_;
    const Notify notify_;
    service::ServePlan plan_;
    std::unique_ptr<base::LogFile> log_;
    base::Fd lock_;
    base::Time started_at_{};
    std::unique_ptr<base::CrashMarks> marks_;
    std::unique_ptr<Runtime> runtime_;
    std::shared_ptr<void> logged_events_;
    std::optional<telemetry::Metrics> metrics_;
    std::unique_ptr<http_surface::Server> server_;
    std::optional<base::Signals> signals_;
    FileLimit file_limit_;
    bool is_draining_{false};
    std::jthread checking_;  // Last: it uses the others.
};

base::Status Serving::open() {
    plan_ = TRY(service::resolve(options_, parts_.config.server));
    TRY(open_log());
    lock_ = TRY(service::lock_runtime(files_));
    // With the lock held, no other daemon makes one at the same time.
    if (plan_.uses_own_token)
        plan_.token = TRY(config::ensure_control_token(parts_.config.server.control_token_file));
    know_secrets(plan_);
    const auto& model = parts_.config.model;
    TRY(check_run(parts_.config, model ? model->text() : ""));
    runtime_ = TRY(Runtime::open(parts_.config, Tools::UsedLater, kDaemonPatience));
    started_at_ = runtime_->clock().now();
    runtime_->loop().on_error = log_bug;
    // Before anything is resumed: the agent that the last process died of may end this one, too.
    marks_ = TRY(base::CrashMarks::open(marks_folder(parts_.config)));
    runtime_->service().count_crashes(marks_->left());
    marks_->forget_left();
    logged_events_ = runtime_->feed().subscribe(log_event);
    // Ready before the first tool has something to show.
    if (parts_.config.redact_patterns)
        runtime_->loop().offload([] { (void)scan::without_secrets("."); }, [] {});
    signals_.emplace(runtime_->loop(), std::vector{SIGINT, SIGTERM, SIGHUP},
                     [this](int number) { on_signal(number); });
    runtime_->service().set_callback_base_url(plan_.callback_base_url);
    runtime_->plans().sweep();
    runtime_->service().prepare_homes();
    // A request that names no agent means this one, so it is there from the start.
    TRY(runtime_->service().create_agent(parts_.config.default_agent, std::nullopt, {}));
    TRY(runtime_->plans().host().stay());
    TRY(start_server());
    // A starter receives the word when agents are being resumed, not before.
    runtime_->service().start([this] { announce(); });
    return service::write_metadata(
        files_, {.pid = getpid(),
                 .home_dir = parts_.config.home.string(),
                 .socket_path = plan_.socket_path.string(),
                 .http_addr = plan_.http_addr(),
                 .started_at = started_at_,
                 .config_fingerprint = service::fingerprint(parts_.config, plan_),
                 .serve_options = service::recorded(options_)});
}

base::Status Serving::open_log() {
    if (!options_.log_file) return {};
    log_ = TRY(base::LogFile::open(*options_.log_file));
    base::set_log_sink([log = log_.get()](std::string_view line) { log->write(line); });
    return {};
}

std::string Serving::runtime_metrics() {
    std::vector<telemetry::Metrics::Gauge> gauges;
    if (const auto activity = runtime_->service().activity()) {
        const auto add = [&](const char* name, const char* help, const char* member) {
            gauges.push_back({name, help, static_cast<double>(base::int_at(*activity, member))});
        };
        add("holon_agents", "Active agents.", "active_agent_count");
        add("holon_agents_processing", "Agents in a turn.", "processing_agent_count");
        add("holon_agents_waiting", "Agents that wait for something.", "waiting_agent_count");
        add("holon_messages_queued", "Messages that wait for a turn.", "queued_message_count");
        add("holon_tasks_active", "Background tasks that run.", "active_task_count");
    }
    if (const auto report = runtime_->retention_report()) {
        const auto add = [&](const char* name, const char* help, std::int64_t value) {
            gauges.push_back({name, help, static_cast<double>(value)});
        };
        add("holon_store_database_bytes", "Bytes that the database uses.",
            report->database.used_bytes);
        add("holon_store_free_bytes", "Bytes in the database's file that are free.",
            report->database.free_bytes);
        add("holon_store_file_bytes", "Bytes of the files of agents and plans at the last check.",
            report->state.file_bytes);
        add("holon_store_budget_bytes", "Bytes that retention allows for both.",
            parts_.config.retention.max_bytes);
        add("holon_retention_removed_messages", "Messages removed since the home was made.",
            report->state.total.messages);
        add("holon_retention_removed_events", "Events removed since the home was made.",
            report->state.total.events);
    }
    return metrics_->text() + telemetry::Metrics::text(gauges);
}

base::Status Serving::start_server() {
    metrics_.emplace(runtime_->feed());
    const auto& config = parts_.config;
    http_surface::Parts parts{
        .service = runtime_->service(),
        .settings = parts_.settings,
        .clock = runtime_->clock(),
        .gate = &runtime_->gate(),
        .facts = {.default_agent = config.default_agent,
                  .workspace_dir = config.workspace_dir.string(),
                  .home_dir = config.home.string(),
                  .advertise_url = plan_.advertise_url,
                  .http_addr = plan_.http_addr(),
                  .config_fingerprint = service::fingerprint(config, plan_),
                  .started_at = started_at_,
                  .startup_surface = service::startup_surface(config, plan_),
                  .runtime_surface = service::runtime_surface(config)},
        .request_shutdown =
            [this] { runtime_->loop().post([this] { drain("asked over the control surface"); }); },
        .mcp = &runtime_->mcp(),
        .plans = &runtime_->plan_service(),
        .plan_totals = [this] { return runtime_->plans().host().totals(); },
        .runtime_metrics = [this] { return runtime_metrics(); }};
    file_limit_ = raise_file_limit();
    server_ = TRY(http_surface::Server::start(std::move(parts), http_options(plan_, file_limit_)));
    return {};
}

void Serving::announce() {
    const auto& terminal = parts_.terminal;
    terminal.print_line(file_limit_.text);
    terminal.print_line("Holon listening on " + plan_.http_addr());
    if (plan_.advertise_url) terminal.print_line("Holon advertised at " + *plan_.advertise_url);
    terminal.print_line("Holon control socket on " + plan_.socket_path.string());
    base::log_info("daemon {} serves {} at {}", getpid(), parts_.config.home.string(),
                   plan_.http_addr());
    if (plan_.uses_own_token)
        base::log_info("clients over TCP need the control token in {}",
                       parts_.config.server.control_token_file.string());
    service::notify_starter(service::kReady);
    notify_.send(
        fmt::format("READY=1\nMAINPID={}\nSTATUS=listening on {}", getpid(), plan_.http_addr()));
    if (notify_.watchdog()) keep_watchdog_quiet();
    runtime_->loop().after(kCheckDelay, [this] { check_store(); });
    runtime_->retention().start(kRetentionDelay);
    runtime_->notifier().start();
}

cli::Exit Serving::fail_to_start(const base::Error& error) {
    base::log_error("the daemon could not start: {}", error.message);
    // Without the lock the files belong to the runtime that has it.
    if (lock_) {
        base::SystemClock clock;
        (void)service::record_failure(files_, {.occurred_at = clock.now(),
                                               .summary = error.message,
                                               .phase = service::FailurePhase::Startup,
                                               .detail_hint = "holon daemon logs"});
    }
    service::notify_starter(error.message);
    notify_.send("STATUS=" + error.message);
    base::set_log_sink(nullptr);
    return cli::report(parts_.terminal, error);
}

void Serving::on_signal(int number) {
    if (number == SIGHUP) {
        if (!log_) return;
        if (const auto reopened = log_->reopen(); !reopened)
            base::log_error("the log stays where it is: {}", reopened.error().message);
        return;
    }
    // A second signal: do not wait. What is committed stays.
    if (is_draining_) std::_Exit(static_cast<int>(cli::Exit::Interrupted));
    drain(number == SIGINT ? "interrupted" : "terminated");
}

// First the entry points, while the runtime still answers, and the runs of plans, which start
// nothing more from here on; then the agents.
void Serving::drain(const std::string& why) {
    if (std::exchange(is_draining_, true)) return;
    base::log_info("the daemon ends: {}", why);
    notify_.send("STOPPING=1\nSTATUS=draining");
    const auto next = [this, left = std::make_shared<int>(2)] {
        if (--*left == 0)
            runtime_->service().drain(
                [this] { runtime_->notifier().flush(kNoticeGrace, [this] { finish(); }); });
    };
    runtime_->plans().host().drain(next);
    runtime_->loop().offload([this] { server_->drain(kRequestGrace); }, next);
}

void Serving::finish() {
    service::remove_state(files_);
    base::log_info("the daemon has ended");
    runtime_->loop().stop();
}

// In the background, a small step at a time: damage is reported before somebody runs into it. On a
// thread of its own, because what the allocator keeps for a thread goes with it.
void Serving::check_store() {
    if (is_draining_) return;
    checking_ = std::jthread([this, file = parts_.config.database()](const std::stop_token& stop) {
        std::optional<sqlite::CheckReport> report;
        if (const auto checker = sqlite::Checker::open(file)) {
            std::mutex mutex;
            std::condition_variable_any pause;
            std::unique_lock lock(mutex);
            while (!stop.stop_requested() && (*checker)->step())
                pause.wait_for(lock, stop, kCheckStepPause, [] { return false; });
            report = (*checker)->report();
        }
        if (stop.stop_requested()) return;
        runtime_->loop().post([this, report = std::move(report)] {
            checking_ = {};
            if (report) store_checked(*report);
            runtime_->loop().offload([] { malloc_trim(0); }, [] {});
            runtime_->loop().after(kCheckPause, [this] { check_store(); });
        });
    });
}

void Serving::store_checked(const sqlite::CheckReport& report) {
    std::string damage;
    if (!report.damage.empty()) damage = report.damage.front();
    if (!report.broken.empty())
        base::log_error("{} cannot be read; see: holon store check",
                        base::counted(std::ssize(report.broken), "record"));
    if (!damage.empty())
        base::log_error("the database is damaged: {}; see: holon store check", damage);
    runtime_->service().report_damage(std::move(damage));
}

void Serving::keep_watchdog_quiet() {
    notify_.send("WATCHDOG=1");
    runtime_->loop().after(*notify_.watchdog(), [this] { keep_watchdog_quiet(); });
}

}  // namespace

cli::Exit serve(const service::ServeOptions& options, const ServeParts& parts) {
    Serving serving(options, parts);
    const auto exit = serving.run();
    base::set_log_sink(nullptr);
    return exit;
}

}  // namespace app
