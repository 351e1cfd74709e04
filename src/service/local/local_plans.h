// Plans in this very process, on an open store. Any thread, once the host stays; one until then.
#pragma once

#include "service/local/plan_host.h"
#include "service/local/plan_maker.h"
#include "service/local/plan_prune.h"
#include "service/plans.h"

namespace service {

class LocalPlans final : public Plans {
public:
    explicit LocalPlans(PlanParts parts) : parts_(std::move(parts)), host_(parts_) {}

    base::Result<PlanCheck> check(const PlanRequest& request) override;
    base::Result<json::object> preview(const PlanRequest& request) override;
    base::Result<PlanMade> make(const PlanMakeRequest& request) override;
    base::Result<PlanCreated> create(const PlanRequest& request) override;
    base::Result<domain::PlanRun> approve(const std::string& run, const std::string& approver,
                                          std::chrono::milliseconds lifetime) override;
    base::Result<domain::PlanRun> reject(const std::string& run, const std::string& by,
                                         const std::string& reason) override;
    base::Result<domain::PlanRun> execute(const std::string& run, PlanObserver& observer) override;
    base::Result<domain::PlanRun> begin(const std::string& run) override;
    base::Result<std::shared_ptr<void>> watch(const std::string& run,
                                              std::function<void(std::int64_t)> changed) override;
    base::Result<domain::PlanRun> cancel(const std::string& run,
                                         const std::string& reason) override;
    base::Result<domain::PlanRun> run(const std::string& run) override;
    base::Result<bool> is_executing(const std::string& run) override;
    base::Result<std::vector<domain::PlanRun>> runs(std::int64_t limit) override;
    base::Result<json::object> show(const std::string& run) override;
    base::Result<std::vector<domain::PlanRecord>> records(const std::string& run,
                                                          std::int64_t after_seq,
                                                          std::int64_t limit) override;
    base::Result<PlanVerdict> verify(const std::string& run) override;
    base::Result<PlanReplay> replay(const std::string& run) override;
    base::Result<PlanReverted> make_revert(const std::string& run,
                                           const std::string& approver) override;
    base::Result<domain::PlanAction> save(const std::string& name, const std::string& description,
                                          const std::optional<std::string>& run,
                                          const std::optional<std::string>& text) override;
    base::Result<std::vector<domain::PlanAction>> actions() override;
    base::Result<domain::PlanAction> action(const std::string& name) override;
    base::Status remove_action(const std::string& name) override;
    base::Result<PlanPruned> prune(std::optional<std::chrono::milliseconds> older_than,
                                   bool dry_run) override;
    base::Result<std::vector<ToolView>> tools() override;

    // Stores a run for the agent that asks for it. Its calls are judged as calls of that agent;
    // what came from outside waits for approval whatever the policy says.
    struct ForAgent {
        domain::RunId run_id;
        domain::PlanOwner owner;
        std::optional<domain::PolicySnapshot> policy{};  // Instead of that for plans.
        std::optional<std::string> planner_version{};
    };
    base::Result<PlanCreated> create_for(const PlanRequest& request, ForAgent agent);
    // Ends a run that is not carried here; returns when that has begun. Not from the loop.
    base::Status end(const domain::RunId& run, const std::string& reason);

    // Removes old runs as configured: bounded, and never an error.
    void sweep() { service::sweep(parts_); }

    // Asks the run that is going on to stop. From a task of the loop, where none stays.
    void interrupt(const std::string& reason);

    // What carries the runs. Once it stays, somebody else runs the loop: operations wait on the
    // threads of their callers, and never on the loop's.
    PlanHost& host() { return host_; }

private:
    // A request that has been read: what is to be run, or why it is refused.
    struct Prepared {
        std::vector<PlanFault> faults{};
        plan::CheckedPlan plan{};
        std::string vault{};
        domain::PolicySnapshot policy{};
        json::object context{};
        json::object params{};
        std::optional<std::string> action{};
    };
    base::Result<MadePlan> ask_planner(const plan::Wish& wish, const std::filesystem::path& vault);
    class Reset;
    void interrupt_by(std::function<void(const std::string&)> how);
    template <class T>
    using Told = std::function<void(base::Result<T>)>;
    template <class T>
    base::Result<T> await(const std::function<base::Status(Told<T>)>& start);
    // Waits for work of the loop that is no run: `begin` and `stop` are called there, and what they
    // refer to must live until this returns.
    template <class T>
    base::Result<T> await_work(const std::function<void(Told<T>)>& begin,
                               const std::function<void(const std::string& reason)>& stop);
    base::Result<domain::RunId> name_run(const std::string& run);
    base::Result<domain::PlanRun> execute_locked(const std::string& run, PlanObserver& observer);
    base::Result<Prepared> prepare(const PlanRequest& request);
    base::Result<std::filesystem::path> folder_of(const std::string& run);
    // A run of an agent that has its approval begins where a runtime stays.
    void begin_if_owned(const domain::PlanRun& run);
    base::Result<domain::PlanRun> store_new(const Prepared& prepared,
                                            std::optional<domain::RunId> reverts,
                                            const ForAgent* agent = nullptr);

    PlanParts parts_;
    PlanHost host_;
    std::function<void(const std::string&)> interrupt_;
};

}  // namespace service
