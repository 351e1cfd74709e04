// Plans as operators see them: checked, previewed, approved, run, proved, replayed and taken back.
// No model is needed for any of it but make(). What crosses this interface survives a trip through
// JSON.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/typed.h"
#include "domain/plan.h"

namespace service {

struct PlanFault {
    std::string path;  // JSON pointer into the plan; "" is the plan itself.
    std::string message;
    std::string hint{};
};
BOOST_DESCRIBE_STRUCT(PlanFault, (), (path, message, hint))

struct PlanCheck {
    bool ok{false};
    std::vector<PlanFault> faults{};
    std::string plan_hash{};
    std::string goal{};
    std::string risk_level{};  // Of the tools, not what the plan claims.
    std::int64_t steps{0};
    std::vector<std::string> params{};
    std::map<std::string, std::string> param_types{};  // Of JSON Schema, where uses tell.
};
BOOST_DESCRIBE_STRUCT(PlanCheck, (),
                      (ok, faults, plan_hash, goal, risk_level, steps, params, param_types))

// What is to be run, and where.
struct PlanRequest {
    std::string text{};  // JSON or YAML; empty when `action` names the plan.
    std::optional<std::string> action{};
    json::object params{};
    std::optional<std::string> vault{};  // The folder it works in; else where the program runs.
    json::object policy{};               // Laid over the default policy; camelCase.
    json::object context{};              // activeFilePath, selection {start, end, text}, cursor.
};
BOOST_DESCRIBE_STRUCT(PlanRequest, (), (text, action, params, vault, policy, context))

// A plan that was refused has faults and no run, and nothing of it was executed or stored.
struct PlanCreated {
    std::vector<PlanFault> faults{};
    std::optional<domain::PlanRun> run{};
    bool needs_approval{false};
};
BOOST_DESCRIBE_STRUCT(PlanCreated, (), (faults, run, needs_approval))

// A plan that a model is to write.
struct PlanMakeRequest {
    std::string goal;
    std::optional<std::string> model{};  // provider/model; else the configured one.
    std::optional<std::string> vault{};
};
BOOST_DESCRIBE_STRUCT(PlanMakeRequest, (), (goal, model, vault))

// What came of it. Without `ok` there is no plan: every try had faults, and these are the last's.
struct PlanMade {
    bool ok{false};
    std::vector<PlanFault> faults{};
    json::value plan{};
    std::string plan_hash{};
    std::string planner_version{};  // Recorded in the calls of every run of exactly this plan.
    std::int64_t tries{0};
    json::object preview{};  // As Plans::preview() gives it.
};
BOOST_DESCRIBE_STRUCT(PlanMade, (), (ok, faults, plan, plan_hash, planner_version, tries, preview))

// The `kind` of the error of what Ctrl-C cut off.
inline constexpr std::string_view kInterrupted = "interrupted";

struct PlanVerdict {
    bool ok{false};
    std::vector<std::string> faults{};  // The first is the first broken link.
    std::int64_t calls{0};
    std::int64_t events{0};
    std::int64_t approved_calls{0};
    std::vector<std::string> unknown_outcomes{};
};
BOOST_DESCRIBE_STRUCT(PlanVerdict, (),
                      (ok, faults, calls, events, approved_calls, unknown_outcomes))

struct PlanReplay {
    bool ok{false};
    std::vector<std::string> divergences{};
    std::int64_t served{0};
    domain::PlanRunStatus status{domain::PlanRunStatus::Succeeded};
};
BOOST_DESCRIBE_STRUCT(PlanReplay, (), (ok, divergences, served, status))

struct PlanReverted {
    std::optional<domain::PlanRun> run{};  // The run that took things back.
    std::vector<std::string> restored{};
    std::vector<std::string> not_restored{};  // With the reason: it changed since.
    std::vector<std::string> no_way_back{};   // Steps that left none.
};
BOOST_DESCRIBE_STRUCT(PlanReverted, (), (run, restored, not_restored, no_way_back))

struct PlanPruned {
    std::vector<std::string> removed{};  // Ids, oldest first; with dry_run, what would be removed.
    std::int64_t bytes{0};
    bool has_more{false};  // There is a bound for one call.
};
BOOST_DESCRIBE_STRUCT(PlanPruned, (), (removed, bytes, has_more))

struct ToolView {
    std::string name;
    std::string description;
    std::string risk_level;
    std::string category;
    bool repeatable{false};
    json::object input_schema;
    json::object output_schema;
};
BOOST_DESCRIBE_STRUCT(ToolView, (),
                      (name, description, risk_level, category, repeatable, input_schema,
                       output_schema))

// What a process has done for plans since it started.
struct PlanTotals {
    std::int64_t runs_open{0};  // Carried now.
    std::int64_t runs_ended{0};
    std::int64_t calls_ended{0};  // Of steps and of items of loops.
};

// A run in the wire form of the plan surface, without its plan.
json::object plan_run_json(const domain::PlanRun& run);

// Watches a run. Called on the thread that carries it; must not block.
class PlanObserver {
public:
    virtual ~PlanObserver() = default;
    // A committed line of the journal, in the wire form of the plan surface.
    virtual void on_record(const domain::PlanRecord& /*record*/) {}
};

// Longer than a call that was told to end may take.
inline constexpr std::chrono::seconds kCancelWait{20};

// Runs are named by id, by a beginning of it that fits one run only, or "last".
class Plans {
public:
    virtual ~Plans() = default;

    // All faults at once, or what the plan is. Executes nothing.
    virtual base::Result<PlanCheck> check(const PlanRequest& request) = 0;
    // What it would do, in the wire form: steps, creates, modifies, renames, deletes, commands.
    // Reading tools are really called, nothing else is.
    virtual base::Result<json::object> preview(const PlanRequest& request) = 0;

    // Asks a model for a plan: checked, sent back with its faults, at most plan::kPlannerTriesMax
    // times. Nothing is executed but the reading tools of the preview, and no run is stored. Fails
    // when no model can be asked.
    virtual base::Result<PlanMade> make(const PlanMakeRequest& request) = 0;

    // Stores a run that has not begun. It begins with execute(), once it has its approval.
    virtual base::Result<PlanCreated> create(const PlanRequest& request) = 0;
    // Binds an approval to the plan and the policy of the run as they stand.
    virtual base::Result<domain::PlanRun> approve(const std::string& run,
                                                  const std::string& approver,
                                                  std::chrono::milliseconds lifetime) = 0;
    virtual base::Result<domain::PlanRun> reject(const std::string& run, const std::string& by,
                                                 const std::string& reason) = 0;
    // Begins a run, goes on with one that a crash left open, or begins another pass over what an
    // ended one has left; returns when it has ended. Conflict while another process carries it,
    // Refused without the approval it needs.
    virtual base::Result<domain::PlanRun> execute(const std::string& run,
                                                  PlanObserver& observer) = 0;
    // The same, but returns when the run has begun: the runtime carries it from then on, also after
    // a crash of its own. Refused where no runtime stays.
    virtual base::Result<domain::PlanRun> begin(const std::string& run) = 0;
    // Calls `changed` after each commit that added to the run's journal, with the number of the
    // newest line, and once more when the run has ended, until the token is dropped; a call that
    // has begun by then may still be on its way. On some thread of the runtime: it must return at
    // once. Of runs that another process carries, nothing is told.
    [[nodiscard]] virtual base::Result<std::shared_ptr<void>> watch(
        const std::string& run, std::function<void(std::int64_t newest_seq)> changed) = 0;
    // A run that is being carried is told to stop, and this waits for it, for kCancelWait at most;
    // one that nobody carries ends here. NotFound, or Conflict when it has ended.
    virtual base::Result<domain::PlanRun> cancel(const std::string& run,
                                                 const std::string& reason) = 0;

    virtual base::Result<domain::PlanRun> run(const std::string& run) = 0;
    // Is some process carrying it now?
    virtual base::Result<bool> is_executing(const std::string& run) = 0;
    // It is not open, and nobody is about to begin another pass over it.
    base::Result<bool> has_ended(const std::string& run);
    virtual base::Result<std::vector<domain::PlanRun>> runs(
        std::int64_t limit) = 0;  // Newest first.
    // {run, plan, calls, results, events} in the wire form.
    virtual base::Result<json::object> show(const std::string& run) = 0;
    // The lines of its journal behind `after_seq`.
    virtual base::Result<std::vector<domain::PlanRecord>> records(const std::string& run,
                                                                  std::int64_t after_seq,
                                                                  std::int64_t limit) = 0;

    // `run` may also be the folder of a run, from anywhere.
    virtual base::Result<PlanVerdict> verify(const std::string& run) = 0;
    virtual base::Result<PlanReplay> replay(const std::string& run) = 0;
    // Stores and approves the run that takes back what a run changed; `approver` answers for it.
    // It begins with execute() or begin(). No run when there is nothing to take back.
    virtual base::Result<PlanReverted> make_revert(const std::string& run,
                                                   const std::string& approver) = 0;
    // Takes back what a run changed: makes that run, and executes it.
    base::Result<PlanReverted> revert(const std::string& run, const std::string& approver,
                                      PlanObserver& observer);

    // Keeps the plan of a run, or of `text`, under a name.
    virtual base::Result<domain::PlanAction> save(const std::string& name,
                                                  const std::string& description,
                                                  const std::optional<std::string>& run,
                                                  const std::optional<std::string>& text) = 0;
    virtual base::Result<std::vector<domain::PlanAction>> actions() = 0;
    virtual base::Result<domain::PlanAction> action(const std::string& name) = 0;
    virtual base::Status remove_action(const std::string& name) = 0;

    // Removes ended runs with all that is kept of them: those older than `older_than`, or those
    // that the configured retention lets go. Never one that is open, that an action was saved from
    // or that its approval still lets resume.
    virtual base::Result<PlanPruned> prune(std::optional<std::chrono::milliseconds> /*older_than*/,
                                           bool /*dry_run*/) {
        return base::fail(
            base::ErrorCode::Unavailable,
            "runs are removed on the machine that keeps them: holon plan prune there");
    }

    virtual base::Result<std::vector<ToolView>> tools() = 0;
};

}  // namespace service
