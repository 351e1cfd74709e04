// What the daemon costs: memory for each sleeping agent, the time from a wake to the request to the
// model, from a start to the first answer, and how many messages go the whole way. Each figure is
// taken in a process of its own. TMPDIR says which disk; a name (memory, wakes, messages, timers)
// asks for one group of figures.
#include <atomic>
#include <chrono>
#include <fstream>
#include <random>
#include <semaphore>
#include <thread>

#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench/support/figures.h"
#include "store/migrations/migrations.h"
#include "store/sql/codec.h"
#include "store/sql/sqlite/connection.h"
#include "store/sql/sqlite/sqlite_store.h"
#include "tests/support/resident.h"

namespace {

using Steady = std::chrono::steady_clock;

constexpr int kWakes = 400;
constexpr int kEvents = 1'000'000;
constexpr int kTimers = 10'000;
constexpr double kBytesPerAgentMax = 1024;
constexpr double kWakeMsMax = 10;
constexpr double kWakeGrowthMax = 1.2;
constexpr double kRestartMsMax = 2000;

const service::Caller kOperator{domain::AdmissionContext::ControlAuthenticated, std::nullopt};

std::string agent_name(int n) {
    return fmt::format("agent-{:06}", n);
}

double millis(Steady::duration time) {
    return std::chrono::duration<double, std::milli>(time).count();
}

void check(const base::Status& status) {
    if (!status) fmt::print(stderr, "{}\n", status.error().message);
    CHECK(status.has_value(), "the database can be filled");
}

// Sleeping agents, each with the timer and the wait of its rest, and events of earlier days. Made
// by the engine itself: through the store it would take longer than everything that is measured.
void fill(const std::filesystem::path& file, int agents, int events) {
    const base::Time now = base::SystemClock().now();
    const base::Time later = now + std::chrono::hours(24);
    domain::Agent agent{.agent_id = {"NAME"}, .identity = {.agent_id = {"NAME"}}};
    agent.turn_index = 1;
    const domain::AgentStatistics statistics{
        .agent_id = {"NAME"},
        .last_turn_terminal = domain::TurnTerminal{.turn_index = 1, .completed_at = now}};
    agent.sleep = domain::Sleep{.since = now, .reason = "until tomorrow", .until = later};
    agent.sleep->timer_id = domain::TimerId{"timer-NAME"};
    const domain::Timer timer{.id = {"timer-NAME"},
                              .agent_id = {"NAME"},
                              .duration_ms = 86'400'000,
                              .next_fire_at = later};
    const domain::Wait wait{.id = {"wait-NAME"},
                            .agent_id = {"NAME"},
                            .subject_ref = "timer-NAME",
                            .waiting_for = "the end of a sleep"};
    const domain::Event event{.id = {"EVENT"},
                              .created_at = now,
                              .kind = "turn_terminal",
                              .data = {{"reason", std::string(100, 'x')}}};
    const auto connection = sqlite::Connection::open({.file = file}).value();
    check(migrations::migrate(*connection));
    check(connection->begin(sql::Access::Write));
    const std::string names = fmt::format(
        "WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < {}), "
        "a(name) AS (SELECT printf('agent-%06d', i) FROM n) ",
        agents - 1);
    check(connection->run_script(
        names + fmt::format("INSERT INTO agents (agent_id, is_listed, record) SELECT name, 1, "
                            "replace('{}', 'NAME', name) FROM a",
                            sql::encode(agent).value())));
    check(connection->run_script(
        names + fmt::format("INSERT INTO agent_statistics (agent_id, record) SELECT name, "
                            "replace('{}', 'NAME', name) FROM a",
                            sql::encode(statistics).value())));
    check(connection->run_script(
        names +
        fmt::format("INSERT INTO timers (id, agent_id, seq, is_active, next_fire_at, record) "
                    "SELECT 'timer-' || name, name, 1, 1, {}, replace('{}', 'NAME', name) FROM a",
                    base::to_micros(later), sql::encode(timer).value())));
    check(connection->run_script(
        names + fmt::format("INSERT INTO waits (id, agent_id, seq, is_open, record) SELECT "
                            "'wait-' || name, name, 1, 1, replace('{}', 'NAME', name) FROM a",
                            sql::encode(wait).value())));
    if (events > 0) {
        const int each = std::max(1, events / agents);
        check(connection->run_script(
            names + fmt::format(", e(j) AS (SELECT 1 UNION ALL SELECT j + 1 FROM e WHERE j < {}) "
                                "INSERT INTO events (agent_id, event_seq, record) SELECT name, j, "
                                "replace(replace('{}', 'EVENT', name || j), '\"event_seq\":0', "
                                "'\"event_seq\":' || j) FROM a, e",
                                each, sql::encode(event).value())));
        check(connection->run_script(
            names + fmt::format("INSERT INTO stream_heads (agent_id, stream, seq) SELECT name, "
                                "'event', {} FROM a",
                                each)));
    }
    check(connection->commit());
}

// Answers at once, and records when it was called.
class Instant final : public provider::Provider {
public:
    explicit Instant(base::Loop& loop) : loop_(loop) {}
    std::shared_ptr<provider::Exchange> ask(
        provider::Request, provider::Progress,
        std::move_only_function<void(provider::Outcome)> done) override {
        asked_at = Steady::now();
        asked.release();
        loop_.post([done = std::move(done)]() mutable {
            provider::Reply reply;
            reply.blocks.emplace_back(domain::TextBlock{.text = "done"});
            reply.stop_reason = "end_turn";
            done(std::move(reply));
        });
        return std::make_shared<Nothing>();
    }
    std::atomic<Steady::time_point> asked_at{};
    std::counting_semaphore<> asked{0};

private:
    struct Nothing final : provider::Exchange {
        void cancel() override {}
    };
    base::Loop& loop_;
};

class Host {
public:
    explicit Host(const std::filesystem::path& folder)
        : runtime_(folder, [this](const events::Committed& committed) {
              if (committed.event.kind == "turn_terminal") closed.release();
              if (committed.event.kind == "timer_fired") fired.release();
          }) {}
    service::LocalService& service() { return runtime_.service(); }
    Instant& model() { return runtime_.model(); }

    std::counting_semaphore<> closed{0};
    std::counting_semaphore<> fired{0};

private:
    test_support::Resident<Instant> runtime_;
};

double resident_bytes() {
    std::ifstream status("/proc/self/statm");
    long total = 0, resident = 0;
    status >> total >> resident;
    return static_cast<double>(resident) * static_cast<double>(sysconf(_SC_PAGESIZE));
}

// Runs `work` in a child and returns the numbers it gives back.
std::vector<double> in_child(const std::function<std::vector<double>()>& work) {
    int ends[2];
    CHECK(pipe(ends) == 0, "a pipe can be made");
    const pid_t child = fork();
    CHECK(child >= 0, "a process can be made");
    if (child == 0) {
        const auto values = work();
        for (const double value : values)
            CHECK(write(ends[1], &value, sizeof value) == sizeof value, "the pipe is open");
        _exit(0);
    }
    close(ends[1]);
    std::vector<double> values;
    double value = 0;
    while (read(ends[0], &value, sizeof value) == sizeof value) values.push_back(value);
    close(ends[0]);
    int status = 0;
    waitpid(child, &status, 0);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0, "the child ends well");
    return values;
}

// The memory of the host once it has started and looked for what is due.
double memory(const std::filesystem::path& folder) {
    return in_child([&] {
               Host host(folder);
               CHECK(host.service().activity().has_value(), "the host answers");
               return std::vector{resident_bytes()};
           })
        .at(0);
}

std::vector<double> wake_times(const std::filesystem::path& folder, int agents) {
    return in_child([&] {
        Host host(folder);
        std::mt19937 random(1);
        std::vector<double> times;
        for (int n = 0; n < kWakes; ++n) {
            const std::string agent =
                agent_name(static_cast<int>(random() % static_cast<unsigned>(agents)));
            CHECK(host.service().prompt(agent, "hi", kOperator).has_value(), "it is admitted");
            const auto admitted = Steady::now();
            host.model().asked.acquire();
            times.push_back(std::max(0.0, millis(host.model().asked_at.load() - admitted)));
            host.closed.acquire();
        }
        return times;
    });
}

double restart_time(const std::filesystem::path& folder) {
    in_child([&] {  // A message was stored, and the process died.
        const auto store = sqlite::open({.file = folder / "holon.db"}).value();
        check(store->write(store::Durability::Disk, [](store::Tx& tx) -> base::Status {
            domain::Message message{.id = {"left"}, .agent_id = {agent_name(4711)}};
            message.trigger_kind = domain::TriggerKind::OperatorInput;
            message.body = domain::TextBody{"left behind"};
            TRY(tx.append_message(message, std::nullopt));
            return {};
        }));
        return std::vector<double>{};
    });
    return in_child([&] {
               const auto begun = Steady::now();
               Host host(folder);
               host.model().asked.acquire();
               const double took = millis(host.model().asked_at.load() - begun);
               host.closed.acquire();
               return std::vector{took};
           })
        .at(0);
}

double throughput(const std::filesystem::path& folder, int agents, int messages) {
    return in_child([&] {
               Host host(folder);
               const auto begun = Steady::now();
               {
                   std::vector<std::jthread> senders;
                   const int threads = std::min(agents, 16);
                   for (int t = 0; t < threads; ++t)
                       senders.emplace_back([&, t] {
                           for (int n = t; n < messages; n += threads)
                               CHECK(host.service()
                                         .enqueue(agent_name(n % agents),
                                                  {.body = domain::TextBody{"hi"}})
                                         .has_value(),
                                     "it is admitted");
                       });
               }
               for (int n = 0; n < messages; ++n) host.closed.acquire();
               return std::vector{messages /
                                  std::chrono::duration<double>(Steady::now() - begun).count()};
           })
        .at(0);
}

// How long it takes to fire timers that are all due at the start, and until their turns are over,
// too: turns begin while timers still fire.
struct Storm {
    double fired_ms, handled_ms;
};
Storm storm(const std::filesystem::path& folder, int agents) {
    const auto connection = sqlite::Connection::open({.file = folder / "holon.db"}).value();
    check(connection->begin(sql::Access::Write));
    for (int n = 0; n < kTimers; ++n) {
        const domain::Timer timer{.id = {fmt::format("storm-{}", n)},
                                  .agent_id = {agent_name(n % agents)},
                                  .next_fire_at = base::from_micros(1)};
        CHECK(connection
                  ->execute(
                      "INSERT INTO timers (id, agent_id, seq, is_active, next_fire_at, "
                      "record) VALUES ($1, $2, $3, 1, 1, $4)",
                      {timer.id, timer.agent_id, std::int64_t{n + 2}, sql::encode(timer).value()})
                  .has_value(),
              "a timer can be added");
    }
    check(connection->commit());
    const auto times = in_child([&] {
        const auto begun = Steady::now();
        Host host(folder);
        for (int n = 0; n < kTimers; ++n) host.fired.acquire();
        const double fired_ms = millis(Steady::now() - begun);
        for (int n = 0; n < kTimers; ++n) host.closed.acquire();
        return std::vector{fired_ms, millis(Steady::now() - begun)};
    });
    return {times.at(0), times.at(1)};
}

}  // namespace

int main(int argc, char** argv) {
    // Without a name, all figures are taken; with one, those of that group.
    const std::string_view only = argc > 1 ? argv[1] : "";
    const auto is_wanted = [&](std::string_view group) { return only.empty() || only == group; };
    std::string folder = (std::filesystem::temp_directory_path() / "holon-bench-XXXXXX").string();
    CHECK(::mkdtemp(folder.data()) != nullptr, "a temporary folder can be made");
    const auto home = [&](int agents) {
        const auto path = std::filesystem::path(folder) / std::to_string(agents);
        if (std::filesystem::create_directories(path))
            fill(path / "holon.db", agents, agents == 100'000 ? kEvents : 0);
        return path;
    };
    if (is_wanted("memory")) {
        // All of them first: a child begins with the memory of this process.
        for (const int agents : {10, 10'000, 100'000}) home(agents);
        const double base_bytes = memory(home(10));
        bench::note(fmt::format("a host with 10 agents has {:.1f} MB", base_bytes / 1e6));
        for (const int agents : {10'000, 100'000})
            bench::figure(fmt::format("sleeping_agent_bytes_{}", agents),
                          (memory(home(agents)) - base_bytes) / agents, "bytes",
                          bench::at_most(kBytesPerAgentMax));
    }
    if (is_wanted("wakes")) {
        bench::figure("restart_to_first_request_100000", restart_time(home(100'000)), "ms",
                      bench::at_most(kRestartMsMax));
        const auto few = wake_times(home(10), 10);
        const auto many = wake_times(home(100'000), 100'000);
        bench::figure("wake_to_request_p50_10", bench::median(few), "ms");
        bench::figure("wake_to_request_p99_10", bench::percentile(few, 0.99), "ms");
        bench::figure("wake_to_request_p50_100000", bench::median(many), "ms");
        bench::figure("wake_to_request_p99_100000", bench::percentile(many, 0.99), "ms",
                      bench::at_most(kWakeMsMax));
        bench::figure("wake_to_request_growth_p50", bench::median(many) / bench::median(few),
                      "ratio", bench::at_most(kWakeGrowthMax));
    }
    if (is_wanted("messages")) {
        bench::figure("messages_whole_way_1_agent", throughput(home(10), 1, 500), "1/s");
        bench::figure("messages_whole_way_64_agents", throughput(home(10'000), 64, 3000), "1/s");
    }
    if (is_wanted("timers")) {
        const auto [fired_ms, handled_ms] = storm(home(10'000), 10'000);
        bench::figure("timers_due_at_once_10000", fired_ms, "ms");
        bench::figure("timers_and_turns_10000", handled_ms, "ms");
    }
    std::error_code ignored;
    std::filesystem::remove_all(folder, ignored);
    return 0;
}
