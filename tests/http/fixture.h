// A server on a fake service, and a client that sends exactly the given bytes.
#pragma once

#include <condition_variable>
#include <mutex>

#include <gtest/gtest.h>

#include "base/os/files.h"
#include "exec/tools/schema_check.h"
#include "surfaces/http/server/server.h"

namespace test_http {

using http_surface::Limits;
using http_surface::Options;
using http_surface::Server;

inline constexpr std::string_view kNextBriefs = "a &b";  // Where the next part begins.

// Agents "main" and "other". Any thread.
class FakeService : public service::Service {
public:
    base::Result<service::RunHold> start_run(const service::RunRequest& request,
                                             const service::Caller& caller,
                                             service::RunEnded ended) override;
    base::Status interrupt_run(const std::string& run_id, const std::string& reason) override;
    base::Result<service::RunResponse> run_result(const std::string& run_id) override;
    base::Status finish_run(const std::string& run_id) override;
    base::Result<std::vector<service::RecentRun>> recent_runs(std::int64_t limit) override {
        TRY(note("main", fmt::format("recent_runs {}", limit)));
        return std::vector<service::RecentRun>{{.agent_id = "tmp_run_1", .text = "hi"}};
    }
    base::Result<domain::Task> stop_task(const std::string& agent, const std::string& task,
                                         const service::Caller&) override {
        TRY(note(agent, "stop_task " + agent + " " + task));
        return domain::Task{.id = {task}, .agent_id = {agent}};
    }
    base::Result<domain::Task> send_task_input(const std::string& agent, const std::string& task,
                                               const std::string& text,
                                               const service::Caller&) override {
        TRY(note(agent, "task_input " + agent + " " + task + " " + text));
        return domain::Task{.id = {task}, .agent_id = {agent}};
    }
    base::Result<json::object> task_output(const std::string& agent,
                                           const std::string& task) override {
        TRY(note(agent, "task_output " + agent + " " + task));
        return json::object{{"task_id", task}};
    }
    base::Result<domain::WorkspaceEntry> move_agent(const std::string& agent,
                                                    const std::string& path,
                                                    const service::Caller&) override {
        TRY(note(agent, "move " + agent + " " + path));
        return domain::WorkspaceEntry{.cwd = path};
    }
    base::Status delete_agent(const std::string& agent, const service::Caller&) override {
        TRY(note(agent, "delete " + agent));
        return {};
    }
    base::Result<json::object> status(const std::string& agent) override;
    base::Result<std::vector<std::string>> agents() override;
    base::Result<std::vector<json::object>> agent_list(const service::AgentsQuery& query) override;
    base::Result<json::object> state(const std::string& agent) override;
    base::Result<std::vector<domain::Task>> tasks(const std::string& agent,
                                                  std::int64_t limit) override;
    base::Result<service::Listed<domain::Timer>> timers(const std::string& agent,
                                                        const service::ListQuery& query) override;
    base::Result<json::object> activity() override;
    base::Result<std::string> debug_prompt(const std::string& agent, const std::string& text,
                                           domain::TrustLevel trust) override;
    base::Result<json::object> model(const std::string& agent) override;
    base::Result<json::object> set_model(const std::string& agent,
                                         const std::string& model_ref) override;
    base::Result<json::object> clear_model(const std::string& agent) override;
    base::Result<service::Listed<domain::TranscriptEntry>> transcript(
        const std::string& agent, const service::ListQuery& query) override;
    base::Result<service::Listed<domain::Brief>> briefs(const std::string& agent,
                                                        const service::ListQuery& query) override;
    base::Result<std::vector<domain::Event>> events(const std::string& agent,
                                                    std::int64_t after_seq,
                                                    std::int64_t limit) override;
    base::Result<std::vector<domain::Event>> event_page(const std::string& agent,
                                                        const service::EventsQuery& query) override;
    base::Result<std::int64_t> newest_event(const std::string& agent) override;
    std::shared_ptr<void> watch(const std::string& agent,
                                std::function<void(std::int64_t)> changed) override;
    std::shared_ptr<void> watch_deltas(const std::string& agent,
                                       std::function<void(const service::Delta&)> changed) override;
    base::Result<std::string> prompt(const std::string& agent, const std::string& text,
                                     const service::Caller& caller) override;
    base::Result<std::string> enqueue(const std::string& agent,
                                      const service::EnqueueRequest& request) override;
    base::Result<json::object> wake(const std::string& agent, const service::WakeRequest& request,
                                    const service::Caller& caller) override;
    base::Result<json::object> callback(const service::CallbackRequest& request) override;
    base::Result<domain::AgentIdentity> create_agent(
        const std::string& agent, const std::optional<std::string>& template_name,
        const service::Caller& caller) override;
    base::Result<std::vector<json::object>> templates() override;
    base::Result<std::vector<json::object>> skills(const std::string& agent) override;
    base::Result<domain::MemoryHits> search_memory(const std::string& agent,
                                                   const domain::MemoryQuery& query) override {
        TRY(note(agent, fmt::format("search_memory {} {} {} {}", agent, query.query, query.limit,
                                    query.include_all_workspaces)));
        return domain::MemoryHits{.query = query.query, .results = {{.source_ref = "brief:b1"}}};
    }
    base::Result<domain::MemoryDocument> memory_document(const std::string& agent,
                                                         const std::string& source_ref,
                                                         std::int64_t max_chars) override {
        TRY(note(agent, fmt::format("memory_document {} {} {}", agent, source_ref, max_chars)));
        return domain::MemoryDocument{.source_ref = source_ref, .content = "text"};
    }
    base::Result<domain::RecordHits> search_records(const domain::RecordQuery& query) override {
        TRY(note("main",
                 fmt::format("search {} {} {} {}", query.query, query.agent.value_or("all"),
                             query.since ? base::to_text(*query.since) : "always", query.limit)));
        return domain::RecordHits{.query = query.query, .results = {{.agent_id = "main"}}};
    }
    base::Result<json::object> skill(const std::string& agent, const std::string& name) override;
    base::Result<std::string> install_skill(const std::string& agent,
                                            const service::SkillInstall& request,
                                            const service::Caller& caller) override;
    base::Result<std::string> uninstall_skill(const std::string& agent, const std::string& name,
                                              const service::Caller& caller) override;
    base::Status set_lifecycle(const std::string& agent, service::LifecycleAction action,
                               const service::Caller& caller) override;
    base::Result<json::object> abort_run(const std::string& agent,
                                         const std::optional<std::string>& run_id,
                                         const service::Caller& caller) override;
    base::Result<json::object> compact_conversation(const std::string& agent,
                                                    const service::Caller& caller) override;
    base::Result<service::Undone> undo(const std::string& agent,
                                       const service::UndoRequest& request,
                                       const service::Caller& caller) override;
    base::Result<domain::Task> start_task(const std::string& agent,
                                          const service::TaskRequest& request,
                                          const service::Caller& caller) override;
    base::Result<service::WorkItemsPage> work_items(const std::string& agent,
                                                    const service::WorkItemsQuery& query) override;
    base::Result<json::object> work_item(const std::string& agent, const std::string& id) override;
    base::Result<domain::WorkItem> create_work_item(const std::string& agent,
                                                    const service::WorkItemRequest& request,
                                                    const service::Caller& caller) override;
    base::Result<json::object> change_work_item(const std::string& agent, const std::string& id,
                                                const service::WorkItemChange& change,
                                                const service::Caller& caller) override;
    base::Result<domain::Timer> create_timer(const std::string& agent,
                                             const service::TimerRequest& request,
                                             const service::Caller& caller) override;
    base::Result<domain::Timer> cancel_timer(const std::string& agent, const std::string& timer,
                                             const service::Caller& caller) override;
    base::Result<json::object> external_trigger(const std::string& agent, bool rotate,
                                                const service::Caller& caller) override;
    base::Status revoke_trigger(const std::string& agent, const service::Caller& caller) override;
    base::Result<service::WebhookDelivered> deliver_webhook(
        const service::WebhookDelivery& delivery) override;
    base::Result<service::WebhookView> create_webhook(const std::string& agent,
                                                      const service::WebhookRequest& request,
                                                      const service::Caller& caller) override;
    base::Result<std::vector<service::WebhookView>> webhooks(const std::string& agent) override;
    base::Result<service::WebhookView> rotate_webhook(const std::string& agent,
                                                      const std::string& webhook,
                                                      const std::optional<std::string>& secret,
                                                      const service::Caller& caller) override;
    base::Result<service::WebhookView> revoke_webhook(const std::string& agent,
                                                      const std::string& webhook,
                                                      const service::Caller& caller) override;
    base::Result<domain::OperatorBinding> bind_operator(
        const std::string& agent, const service::OperatorBindingRequest& request,
        const service::Caller& caller) override;
    base::Result<std::vector<domain::OperatorBinding>> operator_bindings(
        const std::string& agent) override;
    base::Result<domain::OperatorBinding> revoke_operator_binding(
        const std::string& agent, const std::string& binding,
        const service::Caller& caller) override;
    base::Result<std::string> operator_ingress(const std::string& agent,
                                               const service::OperatorIngressRequest& request,
                                               const service::Caller& caller) override;
    base::Result<domain::WorkspaceEntry> attach_workspace(const std::string& agent,
                                                          const std::string& path,
                                                          const service::Caller& caller) override;
    base::Status exit_workspace(const std::string& agent, const service::Caller& caller) override;
    base::Status detach_workspace(const std::string& agent, const std::string& workspace_id,
                                  const service::Caller& caller) override;

    // Adds events to the agent and notifies its watchers, as a commit does.
    void add_events(const std::string& agent, int count, std::size_t payload_bytes = 0);
    // Forgets all events up to and including `seq`.
    void forget_events(const std::string& agent, std::int64_t seq);
    std::size_t watchers();
    // Reports text of the agent's model to those who watch deltas.
    void add_delta(const std::string& agent, const std::string& text);
    std::size_t delta_watchers();
    // The last run is over, as the service reports it.
    void end_run(const base::Status& status = {});
    // Whether a client holds the lease of the last run.
    bool run_is_held();
    std::optional<service::RunRequest> last_run();
    std::size_t page_reads() const { return page_reads_; }

    // Every call whose first word is in `calls()`: "prompt main hello".
    std::vector<std::string> calls();
    std::optional<service::EnqueueRequest> last_enqueue();
    std::optional<service::CallbackRequest> last_callback();
    std::optional<service::WebhookDelivery> last_webhook();
    std::optional<service::Caller> last_caller();

    // While held, status() of any agent does not return. Says how many calls wait.
    void hold();
    void release();
    bool wait_for_held(std::size_t count);
    // What the next call fails with.
    void fail_next(base::Error error);

private:
    base::Status note(const std::string& agent, const std::string& call,
                      const service::Caller& caller = {});
    base::Status known(const std::string& agent);

    std::mutex mutex_;
    std::condition_variable changed_;
    std::map<std::string, std::vector<domain::Event>> events_;
    std::multimap<std::string, std::weak_ptr<std::function<void(std::int64_t)>>> watchers_;
    std::multimap<std::string, std::weak_ptr<std::function<void(const service::Delta&)>>>
        delta_watchers_;
    std::optional<service::RunRequest> run_;
    service::RunEnded run_ended_;
    std::weak_ptr<void> lease_;
    std::vector<std::string> calls_;
    std::optional<service::EnqueueRequest> enqueued_;
    std::optional<service::CallbackRequest> called_back_;
    std::optional<service::WebhookDelivery> webhook_;
    std::optional<service::Caller> caller_;
    std::optional<base::Error> failure_;
    std::atomic<std::size_t> page_reads_{0};
    bool held_{false};
    std::size_t waiting_{0};
};

class FakeSettings : public service::Settings {
public:
    base::Result<json::value> get(const std::string&) override;
    base::Result<json::value> set(const std::string&, const std::string&) override;
    base::Status unset(const std::string&) override;
    base::Result<json::object> list() override;
    std::vector<service::SettingDescription> schema() override;
    base::Result<std::vector<service::ModelAvailability>> models() override;
    base::Result<service::ProviderView> set_provider(const service::ProviderChange&) override;
    base::Result<service::ProviderView> provider(const std::string&) override;
    base::Result<std::vector<service::ProviderView>> providers() override;
    base::Result<bool> remove_provider(const std::string&) override;
    base::Result<service::CredentialView> set_credential(const std::string&, const std::string&,
                                                         const std::string&) override;
    base::Result<std::vector<service::CredentialView>> credentials() override;
    base::Result<service::CredentialView> remove_credential(const std::string&) override;
    base::Result<service::LoginResult> login(const service::LoginRequest&) override;
    base::Result<json::object> doctor(bool) override;
    base::Result<json::object> doctor_provider(const std::string&, bool) override;
};

struct Received {
    int status{0};                               // 0: the connection ended first.
    std::map<std::string, std::string> headers;  // Names in lower case.
    std::string body;

    json::value json() const;
};

// One connection, blocking, with a bound on every wait.
class Client {
public:
    static Client tcp(const std::string& address);
    static Client unix_socket(const std::filesystem::path& path);

    bool send(std::string_view bytes);
    // A whole response; of HEAD without a body.
    Received receive(bool head = false);
    Received ask(std::string_view bytes) {
        send(bytes);
        return receive();
    }
    // The bytes up to and including `mark`; short when the connection ends first.
    std::string read_until(std::string_view mark);
    // True when the server has closed.
    bool is_closed();
    void finish_sending();
    int fd() const { return fd_.get(); }

private:
    explicit Client(base::Fd fd) : fd_(std::move(fd)) {}
    bool fill();

    base::Fd fd_;
    std::string buffer_;
};

// "GET /path HTTP/1.1" with a Host, further headers and a body with its length.
std::string request(std::string_view method, std::string_view path,
                    std::vector<std::pair<std::string, std::string>> headers = {},
                    std::string_view body = {});
std::string get(std::string_view path);
std::string post(std::string_view path, std::string_view json);

class ServerTest : public testing::Test {
protected:
    ServerTest();
    ~ServerTest() override;

    // Listens on a free port of 127.0.0.1 and on a socket in a folder of its own.
    void start(Options options = {});
    Client tcp() const { return Client::tcp(server_->tcp_addresses().at(0)); }
    Client local() const { return Client::unix_socket(socket_path()); }
    std::filesystem::path socket_path() const { return folder_ / "holon.sock"; }

    std::filesystem::path folder_;
    FakeService service_;
    FakeSettings settings_;
    base::SystemClock clock_;
    service::Gate* gate_{nullptr};  // Of the server that start() makes.
    service::McpLive* mcp_{nullptr};
    std::atomic<int> shutdowns_{0};
    std::unique_ptr<Server> server_;
};

}  // namespace test_http
