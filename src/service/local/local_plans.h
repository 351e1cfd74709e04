// The plans of this very process, as operators get them: each operation is one of plans::Plans.
#pragma once

#include "flow/plans/plans.h"
#include "service/plans.h"

namespace service {

// Owns nothing: `plans` belongs to the caller and outlives this. Threads and failures are those of
// plans::Plans, which are those that service::Plans promises once its host stays.
class LocalPlans final : public Plans {
public:
    explicit LocalPlans(plans::Plans& plans) : plans_(plans) {}

    base::Result<PlanCheck> check(const PlanRequest& request) override {
        return plans_.check(request);
    }
    base::Result<json::object> preview(const PlanRequest& request) override {
        return plans_.preview(request);
    }
    base::Result<PlanMade> make(const PlanMakeRequest& request) override {
        return plans_.make(request);
    }
    base::Result<PlanCreated> create(const PlanRequest& request) override {
        return plans_.create(request);
    }
    base::Result<domain::PlanRun> approve(const std::string& run, const std::string& approver,
                                          std::chrono::milliseconds lifetime) override {
        return plans_.approve(run, approver, lifetime);
    }
    base::Result<domain::PlanRun> reject(const std::string& run, const std::string& by,
                                         const std::string& reason) override {
        return plans_.reject(run, by, reason);
    }
    base::Result<domain::PlanRun> execute(const std::string& run, PlanObserver& observer) override {
        return plans_.execute(
            run, [&](const domain::PlanRecord& record) { observer.on_record(record); });
    }
    base::Result<domain::PlanRun> begin(const std::string& run) override {
        return plans_.begin(run);
    }
    base::Result<std::shared_ptr<void>> watch(const std::string& run,
                                              std::function<void(std::int64_t)> changed) override {
        return plans_.watch(run, std::move(changed));
    }
    base::Result<domain::PlanRun> cancel(const std::string& run,
                                         const std::string& reason) override {
        return plans_.cancel(run, reason);
    }

    base::Result<domain::PlanRun> run(const std::string& run) override { return plans_.run(run); }
    base::Result<bool> is_executing(const std::string& run) override {
        return plans_.is_executing(run);
    }
    base::Result<Listed<domain::PlanRun>> runs(const ListQuery& query) override {
        return listed(TRY(plans_.runs(rows_for(query), {query.before})), query,
                      [](const domain::PlanRun& run) { return run.run_id.value; });
    }
    base::Result<json::object> show(const std::string& run) override { return plans_.show(run); }
    base::Result<std::vector<domain::PlanRecord>> records(const std::string& run,
                                                          std::int64_t after_seq,
                                                          std::int64_t limit) override {
        return plans_.records(run, after_seq, limit);
    }

    base::Result<PlanVerdict> verify(const std::string& run) override { return plans_.verify(run); }
    base::Result<PlanReplay> replay(const std::string& run) override { return plans_.replay(run); }
    base::Result<PlanReverted> make_revert(const std::string& run,
                                           const std::string& approver) override {
        return plans_.make_revert(run, approver);
    }
    base::Result<PlanPruned> prune(std::optional<std::chrono::milliseconds> older_than,
                                   bool dry_run) override {
        return plans_.prune(older_than, dry_run);
    }

    base::Result<domain::PlanAction> save(const std::string& name, const std::string& description,
                                          const std::optional<std::string>& run,
                                          const std::optional<std::string>& text) override {
        return plans_.save(name, description, run, text);
    }
    base::Result<std::vector<domain::PlanAction>> actions() override { return plans_.actions(); }
    base::Result<domain::PlanAction> action(const std::string& name) override {
        return plans_.action(name);
    }
    base::Status remove_action(const std::string& name) override {
        return plans_.remove_action(name);
    }
    base::Result<std::vector<ToolView>> tools() override { return plans_.tools(); }

private:
    plans::Plans& plans_;
};

}  // namespace service
