// Runs: one prompt each, from its admission to its result; the operations are those that service.h
// promises.
//
// A run is facts in the store, and a note of this process on whom it is for. When the process dies,
// the note is gone and the facts stay: the message and its turn are resumed like any other.
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "agent/identity/agent_lock.h"
#include "service/local/agents/control.h"
#include "service/local/run_result.h"

namespace service {

// The references are the service's and outlive this. Any thread may call, unless the function says
// otherwise.
class LocalRuns {
public:
    struct Parts {
        Transactions& transactions;
        const turn::Parts& turn;
        tasks::Host& tasks;
        scheduler::Scheduler& scheduler;  // Used on the loop only.
        LocalControl& control;
        identity::AgentLocks& locks;
        const identity::ModelFacts& models;
        const std::function<base::Status(const std::string& model_ref)>& check_run;
        const std::filesystem::path& workspace_dir;
    };
    explicit LocalRuns(Parts parts);
    ~LocalRuns();
    LocalRuns(const LocalRuns&) = delete;
    LocalRuns& operator=(const LocalRuns&) = delete;

    // `is_resident`: the tasks of all agents are watched already.
    base::Result<RunHold> start(const RunRequest& request, const Caller& caller, bool is_resident,
                                RunEnded ended);
    base::Status interrupt(const std::string& run_id, const std::string& reason);
    base::Result<RunResponse> result(const std::string& run_id);
    base::Status finish(const std::string& run_id);
    base::Result<std::vector<RecentRun>> recent(std::int64_t limit) const;
    // See Service::delete_agent.
    base::Status remove(const std::string& agent, const Caller& caller);

    // What the scheduler reports. On the loop.
    void idle(const domain::AgentId& agent, const std::string& reason);
    // Nothing happens for this child right now: the run of an agent above it may be over.
    void child_idle(const domain::AgentId& child);
    // True when a run has received the error.
    bool stuck(const domain::AgentId& agent, const base::Error& error);

private:
    struct Run;
    struct Lease;
    using RunPtr = std::shared_ptr<Run>;
    // What an agent still has to do for a run.
    struct Left {
        bool is_answered{false};  // The run's message is handled, or there is none.
        bool has_own{false};      // Messages of the run are pending.
        bool has_others{false};   // Other messages are.
        bool has_tasks{false};
        bool is_running{false};  // A turn is open.
    };

    base::Result<domain::AgentId> name_agent(const RunRequest& request) const;
    base::Result<std::string> model_of(const RunRequest& request,
                                       const domain::AgentId& agent) const;
    static base::Status describe(store::Tx& tx, RecentRun& run);
    base::Result<std::optional<domain::WorkspaceEntry>> choose_workspace(
        const RunRequest& request, const domain::AgentId& agent) const;
    base::Result<domain::Message> receive(const RunRequest& request, const Caller& caller,
                                          const domain::AgentId& agent) const;
    base::Result<homes::Creation> make_home(const RunRequest& request,
                                            const domain::AgentId& agent) const;
    base::Status prepare_agent(events::Log& log, const RunRequest& request,
                               const domain::AgentId& id, const std::string& model,
                               const std::optional<domain::WorkspaceEntry>& entry);

    base::Status reserve(const RunPtr& run);
    void forget(const RunPtr& run);
    RunPtr of_agent(const domain::AgentId& agent);
    base::Result<RunPtr> of_id(const std::string& run_id);

    // On the loop.
    void begin(const RunPtr& run);
    void turn_closed(const RunPtr& run);
    void load_left(const RunPtr& run, std::function<void(const Left&)> then);
    void stop(const RunPtr& run, const std::string& reason);
    void end(const RunPtr& run, const std::string& reason, const base::Status& status);
    void release_agent(const RunPtr& run);
    void stop_tasks(const RunPtr& run, const base::Status& status);
    void over(const RunPtr& run, const base::Status& status);
    void released(const RunPtr& run);

    Parts parts_;
    std::mutex mutex_;
    std::map<std::string, RunPtr> by_id_;
    std::map<domain::AgentId, RunPtr> by_agent_;  // Those that are not over: one for an agent.
    std::shared_ptr<void> subscription_;
    base::Lifetime lifetime_;
};

}  // namespace service
