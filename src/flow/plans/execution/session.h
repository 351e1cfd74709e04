// What one run of a plan is made of, from what is stored of it.
#pragma once

#include <filesystem>
#include <functional>

#include "config/sections/plans.h"
#include "domain/plan_views.h"
#include "exec/plan/record/folder.h"
#include "exec/plan/run/approval.h"
#include "exec/plan/run/journal.h"
#include "flow/plans/execution/feed.h"
#include "provider/provider.h"

namespace plans {

// The model that is asked for plans; none without a provider.
struct PlannerParts {
    provider::Provider* provider{nullptr};
    // The full name of a model that can be asked: the one that was named, else the configured one.
    std::function<base::Result<std::string>(const std::optional<std::string>&)> model_of{};
    std::function<std::int64_t(const std::string&)> max_output_tokens_of{};
};

// Keeps the tasks of agents in step with the runs that they have made. Any thread.
class RunOwners {
public:
    virtual ~RunOwners() = default;
    // In the transaction that begins or ends a run of an agent, perhaps more than once; it changes
    // nothing outside of the transaction, whose events are published when it is committed. An Error
    // undoes the transaction.
    virtual base::Status committing(events::Log& log, const domain::PlanRun& run) = 0;
    // Once that transaction is committed.
    virtual void committed(const domain::PlanRun& run) = 0;
    // Work that is queued in the store uses this object only while it is there.
    virtual base::Lifetime::Watch watch() const = 0;
};

struct Parts {
    store::Store& store;
    base::Loop& loop;
    base::Clock& clock;
    base::Ids& ids;
    events::Feed& agent_feed;  // Of the events of agents.
    tools::Dispatcher& dispatcher;
    std::filesystem::path home;   // Below it, plans/<runId>/ holds the files of each run.
    std::filesystem::path vault;  // Where a plan works unless its request says otherwise.
    // Runs the loop until stop_loop is called from one of its jobs; not used once the host stays.
    std::function<void()> run_loop;
    std::function<void()> stop_loop;
    PlannerParts planner{};
    RunOwners* owners{nullptr};
    std::shared_ptr<Feed> feed{std::make_shared<Feed>()};
    config::Plans settings{};

    events::Committer committer() const {
        return events::Committer({store, loop, clock, ids, agent_feed});
    }
    // Unavailable for a run of an agent once the owners are gone: the next process continues it.
    plan::Joins joins() const;
    void notify_owner(const domain::PlanRun& run) const {
        if (owners && run.owner && !owners->watch().expired()) owners->committed(run);
    }
    std::filesystem::path folder(const domain::RunId& run) const {
        return home / "plans" / run.value;
    }
};

// Everything that is stored of a run.
struct StoredRun {
    domain::PlanRun run;
    json::value document;
    std::vector<domain::PlanRecord> records;
};
base::Result<StoredRun> load_run(store::Store& store, const domain::RunId& run);

// Where a run works, and with whose rights: everything but its policy that its calls are
// judged by. Decided here alone, from the run as it is stored.
struct ExecutionContext {
    tools::ExecutionContext place;
    domain::ProfilePreset profile{domain::ProfilePreset::PublicNamed};
};
base::Result<ExecutionContext> execution_context(const Parts& parts, const domain::PlanRun& run);

// A stored run, ready to be executed: its plan checked again, its state read from its journal.
struct ReadyRun {
    ExecutionContext context;
    plan::State state;
};
base::Result<ReadyRun> ready_run(const Parts& parts, const StoredRun& stored);

// A run's files, written from what was committed. They are for people: one that cannot be written
// is logged and does not stop the run.
class RunWriter {
public:
    RunWriter(const Parts& parts, const StoredRun& stored);
    void add(const plan::Commit& commit);

private:
    void complain(const base::Error& error);
    std::filesystem::path path_;
    std::optional<plan::RunFolder> folder_;
    bool is_first_{true};
};

// Appends to a run that no process executes, and writes its files again. `owner` is whose loop the
// events of the commit are published on. Blocks; not on the loop.
base::Status record_event(const Parts& parts, const base::Lifetime::Watch& owner, StoredRun& stored,
                          const plan::RunEvent& event);

// A process that died after its last commit left files that do not know of the end; they are
// written anew. Files that say anything else than the beginning of the record, or that are missing,
// are left alone: verify() reports that.
base::Status heal_files(const Parts& parts, const StoredRun& stored);

}  // namespace plans
