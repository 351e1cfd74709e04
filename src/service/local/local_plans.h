// Plans in this very process, on an open store.
#pragma once

#include "service/local/plan_prune.h"
#include "service/local/plan_session.h"
#include "service/plans.h"

namespace service {

class LocalPlans final : public Plans {
public:
    explicit LocalPlans(PlanParts parts) : parts_(std::move(parts)) {}

    base::Result<PlanCheck> check(const PlanRequest& request) override;
    base::Result<json::object> preview(const PlanRequest& request) override;
    base::Result<PlanCreated> create(const PlanRequest& request) override;
    base::Result<domain::PlanRun> approve(const std::string& run, const std::string& approver,
                                          std::chrono::milliseconds lifetime) override;
    base::Result<domain::PlanRun> reject(const std::string& run, const std::string& by,
                                         const std::string& reason) override;
    base::Result<domain::PlanRun> execute(const std::string& run, PlanObserver& observer) override;
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
    base::Result<PlanReverted> revert(const std::string& run, const std::string& approver,
                                      PlanObserver& observer) override;
    base::Result<domain::PlanAction> save(const std::string& name, const std::string& description,
                                          const std::optional<std::string>& run,
                                          const std::optional<std::string>& text) override;
    base::Result<std::vector<domain::PlanAction>> actions() override;
    base::Result<domain::PlanAction> action(const std::string& name) override;
    base::Status remove_action(const std::string& name) override;
    base::Result<PlanPruned> prune(std::optional<std::chrono::milliseconds> older_than,
                                   bool dry_run) override;
    std::vector<ToolView> tools() override;

    // Removes old runs as configured: bounded, and never an error.
    void sweep() { service::sweep(parts_); }

    // Asks the run that is going on to stop. From a task of the loop.
    void interrupt(const std::string& reason);

private:
    struct Prepared;
    base::Result<domain::RunId> name_run(const std::string& run);
    base::Result<domain::PlanRun> execute_locked(const std::string& run, PlanObserver& observer);
    base::Result<Prepared> prepare(const PlanRequest& request);
    base::Result<std::filesystem::path> folder_of(const std::string& run,
                                                  std::optional<domain::PlanRun>& stored);
    base::Result<domain::PlanRun> store_new(const Prepared& prepared,
                                            std::optional<domain::RunId> reverts);

    PlanParts parts_;
    std::function<void(const std::string&)> interrupt_;
};

}  // namespace service
