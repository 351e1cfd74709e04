// Carries one run of a plan to its end on this process's loop, for real or pretending.
#pragma once

#include <filesystem>
#include <functional>

#include "config/plans.h"
#include "exec/plan/approval.h"
#include "exec/plan/folder.h"
#include "exec/plan/journal.h"
#include "service/plans.h"

namespace service {

struct PlanParts {
    store::Store& store;
    base::Loop& loop;
    base::Clock& clock;
    base::Ids& ids;
    tools::Dispatcher& dispatcher;
    std::filesystem::path home;   // Below it, plans/<runId>/ holds the files of each run.
    std::filesystem::path vault;  // Where a plan works unless told otherwise.
    // Runs the loop until stop_loop is called from one of its tasks.
    std::function<void()> run_loop;
    std::function<void()> stop_loop;
    config::Plans settings{};

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

base::Result<tools::Place> plan_place(const PlanParts& parts, const domain::PlanRun& run);

// Appends to a run that nobody carries, and writes its files anew.
base::Status record_event(const PlanParts& parts, StoredRun& stored, const plan::RunEvent& event);

// A process that died after its last commit left files that do not know of the end; they are
// written anew. Files that claim an end are left alone, whatever they say: verify is there to tell.
base::Status heal_files(const PlanParts& parts, const StoredRun& stored);

// Runs the loop until `runner` has ended; `start` says how it begins.
base::Status carry(const PlanParts& parts, plan::Runner& runner,
                   const std::function<void(plan::Runner&)>& start);

// Begins or goes on with a run whose lock is held. `on_runner` gets hold of what carries it, to
// cancel it.
base::Result<domain::PlanRun> carry_stored(const PlanParts& parts, StoredRun stored,
                                           PlanObserver& observer,
                                           const std::function<void(plan::Runner&)>& on_runner);

}  // namespace service
