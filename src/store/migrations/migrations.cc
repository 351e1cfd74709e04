#include "store/migrations/migrations.h"

#include <algorithm>
#include <set>

#include "store/migrations/0001_ground.h"
#include "store/migrations/0002_lifecycle.h"
#include "store/migrations/0004_plan.h"
#include "store/migrations/0005_gate.h"
#include "store/migrations/0006_plan_origin.h"
#include "store/migrations/0007_worktrees.h"
#include "store/migrations/0010_plan_retention.h"
#include "store/migrations/0011_agent_statistics.h"

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
                           {11, "agent_statistics", kAgentStatistics}};

// The numbers of the steps that the database has.
Result<std::set<std::int64_t>> applied(sql::Connection& connection) {
    std::set<std::int64_t> numbers;
    TRY(connection.query("SELECT number FROM schema_migrations ORDER BY number", {},
                         [&](const sql::Row& row) -> Status {
                             numbers.insert(row.integer(0));
                             return {};
                         }));
    return numbers;
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

// Reads the state inside the transaction: another process may be migrating the same database.
Status apply(sql::Connection& connection, const Step& step) {
    return in_transaction(connection, [&]() -> Status {
        if (TRY(applied(connection)).contains(step.number)) return {};
        if (Status done = connection.run_script(step.script); !done)
            return base::fail(done.error().code,
                              "migration {} ({}) failed and was undone: {} Start again to retry.",
                              step.number, step.name, done.error().message);
        TRY(connection.execute("INSERT INTO schema_migrations (number, name) VALUES ($1, $2)",
                               {step.number, step.name}));
        return {};
    });
}

}  // namespace

std::span<const Step> steps() {
    return kSteps;
}

Status migrate(sql::Connection& connection, std::span<const Step> known) {
    TRY(in_transaction(connection, [&] {
        return connection.run_script(
            "CREATE TABLE IF NOT EXISTS schema_migrations ("
            "number BIGINT PRIMARY KEY, name TEXT NOT NULL)");
    }));
    const auto have = TRY(applied(connection));
    for (const std::int64_t number : have)
        if (std::ranges::find(known, number, &Step::number) == known.end())
            return base::fail(
                ErrorCode::Refused,
                "the database has schema version {}, which this program does not know: a newer "
                "version wrote it. Start that version again, or restore a backup made before the "
                "upgrade.",
                number);
    for (const Step& step : known)
        if (!have.contains(step.number)) TRY(apply(connection, step));
    return {};
}

}  // namespace migrations
