#include "store/migrations/migrations.h"

#include <algorithm>
#include <map>
#include <ranges>
#include <set>

#include "store/migrations/0001_ground.h"
#include "store/migrations/0002_lifecycle.h"
#include "store/migrations/0004_plan.h"
#include "store/migrations/0005_gate.h"
#include "store/migrations/0006_plan_origin.h"
#include "store/migrations/0007_worktrees.h"
#include "store/migrations/0010_plan_retention.h"
#include "store/migrations/0011_agent_statistics.h"
#include "store/migrations/0012_faults.h"
#include "store/migrations/0013_plan_reverts.h"
#include "store/migrations/0014_work_items.h"
#include "store/migrations/0017_retention.h"
#include "store/migrations/0018_attempt_messages.h"
#include "store/migrations/0019_bodies.h"
#include "store/migrations/0020_webhooks.h"
#include "store/migrations/0021_notifications.h"
#include "store/migrations/0024_memory.h"
#include "store/migrations/0025_plan_inputs.h"

namespace migrations {

using base::ErrorCode;
using base::Result;
using base::Status;

namespace {

constexpr Step kSteps[] = {{1, "ground", kGround},
                           {2, "lifecycle", kLifecycle},
                           {4, "plan", kPlan},
                           {5, "gate", kGate},
                           {6, "plan_origin", kPlanOrigin},
                           {7, "worktrees", kWorktrees},
                           {10, "plan_retention", kPlanRetention},
                           {11, "agent_statistics", kAgentStatistics},
                           {12, "faults", kFaults},
                           {13, "plan_reverts", kPlanReverts},
                           {14, "work_items", kWorkItems},
                           {17, "retention", kRetention},
                           {18, "attempt_messages", fill_attempt_messages},
                           {19, "bodies", kBodies},
                           {20, "webhooks", kWebhooks},
                           {21, "notifications", kNotifications},
                           {24, "memory", kMemory},
                           {25, "plan_inputs", kPlanInputs}};

// The two tables of the steps. A number in schema_migrations is a step that was begun, which is all
// that a program without this step needs to refuse the database. A row in migration_progress says
// that the step has batches left.
constexpr std::string_view kTables =
    "CREATE TABLE IF NOT EXISTS schema_migrations (number BIGINT PRIMARY KEY, name TEXT NOT NULL);"
    "CREATE TABLE IF NOT EXISTS migration_progress ("
    "number BIGINT PRIMARY KEY, progress TEXT NOT NULL);";

struct Stored {
    std::set<std::int64_t> begun;
    std::map<std::int64_t, std::string> unfinished;  // Progress by number.

    bool has(std::int64_t number) const {
        return begun.contains(number) && !unfinished.contains(number);
    }
};

Result<Stored> load(sql::Connection& connection) {
    Stored stored;
    TRY(connection.query("SELECT number FROM schema_migrations ORDER BY number", {},
                         [&](const sql::Row& row) -> Status {
                             stored.begun.insert(row.integer(0));
                             return {};
                         }));
    TRY(connection.query("SELECT number, progress FROM migration_progress ORDER BY number", {},
                         [&](const sql::Row& row) -> Status {
                             stored.unfinished.emplace(row.integer(0), row.text(1));
                             return {};
                         }));
    return stored;
}

Status check_known(const Stored& stored, std::span<const Step> known) {
    for (const std::int64_t number : stored.begun)
        if (std::ranges::find(known, number, &Step::number) == known.end())
            return base::fail(
                ErrorCode::Refused,
                "the database has schema version {}, which this program does not know: a newer "
                "version wrote it. Start that version again, or restore a backup made before the "
                "upgrade.",
                number);
    return {};
}

// Runs `body` in a write transaction of its own.
template <class Body>
Status in_transaction(sql::Connection& connection, Body body) {
    TRY(connection.begin(sql::Access::Write));
    Status outcome = body();
    if (outcome) outcome = connection.commit();
    if (!outcome) connection.rollback();
    return outcome;
}

Status begin_step(sql::Connection& connection, const Step& step) {
    TRY(connection.execute("INSERT INTO schema_migrations (number, name) VALUES ($1, $2)",
                           {step.number, step.name}));
    return {};
}

std::unexpected<base::Error> failed(const Step& step, const base::Error& error) {
    return base::fail(error.code,
                      "migration {} ({}) failed and was undone: {} Start again to retry.",
                      step.number, step.name, error.message);
}

// Loads the state inside the transaction: another process may be migrating the same database.
Status apply_script(sql::Connection& connection, const Step& step, std::string_view script) {
    if (TRY(load(connection)).has(step.number)) return {};
    if (Status done = connection.run_script(script); !done) return failed(step, done.error());
    return begin_step(connection, step);
}

Status apply(sql::Connection& connection, const Step& step, std::string_view script) {
    return in_transaction(connection, [&] { return apply_script(connection, step, script); });
}

// One batch, and how far the step is then. True when nothing of the step is left.
Result<bool> apply_batch(sql::Connection& connection, const Step& step, BatchFunction batch) {
    const Stored stored = TRY(load(connection));
    if (stored.has(step.number)) return true;
    const auto found = stored.unfinished.find(step.number);
    const std::string progress = found == stored.unfinished.end() ? "" : found->second;
    const auto done = batch(connection, progress);
    if (!done) return failed(step, done.error());
    // Without this a step that stands still would keep the program from ever starting.
    CHECK(done->is_last || done->progress != progress, "a batch of a migration makes progress");
    if (!stored.begun.contains(step.number)) TRY(begin_step(connection, step));
    TRY(connection.execute("DELETE FROM migration_progress WHERE number = $1", {step.number}));
    if (!done->is_last)
        TRY(connection.execute("INSERT INTO migration_progress (number, progress) VALUES ($1, $2)",
                               {step.number, done->progress}));
    return done->is_last;
}

Status apply(sql::Connection& connection, const Step& step, BatchFunction batch) {
    for (bool is_done = false; !is_done;)
        TRY(in_transaction(connection, [&]() -> Status {
            is_done = TRY(apply_batch(connection, step, batch));
            return {};
        }));
    return {};
}

// All steps in one transaction: a new database is there whole or not at all, and waits for the disk
// once.
Status make_new(sql::Connection& connection, std::span<const Step> known) {
    const auto apply_now = [&](const Step& step) -> Status {
        if (const auto* script = std::get_if<std::string_view>(&step.work))
            return apply_script(connection, step, *script);
        while (!TRY(apply_batch(connection, step, std::get<BatchFunction>(step.work)))) {
        }
        return {};
    };
    return in_transaction(connection, [&]() -> Status {
        TRY(connection.run_script(kTables));
        if (!TRY(load(connection)).begun.empty()) return {};  // Another process made it meanwhile.
        for (const Step& step : known) TRY(apply_now(step));
        return {};
    });
}

}  // namespace

std::span<const Step> steps() {
    return kSteps;
}

Status migrate(sql::Connection& connection, std::span<const Step> known,
               const BeforeChange& before) {
    TRY(make_new(connection, known));
    const Stored stored = TRY(load(connection));
    TRY(check_known(stored, known));
    const auto is_missing = [&](const Step& step) { return !stored.has(step.number); };
    // A step with batches left was begun after a call of `before`, which holds for what is left.
    const bool is_first_change = !stored.begun.empty() && stored.unfinished.empty();
    if (before && is_first_change && std::ranges::any_of(known, is_missing))
        TRY(before(*stored.begun.rbegin()));
    for (const Step& step : known | std::views::filter(is_missing))
        TRY(std::visit([&](const auto& work) { return apply(connection, step, work); }, step.work));
    return {};
}

}  // namespace migrations
