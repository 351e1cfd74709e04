// The service in this very process, on an open store: reads, deliveries and control of agents
// (agents/), and runs (runs.h).
//
// One scheduler serves all agents for as long as the service lives. The program runs the loop on a
// thread of its own: with start() all agents are served, without it only those that are woken.
#pragma once

#include <atomic>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>

#include "agent/homes/homes.h"
#include "agent/identity/agent_lock.h"
#include "flow/supervision/child_tasks.h"
#include "service/local/agents/control.h"
#include "service/local/agents/deliveries.h"
#include "service/local/agents/deltas.h"
#include "service/local/agents/health.h"
#include "service/local/agents/reads.h"
#include "service/local/agents/skills.h"
#include "service/local/agents/work.h"
#include "service/local/operators/operators.h"
#include "service/local/runs.h"
#include "service/local/search/searches.h"
#include "service/local/undo/undo.h"
#include "service/local/webhooks/webhooks.h"
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
    // Where a run works when its request names no folder.
    std::filesystem::path workspace_dir;
    std::string default_agent{"main"};
    scheduler::Limits limits{};
    std::size_t concurrent_turns_max{scheduler::kConcurrentTurnsDefault};
    // What the tokens of capabilities are made from; without it there are none.
    std::string trigger_key{};
    std::string callback_base_url{"http://127.0.0.1:7878"};
    WebhookBounds webhook_bounds{};
    // Where homes are built before they are moved into place; see homes::Homes.
    std::filesystem::path holon_home{};
    skills::Fetch fetch{};
    std::string github_api{skills::kGithubApi};
    supervision::CleanWorktree clean_worktree{};
};

class LocalService final : public Service {
public:
    explicit LocalService(LocalParts parts);
    ~LocalService() override;

    // A process died while it executed a step of each of these agents: counts that for them, before
    // anything of them is loaded. Blocks; before start() and run().
    void count_crashes(const std::vector<std::string>& agents);
    // Writes the builtin templates, removes what interrupted creations of agents have left, and
    // finishes undos that were cut off. The first call does it. Blocks.
    void prepare_homes() {
        control_.prepare_homes();
        undo_.finish_all();
    }
    // Serves all agents from now on. The caller runs the loop. `ready` is called on the loop when
    // the scheduler has begun.
    void start(std::function<void()> ready = {});
    // Ends the turns that are open, in order, and calls `done` on the loop; see Scheduler::drain.
    void drain(std::function<void()> done);
    // To all that watch deltas, of whichever agent. Any thread.
    void announce(const Delta& delta) { deltas_.publish_to_all(delta); }
    // Where capabilities are reached; before start().
    void set_callback_base_url(std::string url) { capabilities_.set_base_url(std::move(url)); }

    base::Result<RunHold> start_run(const RunRequest& request, const Caller& caller,
                                    RunEnded ended) override {
        return runs_.start(request, caller, is_resident_, std::move(ended));
    }
    base::Status interrupt_run(const std::string& run_id, const std::string& reason) override {
        return runs_.interrupt(run_id, reason);
    }
    base::Result<RunResponse> run_result(const std::string& run_id) override {
        return runs_.result(run_id);
    }
    base::Status finish_run(const std::string& run_id) override { return runs_.finish(run_id); }
    base::Result<std::vector<RecentRun>> recent_runs(std::int64_t limit) override {
        return runs_.recent(limit);
    }

    base::Result<json::object> status(const std::string& agent) override {
        return reads_.status(agent);
    }
    base::Result<std::vector<std::string>> agents() override { return reads_.agents(); }
    base::Result<std::vector<json::object>> agent_list(const AgentsQuery& query) override {
        return reads_.agent_list(query);
    }
    base::Result<json::object> state(const std::string& agent) override {
        return reads_.state(agent);
    }
    base::Result<std::vector<domain::Task>> tasks(const std::string& agent,
                                                  std::int64_t limit) override {
        return reads_.tasks(agent, limit);
    }
    base::Result<Listed<domain::Timer>> timers(const std::string& agent,
                                               const ListQuery& query) override {
        return reads_.timers(agent, query);
    }
    base::Result<json::object> activity() override { return reads_.activity(); }
    base::Result<domain::MemoryHits> search_memory(const std::string& agent,
                                                   const domain::MemoryQuery& query) override {
        return searches_.memory(agent, query);
    }
    base::Result<domain::MemoryDocument> memory_document(const std::string& agent,
                                                         const std::string& source_ref,
                                                         std::int64_t max_chars) override {
        return searches_.document(agent, source_ref, max_chars);
    }
    base::Result<domain::RecordHits> search_records(const domain::RecordQuery& query) override {
        return searches_.records(query);
    }
    base::Status ready() override { return health_.check(); }
    // What a check of the database found; empty: it is sound. Any thread.
    void report_damage(std::string damage) { health_.report_damage(std::move(damage)); }
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
    base::Result<Listed<domain::TranscriptEntry>> transcript(const std::string& agent,
                                                             const ListQuery& query) override {
        return reads_.transcript(agent, query);
    }
    base::Result<Listed<domain::Brief>> briefs(const std::string& agent,
                                               const ListQuery& query) override {
        return reads_.briefs(agent, query);
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
    std::shared_ptr<void> watch_deltas(const std::string& agent,
                                       std::function<void(const Delta&)> changed) override {
        auto token = deltas_.watch(agent, std::move(changed));
        transactions_.post([this, id = domain::AgentId{agent}] { scheduler_.watch_output(id); });
        return token;
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
    base::Result<std::vector<json::object>> templates() override { return control_.templates(); }
    base::Result<std::vector<json::object>> skills(const std::string& agent) override {
        return skills_.list(agent);
    }
    base::Result<json::object> skill(const std::string& agent, const std::string& name) override {
        return skills_.show(agent, name);
    }
    base::Result<std::string> install_skill(const std::string& agent, const SkillInstall& request,
                                            const Caller& caller) override {
        return skills_.install(agent, request, caller);
    }
    base::Result<std::string> uninstall_skill(const std::string& agent, const std::string& name,
                                              const Caller& caller) override {
        return skills_.uninstall(agent, name, caller);
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
    base::Result<json::object> compact_conversation(const std::string& agent,
                                                    const Caller& caller) override {
        return control_.compact_conversation(agent, caller);
    }
    base::Result<domain::Task> start_task(const std::string& agent, const TaskRequest& request,
                                          const Caller& caller) override {
        return control_.start_task(agent, request, caller);
    }
    base::Result<domain::Task> stop_task(const std::string& agent, const std::string& task,
                                         const Caller& caller) override {
        return control_.stop_task(agent, task, caller);
    }
    base::Result<domain::Task> send_task_input(const std::string& agent, const std::string& task,
                                               const std::string& text,
                                               const Caller& caller) override {
        return control_.send_task_input(agent, task, text, caller);
    }
    base::Result<json::object> task_output(const std::string& agent,
                                           const std::string& task) override {
        return control_.task_output(agent, task);
    }
    base::Result<domain::WorkspaceEntry> move_agent(const std::string& agent,
                                                    const std::string& path,
                                                    const Caller& caller) override {
        return control_.move_agent(agent, path, caller);
    }
    base::Status delete_agent(const std::string& agent, const Caller& caller) override {
        TRY(runs_.remove(agent, caller));
        searches_.forget(agent);
        return {};
    }
    base::Result<WorkItemsPage> work_items(const std::string& agent,
                                           const WorkItemsQuery& query) override {
        return work_.page(agent, query);
    }
    base::Result<json::object> work_item(const std::string& agent, const std::string& id) override {
        return work_.show(agent, id);
    }
    base::Result<domain::WorkItem> create_work_item(const std::string& agent,
                                                    const WorkItemRequest& request,
                                                    const Caller& caller) override {
        return work_.create(agent, request, caller);
    }
    base::Result<json::object> change_work_item(const std::string& agent, const std::string& id,
                                                const WorkItemChange& change,
                                                const Caller& caller) override {
        return work_.change(agent, id, change, caller);
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
    base::Result<WebhookDelivered> deliver_webhook(const WebhookDelivery& delivery) override {
        return webhooks_.deliver(delivery);
    }
    base::Result<WebhookView> create_webhook(const std::string& agent,
                                             const WebhookRequest& request,
                                             const Caller& caller) override {
        return webhooks_.create(agent, request, caller);
    }
    base::Result<std::vector<WebhookView>> webhooks(const std::string& agent) override {
        return webhooks_.list(agent);
    }
    base::Result<WebhookView> rotate_webhook(const std::string& agent, const std::string& webhook,
                                             const std::optional<std::string>& secret,
                                             const Caller& caller) override {
        return webhooks_.rotate(agent, webhook, secret, caller);
    }
    base::Result<WebhookView> revoke_webhook(const std::string& agent, const std::string& webhook,
                                             const Caller& caller) override {
        return webhooks_.revoke(agent, webhook, caller);
    }
    base::Result<domain::OperatorBinding> bind_operator(const std::string& agent,
                                                        const OperatorBindingRequest& request,
                                                        const Caller& caller) override {
        return operators_.bind(agent, request, caller);
    }
    base::Result<std::vector<domain::OperatorBinding>> operator_bindings(
        const std::string& agent) override {
        return operators_.list(agent);
    }
    base::Result<domain::OperatorBinding> revoke_operator_binding(const std::string& agent,
                                                                  const std::string& binding,
                                                                  const Caller& caller) override {
        return operators_.revoke(agent, binding, caller);
    }
    base::Result<std::string> operator_ingress(const std::string& agent,
                                               const OperatorIngressRequest& request,
                                               const Caller& caller) override {
        return operators_.receive(agent, request, caller);
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
    base::Result<Undone> undo(const std::string& agent, const UndoRequest& request,
                              const Caller& caller) override {
        return undo_.undo(agent, request, caller);
    }

    // Makes the home of an agent that is about to be stored, from a template. Blocks; any thread.
    base::Status make_home(const domain::AgentId& agent, const std::string& template_name);

    // Something waits in the agent's queue. Any thread.
    void wake_up(const domain::AgentId& agent);

private:
    // Passes the reports of the scheduler and of tasks on to runs and watchers.
    void connect();

    LocalParts parts_;
    Capabilities capabilities_;
    identity::AgentLocks locks_;
    Transactions transactions_;
    homes::Homes homes_;
    Health health_;
    scheduler::Scheduler scheduler_;
    supervision::ChildTasks child_tasks_;
    LocalReads reads_;
    LocalSearches searches_;
    LocalControl control_;
    LocalSkills skills_;
    LocalWork work_;
    LocalDeliveries deliveries_;
    LocalUndo undo_;
    LocalWebhooks webhooks_;
    LocalOperators operators_;
    LocalRuns runs_;
    Deltas deltas_;
    std::atomic<bool> is_resident_{false};
};

}  // namespace service
