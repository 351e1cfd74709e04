#include "exec/plan/run/journal.h"

namespace plan {
namespace {

constexpr std::int64_t kRecordsPage = 4096;

}  // namespace

StoreJournal::StoreJournal(store::Store& store, base::Loop& loop, Joins joins)
    : store_(store), loop_(loop), joins_(std::move(joins)) {}
StoreJournal::~StoreJournal() = default;

void StoreJournal::commit(std::shared_ptr<const Commit> commit,
                          std::move_only_function<void(base::Status)> done) {
    const auto durability =
        commit->needs_disk ? store::Durability::Disk : store::Durability::Process;
    store_.write_async(
        durability,
        [commit, joins = joins_](store::Tx& tx) -> base::Status {
            TRY(tx.append_plan_records(commit->run.run_id, commit->records));
            TRY(tx.put_plan_run(commit->run));
            return joins && commit->needs_disk ? joins(tx, commit->run) : base::Status{};
        },
        // The journal may be gone by then; the loop outlives the store.
        [&loop = loop_, done = std::move(done)](base::Status status) mutable {
            loop.post([done = std::move(done), status = std::move(status)]() mutable {
                done(std::move(status));
            });
        });
}

void MemoryJournal::commit(std::shared_ptr<const Commit> commit,
                           std::move_only_function<void(base::Status)> done) {
    records.insert(records.end(), commit->records.begin(), commit->records.end());
    loop_.post([done = std::move(done)]() mutable { done({}); });
}

std::shared_ptr<tools::Running> DispatcherPerformer::start(
    const CallPtr& call, std::move_only_function<void(CallEnded)> done) {
    return dispatcher_.dispatch(
        *call, profile_, place_, [done = std::move(done)](tools::Dispatched dispatched) mutable {
            done({std::move(dispatched.result), std::move(dispatched.denials)});
        });
}

base::Result<std::vector<domain::PlanRecord>> read_journal(store::Tx& tx,
                                                           const domain::RunId& run) {
    std::vector<domain::PlanRecord> all;
    while (true) {
        auto page = TRY(tx.plan_records(run, std::ssize(all), kRecordsPage));
        const bool last = std::ssize(page) < kRecordsPage;
        std::ranges::move(page, std::back_inserter(all));
        if (last) return all;
    }
}

}  // namespace plan
