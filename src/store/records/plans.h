// Plan runs, their journals, who wrote a plan, and saved plans.
#pragma once

#include "domain/plan.h"
#include "store/records/types.h"

namespace store {

// Number of plans whose author is remembered.
inline constexpr std::int64_t kPlanOriginsMax = 2000;

class PlanRecords {
public:
    virtual ~PlanRecords() = default;

    // Stores a new run and the plan it runs, which never changes. Conflict when the run exists.
    virtual Status add_plan_run(const domain::PlanRun& run, const std::string& plan) = 0;
    // NotFound unless added before. Context and params stay as they were added.
    virtual Status put_plan_run(const domain::PlanRun& run) = 0;
    virtual Result<std::optional<domain::PlanRun>> plan_run(const RunId& id) = 0;
    virtual Result<std::optional<std::string>> plan_document(const RunId& id) = 0;
    // All runs, newest first; those before `before` unless it is empty, cursor_not_found (NotFound)
    // when there is no such run. Lists of runs leave out those that cannot be read, and log them.
    virtual Result<std::vector<domain::PlanRun>> plan_runs(std::int64_t limit,
                                                           const RunId& before) = 0;
    // Runs that take back what `run` did, oldest first; all of them, by an index.
    virtual Result<std::vector<domain::PlanRun>> plan_runs_reverting(const RunId& run) = 0;
    // Ids of runs that begin with `start`, in order.
    virtual Result<std::vector<RunId>> plan_run_ids(const std::string& start,
                                                    std::int64_t limit) = 0;
    // Runs that have not ended.
    virtual Result<std::vector<domain::PlanRun>> open_plan_runs(std::int64_t limit) = 0;
    virtual Result<std::int64_t> plan_run_count() = 0;
    // Runs that have ended, oldest first.
    virtual Result<std::vector<domain::PlanRun>> ended_plan_runs(std::int64_t limit) = 0;
    // From now on no operation finds the run; erase_dropped_plan_rows() removes its rows in small
    // steps. An unknown run is no error.
    virtual Status drop_plan_run(const RunId& id) = 0;
    // Removes at most `limit` rows of the journals of dropped runs. True while there may be more.
    virtual Result<bool> erase_dropped_plan_rows(std::int64_t limit) = 0;
    // Appends to the journal of a run. Conflict when one of the numbers is taken: another process
    // has continued the run.
    virtual Status append_plan_records(const RunId& run,
                                       const std::vector<domain::PlanRecord>& records) = 0;
    // The journal in order, after `after_seq`.
    virtual Result<std::vector<domain::PlanRecord>> plan_records(const RunId& run,
                                                                 std::int64_t after_seq,
                                                                 std::int64_t limit) = 0;
    // Who wrote the plan with this hash; the last put counts. The oldest beyond kPlanOriginsMax are
    // removed.
    virtual Status put_plan_origin(const domain::PlanOrigin& origin) = 0;
    virtual Result<std::optional<domain::PlanOrigin>> plan_origin(const std::string& plan_hash) = 0;

    virtual Status put_plan_action(const domain::PlanAction& action) = 0;  // Inserts or replaces.
    virtual Status erase_plan_action(const std::string& name) = 0;         // Unknown: no error.
    virtual Result<std::optional<domain::PlanAction>> plan_action(const std::string& name) = 0;
    // Saved plans, by name.
    virtual Result<std::vector<domain::PlanAction>> plan_actions(std::int64_t limit) = 0;
};

}  // namespace store
