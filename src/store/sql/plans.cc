#include "base/log/log.h"
#include "store/sql/sql_tx_inl.h"

namespace sql {

using domain::PlanAction;
using domain::PlanInputs;
using domain::PlanOrigin;
using domain::PlanRecord;
using domain::PlanRun;

namespace {

constexpr std::string_view kRuns =
    "SELECT r.run_id, r.record, i.record FROM plan_runs r "
    "LEFT JOIN plan_inputs i ON i.run_id = r.run_id ";

// What the row of a run has: its inputs are in a table of their own, and written once.
PlanRun without_inputs(PlanRun run) {
    run.context.clear();
    run.params.clear();
    return run;
}

// From a row of kRuns.
Result<PlanRun> run_of(const Row& row) {
    auto run = TRY(decode<PlanRun>(row.text(1)));
    if (row.is_null(2)) return run;
    auto inputs = TRY(decode<PlanInputs>(row.text(2)));
    run.context = std::move(inputs.context);
    run.params = std::move(inputs.params);
    return run;
}

}  // namespace

Status SqlTx::add_plan_run(const PlanRun& run, const std::string& plan) {
    const std::int64_t added =
        TRY(change("INSERT INTO plan_runs (run_id, created_at, is_open, record, reverts) "
                   "VALUES ($1, $2, $3, $4, $5) ON CONFLICT DO NOTHING",
                   {run.run_id, base::to_micros(run.created_at), std::int64_t{run.is_open()},
                    TRY(encode(without_inputs(run))), run.reverts}));
    if (added == 0)
        return fail(ErrorCode::Conflict, "there already is a run {} of a plan", run.run_id);
    TRY(change("INSERT INTO plan_inputs (run_id, record) VALUES ($1, $2)",
               {run.run_id, TRY(encode(PlanInputs{run.context, run.params}))}));
    TRY(change("INSERT INTO plan_documents (run_id, plan) VALUES ($1, $2)",
               {run.run_id, TRY(encode(plan))}));
    return {};
}

Status SqlTx::put_plan_run(const PlanRun& run) {
    const std::int64_t changed =
        TRY(change("UPDATE plan_runs SET is_open = $2, record = $3 "
                   "WHERE run_id = $1 AND is_open >= 0",
                   {run.run_id, std::int64_t{run.is_open()}, TRY(encode(without_inputs(run)))}));
    if (changed == 0) return fail(ErrorCode::NotFound, "there is no run {} of a plan", run.run_id);
    return {};
}

Result<std::optional<PlanRun>> SqlTx::plan_run(const RunId& id) {
    std::optional<PlanRun> run;
    TRY(connection_.query(fmt::format("{} WHERE r.run_id = $1 AND r.is_open >= 0", kRuns), {id},
                          [&](const Row& row) -> Status {
                              run = TRY(run_of(row));
                              return {};
                          }));
    return run;
}

Result<std::optional<std::string>> SqlTx::plan_document(const RunId& id) {
    return record<std::string>("SELECT plan FROM plan_documents WHERE run_id = $1", {id});
}

Result<SqlTx::ReadableRuns> SqlTx::readable_runs(std::string_view which, Params params) {
    ReadableRuns list;
    TRY(connection_.query(
        fmt::format("{} {}", kRuns, which), params, [&](const Row& row) -> Status {
            if (auto run = run_of(row))
                list.runs.push_back(std::move(*run));
            else {
                ++list.left_out;
                base::log_warn("plan run {} is left out: {}; see: holon store check", row.text(0),
                               run.error().message);
            }
            return {};
        }));
    return list;
}

Result<std::vector<PlanRun>> SqlTx::plan_runs(std::int64_t limit, const RunId& before) {
    const auto end = TRY(place_in_list(
        before.value, "SELECT created_at FROM plan_runs WHERE run_id = $1 AND is_open >= 0",
        {before}));
    // One that cannot be read neither shortens a part nor ends the list.
    for (std::int64_t rows = bounded(limit);;) {
        auto list =
            TRY(readable_runs("WHERE r.is_open >= 0 AND (r.created_at, r.run_id) < ($1, $2) "
                              "ORDER BY r.created_at DESC, r.run_id DESC LIMIT $3",
                              {end, before, rows}));
        const bool is_last = std::ssize(list.runs) + list.left_out < rows;
        if (is_last || rows == bounded(limit) + list.left_out) return std::move(list.runs);
        rows = bounded(limit) + list.left_out;
    }
}

Result<std::vector<PlanRun>> SqlTx::plan_runs_reverting(const RunId& run) {
    std::vector<PlanRun> list;
    TRY(connection_.query(fmt::format("{} WHERE r.reverts = $1 AND r.is_open >= 0 "
                                      "ORDER BY r.created_at, r.run_id",
                                      kRuns),
                          {run}, [&](const Row& row) -> Status {
                              list.push_back(TRY(run_of(row)));
                              return {};
                          }));
    return list;
}

// No upper end: what begins with `start` comes first.
Result<std::vector<RunId>> SqlTx::plan_run_ids(const std::string& start, std::int64_t limit) {
    std::vector<RunId> list;
    TRY(connection_.query(
        "SELECT run_id FROM plan_runs WHERE run_id >= $1 AND is_open >= 0 ORDER BY run_id LIMIT $2",
        {start, bounded(limit)}, [&](const Row& row) -> Status {
            if (row.text(0).starts_with(start)) list.push_back({std::string(row.text(0))});
            return {};
        }));
    return list;
}

Result<std::vector<PlanRun>> SqlTx::open_plan_runs(std::int64_t limit) {
    auto list = TRY(readable_runs("WHERE r.is_open = 1 ORDER BY r.created_at, r.run_id LIMIT $1",
                                  {bounded(limit)}));
    return std::move(list.runs);
}

Result<std::int64_t> SqlTx::plan_run_count() {
    return number("SELECT COUNT(*) FROM plan_runs", {});
}

Result<std::vector<PlanRun>> SqlTx::ended_plan_runs(std::int64_t limit) {
    auto list = TRY(readable_runs("WHERE r.is_open = 0 ORDER BY r.created_at, r.run_id LIMIT $1",
                                  {bounded(limit)}));
    return std::move(list.runs);
}

// is_open is -1 from now on.
Status SqlTx::drop_plan_run(const RunId& id) {
    TRY(change("UPDATE plan_runs SET is_open = -1 WHERE run_id = $1", {id}));
    return {};
}

Result<bool> SqlTx::erase_dropped_plan_rows(std::int64_t limit) {
    std::optional<std::string> run;
    TRY(connection_.query(
        "SELECT run_id FROM plan_runs WHERE is_open = -1 ORDER BY created_at, run_id LIMIT 1", {},
        [&](const Row& row) -> Status {
            run = row.text(0);
            return {};
        }));
    if (!run) return false;
    const RunId id{*run};
    const auto erased =
        TRY(change("DELETE FROM plan_records WHERE run_id = $1 AND seq IN (SELECT seq FROM "
                   "plan_records WHERE run_id = $1 ORDER BY seq LIMIT $2)",
                   {id, bounded(limit)}));
    if (erased == bounded(limit)) return true;
    TRY(change("DELETE FROM plan_documents WHERE run_id = $1", {id}));
    TRY(change("DELETE FROM plan_inputs WHERE run_id = $1", {id}));
    TRY(change("DELETE FROM plan_runs WHERE run_id = $1", {id}));
    return true;
}

Status SqlTx::append_plan_records(const RunId& run, const std::vector<PlanRecord>& records) {
    for (const auto& one : records) {
        const std::int64_t added =
            TRY(change("INSERT INTO plan_records (run_id, seq, kind, line) "
                       "VALUES ($1, $2, $3, $4) ON CONFLICT DO NOTHING",
                       {run, one.seq, static_cast<std::int64_t>(one.kind), one.line}));
        if (added == 0)
            return fail(ErrorCode::Conflict,
                        "run {} already has a record {}: another process has gone on with it", run,
                        one.seq);
    }
    return {};
}

Result<std::vector<PlanRecord>> SqlTx::plan_records(const RunId& run, std::int64_t after_seq,
                                                    std::int64_t limit) {
    std::vector<PlanRecord> list;
    TRY(connection_.query(
        "SELECT seq, kind, line FROM plan_records WHERE run_id = $1 AND seq > $2 "
        "ORDER BY seq LIMIT $3",
        {run, after_seq, bounded(limit)}, [&](const Row& row) -> Status {
            const std::int64_t kind = row.integer(1);
            if (kind < 0 || kind > static_cast<std::int64_t>(domain::PlanRecordKind::Event))
                return fail(ErrorCode::Corrupt, "record {} of run {} is of no known kind",
                            row.integer(0), run);
            list.push_back({.seq = row.integer(0),
                            .kind = static_cast<domain::PlanRecordKind>(kind),
                            .line = std::string(row.text(2))});
            return {};
        }));
    return list;
}

Status SqlTx::put_plan_origin(const PlanOrigin& origin) {
    TRY(
        change("INSERT INTO plan_origins (plan_hash, made_at, record) VALUES ($1, $2, $3) "
               "ON CONFLICT (plan_hash) DO UPDATE SET made_at = excluded.made_at, "
               "record = excluded.record",
               {origin.plan_hash, base::to_micros(origin.made_at), TRY(encode(origin))}));
    TRY(
        change("DELETE FROM plan_origins WHERE made_at < (SELECT made_at FROM plan_origins "
               "ORDER BY made_at DESC LIMIT 1 OFFSET $1)",
               {store::kPlanOriginsMax - 1}));
    return {};
}

Result<std::optional<PlanOrigin>> SqlTx::plan_origin(const std::string& plan_hash) {
    return record<PlanOrigin>("SELECT record FROM plan_origins WHERE plan_hash = $1", {plan_hash});
}

Status SqlTx::put_plan_action(const PlanAction& action) {
    TRY(
        change("INSERT INTO plan_actions (name, record) VALUES ($1, $2) "
               "ON CONFLICT (name) DO UPDATE SET record = excluded.record",
               {action.name, TRY(encode(action))}));
    return {};
}

Status SqlTx::erase_plan_action(const std::string& name) {
    TRY(change("DELETE FROM plan_actions WHERE name = $1", {name}));
    return {};
}

Result<std::optional<PlanAction>> SqlTx::plan_action(const std::string& name) {
    return record<PlanAction>("SELECT record FROM plan_actions WHERE name = $1", {name});
}

Result<std::vector<PlanAction>> SqlTx::plan_actions(std::int64_t limit) {
    return records<PlanAction>("SELECT record FROM plan_actions ORDER BY name LIMIT $1",
                               {bounded(limit)});
}

}  // namespace sql
