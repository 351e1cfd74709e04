// The HTTP surface on a real store: requests against the barest server that could send the same
// bytes, memory of a client that only listens, and events to a hundred readers.
#include <algorithm>
#include <atomic>
#include <mutex>
#include <thread>

#include <sys/resource.h>
#include <unistd.h>

#include "agent/identity/facts.h"
#include "agent/identity/views.h"
#include "bench/support/figures.h"
#include "bench/support/http_bare.h"
#include "bench/support/http_load.h"
#include "store/sql/sqlite/sqlite_store.h"
#include "surfaces/http/server/server.h"
#include "tests/support/no_service.h"

namespace {

using namespace std::chrono_literals;

constexpr int kConnections = 32;
constexpr auto kSlice = 1500ms;
constexpr int kRounds = 5;
constexpr double kReadRatioMin = 0.7;
constexpr int kIdleStreams = 2000;
constexpr double kIdleBytesMax = 20'000;
constexpr int kReaders = 100;
constexpr int kEventsPerSecond = 1000;
constexpr auto kFanOutTime = 5s;

std::unexpected<base::Error> nothing() {
    return base::fail(base::ErrorCode::Unavailable, "not part of the measurement");
}

// What the runtime does for these calls, without its scheduler: nothing here runs a turn.
class StoreService final : public test_support::NoService {
public:
    explicit StoreService(const std::filesystem::path& file)
        : store_(sqlite::open({.file = file}).value()) {
        CHECK(store_->write(store::Durability::Disk,
                            [](store::Tx& tx) {
                                return tx.put_agent(
                                    {.agent_id = {"main"}, .identity = {.agent_id = {"main"}}});
                            }),
              "an agent can be made");
    }

    base::Result<json::object> status(const std::string& agent) override {
        json::object summary;
        TRY(store_->read([&](store::Tx& tx) -> base::Status {
            summary = identity::agent_summary(TRY(identity::load_facts(tx, {agent})), models_);
            return {};
        }));
        return summary;
    }
    base::Result<std::vector<domain::Event>> event_page(
        const std::string& agent, const service::EventsQuery& query) override {
        std::vector<domain::Event> page;
        TRY(store_->read([&](store::Tx& tx) -> base::Status {
            page = TRY(tx.events({agent}, {.after_seq = query.after_seq.value_or(0),
                                           .limit = query.limit,
                                           .newest_first = query.newest_first}));
            return {};
        }));
        return page;
    }
    base::Result<std::int64_t> newest_event(const std::string& agent) override {
        std::int64_t seq = 0;
        TRY(store_->read([&](store::Tx& tx) -> base::Status {
            seq = TRY(tx.last_event_seq({agent}));
            return {};
        }));
        return seq;
    }
    std::shared_ptr<void> watch(const std::string&,
                                std::function<void(std::int64_t)> changed) override {
        auto token = std::make_shared<std::function<void(std::int64_t)>>(std::move(changed));
        const std::lock_guard lock(mutex_);
        watcher_ = token;
        return token;
    }
    base::Result<std::string> enqueue(const std::string& agent,
                                      const service::EnqueueRequest& request) override {
        const domain::Message message{.id = ids_fresh<domain::MessageId>(),
                                      .agent_id = {agent},
                                      .created_at = clock_.now(),
                                      .kind = request.kind,
                                      .origin = request.origin,
                                      .body = request.body};
        TRY(commit(store::Durability::Disk, agent, "message_enqueued",
                   [&](store::Tx& tx) -> base::Status {
                       TRY(tx.append_message(message, std::nullopt));
                       return {};
                   }));
        return message.id.value;
    }

    base::Result<std::int64_t> add_event(const std::string& agent) {
        return commit(store::Durability::Process, agent, "tool_executed",
                      [](store::Tx&) -> base::Status { return {}; });
    }

private:
    template <class Id>
    Id ids_fresh() {
        const std::lock_guard lock(mutex_);
        return ids_.fresh<Id>();
    }

    template <class Also>
    base::Result<std::int64_t> commit(store::Durability durability, const std::string& agent,
                                      std::string kind, Also also) {
        domain::Event event{.id = ids_fresh<domain::EventId>(),
                            .created_at = clock_.now(),
                            .kind = std::move(kind),
                            .data = {{"tool_name", "exec_command"},
                                     {"summary", "ran a command that took a while"},
                                     {"status", "success"},
                                     {"duration_ms", 120}}};
        std::int64_t seq = 0;
        TRY(store_->write(durability, [&](store::Tx& tx) -> base::Status {
            TRY(also(tx));
            seq = TRY(tx.append_event({agent}, event));
            return {};
        }));
        std::shared_ptr<std::function<void(std::int64_t)>> watcher;
        {
            const std::lock_guard lock(mutex_);
            watcher = watcher_.lock();
        }
        if (watcher) (*watcher)(seq);
        return seq;
    }

    std::unique_ptr<store::Store> store_;
    base::SystemClock clock_;
    std::mutex mutex_;
    base::RandomIds ids_{clock_, 1};
    std::weak_ptr<std::function<void(std::int64_t)>> watcher_;
    identity::ModelFacts models_{
        .runtime_default_model = "openai/some-model",
        .fallbacks_of = [](const std::string&) { return std::vector<std::string>{}; },
        .policy_of = [](const std::string&) { return json::value(json::object{}); }};
};

class NoSettings final : public service::Settings {
    base::Result<json::value> get(const std::string&) override { return nothing(); }
    base::Result<json::value> set(const std::string&, const std::string&) override {
        return nothing();
    }
    base::Status unset(const std::string&) override { return nothing(); }
    base::Result<json::object> list() override { return nothing(); }
    std::vector<service::SettingDescription> schema() override { return {}; }
    base::Result<std::vector<service::ModelAvailability>> models() override { return nothing(); }
    base::Result<service::ProviderView> set_provider(const service::ProviderChange&) override {
        return nothing();
    }
    base::Result<service::ProviderView> provider(const std::string&) override { return nothing(); }
    base::Result<std::vector<service::ProviderView>> providers() override { return nothing(); }
    base::Result<bool> remove_provider(const std::string&) override { return nothing(); }
    base::Result<service::CredentialView> set_credential(const std::string&, const std::string&,
                                                         const std::string&) override {
        return nothing();
    }
    base::Result<std::vector<service::CredentialView>> credentials() override { return nothing(); }
    base::Result<service::CredentialView> remove_credential(const std::string&) override {
        return nothing();
    }
    base::Result<service::LoginResult> login(const service::LoginRequest&) override {
        return nothing();
    }
    base::Result<json::object> doctor(bool) override { return nothing(); }
    base::Result<json::object> doctor_provider(const std::string&, bool) override {
        return nothing();
    }
};

std::uint16_t port_of(const http_surface::Server& server) {
    const std::string address = server.tcp_addresses().at(0);
    return static_cast<std::uint16_t>(std::stoi(address.substr(address.rfind(':') + 1)));
}

// Alternately, so that what else the machine does weighs on both.
void compare(std::string_view name, std::uint16_t ours_port, std::uint16_t bare_port,
             const std::string& request, bench::Target target) {
    std::vector<double> ratios, ours, bare, p99, bare_p99;
    for (int round = -1; round < kRounds; ++round) {
        const auto a = bench::load(ours_port, request, kConnections, kSlice);
        const auto b = bench::load(bare_port, request, kConnections, kSlice);
        CHECK(a.failures == 0, "every request is answered");
        if (round < 0) continue;
        ours.push_back(a.per_second);
        bare.push_back(b.per_second);
        p99.push_back(a.p99_ms);
        bare_p99.push_back(b.p99_ms);
        ratios.push_back(a.per_second / b.per_second);
    }
    bench::note(fmt::format("{}: {:.0f}/s (p99 {:.2f} ms) to {:.0f}/s (p99 {:.2f} ms) bare", name,
                            bench::median(ours), bench::median(p99), bench::median(bare),
                            bench::median(bare_p99)));
    bench::figure(fmt::format("http_{}_to_bare", name), bench::median(ratios), "ratio", target);
    bench::figure(fmt::format("http_{}_p99", name), bench::median(p99), "ms");
}

double resident_bytes() {
    long total = 0, resident = 0;
    if (FILE* file = std::fopen("/proc/self/statm", "r")) {
        CHECK(std::fscanf(file, "%ld %ld", &total, &resident) == 2, "statm has two numbers");
        std::fclose(file);
    }
    return static_cast<double>(resident) * static_cast<double>(::sysconf(_SC_PAGESIZE));
}

void measure_idle(std::uint16_t port) {
    // Some first, for what is allocated once.
    const bench::StreamReaders first(port, "/agents/main/events/stream", 100);
    const double before = resident_bytes();
    const bench::StreamReaders idle(port, "/agents/main/events/stream", kIdleStreams);
    const double each = (resident_bytes() - before) / kIdleStreams;
    bench::figure("http_idle_stream_bytes", each, "bytes", bench::at_most(kIdleBytesMax));
}

void measure_fan_out(StoreService& service, std::uint16_t port) {
    bench::StreamReaders readers(port, "/agents/main/events/stream", kReaders);
    constexpr int kEvents = kEventsPerSecond * static_cast<int>(kFanOutTime.count());
    const auto newest = service.newest_event("main").value();
    std::vector<std::atomic<std::int64_t>> written_at(kEvents);
    const auto micros = [] {
        return std::chrono::duration_cast<std::chrono::microseconds>(
                   std::chrono::steady_clock::now().time_since_epoch())
            .count();
    };
    std::jthread writer([&] {
        auto due = std::chrono::steady_clock::now();
        for (int i = 0; i < kEvents; ++i) {
            std::this_thread::sleep_until(due +=
                                          std::chrono::microseconds(1'000'000 / kEventsPerSecond));
            written_at[static_cast<std::size_t>(i)] = micros();
            CHECK(service.add_event("main"), "an event can be added");
        }
    });
    std::vector<std::int64_t> seen(kReaders, newest);
    std::vector<double> delay_ms;
    std::int64_t out_of_order = 0, total = 0;
    const auto deadline = std::chrono::steady_clock::now() + kFanOutTime * 4;
    while (total < std::int64_t{kEvents} * kReaders && std::chrono::steady_clock::now() < deadline)
        readers.read(100ms, [&](std::size_t reader, std::int64_t seq) {
            if (seq != seen[reader] + 1) ++out_of_order;
            seen[reader] = seq;
            ++total;
            if (reader == 0)
                delay_ms.push_back(
                    static_cast<double>(micros() -
                                        written_at[static_cast<std::size_t>(seq - newest - 1)]) /
                    1000);
        });
    bench::figure("http_fan_out_lost",
                  static_cast<double>(std::int64_t{kEvents} * kReaders - total), "events",
                  bench::at_most(0));
    bench::figure("http_fan_out_disorder", static_cast<double>(out_of_order), "events",
                  bench::at_most(0));
    bench::figure("http_fan_out_delay_p50", bench::percentile(delay_ms, 0.5), "ms");
    bench::figure("http_fan_out_delay_p99", bench::percentile(delay_ms, 0.99), "ms");
}

void raise_file_limit() {
    rlimit files{};
    ::getrlimit(RLIMIT_NOFILE, &files);
    files.rlim_cur = files.rlim_max;
    ::setrlimit(RLIMIT_NOFILE, &files);
}

}  // namespace

int main() {
    raise_file_limit();
    std::string folder = (std::filesystem::temp_directory_path() / "holon-bench-XXXXXX").string();
    CHECK(::mkdtemp(folder.data()) != nullptr, "a temporary folder can be made");
    {
        StoreService service(std::filesystem::path(folder) / "holon.db");
        NoSettings settings;
        base::SystemClock clock;
        auto server = http_surface::Server::start(
            {.service = service, .settings = settings, .clock = clock},
            {.tcp = {{.port = 0}}, .limits = {.connections_per_peer = kIdleStreams * 2}});
        CHECK(server.has_value(), "the server starts");
        const auto port = port_of(**server);
        measure_idle(port);
        measure_fan_out(service, port);
        const auto same = base::json_text(service.status("main").value());
        const auto bare = bench::serve_bare(same);
        compare("status", port, bare->port(),
                "GET /agents/main/status HTTP/1.1\r\nHost: localhost\r\n\r\n",
                bench::at_least(kReadRatioMin));
        const auto enqueued = bench::serve_bare(std::string(90, 'x'));
        const std::string body = R"({"text":"something happened","metadata":{"source":"bench"}})";
        compare("enqueue", port, enqueued->port(),
                fmt::format("POST /agents/main/enqueue HTTP/1.1\r\nHost: localhost\r\n"
                            "Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{}",
                            body.size(), body),
                bench::kNoTarget);
    }
    std::error_code ignored;
    std::filesystem::remove_all(folder, ignored);
    return 0;
}
