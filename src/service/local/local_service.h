// The service in this very process, on an open store.
//
// One scheduler serves all agents for as long as the service lives. A program either calls run()
// once, which runs the loop itself, or start() and then runs the loop for as long as it serves.
#pragma once

#include <condition_variable>
#include <filesystem>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "agent/identity/views.h"
#include "exec/tasks/host.h"
#include "flow/scheduler/scheduler.h"
#include "flow/turn/runner.h"
#include "agent/identity/agent_lock.h"
#include "service/service.h"

namespace service {

struct LocalParts {
    turn::Parts turn;
    tasks::Host& tasks;
    identity::ModelFacts models;
    // Whether a run can ask this model (empty: none is known) or one of its fallbacks.
    std::function<base::Status(const std::string& model_ref)> check_run;
    // The full name of a model that can be asked.
    std::function<base::Result<std::string>(const std::string& model_ref)> name_model;
    // A command that an operator starts at `place`, ready to run; InvalidInput for one that is not.
    std::function<base::Result<tasks::CommandRequest>(const TaskRequest&, const tools::Place& place,
                                                      domain::TaskId id)>
        task_of;
    std::filesystem::path workspace_dir;  // Where a run works unless told otherwise.
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

    // Serves all agents from now on. Whoever calls it runs the loop.
    void start();
    // Ends what is going on, in order, and calls `done` on the loop; see Scheduler::drain.
    void drain(std::function<void()> done);
    // Where capabilities are reached; before start().
    void set_callback_base_url(std::string url) { callback_base_url_ = std::move(url); }

    base::Result<RunResponse> run(const RunRequest& request, Observer& observer) override;

    base::Result<json::object> status(const std::string& agent) override;
    base::Result<std::vector<std::string>> agents() override;
    base::Result<std::vector<json::object>> agent_list() override;
    base::Result<json::object> state(const std::string& agent) override;
    base::Result<std::vector<domain::Task>> tasks(const std::string& agent,
                                                  std::int64_t limit) override;
    base::Result<std::vector<domain::Timer>> timers(const std::string& agent,
                                                    std::int64_t limit) override;
    base::Result<json::object> activity() override;
    base::Result<std::string> debug_prompt(const std::string& agent, const std::string& text,
                                           domain::TrustLevel trust) override;
    base::Result<json::object> model(const std::string& agent) override;
    base::Result<json::object> set_model(const std::string& agent,
                                         const std::string& model_ref) override;
    base::Result<json::object> clear_model(const std::string& agent) override;
    base::Result<std::vector<domain::TranscriptEntry>> transcript(const std::string& agent,
                                                                  std::int64_t limit) override;
    base::Result<std::vector<domain::Brief>> briefs(const std::string& agent,
                                                    std::int64_t limit) override;
    base::Result<std::vector<domain::Event>> events(const std::string& agent,
                                                    std::int64_t after_seq,
                                                    std::int64_t limit) override;
    base::Result<std::vector<domain::Event>> event_page(const std::string& agent,
                                                        const EventsQuery& query) override;
    base::Result<std::int64_t> newest_event(const std::string& agent) override;
    std::shared_ptr<void> watch(const std::string& agent,
                                std::function<void(std::int64_t newest_seq)> changed) override;

    base::Result<std::string> prompt(const std::string& agent, const std::string& text,
                                     const Caller& caller) override;
    base::Result<std::string> enqueue(const std::string& agent,
                                      const EnqueueRequest& request) override;
    base::Result<json::object> wake(const std::string& agent, const WakeRequest& request,
                                    const Caller& caller) override;
    base::Result<json::object> callback(const CallbackRequest& request) override;

    base::Result<domain::AgentIdentity> create_agent(
        const std::string& agent, const std::optional<std::string>& template_name,
        const Caller& caller) override;
    base::Status set_lifecycle(const std::string& agent, LifecycleAction action,
                               const Caller& caller) override;
    base::Result<json::object> abort_run(const std::string& agent,
                                         const std::optional<std::string>& run_id,
                                         const Caller& caller) override;
    base::Result<domain::Task> start_task(const std::string& agent, const TaskRequest& request,
                                          const Caller& caller) override;
    base::Result<domain::Timer> create_timer(const std::string& agent, const TimerRequest& request,
                                             const Caller& caller) override;
    base::Result<domain::Timer> cancel_timer(const std::string& agent, const std::string& timer,
                                             const Caller& caller) override;
    base::Result<json::object> external_trigger(const std::string& agent, bool rotate,
                                                const Caller& caller) override;
    base::Status revoke_trigger(const std::string& agent, const Caller& caller) override;
    base::Result<domain::WorkspaceEntry> attach_workspace(const std::string& agent,
                                                          const std::string& path,
                                                          const Caller& caller) override;
    base::Status exit_workspace(const std::string& agent, const Caller& caller) override;
    base::Status detach_workspace(const std::string& agent, const std::string& workspace_id,
                                  const Caller& caller) override;

    // Something waits in the agent's queue. Any thread.
    void wake_up(const domain::AgentId& agent) { wake_agent(agent); }

    // Asks the run that is going on to stop. From a task of the loop.
    void interrupt(const std::string& reason);

private:
    struct Run;
    struct Watcher;

    // One transaction, on disk when it returns; its events are published.
    base::Status write(const std::function<base::Status(events::Log&)>& work);
    base::Status read(const std::function<base::Status(store::Tx&)>& work);
    // On the loop, if the service is still there.
    void post(std::move_only_function<void()> task);
    void wake_agent(const domain::AgentId& agent);
    base::Status deliver(const domain::Message& message,
                         const std::optional<std::string>& dedupe_key, std::string& message_id);
    base::Result<json::object> take_hint(events::Log& log, domain::WakeHint hint);
    base::Status note_denial(const domain::AgentId& agent, const domain::TaskId& task,
                             const std::string& rule);
    void notify(const events::Committed& committed);

    base::Result<domain::AgentId> name_agent(const RunRequest& request);
    base::Result<json::object> put_model(const std::string& agent,
                                         const std::optional<std::string>& model_ref);
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
    base::Result<domain::Agent> make_agent(events::Log& log, const domain::AgentId& id,
                                           bool temporary, std::string_view admission);
    base::Status boot(const domain::AgentId& agent);

    // What an agent that found its queue empty may still wait for. A result may have come since it
    // looked.
    enum class Left { Nothing, Task, Result };
    Left left(const domain::AgentId& agent);
    bool has_active_tasks(const domain::AgentId& agent) const;
    // Takes up every task that an earlier process left.
    void recover_tasks();
    // Asks for the end of all of the agent's tasks.
    void order_stops(const domain::AgentId& agent);
    // Ends all of the agent's tasks, running the loop meanwhile if nobody else does. Those that do
    // not end in time are left to their supervisors.
    void stop_tasks(const domain::AgentId& agent);

    std::string token_of(const domain::ExternalTriggerId& id) const;
    std::string url_of(const domain::ExternalTriggerId& id) const;
    scheduler::TokenHash token_hash_of() const;

    LocalParts parts_;
    std::string callback_base_url_;
    identity::AgentLocks locks_;
    std::shared_ptr<LocalService*> self_;
    std::shared_ptr<void> subscription_;
    scheduler::Scheduler scheduler_;
    bool is_resident_{false};
    std::map<domain::AgentId, Run*> runs_;  // On the loop.
    std::function<void(const std::string&)> interrupt_;

    std::mutex watchers_mutex_;
    std::map<std::string, std::list<std::weak_ptr<Watcher>>> watchers_;
};

// NotFound for an agent that does not exist or is archived.
base::Result<domain::Agent> known_agent(store::Tx& tx, const domain::AgentId& id);

}  // namespace service
