// What operators do to agents: make them, pause and stop them, end their turns, give them tasks,
// timers, triggers, models and workspaces. Each is on record and none of it is a message; the
// operations are those that service.h promises.
#pragma once

#include <functional>

#include "agent/homes/homes.h"
#include "agent/identity/views.h"
#include "exec/tasks/host.h"
#include "flow/scheduler/scheduler.h"
#include "flow/turn/runner.h"
#include "service/local/agents/capabilities.h"
#include "service/local/agents/transactions.h"
#include "service/service.h"

namespace service {

// A command that an operator starts at `place`, ready to run; InvalidInput for one that is not.
using TaskOf = std::function<base::Result<tasks::CommandRequest>(
    const TaskRequest&, const tools::ExecutionContext& place, domain::TaskId id)>;
// The full name of a model that can be asked.
using NameModel = std::function<base::Result<std::string>(const std::string& model_ref)>;

// Refuses those who were admitted without a credential.
base::Status check_operator(const Caller& caller);

// The references are the service's and outlive this. Any thread may call, but for boot().
class LocalControl {
public:
    struct Parts {
        Transactions& transactions;
        const turn::Parts& turn;  // Ids, and where agents live.
        tasks::Host& tasks;
        scheduler::Scheduler& scheduler;  // Used on the loop only.
        const identity::ModelFacts& models;
        const Capabilities& capabilities;
        const NameModel& name_model;
        const TaskOf& task_of;
        homes::Homes& homes;
        const std::string& default_agent;
    };
    explicit LocalControl(Parts parts) : parts_(parts) {}

    base::Result<json::object> set_model(const std::string& agent, const std::string& model_ref);
    base::Result<json::object> clear_model(const std::string& agent);
    // The model that is meant, in full; Refused when it cannot be asked.
    base::Result<std::string> name_model(const std::string& model_ref) const {
        return parts_.name_model(model_ref);
    }
    base::Result<domain::AgentIdentity> create_agent(
        const std::string& agent, const std::optional<std::string>& template_name,
        const Caller& caller);
    base::Result<std::vector<json::object>> templates();
    base::Status set_lifecycle(const std::string& agent, LifecycleAction action,
                               const Caller& caller);
    base::Result<json::object> abort_run(const std::string& agent,
                                         const std::optional<std::string>& run_id,
                                         const Caller& caller);
    base::Result<json::object> compact_conversation(const std::string& agent, const Caller& caller);
    base::Result<domain::Task> start_task(const std::string& agent, const TaskRequest& request,
                                          const Caller& caller);
    base::Result<domain::Task> stop_task(const std::string& agent, const std::string& task,
                                         const Caller& caller);
    base::Result<domain::Task> send_task_input(const std::string& agent, const std::string& task,
                                               const std::string& text, const Caller& caller);
    base::Result<json::object> task_output(const std::string& agent, const std::string& task);
    base::Result<domain::WorkspaceEntry> move_agent(const std::string& agent,
                                                    const std::string& path, const Caller& caller);
    base::Result<domain::Timer> create_timer(const std::string& agent, const TimerRequest& request,
                                             const Caller& caller);
    base::Result<domain::Timer> cancel_timer(const std::string& agent, const std::string& timer,
                                             const Caller& caller);
    base::Result<json::object> external_trigger(const std::string& agent, bool rotate,
                                                const Caller& caller);
    base::Status revoke_trigger(const std::string& agent, const Caller& caller);
    base::Result<domain::WorkspaceEntry> attach_workspace(const std::string& agent,
                                                          const std::string& path,
                                                          const Caller& caller);
    base::Status exit_workspace(const std::string& agent, const Caller& caller);
    base::Status detach_workspace(const std::string& agent, const std::string& workspace_id,
                                  const Caller& caller);

    // A new agent at its home, with its event and its trigger in `log`; storing it is left to the
    // caller's transaction.
    base::Result<domain::Agent> make_agent(events::Log& log, const domain::AgentId& id,
                                           bool temporary, std::string_view admission);
    // The home of a new agent, for the caller to keep when the agent is stored.
    base::Result<homes::Creation> make_home(const domain::AgentId& agent,
                                            const std::optional<std::string>& template_name);
    // Completes the agent's home. Safe to repeat.
    base::Status boot(const domain::AgentId& agent) const;
    // The same for the default agent only: homes of earlier versions lack its AGENTS.md.
    base::Status complete_default(const domain::AgentId& agent);
    void prepare_homes();
    // Asks for the end of all of the agent's tasks, on the loop.
    void order_stops(const domain::AgentId& agent);

private:
    base::Result<json::object> put_model(const std::string& agent,
                                         const std::optional<std::string>& model_ref);
    base::Status note_denial(const domain::AgentId& agent, const domain::TaskId& task,
                             const std::string& rule);

    Parts parts_;
};

}  // namespace service
