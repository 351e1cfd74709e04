// Plans as operators see them: checked, previewed, approved, run, verified, replayed and reverted.
// No model is needed for any of it but make(). What crosses this interface survives a trip through
// JSON; its values are those of domain/plan_views.h.
//
// Any thread may call, but never the thread of the runtime's loop: a call may wait for commits, for
// files and for work on that loop. A write is on disk when it returns. A Plans owns nothing that it
// returns; values are copies as of one moment.
//
// Every operation that names a run takes its id, a prefix of the id that fits one run only, or
// "last". NotFound when no run fits, InvalidInput when several do. A failure of the store, of a
// file or of the connection is an Error with its own code, and nothing was changed unless the
// operation says otherwise.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "domain/plan_views.h"
#include "service/list.h"

namespace service {

using domain::PlanCheck;
using domain::PlanCreated;
using domain::PlanFault;
using domain::PlanMade;
using domain::PlanMakeRequest;
using domain::PlanPruned;
using domain::PlanReplay;
using domain::PlanRequest;
using domain::PlanReverted;
using domain::PlanTotals;
using domain::PlanVerdict;
using domain::ToolView;

// The `kind` of the Error of an operation that Ctrl-C ended.
inline constexpr std::string_view kInterrupted = domain::kPlanInterrupted;
// How long cancel() waits for a run to end.
inline constexpr std::chrono::seconds kCancelWait = domain::kPlanCancelWait;

// A run in the wire form of the plan surface, without its plan. Pure; any thread.
json::object plan_run_json(const domain::PlanRun& run);

// Receives the journal of a run while execute() waits for its end. The caller owns it and keeps it
// until execute() has returned; nothing is called after that.
class PlanObserver {
public:
    virtual ~PlanObserver() = default;
    // One line of the journal, once, in order, after its commit; in the wire form of the plan
    // surface. Called on the thread that executes the run: it must not block and must not call the
    // Plans back.
    virtual void on_record(const domain::PlanRecord& /*record*/) {}
};

class Plans {
public:
    virtual ~Plans() = default;

    // Before a run --------------------------------------------------------------------------------

    // All faults at once, or what the plan is. Executes and stores nothing. A plan with faults is
    // a value; NotFound when `request` names an action that does not exist.
    virtual base::Result<PlanCheck> check(const PlanRequest& request) = 0;
    // What the plan would do, in the wire form: steps, creates, modifies, renames, deletes,
    // commands; or `ok: false` with its faults. Reading tools are really called, nothing else is,
    // and nothing is stored. Returns when the pretended run has ended; Unavailable when the daemon
    // ends first.
    virtual base::Result<json::object> preview(const PlanRequest& request) = 0;
    // Asks a model for a plan, checks it and returns faults to the model, at most
    // plan::kPlannerTriesMax times. Nothing is executed but the reading tools of the preview, and
    // no run is stored; who wrote the plan is stored by its hash. Unavailable when no model
    // answers, with the kind kInterrupted after Ctrl-C.
    virtual base::Result<PlanMade> make(const PlanMakeRequest& request) = 0;

    // A run's life --------------------------------------------------------------------------------

    // Stores a run that has not begun; it begins with execute() or begin(), once it has the
    // approval that it needs. A plan with faults is a value without a run.
    virtual base::Result<PlanCreated> create(const PlanRequest& request) = 0;
    // Binds an approval to the plan, the policy and the inputs of the run as they stand, until
    // `lifetime` is over. `run` must be the whole id, or it is InvalidInput: "last" and a prefix
    // may mean another run than the operator has read. A run of an agent begins with it where a
    // daemon serves. Returns the approved run. Conflict when the run does not wait for approval or
    // another process works on it.
    virtual base::Result<domain::PlanRun> approve(const std::string& run,
                                                  const std::string& approver,
                                                  std::chrono::milliseconds lifetime) = 0;
    // Ends a run that waits for approval, without executing anything; its agent receives the
    // result. Returns the cancelled run. Conflict when it does not wait for approval.
    virtual base::Result<domain::PlanRun> reject(const std::string& run, const std::string& by,
                                                 const std::string& reason) = 0;
    // Begins a run, resumes one that a crash left open, or begins another pass over what an ended
    // one has left; returns the run when it has ended, however it ended. Conflict while another
    // process executes it or when nothing is left to do, Refused without the approval it needs,
    // Unavailable when the process is full or ends: the run stays open then.
    virtual base::Result<domain::PlanRun> execute(const std::string& run,
                                                  PlanObserver& observer) = 0;
    // The same, but returns when the run's first commit is on disk: the daemon executes it from
    // then on, also after a crash of its own. Refused where no daemon serves.
    virtual base::Result<domain::PlanRun> begin(const std::string& run) = 0;
    // Ends a run. One that executes is asked to stop, and this waits for its end, for kCancelWait
    // at most: the returned run may still be open. One that no process executes is ended here.
    // Conflict when it has ended already.
    virtual base::Result<domain::PlanRun> cancel(const std::string& run,
                                                 const std::string& reason) = 0;
    // Calls `changed` with the number of the newest line after each commit that added to the run's
    // journal, and once more when the run has ended, until the caller drops the token; a call that
    // has begun by then may still be running. On some thread of the runtime: `changed` must return
    // at once and may keep nothing that dies with the token. Runs that another process executes
    // are not reported.
    [[nodiscard]] virtual base::Result<std::shared_ptr<void>> watch(
        const std::string& run, std::function<void(std::int64_t newest_seq)> changed) = 0;

    // Reads. None of them executes anything -------------------------------------------------------

    // The run as it is stored now.
    virtual base::Result<domain::PlanRun> run(const std::string& run) = 0;
    // True while some process of this home executes the run.
    virtual base::Result<bool> is_executing(const std::string& run) = 0;
    // True when the run is not open and no process is about to begin another pass over it.
    base::Result<bool> has_ended(const std::string& run);
    // Newest first. cursor_not_found for a `before` that names none.
    virtual base::Result<Listed<domain::PlanRun>> runs(const ListQuery& query) = 0;
    // {run, plan, calls, results, events} in the wire form, whole.
    virtual base::Result<json::object> show(const std::string& run) = 0;
    // At most `limit` lines of the run's journal behind `after_seq`, in order.
    virtual base::Result<std::vector<domain::PlanRecord>> records(const std::string& run,
                                                                  std::int64_t after_seq,
                                                                  std::int64_t limit) = 0;

    // After a run ---------------------------------------------------------------------------------

    // Checks the files of a run: their chain of hashes, their approvals, and that they say what the
    // store says. `run` may also be the path of a run's folder, from any machine. What is wrong is
    // in the verdict; files that are only behind a crash are written again first.
    virtual base::Result<PlanVerdict> verify(const std::string& run) = 0;
    // Executes the recorded run again without its tools, from the recorded results, and reports
    // each place where plan and record differ. `run` as for verify(). Nothing is stored. Conflict
    // while the run is open, Refused when the plan no longer fits this program's tools.
    virtual base::Result<PlanReplay> replay(const std::string& run) = 0;
    // Stores and approves, in the name of `approver`, the run that undoes what `run` changed. It
    // begins with execute() or begin(). No run when there is nothing to undo. Conflict while `run`
    // is open.
    virtual base::Result<PlanReverted> make_revert(const std::string& run,
                                                   const std::string& approver) = 0;
    // Undoes what a run changed: make_revert(), then execute(). A change that could not be undone
    // is in `not_restored`, not an Error. After an Error the made run may be left, as after
    // execute().
    base::Result<PlanReverted> revert(const std::string& run, const std::string& approver,
                                      PlanObserver& observer);
    // Removes ended runs with all that is kept of them: those older than `older_than`, or those
    // that the configured retention releases. Never one that is open, that an action was saved
    // from, or that may still be resumed under its approval. With `dry_run` it only lists them.
    // Refused when neither says what to remove; Unavailable over a connection. After an Error some
    // may be removed; call again.
    virtual base::Result<PlanPruned> prune(std::optional<std::chrono::milliseconds> /*older_than*/,
                                           bool /*dry_run*/) {
        return base::fail(
            base::ErrorCode::Unavailable,
            "runs are removed on the machine that keeps them: holon plan prune there");
    }

    // Actions: plans kept under a name ------------------------------------------------------------

    // Keeps the plan of a run that succeeded, or of `text`, under `name`, in place of an earlier
    // one of that name. InvalidInput for a bad name or a plan with faults, Conflict when the run
    // has not succeeded.
    virtual base::Result<domain::PlanAction> save(const std::string& name,
                                                  const std::string& description,
                                                  const std::optional<std::string>& run,
                                                  const std::optional<std::string>& text) = 0;
    // All actions by name, up to a bound of 1,000.
    virtual base::Result<std::vector<domain::PlanAction>> actions() = 0;
    // The action of exactly this name; NotFound without one.
    virtual base::Result<domain::PlanAction> action(const std::string& name) = 0;
    // From here on the name is free; runs of the action stay. NotFound without one.
    virtual base::Status remove_action(const std::string& name) = 0;

    // The tools that a plan can name, as this program has them.
    virtual base::Result<std::vector<ToolView>> tools() = 0;
};

}  // namespace service
