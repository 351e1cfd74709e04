// The service in this very process, on an open store: reads, deliveries and control of agents
// (agents/), and one prompt run to its end (run.cc).
//
// One scheduler serves all agents for as long as the service lives. A program either calls run()
// once, which runs the loop itself, or start() and then runs the loop for as long as it serves.
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "agent/identity/agent_lock.h"
#include "service/local/agents/control.h"
#include "service/local/agents/deliveries.h"
#include "service/local/agents/reads.h"
#include "service/service.h"

namespace service {

struct LocalParts {
    turn::Parts turn;
    tasks::Host& tasks;
    identity::ModelFacts models;
    // Whether a run can ask this model (empty: none is known) or one of its fallbacks.
    std::function<base::Status(const std::string& model_ref)> check_run;
    NameModel name_model;
    TaskOf task_of;
    std::filesystem::path workspace_dir;  // Where a run works unless its request says otherwise.
    std::filesystem::path started_in;     // The working directory, where it lies in the workspace.
    // Runs the loop until stop_loop is called from one of its tasks.
    std::function<void()> run_loop;
    std::function<void()> stop_loop;
    std::string default_agent{"main"};
    scheduler::Limits limits{};
    std::size_t concurrent_turns_max{scheduler::kConcurrentTurnsDefault};
    // What the tokens of capabilities are made from; without it there are none.
    std::string trigger_key{};
    std::string callback_base_url{"http://127.0.0.1:7878"};
};

class LocalService final : public Service {
public:
    explicit LocalService(LocalParts parts);
    ~LocalService() override;

    // Serves all agents from now on. The caller runs the loop.
    void start();
    // Ends what is going on, in order, and calls `done` on the loop; see Scheduler::drain.
    void drain(std::function<void()> done);
    // Where capabilities are reached; before start().
    void set_callback_base_url(std::string url) { capabilities_.set_base_url(std::move(url)); }

    base::Result<RunResponse> run(const RunRequest& request, Observer& observer) override;

    base::Result<json::object> status(const std::string& agent) override {
        return reads_.status(agent);
    }
    base::Result<std::vector<std::string>> agents() override { return reads_.agents(); }
    base::Result<std::vector<json::object>> agent_list() override { return reads_.agent_list(); }
    base::Result<json::object> state(const std::string& agent) override {
        return reads_.state(agent);
    }
    base::Result<std::vector<domain::Task>> tasks(const std::string& agent,
                                                  std::int64_t limit) override {
        return reads_.tasks(agent, limit);
    }
    base::Result<std::vector<domain::Timer>> timers(const std::string& agent,
                                                    std::int64_t limit) override {
        return reads_.timers(agent, limit);
    }
    base::Result<json::object> activity() override { return reads_.activity(); }
    base::Result<std::string> debug_prompt(const std::string& agent, const std::string& text,
                                           domain::TrustLevel trust) override {
        return reads_.debug_prompt(agent, text, trust);
    }
    base::Result<json::object> model(const std::string& agent) override {
        return reads_.model(agent);
    }
    base::Result<json::object> set_model(const std::string& agent,
                                         const std::string& model_ref) override {
        return control_.set_model(agent, model_ref);
    }
    base::Result<json::object> clear_model(const std::string& agent) override {
        return control_.clear_model(agent);
    }
    base::Result<std::vector<domain::TranscriptEntry>> transcript(const std::string& agent,
                                                                  std::int64_t limit) override {
        return reads_.transcript(agent, limit);
    }
    base::Result<std::vector<domain::Brief>> briefs(const std::string& agent,
                                                    std::int64_t limit) override {
        return reads_.briefs(agent, limit);
    }
    base::Result<std::vector<domain::Event>> events(const std::string& agent,
                                                    std::int64_t after_seq,
                                                    std::int64_t limit) override {
        return reads_.events(agent, after_seq, limit);
    }
    base::Result<std::vector<domain::Event>> event_page(const std::string& agent,
                                                        const EventsQuery& query) override {
        return reads_.event_page(agent, query);
    }
    base::Result<std::int64_t> newest_event(const std::string& agent) override {
        return reads_.newest_event(agent);
    }
    std::shared_ptr<void> watch(const std::string& agent,
                                std::function<void(std::int64_t newest_seq)> changed) override {
        return reads_.watch(agent, std::move(changed));
    }

    base::Result<std::string> prompt(const std::string& agent, const std::string& text,
                                     const Caller& caller) override {
        return deliveries_.prompt(agent, text, caller);
    }
    base::Result<std::string> enqueue(const std::string& agent,
                                      const EnqueueRequest& request) override {
        return deliveries_.enqueue(agent, request);
    }
    base::Result<json::object> wake(const std::string& agent, const WakeRequest& request,
                                    const Caller& caller) override {
        return deliveries_.wake(agent, request, caller);
    }
    base::Result<json::object> callback(const CallbackRequest& request) override {
        return deliveries_.callback(request);
    }

    base::Result<domain::AgentIdentity> create_agent(
        const std::string& agent, const std::optional<std::string>& template_name,
        const Caller& caller) override {
        return control_.create_agent(agent, template_name, caller);
    }
    base::Status set_lifecycle(const std::string& agent, LifecycleAction action,
                               const Caller& caller) override {
        return control_.set_lifecycle(agent, action, caller);
    }
    base::Result<json::object> abort_run(const std::string& agent,
                                         const std::optional<std::string>& run_id,
                                         const Caller& caller) override {
        return control_.abort_run(agent, run_id, caller);
    }
    base::Result<domain::Task> start_task(const std::string& agent, const TaskRequest& request,
                                          const Caller& caller) override {
        return control_.start_task(agent, request, caller);
    }
    base::Result<domain::Timer> create_timer(const std::string& agent, const TimerRequest& request,
                                             const Caller& caller) override {
        return control_.create_timer(agent, request, caller);
    }
    base::Result<domain::Timer> cancel_timer(const std::string& agent, const std::string& timer,
                                             const Caller& caller) override {
        return control_.cancel_timer(agent, timer, caller);
    }
    base::Result<json::object> external_trigger(const std::string& agent, bool rotate,
                                                const Caller& caller) override {
        return control_.external_trigger(agent, rotate, caller);
    }
    base::Status revoke_trigger(const std::string& agent, const Caller& caller) override {
        return control_.revoke_trigger(agent, caller);
    }
    base::Result<domain::WorkspaceEntry> attach_workspace(const std::string& agent,
                                                          const std::string& path,
                                                          const Caller& caller) override {
        return control_.attach_workspace(agent, path, caller);
    }
    base::Status exit_workspace(const std::string& agent, const Caller& caller) override {
        return control_.exit_workspace(agent, caller);
    }
    base::Status detach_workspace(const std::string& agent, const std::string& workspace_id,
                                  const Caller& caller) override {
        return control_.detach_workspace(agent, workspace_id, caller);
    }

    // Something waits in the agent's queue. Any thread.
    void wake_up(const domain::AgentId& agent);

    // Asks the run that is going on to stop. From a job of the loop.
    void interrupt(const std::string& reason);

private:
    struct Run;

    // Takes the scheduler's and the tasks' callbacks to the run that waits for them.
    void connect();
    base::Result<domain::AgentId> name_agent(const RunRequest& request);
    base::Result<std::string> model_of(const domain::AgentId& agent);
    base::Result<std::optional<domain::WorkspaceEntry>> choose_workspace(
        const RunRequest& request, const domain::AgentId& agent);
    base::Status prepare_agent(const RunRequest& request, const domain::AgentId& id,
                               const std::optional<domain::WorkspaceEntry>& entry);
    base::Result<domain::Message> receive(const RunRequest& request, const domain::AgentId& agent);
    base::Result<RunResponse> conclude(const Run& run, const domain::AgentId& agent);
    base::Status remove_agent(const domain::AgentId& agent);
    void execute(Run& run, const domain::AgentId& agent, const RunRequest& request,
                 Observer& observer);

    // What an agent that found its queue empty may still wait for. A result may have come since
    // the scheduler checked the queue.
    enum class Left { Nothing, Task, Result };
    // Loads it in the background; then rested() continues the agent, waits on or ends its run.
    void check_left(const Run& run, const domain::AgentId& agent, const std::string& reason);
    void rested(const domain::AgentId& agent, Left left, const std::string& reason);
    Run* run_of(const domain::AgentId& agent) const;
    // Ends all of the agent's tasks, running the loop meanwhile unless the service is resident.
    // Those that do not end in time are left to their supervisors.
    void stop_tasks(const domain::AgentId& agent);

    LocalParts parts_;
    Capabilities capabilities_;
    identity::AgentLocks locks_;
    Transactions transactions_;
    scheduler::Scheduler scheduler_;
    LocalReads reads_;
    LocalControl control_;
    LocalDeliveries deliveries_;
    bool is_resident_{false};
    std::map<domain::AgentId, Run*> runs_;  // On the loop.
    std::function<void(const std::string&)> interrupt_;
};

}  // namespace service
