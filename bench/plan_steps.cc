// Durable steps of a plan per second: ten thousand steps of a tool that does nothing, through
// check, journal, dispatcher and the run's files, against the rows of the same steps written by
// hand, one commit a step. TMPDIR says which disk.
#include <chrono>

#include <sqlite3.h>
#include <stdlib.h>

#include "base/os/asio_loop.h"
#include "bench/support/figures.h"
#include "flow/plans/plans.h"
#include "store/sql/sqlite/sqlite_store.h"

namespace {

constexpr int kSteps = 10'000;
constexpr int kRuns = 3;
constexpr double kStepsPerSecondMin = 5000;

struct Nothing final : results::Output {
    base::Result<results::Canonical> project(results::ArtifactSink&,
                                             const results::OutputPolicy&) const override {
        return results::Canonical{"Done.", {{"n", 1}}};
    }
};

std::string render(const results::Envelope& envelope) {
    return envelope.summary_text();
}

class Noop final : public tools::Tool {
public:
    const tools::ToolSpec& spec() const override { return spec_; }
    std::shared_ptr<tools::Running> start(const domain::ToolCall&, const tools::ExecutionContext&,
                                          results::ArtifactSink&, tools::Done done) override {
        tools::Outcome outcome{.completed = nullptr};
        outcome.completed = std::make_unique<Nothing>();
        done(std::move(outcome));
        return nullptr;
    }

private:
    const tools::ToolSpec spec_{.name = "bench.noop",
                                .description = "Do nothing.",
                                .family = tools::Family::LocalEnvironment,
                                .category = "bench",
                                .repeatable = true,
                                .input_schema = {{"type", "object"}},
                                .output_schema = {{"type", "object"}},
                                .render = render};
};

std::string plan_text(bool chained) {
    json::array steps;
    for (int i = 0; i < kSteps; ++i) {
        json::object step{{"id", fmt::format("s{}", i)},
                          {"tool", "bench.noop"},
                          {"args", {{"path", fmt::format("Notes/{}.md", i)}}}};
        if (chained && i > 0) step["dependsOn"] = json::array{fmt::format("s{}", i - 1)};
        steps.push_back(std::move(step));
    }
    return base::json_text(json::object{{"version", "1.0"},
                                        {"goal", "Bench"},
                                        {"riskLevel", "read-only"},
                                        {"steps", std::move(steps)}});
}

// Steps per second of one run, from its first commit to its last.
double rate(const std::filesystem::path& folder, bool chained, std::int64_t concurrency) {
    base::SystemClock clock;
    base::RandomIds ids(clock);
    base::AsioLoop loop;
    const auto store = sqlite::open({.file = folder / "holon.db"}).value();
    tools::Registry registry;
    registry.add(std::make_unique<Noop>());
    tools::Dispatcher dispatcher({.registry = registry, .clock = clock, .ids = ids});
    events::Feed feed;
    plans::Plans plans({.store = *store,
                        .loop = loop,
                        .clock = clock,
                        .ids = ids,
                        .agent_feed = feed,
                        .dispatcher = dispatcher,
                        .home = folder,
                        .vault = folder,
                        .run_loop = [&] { loop.run(); },
                        .stop_loop = [&] { loop.stop(); }});
    domain::PlanRequest request{.text = plan_text(chained)};
    request.policy["limits"] = json::object{{"maxConcurrency", concurrency}};
    const auto created = plans.create(request);
    CHECK(created && created->run, "the plan is good");
    const auto start = std::chrono::steady_clock::now();
    const auto run = plans.execute(created->run->run_id.value);
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
    CHECK(run && run->status == domain::PlanRunStatus::Succeeded, "the run succeeds");
    return kSteps / took.count();
}

// The rows of a step by hand: its call, its result, its three events and the run, in one commit.
double raw_rate(const std::filesystem::path& folder) {
    {
        CHECK(sqlite::open({.file = folder / "raw.db"}).has_value(), "the schema can be made");
    }
    sqlite3* db = nullptr;
    CHECK(sqlite3_open((folder / "raw.db").c_str(), &db) == SQLITE_OK, "it opens");
    const auto run = [&](sqlite3_stmt* statement) {
        CHECK(sqlite3_step(statement) == SQLITE_DONE, "it runs");
        sqlite3_reset(statement);
    };
    const auto prepare = [&](const char* text) {
        sqlite3_stmt* statement = nullptr;
        CHECK(sqlite3_prepare_v2(db, text, -1, &statement, nullptr) == SQLITE_OK, "it prepares");
        return statement;
    };
    sqlite3_exec(db, "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL", nullptr, nullptr,
                 nullptr);
    sqlite3_exec(db, "INSERT INTO plan_runs VALUES ('r', 1, 1, '{}')", nullptr, nullptr, nullptr);
    auto* const begin = prepare("BEGIN IMMEDIATE");
    auto* const commit = prepare("COMMIT");
    auto* const insert = prepare("INSERT INTO plan_records VALUES ('r', ?1, ?2, ?3)");
    auto* const update = prepare("UPDATE plan_runs SET record = ?1 WHERE run_id = 'r'");
    const std::string call(1000, 'c');
    const std::string result(600, 'r');
    const std::string event(300, 'e');
    const std::string* const lines[] = {&event, &call, &event, &result, &event};
    sqlite3_int64 seq = 0;
    const auto start = std::chrono::steady_clock::now();
    for (int i = 0; i < kSteps; ++i) {
        run(begin);
        for (const auto* line : lines) {
            sqlite3_bind_int64(insert, 1, ++seq);
            sqlite3_bind_int64(insert, 2, 0);
            sqlite3_bind_text(insert, 3, line->data(), static_cast<int>(line->size()),
                              SQLITE_STATIC);
            run(insert);
        }
        sqlite3_bind_text(update, 1, call.data(), static_cast<int>(call.size()), SQLITE_STATIC);
        run(update);
        run(commit);
    }
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
    for (auto* one : {begin, commit, insert, update}) sqlite3_finalize(one);
    sqlite3_close(db);
    return kSteps / took.count();
}

double best(const std::filesystem::path& folder,
            const std::function<double(const std::filesystem::path&)>& measure) {
    std::vector<double> rates;
    for (int i = 0; i < kRuns; ++i) {
        const auto own = folder / std::to_string(i);
        std::filesystem::create_directories(own);
        rates.push_back(measure(own));
        std::filesystem::remove_all(own);
    }
    return bench::median(rates);
}

}  // namespace

int main() {
    std::string name = (std::filesystem::temp_directory_path() / "holon-bench-XXXXXX").string();
    CHECK(::mkdtemp(name.data()) != nullptr, "a temporary folder can be made");
    const std::filesystem::path folder = name;
    const double raw = best(folder, raw_rate);
    const double wide = best(folder, [](const auto& own) { return rate(own, false, 16); });
    const double usual = best(folder, [](const auto& own) { return rate(own, false, 4); });
    const double chain = best(folder, [](const auto& own) { return rate(own, true, 4); });
    bench::note(
        fmt::format("plan_steps: {:.0f} us a step with 16 side by side, {:.0f} with 4, {:.0f} "
                    "one after the other; SQLite by hand, one commit a step, {:.0f}",
                    1e6 / wide, 1e6 / usual, 1e6 / chain, 1e6 / raw));
    bench::figure("plan_steps_16", wide, "steps/s", bench::at_least(kStepsPerSecondMin));
    bench::figure("plan_steps_4", usual, "steps/s", bench::at_least(kStepsPerSecondMin));
    bench::figure("plan_steps_chain", chain, "steps/s");
    bench::figure("plan_steps_raw", raw, "steps/s");
    std::error_code ignored;
    std::filesystem::remove_all(folder, ignored);
    return 0;
}
