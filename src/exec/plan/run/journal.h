// Where a run's commits go, and who makes its calls.
#pragma once

#include "exec/plan/run/runner.h"
#include "record/events/committer.h"

namespace plan {

// Joins the commits that begin or end a run, in their transaction; a failure undoes them. Called on
// a thread of the store, perhaps more than once.
using Joins = std::function<base::Status(events::Log&, const domain::PlanRun&)>;

// A commit that fails for a reason that may pass is retried with growing pauses, so a run waits for
// its store and loses nothing. When the journal goes first, a commit that has not begun is dropped,
// as by a crash, and no `done` is called. Used on the loop.
class StoreJournal final : public Journal {
public:
    explicit StoreJournal(events::Committer committer, Joins joins = {});
    void commit(std::shared_ptr<const Commit> commit,
                std::move_only_function<void(base::Status)> done) override;

private:
    events::Committer committer_;
    Joins joins_;
    base::Lifetime lifetime_;
};

// Keeps the records in memory; for runs that only pretend.
class MemoryJournal final : public Journal {
public:
    explicit MemoryJournal(base::Loop& loop) : loop_(loop) {}
    void commit(std::shared_ptr<const Commit> commit,
                std::move_only_function<void(base::Status)> done) override;
    std::vector<domain::PlanRecord> records;

private:
    base::Loop& loop_;
};

class DispatcherPerformer final : public Performer {
public:
    DispatcherPerformer(tools::Dispatcher& dispatcher, tools::ExecutionContext place,
                        domain::ProfilePreset profile)
        : dispatcher_(dispatcher), place_(std::move(place)), profile_(profile) {}
    std::shared_ptr<tools::Running> start(const CallPtr& call,
                                          std::move_only_function<void(CallEnded)> done) override;
    void recover(const CallPtr& call, std::move_only_function<void(CallRecovered)> done) override;

private:
    tools::Dispatcher& dispatcher_;
    tools::ExecutionContext place_;
    domain::ProfilePreset profile_;
};

// The whole journal of a run, in order.
base::Result<std::vector<domain::PlanRecord>> read_journal(store::Tx& tx, const domain::RunId& run);

}  // namespace plan
