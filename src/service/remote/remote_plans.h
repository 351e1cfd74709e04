// Plans of a runtime in another process, over its control surface.
#pragma once

#include <condition_variable>
#include <mutex>
#include <thread>

#include "service/plans.h"
#include "service/remote/client.h"

namespace service {

struct RemotePlansParts {
    Address address;
    std::filesystem::path vault;  // Where a plan works unless its request says otherwise.
    // The stream of a run broke; it is being tried again. On a thread of the watch.
    std::function<void(const base::Error&)> on_lost{};
};

// The approver follows from the connection to the daemon, so the approver that is passed here is
// ignored. Paths are those of this process; they are sent as absolute ones.
class RemotePlans final : public Plans {
public:
    explicit RemotePlans(RemotePlansParts parts);

    base::Result<PlanCheck> check(const PlanRequest& request) override;
    base::Result<json::object> preview(const PlanRequest& request) override;
    // Refused: the client calls the model itself; the daemon does not make plans.
    base::Result<PlanMade> make(const PlanMakeRequest& request) override;
    base::Result<PlanCreated> create(const PlanRequest& request) override;
    base::Result<domain::PlanRun> approve(const std::string& run, const std::string& approver,
                                          std::chrono::milliseconds lifetime) override;
    base::Result<domain::PlanRun> reject(const std::string& run, const std::string& by,
                                         const std::string& reason) override;
    // Keeps waiting while the daemon restarts. The observer is called on the caller's thread.
    base::Result<domain::PlanRun> execute(const std::string& run, PlanObserver& observer) override;
    base::Result<domain::PlanRun> begin(const std::string& run) override;
    base::Result<std::shared_ptr<void>> watch(const std::string& run,
                                              std::function<void(std::int64_t)> changed) override;
    base::Result<domain::PlanRun> cancel(const std::string& run,
                                         const std::string& reason) override;
    base::Result<domain::PlanRun> run(const std::string& run) override;
    base::Result<bool> is_executing(const std::string& run) override;
    base::Result<Listed<domain::PlanRun>> runs(const ListQuery& query) override;
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
    base::Result<std::vector<ToolView>> tools() override;

    // Cancels the run that execute() waits for. False when there is none. Any thread.
    bool interrupt(const std::string& reason);

private:
    struct RunState {
        domain::PlanRun run;
        bool is_executing{false};
    };
    base::Result<RunState> run_state(const std::string& run);
    base::Result<json::value> post(const std::string& path, json::object body,
                                   std::chrono::milliseconds timeout = kAnswerTimeout) const;
    json::object body_of(const PlanRequest& request) const;
    std::shared_ptr<void> watch_from(const std::string& id, std::int64_t after,
                                     std::function<void(std::int64_t)> changed) const;
    base::Status show_new(const domain::PlanRun& run, std::int64_t& cursor, PlanObserver& observer);
    base::Status begin_interruptibly(const std::string& id);
    void set_executing(std::string id);
    void start_cancelling();

    const RemotePlansParts parts_;
    const Client client_;
    std::mutex mutex_;
    std::string executing_;  // Empty: none.
    bool is_beginning_{false};
    std::optional<std::string> interrupted_;  // Why.
    bool is_given_up_{false};                 // The cancellation could not be sent.
    std::jthread cancelling_;                 // Last: it uses all of the above.
};

}  // namespace service
