#include "flow/plans/prune.h"

#include <algorithm>

#include "agent/identity/agent_lock.h"
#include "base/log/log.h"

namespace plans {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kRunsPage = 1024;
constexpr std::int64_t kActionsMax = 1000;
constexpr std::int64_t kRowsAtOnce = 2000;  // So that other writes do not wait long.
constexpr int kRowRoundsMax = 1000;
constexpr std::size_t kEntriesMax = 100'000;  // Files whose size is read.
constexpr std::size_t kSweepRunsMax = 64;
constexpr std::size_t kStrayFoldersMax = 64;
constexpr std::chrono::hours kStrayAge{24};  // Of what no run owns; a preview may be at it.

// Sizes below a folder, while the bound lasts. The journal holds the lines of the files once more.
std::int64_t bytes_below(const fs::path& folder, std::size_t& entries) {
    std::int64_t bytes = 0;
    std::error_code failed;
    fs::recursive_directory_iterator entry(folder, failed);
    for (; !failed && entry != fs::recursive_directory_iterator() && entries < kEntriesMax;
         entry.increment(failed), ++entries) {
        std::error_code ignored;
        if (!entry->is_regular_file(ignored) || ignored) continue;
        const auto size = static_cast<std::int64_t>(entry->file_size(ignored));
        if (!ignored) bytes += entry->path().extension() == ".jsonl" ? 2 * size : size;
    }
    return bytes;
}

// Takes the rows of dropped runs away, a bounded number in each commit.
base::Status erase_dropped(store::Store& store) {
    for (int round = 0; round < kRowRoundsMax; ++round) {
        bool more = false;
        TRY(store.write(store::Durability::Process, [&](store::Tx& tx) -> base::Status {
            more = TRY(tx.erase_dropped_plan_rows(kRowsAtOnce));
            return {};
        }));
        if (!more) return {};
    }
    return {};
}

// False when some process is at it.
base::Result<bool> remove_run(const Parts& parts, const domain::RunId& run) {
    const auto folder = parts.folder(run);
    const auto lock = identity::lock_folder(folder, "run " + run.value);
    if (!lock) return false;
    // The rows first: a folder without rows is a stray, rows without files would claim a run.
    TRY(parts.store.write(store::Durability::Disk,
                          [&](store::Tx& tx) { return tx.drop_plan_run(run); }));
    std::error_code ignored;
    fs::remove_all(folder, ignored);
    return true;
}

// Folders that no run owns: of previews that were killed, and of runs whose removal was cut off.
void remove_strays(const Parts& parts) {
    std::size_t removed = 0;
    std::error_code failed;
    for (fs::directory_iterator entry(parts.home / "plans", failed);
         !failed && entry != fs::directory_iterator() && removed < kStrayFoldersMax;
         entry.increment(failed)) {
        const domain::RunId id{entry->path().filename().string()};
        std::error_code ignored;
        const auto age = fs::file_time_type::clock::now() - entry->last_write_time(ignored);
        if (ignored || !entry->is_directory(ignored) || age < kStrayAge) continue;
        bool is_owned = true;
        const auto read = parts.store.read([&](store::Tx& tx) -> base::Status {
            is_owned = TRY(tx.plan_run(id)).has_value();
            return {};
        });
        if (!read || is_owned) continue;
        fs::remove_all(entry->path(), ignored);
        ++removed;
    }
}

struct Found {
    std::vector<plan::KeptRun> runs;  // Those that may go, oldest first.
    plan::Totals totals;
};

base::Result<Found> find(const Parts& parts, bool needs_bytes) {
    Found found;
    std::vector<domain::PlanRun> ended;
    std::vector<domain::PlanAction> actions;
    TRY(parts.store.read([&](store::Tx& tx) -> base::Status {
        actions = TRY(tx.plan_actions(kActionsMax));
        found.totals.runs = TRY(tx.plan_run_count());
        ended = TRY(tx.ended_plan_runs(kRunsPage));
        return {};
    }));
    std::size_t entries = 0;
    if (needs_bytes) found.totals.bytes = bytes_below(parts.home / "plans", entries);
    entries = 0;
    for (auto& run : ended) {
        if (plan::is_needed(run, actions, parts.clock.now())) continue;
        const auto bytes = bytes_below(parts.folder(run.run_id), entries);
        found.runs.push_back({.run = std::move(run), .bytes = bytes});
    }
    return found;
}

}  // namespace

std::optional<plan::Retention> configured_retention(const config::PlanRetention& set) {
    if (!set.enabled) return std::nullopt;
    return plan::Retention{.max_age = std::chrono::hours(24) * set.max_age_days,
                           .max_runs = set.max_runs,
                           .max_bytes = set.max_bytes};
}

base::Result<domain::PlanPruned> prune(const Parts& parts, const plan::Retention& retention,
                                       std::size_t runs_max, bool dry_run) {
    const auto found = TRY(find(parts, retention.max_bytes.has_value()));
    domain::PlanPruned out;
    for (const auto& one : plan::expired(found.runs, retention, found.totals, parts.clock.now())) {
        if (out.removed.size() == runs_max) {
            out.has_more = true;
            break;
        }
        if (!dry_run && !TRY(remove_run(parts, one.run.run_id))) continue;
        out.removed.push_back(one.run.run_id.value);
        out.bytes += one.bytes;
    }
    if (dry_run) return out;
    remove_strays(parts);
    TRY(erase_dropped(parts.store));
    return out;
}

void sweep(const Parts& parts) {
    const auto retention = configured_retention(parts.settings.retention);
    if (!retention) return;
    const auto swept = prune(parts, *retention, kSweepRunsMax, false);
    if (!swept)
        base::log_warn("old runs of plans could not be removed: {}. The next run tries again.",
                       swept.error().message);
    else if (!swept->removed.empty())
        base::log_info("removed {} old runs of plans, {} bytes", swept->removed.size(),
                       swept->bytes);
}

}  // namespace plans
