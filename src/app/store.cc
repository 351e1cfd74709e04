#include "app/store.h"

#include "app/models/credentials.h"
#include "base/os/asio_loop.h"
#include "base/os/files.h"
#include "service/daemon/daemon.h"
#include "service/local/local_gate.h"
#include "store/sql/sql_tx.h"
#include "store/sql/sqlite/backup.h"
#include "store/sql/sqlite/connection.h"
#include "store/sql/sqlite/repair/repair.h"
#include "store/sql/sqlite/sqlite_store.h"

namespace app {
namespace {

class RealGate final : public service::Gate {
public:
    RealGate(const config::Config& config, std::unique_ptr<store::Store> store)
        : store_(std::move(store)),
          gate_({.store = *store_,
                 .clock = clock_,
                 .committer = events::Committer({*store_, loop_, clock_, ids_, feed_}),
                 .folder = config.home / "gate",
                 .credentials = credentials_of(config),
                 .default_agent = {config.default_agent}}) {}

    base::Result<service::GateVerdict> check(const std::string& file) override {
        return gate_.check(file);
    }
    base::Result<service::Listed<domain::GateDocument>> list(
        std::optional<domain::GatePlace> place, const service::ListQuery& query) override {
        return gate_.list(place, query);
    }
    base::Result<service::GateView> show(const std::string& document_id) override {
        return gate_.show(document_id);
    }
    base::Result<domain::GateDocument> release(const std::string& document_id,
                                               const std::string& reason) override {
        return gate_.release(document_id, reason);
    }
    base::Result<std::vector<domain::GateDocument>> purge(
        const service::PurgeRequest& request) override {
        return gate_.purge(request);
    }

private:
    base::SystemClock clock_;
    base::RandomIds ids_{clock_};
    base::AsioLoop loop_;  // Never runs: nobody watches the events of this command.
    events::Feed feed_;
    std::unique_ptr<store::Store> store_;
    service::LocalGate gate_;
};

std::vector<service::BrokenRow> rows_of(std::vector<sqlite::BrokenRow> rows) {
    std::vector<service::BrokenRow> list;
    for (auto& row : rows)
        list.push_back({std::move(row.table), std::move(row.key), std::move(row.error)});
    return list;
}

// A diagnosis checks what it can in this time; `holon store check` checks all.
constexpr std::chrono::seconds kReportTime{2};

service::StoreRemoved removed_of(const store::Removed& removed) {
    return {.messages = removed.messages,
            .events = removed.events,
            .other_rows = removed.other_rows,
            .agents = removed.agents,
            .files = removed.files,
            .file_bytes = removed.file_bytes};
}

base::Status check_database(const config::Config& config) {
    std::error_code failed;
    if (std::filesystem::exists(config.database(), failed)) return {};
    return base::fail(base::ErrorCode::NotFound, "there is no database {}",
                      config.database().string());
}

// Sizes and retention of a database that is only read, and that an older program may have made.
void add_sizes(const config::Config& config, json::object& report) {
    const auto connection =
        sqlite::Connection::open({.file = config.database(), .access = sql::Access::Read});
    if (!connection || !(*connection)->begin(sql::Access::Read)) return;
    sql::SqlTx tx(**connection, sql::Access::Read, store::Durability::Process);
    if (const auto size = tx.database_size()) {
        report["database_bytes"] = size->used_bytes;
        report["free_bytes"] = size->free_bytes;
    }
    report["budget_bytes"] = config.retention.max_bytes;
    if (const auto state = tx.retention()) {
        report["file_bytes"] = state->file_bytes;
        report["is_over_budget"] = state->is_over_budget;
        report["retention_enabled"] = config.retention.enabled;
        base::SystemClock clock;
        if (config.retention.enabled && state->deletes_from && *state->deletes_from > clock.now())
            report["deletes_from"] = base::to_text(*state->deletes_from);
        if (state->last_pass_at) report["last_pass_at"] = base::to_text(*state->last_pass_at);
    }
    (*connection)->rollback();
}

std::filesystem::path backups_folder(const config::Config& config) {
    return config.home / "backups";
}

}  // namespace

base::Result<std::unique_ptr<store::Store>> open_store(const config::Config& config) {
    TRY(base::make_folders(config.home, 0700));
    base::SystemClock clock;
    return sqlite::open({.file = config.database(),
                         .backups = sqlite::AutomaticBackups{.folder = backups_folder(config),
                                                             .now = clock.now()}});
}

base::Result<std::unique_ptr<service::Gate>> open_gate(const config::Config& config) {
    return std::make_unique<RealGate>(config, TRY(open_store(config)));
}

base::Result<service::Backup> FileBackups::make(const std::optional<std::string>& file) {
    std::filesystem::path to;
    if (file) {
        to = config_.cwd / *file;
    } else {
        to = backups_folder(config_) / (sqlite::backup_name(clock_.now()) + ".db");
        if (std::filesystem::exists(config_.database()))
            TRY(base::make_folders(to.parent_path(), 0700));
    }
    const auto made = TRY(sqlite::back_up(config_.database(), to));
    return service::Backup{
        .file = to.string(), .bytes = made.bytes, .schema_version = made.schema_version};
}

service::StoreCheck check_of(sqlite::CheckReport report) {
    return {.ok = report.is_sound(),
            .tables = report.tables,
            .rows = report.rows,
            .damage = std::move(report.damage),
            .broken = rows_of(std::move(report.broken))};
}

base::Result<service::StoreCheck> FileBackups::check() {
    return check_of(TRY(sqlite::check(config_.database())));
}

base::Result<service::StoreRepair> FileBackups::repair() {
    const auto lock = service::lock_runtime(service::Daemon::files_of(config_));
    if (!lock)
        return base::fail(lock.error().code, "{}. Stop it before a repair: holon daemon stop",
                          lock.error().message);
    const auto backup = TRY(make(std::nullopt));
    auto repaired = TRY(sqlite::repair(config_.database(), clock_.now()));
    return service::StoreRepair{.backup = backup.file,
                                .quarantined = rows_of(std::move(repaired.quarantined)),
                                .actions = std::move(repaired.actions),
                                .after = check_of(std::move(repaired.after))};
}

retention::Parts retention_parts(const config::Config& config, store::Store& store,
                                 base::Clock& clock) {
    return {.store = store, .clock = clock, .settings = config.retention, .home = config.home};
}

base::Result<service::StoreStatus> FileBackups::status() {
    TRY(check_database(config_));
    const auto store = TRY(open_store(config_));
    const auto report = TRY(retention::load_report(*store, clock_.now()));
    const auto& state = report.state;
    service::StoreStatus status{.file = config_.database().string(),
                                .database_bytes = report.database.used_bytes,
                                .free_bytes = report.database.free_bytes,
                                .file_bytes = retention::bytes_below(config_.home / "agents") +
                                              retention::bytes_below(config_.home / "plans"),
                                .budget_bytes = config_.retention.max_bytes,
                                .retention_enabled = config_.retention.enabled,
                                .max_age_days = config_.retention.max_age_days,
                                .awaits_notice = state.existed_before && !state.deletes_from,
                                .deletes_from = report.waits_until,
                                .last_pass_at = state.last_pass_at,
                                .last_pass = removed_of(state.last_pass),
                                .total = removed_of(state.total)};
    status.is_over_budget = status.database_bytes + status.file_bytes > status.budget_bytes;
    if (report.waits_until && state.announced) status.announced = removed_of(*state.announced);
    TRY(store->read([&](store::Tx& tx) -> base::Status {
        status.tables.clear();
        for (auto& [table, rows] : TRY(tx.row_counts()))
            status.tables.push_back({std::move(table), rows});
        return {};
    }));
    return status;
}

base::Result<service::StorePruned> FileBackups::prune(bool dry_run) {
    TRY(check_database(config_));
    const auto store = TRY(open_store(config_));
    retention::Pruning pruning(retention_parts(config_, *store, clock_), dry_run);
    while (TRY(pruning.step())) {
    }
    return service::StorePruned{.dry_run = dry_run,
                                .removed = removed_of(pruning.removed()),
                                .is_over_budget = pruning.is_over_budget()};
}

json::object store_report(const config::Config& config) {
    std::error_code failed;
    if (!std::filesystem::exists(config.database(), failed)) return {{"ok", true}, {"rows", 0}};
    const auto checker = sqlite::Checker::open(config.database());
    if (!checker) return {{"ok", false}, {"error", checker.error().message}};
    const auto until = std::chrono::steady_clock::now() + kReportTime;
    bool is_whole = false;
    while (!is_whole && std::chrono::steady_clock::now() < until) is_whole = !(*checker)->step();
    auto report = base::to_json(check_of((*checker)->report())).as_object();
    report["is_whole"] = is_whole;
    add_sizes(config, report);
    return report;
}

}  // namespace app
