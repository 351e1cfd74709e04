#include "exec/plan/run/journal.h"

namespace plan {
namespace {

constexpr std::int64_t kRecordsPage = 4096;

}  // namespace

StoreJournal::StoreJournal(events::Committer committer, Joins joins)
    : committer_(committer), joins_(std::move(joins)) {}

void StoreJournal::commit(std::shared_ptr<const Commit> commit,
                          std::move_only_function<void(base::Status)> done) {
    struct Committed {};
    const auto durability =
        commit->needs_disk ? store::Durability::Disk : store::Durability::Process;
    committer_.commit<Committed>(
        lifetime_, {.durability = durability, .on_fault = events::OnFault::Retry},
        [commit, joins = joins_](events::Log& log) -> base::Result<Committed> {
            TRY(log.tx().append_plan_records(commit->run.run_id, commit->records));
            TRY(log.tx().put_plan_run(commit->run));
            if (joins && commit->needs_disk) TRY(joins(log, commit->run));
            return Committed{};
        },
        [done = std::move(done)](const base::Result<Committed>& committed) mutable {
            done(committed ? base::Status{} : std::unexpected(committed.error()));
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

void DispatcherPerformer::recover(const CallPtr& call,
                                  std::move_only_function<void(CallRecovered)> done) {
    dispatcher_.recover(
        *call, place_,
        [id = call->call_id, done = std::move(done)](tools::Dispatcher::Recovered found) mutable {
            CallRecovered event{.call_id = id, .how = found.how, .undo = std::move(found.undo)};
            if (found.made) event.result = std::move(found.made->result);
            done(std::move(event));
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
