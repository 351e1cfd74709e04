// Where a run's commits go, and who makes its calls.
#pragma once

#include "exec/plan/run/runner.h"
#include "store/store.h"

namespace plan {

// Joins the commits that begin or end a run, in their transaction; a failure undoes them.
using Joins = std::function<base::Status(store::Tx&, const domain::PlanRun&)>;

class StoreJournal final : public Journal {
public:
    StoreJournal(store::Store& store, base::Loop& loop, Joins joins = {});
    ~StoreJournal() override;
    void commit(std::shared_ptr<const Commit> commit,
                std::move_only_function<void(base::Status)> done) override;

private:
    store::Store& store_;
    base::Loop& loop_;
    Joins joins_;
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
    DispatcherPerformer(tools::Dispatcher& dispatcher, tools::Place place,
                        domain::ProfilePreset profile)
        : dispatcher_(dispatcher), place_(std::move(place)), profile_(profile) {}
    std::shared_ptr<tools::Running> start(const CallPtr& call,
                                          std::move_only_function<void(CallEnded)> done) override;

private:
    tools::Dispatcher& dispatcher_;
    tools::Place place_;
    domain::ProfilePreset profile_;
};

// The whole journal of a run, in order.
base::Result<std::vector<domain::PlanRecord>> read_journal(store::Tx& tx, const domain::RunId& run);

}  // namespace plan
