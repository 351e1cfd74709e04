// A service that serves nothing: fakes derive from it and serve what their test is about.
#pragma once

#include "service/service.h"

namespace test_support {

class NoService : public service::Service {
public:
    using Json = base::Result<json::object>;
    using Caller = service::Caller;

    base::Result<service::RunHold> start_run(const service::RunRequest&, const Caller&,
                                             service::RunEnded) override {
        return no();
    }
    base::Status interrupt_run(const std::string&, const std::string&) override { return no(); }
    base::Result<service::RunResponse> run_result(const std::string&) override { return no(); }
    base::Status finish_run(const std::string&) override { return no(); }
    base::Result<std::vector<service::RecentRun>> recent_runs(std::int64_t) override {
        return no();
    }
    Json status(const std::string&) override { return no(); }
    base::Result<std::vector<std::string>> agents() override { return no(); }
    base::Result<std::vector<json::object>> agent_list(const service::AgentsQuery&) override {
        return no();
    }
    Json state(const std::string&) override { return no(); }
    base::Result<std::vector<domain::Task>> tasks(const std::string&, std::int64_t) override {
        return no();
    }
    base::Result<service::Listed<domain::Timer>> timers(const std::string&,
                                                        const service::ListQuery&) override {
        return no();
    }
    Json activity() override { return no(); }
    base::Result<domain::MemoryHits> search_memory(const std::string&,
                                                   const domain::MemoryQuery&) override {
        return no();
    }
    base::Result<domain::MemoryDocument> memory_document(const std::string&, const std::string&,
                                                         std::int64_t) override {
        return no();
    }
    base::Result<domain::RecordHits> search_records(const domain::RecordQuery&) override {
        return no();
    }
    base::Result<domain::Task> stop_task(const std::string&, const std::string&,
                                         const Caller&) override {
        return no();
    }
    base::Result<domain::Task> send_task_input(const std::string&, const std::string&,
                                               const std::string&, const Caller&) override {
        return no();
    }
    Json task_output(const std::string&, const std::string&) override { return no(); }
    base::Result<domain::WorkspaceEntry> move_agent(const std::string&, const std::string&,
                                                    const Caller&) override {
        return no();
    }
    base::Status delete_agent(const std::string&, const Caller&) override { return no(); }
    base::Result<std::string> debug_prompt(const std::string&, const std::string&,
                                           domain::TrustLevel) override {
        return no();
    }
    Json model(const std::string&) override { return no(); }
    Json set_model(const std::string&, const std::string&) override { return no(); }
    Json clear_model(const std::string&) override { return no(); }
    base::Result<service::Listed<domain::TranscriptEntry>> transcript(
        const std::string&, const service::ListQuery&) override {
        return no();
    }
    base::Result<service::Listed<domain::Brief>> briefs(const std::string&,
                                                        const service::ListQuery&) override {
        return no();
    }
    base::Result<std::vector<domain::Event>> events(const std::string&, std::int64_t,
                                                    std::int64_t) override {
        return no();
    }
    base::Result<std::vector<domain::Event>> event_page(const std::string&,
                                                        const service::EventsQuery&) override {
        return no();
    }
    base::Result<std::int64_t> newest_event(const std::string&) override { return no(); }
    std::shared_ptr<void> watch(const std::string&, std::function<void(std::int64_t)>) override {
        return nullptr;
    }
    std::shared_ptr<void> watch_deltas(const std::string&,
                                       std::function<void(const service::Delta&)>) override {
        return nullptr;
    }
    base::Result<std::string> prompt(const std::string&, const std::string&,
                                     const Caller&) override {
        return no();
    }
    base::Result<std::string> enqueue(const std::string&, const service::EnqueueRequest&) override {
        return no();
    }
    Json wake(const std::string&, const service::WakeRequest&, const Caller&) override {
        return no();
    }
    Json callback(const service::CallbackRequest&) override { return no(); }
    base::Result<domain::AgentIdentity> create_agent(const std::string&,
                                                     const std::optional<std::string>&,
                                                     const Caller&) override {
        return no();
    }
    base::Result<std::vector<json::object>> templates() override { return no(); }
    base::Result<std::vector<json::object>> skills(const std::string&) override { return no(); }
    Json skill(const std::string&, const std::string&) override { return no(); }
    base::Result<std::string> install_skill(const std::string&, const service::SkillInstall&,
                                            const Caller&) override {
        return no();
    }
    base::Result<std::string> uninstall_skill(const std::string&, const std::string&,
                                              const Caller&) override {
        return no();
    }
    base::Status set_lifecycle(const std::string&, service::LifecycleAction,
                               const Caller&) override {
        return no();
    }
    Json abort_run(const std::string&, const std::optional<std::string>&, const Caller&) override {
        return no();
    }
    Json compact_conversation(const std::string&, const Caller&) override { return no(); }
    base::Result<domain::Task> start_task(const std::string&, const service::TaskRequest&,
                                          const Caller&) override {
        return no();
    }
    base::Result<service::WorkItemsPage> work_items(const std::string&,
                                                    const service::WorkItemsQuery&) override {
        return no();
    }
    base::Result<json::object> work_item(const std::string&, const std::string&) override {
        return no();
    }
    base::Result<domain::WorkItem> create_work_item(const std::string&,
                                                    const service::WorkItemRequest&,
                                                    const service::Caller&) override {
        return no();
    }
    base::Result<json::object> change_work_item(const std::string&, const std::string&,
                                                const service::WorkItemChange&,
                                                const service::Caller&) override {
        return no();
    }
    base::Result<domain::Timer> create_timer(const std::string&, const service::TimerRequest&,
                                             const Caller&) override {
        return no();
    }
    base::Result<domain::Timer> cancel_timer(const std::string&, const std::string&,
                                             const Caller&) override {
        return no();
    }
    Json external_trigger(const std::string&, bool, const Caller&) override { return no(); }
    base::Status revoke_trigger(const std::string&, const Caller&) override { return no(); }
    base::Result<service::WebhookDelivered> deliver_webhook(
        const service::WebhookDelivery&) override {
        return no();
    }
    base::Result<service::WebhookView> create_webhook(const std::string&,
                                                      const service::WebhookRequest&,
                                                      const Caller&) override {
        return no();
    }
    base::Result<std::vector<service::WebhookView>> webhooks(const std::string&) override {
        return no();
    }
    base::Result<service::WebhookView> rotate_webhook(const std::string&, const std::string&,
                                                      const std::optional<std::string>&,
                                                      const Caller&) override {
        return no();
    }
    base::Result<service::WebhookView> revoke_webhook(const std::string&, const std::string&,
                                                      const Caller&) override {
        return no();
    }
    base::Result<domain::OperatorBinding> bind_operator(const std::string&,
                                                        const service::OperatorBindingRequest&,
                                                        const Caller&) override {
        return no();
    }
    base::Result<std::vector<domain::OperatorBinding>> operator_bindings(
        const std::string&) override {
        return no();
    }
    base::Result<domain::OperatorBinding> revoke_operator_binding(const std::string&,
                                                                  const std::string&,
                                                                  const Caller&) override {
        return no();
    }
    base::Result<std::string> operator_ingress(const std::string&,
                                               const service::OperatorIngressRequest&,
                                               const Caller&) override {
        return no();
    }
    base::Result<domain::WorkspaceEntry> attach_workspace(const std::string&, const std::string&,
                                                          const Caller&) override {
        return no();
    }
    base::Status exit_workspace(const std::string&, const Caller&) override { return no(); }
    base::Status detach_workspace(const std::string&, const std::string&, const Caller&) override {
        return no();
    }

private:
    static std::unexpected<base::Error> no() {
        return base::fail(base::ErrorCode::Unavailable, "the test does not serve that");
    }
};

}  // namespace test_support
