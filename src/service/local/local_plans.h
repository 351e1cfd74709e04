// Plans in this very process, on an open store. Any thread, once the host stays; one until then.
#pragma once

#include "service/local/plan_host.h"
#include "service/local/plan_maker.h"
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
    base::Result<bool> is_carried(const std::string& run) override;
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
    std::vector<ToolView> tools() override;

    // Asks the run that is going on to stop. From a task of the loop, where none stays.
    void interrupt(const std::string& reason);

    // What carries the runs. Once it stays, somebody else runs the loop: operations wait on the
    // threads of their callers, and never on the loop's.
    PlanHost& host() { return host_; }

private:
    struct Prepared;
    base::Result<MadePlan> ask_planner(const plan::Wish& wish, const std::filesystem::path& vault);
    class Reset;
    void interrupt_by(std::function<void(const std::string&)> how);
    template <class T>
    using Told = std::function<void(base::Result<T>)>;
    template <class T>
    base::Result<T> await(const std::function<base::Status(Told<T>)>& start);
    base::Result<domain::RunId> name_run(const std::string& run);
    base::Result<Prepared> prepare(const PlanRequest& request);
    base::Result<std::filesystem::path> folder_of(const std::string& run,
                                                  std::optional<domain::PlanRun>& stored);
    base::Result<domain::PlanRun> store_new(const Prepared& prepared,
                                            std::optional<domain::RunId> reverts);

    PlanParts parts_;
    PlanHost host_;
    std::function<void(const std::string&)> interrupt_;
};

}  // namespace service
