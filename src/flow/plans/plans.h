// Plans of one process on an open store: what service::Plans promises operators, and runs that are
// made for agents. Values come from domain/plan_views.h, documents and decisions from exec/plan.
//
// Any thread once the host stays, but never the loop's: operations wait on the threads of their
// callers for work of the loop. Until the host stays, one thread, and an operation that executes
// something runs the loop itself (Parts::run_loop). A run is named by its id, a prefix of it that
// fits one run only, or "last": NotFound when no run fits, InvalidInput when several do.
#pragma once

#include "domain/plan_views.h"
#include "flow/plans/execution/host.h"
#include "flow/plans/maker.h"
#include "flow/plans/prune.h"

namespace plans {

inline constexpr std::string_view kLastRun = "last";

class Plans {
public:
    // Receives each committed line of a run's journal, on the loop.
    using OnRecord = std::function<void(const domain::PlanRecord&)>;

    explicit Plans(Parts parts) : parts_(std::move(parts)), host_(parts_) {}

    // All faults at once, or what the plan is. Executes nothing.
    base::Result<domain::PlanCheck> check(const domain::PlanRequest& request);
    // What it would do, in the wire form. Reading tools are called, nothing else is.
    base::Result<json::object> preview(const domain::PlanRequest& request);
    // Asks a model for a plan; executes nothing but the preview of it, and stores no run.
    base::Result<domain::PlanMade> make(const domain::PlanMakeRequest& request);

    // Stores a run that has not begun.
    base::Result<domain::PlanCreated> create(const domain::PlanRequest& request);
    // Stores a run for the agent that asks for it. Its calls are judged as calls of that agent; a
    // run that untrusted input asked for waits for approval whatever the policy says.
    struct ForAgent {
        domain::RunId run_id;
        domain::PlanOwner owner;
        std::optional<domain::PolicySnapshot> policy{};  // Instead of that for plans.
        std::optional<std::string> planner_version{};
    };
    base::Result<domain::PlanCreated> create_for(const domain::PlanRequest& request,
                                                 ForAgent agent);
    // Binds an approval to the run as it stands; a run of an agent begins if the host stays.
    base::Result<domain::PlanRun> approve(const std::string& run, const std::string& approver,
                                          std::chrono::milliseconds lifetime);
    // Ends a run that waits for approval, on record in the name of `by`. Conflict when it does not
    // wait, or when another process works on it.
    base::Result<domain::PlanRun> reject(const std::string& run, const std::string& by,
                                         const std::string& reason);
    // Executes a run and returns it when it has ended; see Host::execute for failures. `on_record`
    // is not called after the return.
    base::Result<domain::PlanRun> execute(const std::string& run, const OnRecord& on_record = {});
    // The same, but returns once the first commit is on disk. Refused unless the host stays.
    base::Result<domain::PlanRun> begin(const std::string& run);
    // Ends a run, wherever it is executed; waits for kPlanCancelWait at most.
    base::Result<domain::PlanRun> cancel(const std::string& run, const std::string& reason);
    // Ends a run that is not executed here; returns when that has begun.
    base::Status end(const domain::RunId& run, const std::string& reason);
    // Until the token is dropped; see Feed::watch.
    base::Result<std::shared_ptr<void>> watch(const std::string& run, Feed::Changed changed);

    // Reads; each is a copy as of one moment. The run as it is stored.
    base::Result<domain::PlanRun> run(const std::string& run);
    // True while this or another process holds the lock of the run.
    base::Result<bool> is_executing(const std::string& run);
    // Newest first, those before `before`, all of them when it is empty.
    base::Result<std::vector<domain::PlanRun>> runs(std::int64_t limit,
                                                    const domain::RunId& before);
    // {run, plan, calls, results, events} in the wire form, the journal whole.
    base::Result<json::object> show(const std::string& run);
    // Lines of the journal behind `after_seq`, in order, at most `limit`.
    base::Result<std::vector<domain::PlanRecord>> records(const std::string& run,
                                                          std::int64_t after_seq,
                                                          std::int64_t limit);

    // `run` may also be the folder of a run, from anywhere, for these two. Files that a crash left
    // behind the store are written first.
    //
    // Checks the files; what is wrong is in the verdict, not an Error.
    base::Result<domain::PlanVerdict> verify(const std::string& run);
    // Decides the run again from its recorded results, on the calling thread; calls and stores
    // nothing. Conflict while it is open, Refused when the plan does not fit this program's tools.
    base::Result<domain::PlanReplay> replay(const std::string& run);
    // Stores and approves the run that undoes what a run changed; none when there is nothing.
    base::Result<domain::PlanReverted> make_revert(const std::string& run,
                                                   const std::string& approver);

    // Plans kept under a name. On disk when these return.
    //
    // Keeps the plan of a run that succeeded (else Conflict), or `text`, in place of an earlier one
    // of that name. InvalidInput for a bad name or a plan with faults.
    base::Result<domain::PlanAction> save(const std::string& name, const std::string& description,
                                          const std::optional<std::string>& run,
                                          const std::optional<std::string>& text);
    // By name, up to a bound of 1,000.
    base::Result<std::vector<domain::PlanAction>> actions();
    // NotFound without one of exactly this name, for both.
    base::Result<domain::PlanAction> action(const std::string& name);
    base::Status remove_action(const std::string& name);

    // Removes runs that were kept long enough; Refused when neither argument nor configuration
    // says which.
    base::Result<domain::PlanPruned> prune(std::optional<std::chrono::milliseconds> older_than,
                                           bool dry_run);
    // Removes old runs as configured: bounded, and never an error.
    void sweep() { plans::sweep(parts_); }

    // The tools that a plan can name, as the registry has them now.
    std::vector<domain::ToolView> tools() const;

    // Asks the operation that runs the loop to stop. From a job of the loop, where none stays.
    void interrupt(const std::string& reason);

    // What executes the runs. It lives as long as this.
    Host& host() { return host_; }

private:
    // A request that has been read: what is to be run, or why it is refused.
    struct Prepared {
        std::vector<domain::PlanFault> faults{};
        plan::CheckedPlan plan{};
        std::string vault{};
        domain::PolicySnapshot policy{};
        json::object context{};
        json::object params{};
        std::optional<std::string> action{};
    };
    class Reset;
    template <class T>
    using Done = std::function<void(base::Result<T>)>;

    base::Result<MadePlan> ask_planner(const plan::PlanningRequest& request,
                                       const std::filesystem::path& vault);
    void interrupt_by(std::function<void(const std::string&)> how);
    template <class T>
    base::Result<T> await(const std::function<base::Status(Done<T>)>& start);
    // Waits for work of the loop that is no run: `begin` and `stop` are called there, and what they
    // refer to must live until this returns.
    template <class T>
    base::Result<T> await_work(const std::function<void(Done<T>)>& begin,
                               const std::function<void(const std::string& reason)>& stop);
    base::Result<domain::RunId> name_run(const std::string& run);
    base::Result<domain::PlanRun> execute_locked(const std::string& run, const OnRecord& on_record);
    base::Result<Prepared> prepare(const domain::PlanRequest& request);
    base::Result<std::filesystem::path> folder_of(const std::string& run);
    // A run of an agent that has its approval begins if the host stays.
    void begin_if_owned(const domain::PlanRun& run);
    base::Result<domain::PlanRun> store_new(const Prepared& prepared,
                                            std::optional<domain::RunId> reverts,
                                            const ForAgent* agent = nullptr);

    Parts parts_;
    Host host_;
    std::function<void(const std::string&)> interrupt_;
    base::Lifetime lifetime_;  // Last: it ends first.
};

}  // namespace plans
