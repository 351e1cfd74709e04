// The service of a runtime in another process, over its control surface.
#pragma once

#include <functional>
#include <string>

#include "service/remote/client.h"
#include "service/service.h"

namespace service {

struct RemoteParts {
    Address address;
    // The event stream of a watch broke; it is being tried again. On a thread of the watch.
    std::function<void(const base::Error&)> on_lost{};
};

// The caller's rights follow from the connection to the daemon, so the Caller that is passed here
// is ignored.
class RemoteService final : public Service {
public:
    explicit RemoteService(RemoteParts parts);

    base::Result<RunHold> start_run(const RunRequest& request, const Caller& caller,
                                    RunEnded ended) override;
    base::Status interrupt_run(const std::string& run_id, const std::string& reason) override;
    base::Result<RunResponse> run_result(const std::string& run_id) override;
    base::Status finish_run(const std::string& run_id) override;
    base::Result<std::vector<RecentRun>> recent_runs(std::int64_t limit) override;
    base::Result<json::object> status(const std::string& agent) override;
    base::Result<std::vector<std::string>> agents() override;
    base::Result<std::vector<json::object>> agent_list(const AgentsQuery& query) override;
    base::Result<json::object> state(const std::string& agent) override;
    base::Result<std::vector<domain::Task>> tasks(const std::string& agent,
                                                  std::int64_t limit) override;
    base::Result<Listed<domain::Timer>> timers(const std::string& agent,
                                               const ListQuery& query) override;
    base::Result<json::object> activity() override;
    base::Result<std::string> debug_prompt(const std::string& agent, const std::string& text,
                                           domain::TrustLevel trust) override;
    base::Result<json::object> model(const std::string& agent) override;
    base::Result<json::object> set_model(const std::string& agent,
                                         const std::string& model_ref) override;
    base::Result<json::object> clear_model(const std::string& agent) override;
    base::Result<Listed<domain::TranscriptEntry>> transcript(const std::string& agent,
                                                             const ListQuery& query) override;
    base::Result<Listed<domain::Brief>> briefs(const std::string& agent,
                                               const ListQuery& query) override;
    base::Result<std::vector<domain::Event>> events(const std::string& agent,
                                                    std::int64_t after_seq,
                                                    std::int64_t limit) override;
    base::Result<std::vector<domain::Event>> event_page(const std::string& agent,
                                                        const EventsQuery& query) override;
    base::Result<std::int64_t> newest_event(const std::string& agent) override;
    std::shared_ptr<void> watch(const std::string& agent,
                                std::function<void(std::int64_t)> changed) override;
    std::shared_ptr<void> watch_deltas(const std::string& agent,
                                       std::function<void(const Delta&)> changed) override;

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
    base::Result<domain::Task> stop_task(const std::string& agent, const std::string& task,
                                         const Caller& caller) override;
    base::Result<domain::Task> send_task_input(const std::string& agent, const std::string& task,
                                               const std::string& text,
                                               const Caller& caller) override;
    base::Result<json::object> task_output(const std::string& agent,
                                           const std::string& task) override;
    base::Result<domain::WorkspaceEntry> move_agent(const std::string& agent,
                                                    const std::string& path,
                                                    const Caller& caller) override;
    base::Status delete_agent(const std::string& agent, const Caller& caller) override;
    base::Result<std::vector<json::object>> templates() override;
    base::Result<std::vector<json::object>> skills(const std::string& agent) override;
    base::Result<domain::MemoryHits> search_memory(const std::string& agent,
                                                   const domain::MemoryQuery& query) override;
    base::Result<domain::MemoryDocument> memory_document(const std::string& agent,
                                                         const std::string& source_ref,
                                                         std::int64_t max_chars) override;
    base::Result<domain::RecordHits> search_records(const domain::RecordQuery& query) override;
    base::Result<json::object> skill(const std::string& agent, const std::string& name) override;
    base::Result<std::string> install_skill(const std::string& agent, const SkillInstall& request,
                                            const Caller& caller) override;
    base::Result<std::string> uninstall_skill(const std::string& agent, const std::string& name,
                                              const Caller& caller) override;
    base::Status set_lifecycle(const std::string& agent, LifecycleAction action,
                               const Caller& caller) override;
    base::Result<json::object> abort_run(const std::string& agent,
                                         const std::optional<std::string>& run_id,
                                         const Caller& caller) override;
    base::Result<json::object> compact_conversation(const std::string& agent,
                                                    const Caller& caller) override;
    base::Result<domain::Task> start_task(const std::string& agent, const TaskRequest& request,
                                          const Caller& caller) override;
    base::Result<WorkItemsPage> work_items(const std::string& agent,
                                           const WorkItemsQuery& query) override;
    base::Result<json::object> work_item(const std::string& agent, const std::string& id) override;
    base::Result<domain::WorkItem> create_work_item(const std::string& agent,
                                                    const WorkItemRequest& request,
                                                    const Caller& caller) override;
    base::Result<json::object> change_work_item(const std::string& agent, const std::string& id,
                                                const WorkItemChange& change,
                                                const Caller& caller) override;
    base::Result<domain::Timer> create_timer(const std::string& agent, const TimerRequest& request,
                                             const Caller& caller) override;
    base::Result<domain::Timer> cancel_timer(const std::string& agent, const std::string& timer,
                                             const Caller& caller) override;
    base::Result<json::object> external_trigger(const std::string& agent, bool rotate,
                                                const Caller& caller) override;
    base::Status revoke_trigger(const std::string& agent, const Caller& caller) override;
    base::Result<WebhookDelivered> deliver_webhook(const WebhookDelivery& delivery) override;
    base::Result<WebhookView> create_webhook(const std::string& agent,
                                             const WebhookRequest& request,
                                             const Caller& caller) override;
    base::Result<std::vector<WebhookView>> webhooks(const std::string& agent) override;
    base::Result<WebhookView> rotate_webhook(const std::string& agent, const std::string& webhook,
                                             const std::optional<std::string>& secret,
                                             const Caller& caller) override;
    base::Result<WebhookView> revoke_webhook(const std::string& agent, const std::string& webhook,
                                             const Caller& caller) override;
    base::Result<domain::OperatorBinding> bind_operator(const std::string& agent,
                                                        const OperatorBindingRequest& request,
                                                        const Caller& caller) override;
    base::Result<std::vector<domain::OperatorBinding>> operator_bindings(
        const std::string& agent) override;
    base::Result<domain::OperatorBinding> revoke_operator_binding(const std::string& agent,
                                                                  const std::string& binding,
                                                                  const Caller& caller) override;
    base::Result<std::string> operator_ingress(const std::string& agent,
                                               const OperatorIngressRequest& request,
                                               const Caller& caller) override;
    base::Result<domain::WorkspaceEntry> attach_workspace(const std::string& agent,
                                                          const std::string& path,
                                                          const Caller& caller) override;
    base::Status exit_workspace(const std::string& agent, const Caller& caller) override;
    base::Result<Undone> undo(const std::string& agent, const UndoRequest& request,
                              const Caller& caller) override;
    base::Status detach_workspace(const std::string& agent, const std::string& workspace_id,
                                  const Caller& caller) override;

private:
    base::Result<json::object> get_object(const std::string& path);
    base::Result<json::object> control(const std::string& agent, std::string_view action,
                                       const json::object& body,
                                       std::chrono::milliseconds timeout = kAnswerTimeout);

    Client client_;
    std::function<void(const base::Error&)> on_lost_;
};

}  // namespace service
