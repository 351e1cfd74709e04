#include "tests/http/fixture.h"

#include <cstring>

#include <arpa/inet.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/text.h"
#include "tests/support/eventually.h"

namespace test_http {
namespace {

constexpr int kWaitMs = test_support::kEventually.count();

domain::Event event(std::int64_t seq, std::size_t payload_bytes) {
    json::object data{{"message_id", fmt::format("message-{}", seq)},
                      {"trust", "trusted_operator"},
                      {"number", seq}};
    if (payload_bytes > 0) data["filler"] = std::string(payload_bytes, 'x');
    return {.id = {fmt::format("event-{}", seq)},
            .event_seq = seq,
            .created_at = base::from_micros(1'900'000'000'000'000 + seq),
            .kind = "message_admitted",
            .data = std::move(data)};
}

json::object summary(const std::string& agent) {
    return {{"identity", {{"agent_id", agent}}},
            {"agent", {{"id", agent}, {"status", "awake_idle"}, {"pending", 0}}},
            {"scheduling_posture", {{"posture", "idle"}}},
            {"active_task_count", 0},
            {"lifecycle", {{"resume_required", false}}},
            {"model", {{"effective_model", "a/b"}}},
            {"token_usage", {{"total_model_rounds", 0}}},
            {"closure", {{"outcome", "completed"}}}};
}

std::unexpected<base::Error> unused() {
    return base::fail(base::ErrorCode::Unavailable, "the fake does not do that");
}

}  // namespace

base::Status FakeService::known(const std::string& agent) {
    if (agent == "main" || agent == "other") return {};
    return base::fail(base::ErrorCode::NotFound, "there is no agent '{}'", agent);
}

base::Status FakeService::note(const std::string& agent, const std::string& call,
                               const service::Caller& caller) {
    TRY(known(agent));
    const std::lock_guard lock(mutex_);
    if (failure_) return std::unexpected(*std::exchange(failure_, std::nullopt));
    calls_.push_back(call);
    caller_ = caller;
    changed_.notify_all();
    return {};
}

base::Result<service::RunHold> FakeService::start_run(const service::RunRequest& request,
                                                      const service::Caller& caller,
                                                      service::RunEnded ended) {
    const std::string agent = request.agent.value_or("main");
    TRY(note(agent, fmt::format("run {} {}", agent, request.text), caller));
    auto lease = std::make_shared<int>();
    const std::lock_guard lock(mutex_);
    run_ = request;
    run_ended_ = std::move(ended);
    lease_ = lease;
    return service::RunHold{.started = {.run_id = "run 1",
                                        .agent_id = agent,
                                        .model_ref = "a/b",
                                        .message_id = "message-1"},
                            .lease = std::move(lease)};
}

base::Status FakeService::interrupt_run(const std::string& run_id, const std::string& reason) {
    return note("main", fmt::format("interrupt_run {} {}", run_id, reason));
}

base::Result<service::RunResponse> FakeService::run_result(const std::string& run_id) {
    TRY(note("main", "run_result " + run_id));
    return service::RunResponse{.agent_id = "main", .final_text = "Done.", .model_rounds = 2};
}

base::Status FakeService::finish_run(const std::string& run_id) {
    return note("main", "finish_run " + run_id);
}

void FakeService::end_run(const base::Status& status) {
    service::RunEnded ended;
    {
        const std::lock_guard lock(mutex_);
        ended = run_ended_;
    }
    ended(status);
}

bool FakeService::run_is_held() {
    const std::lock_guard lock(mutex_);
    return !lease_.expired();
}

std::optional<service::RunRequest> FakeService::last_run() {
    const std::lock_guard lock(mutex_);
    return run_;
}

std::shared_ptr<void> FakeService::watch_deltas(
    const std::string& agent, std::function<void(const service::Delta&)> changed) {
    auto watcher = std::make_shared<std::function<void(const service::Delta&)>>(std::move(changed));
    const std::lock_guard lock(mutex_);
    delta_watchers_.emplace(agent, watcher);
    return watcher;
}

void FakeService::add_delta(const std::string& agent, const std::string& text) {
    std::vector<std::shared_ptr<std::function<void(const service::Delta&)>>> notified;
    {
        const std::lock_guard lock(mutex_);
        const auto [first, last] = delta_watchers_.equal_range(agent);
        for (auto watcher = first; watcher != last; ++watcher)
            if (auto live = watcher->second.lock()) notified.push_back(std::move(live));
    }
    for (const auto& watcher : notified) (*watcher)({.text = text});
}

std::size_t FakeService::delta_watchers() {
    const std::lock_guard lock(mutex_);
    return static_cast<std::size_t>(std::ranges::count_if(
        delta_watchers_, [](const auto& entry) { return !entry.second.expired(); }));
}

base::Result<json::object> FakeService::status(const std::string& agent) {
    TRY(known(agent));
    std::unique_lock lock(mutex_);
    if (failure_) return std::unexpected(*std::exchange(failure_, std::nullopt));
    ++waiting_;
    changed_.notify_all();
    changed_.wait(lock, [&] { return !held_; });
    --waiting_;
    return summary(agent);
}

base::Result<std::vector<std::string>> FakeService::agents() {
    return std::vector<std::string>{"main", "other"};
}

base::Result<std::vector<json::object>> FakeService::agent_list(const service::AgentsQuery& query) {
    std::vector<json::object> list;
    for (const auto* agent : {"main", "other"})
        if (agent > query.after && std::ssize(list) < query.limit)
            list.push_back({{"identity", {{"agent_id", agent}}},
                            {"status", "awake_idle"},
                            {"scheduling_posture", {{"posture", "idle"}}},
                            {"lifecycle", {{"resume_required", false}}},
                            {"pending", 0},
                            {"model", {{"effective_model", "a/b"}}}});
    return list;
}

base::Result<json::object> FakeService::state(const std::string& agent) {
    TRY(known(agent));
    return json::object{{"agent", summary(agent)}, {"tasks", json::array{}}};
}

base::Result<std::vector<domain::Task>> FakeService::tasks(const std::string& agent,
                                                           std::int64_t limit) {
    TRY(note(agent, fmt::format("tasks {} {}", agent, limit)));
    return std::vector<domain::Task>{{.id = {"task-1"}, .agent_id = {agent}}};
}

base::Result<service::Listed<domain::Timer>> FakeService::timers(const std::string& agent,
                                                                 const service::ListQuery& query) {
    TRY(note(agent, fmt::format("timers {} {}{}", agent, query.limit, query.before)));
    return service::Listed<domain::Timer>{.items = {{.id = {"timer-1"}, .agent_id = {agent}}}};
}

base::Result<json::object> FakeService::activity() {
    const std::lock_guard lock(mutex_);
    if (failure_) return std::unexpected(*std::exchange(failure_, std::nullopt));
    return json::object{{"state", "idle"},
                        {"active_agent_count", 2},
                        {"active_task_count", 0},
                        {"processing_agent_count", 0},
                        {"waiting_agent_count", 0},
                        {"last_failure", {{"summary", "it broke"}, {"phase", "runtime_turn"}}}};
}

base::Result<std::string> FakeService::debug_prompt(const std::string& agent,
                                                    const std::string& text,
                                                    domain::TrustLevel trust) {
    TRY(note(agent, fmt::format("debug_prompt {} {} {}", agent, text, base::enum_name(trust))));
    return "the prompt for " + text;
}

base::Result<json::object> FakeService::model(const std::string&) {
    return json::object{{"effective_model", "a/b"}};
}
base::Result<json::object> FakeService::set_model(const std::string& agent,
                                                  const std::string& model_ref) {
    TRY(note(agent, fmt::format("set_model {} {}", agent, model_ref)));
    return json::object{{"effective_model", model_ref}};
}
base::Result<json::object> FakeService::clear_model(const std::string& agent) {
    TRY(note(agent, "clear_model " + agent));
    return json::object{{"effective_model", "a/b"}};
}

base::Result<service::Listed<domain::TranscriptEntry>> FakeService::transcript(
    const std::string& agent, const service::ListQuery& query) {
    TRY(note(agent, fmt::format("transcript {} {}{}", agent, query.limit, query.before)));
    return service::Listed<domain::TranscriptEntry>{
        .items = {
            {.id = "entry-1", .agent_id = {agent}, .run_id = {"run-1"}, .data = json::object{}}}};
}

base::Result<service::Listed<domain::Brief>> FakeService::briefs(const std::string& agent,
                                                                 const service::ListQuery& query) {
    TRY(note(agent, fmt::format("briefs {} {}{}", agent, query.limit, query.before)));
    return service::Listed<domain::Brief>{
        .items = {{.id = {"brief-1"}, .agent_id = {agent}, .text = "done"}},
        .next = query.before.empty() ? std::string(kNextBriefs) : std::string()};
}

base::Result<std::vector<domain::Event>> FakeService::events(const std::string& agent,
                                                             std::int64_t after_seq,
                                                             std::int64_t limit) {
    return event_page(agent, {.after_seq = after_seq, .limit = limit, .newest_first = false});
}

base::Result<std::vector<domain::Event>> FakeService::event_page(
    const std::string& agent, const service::EventsQuery& query) {
    TRY(known(agent));
    ++page_reads_;
    const std::lock_guard lock(mutex_);
    if (failure_) return std::unexpected(*std::exchange(failure_, std::nullopt));
    std::vector<domain::Event> page;
    const auto& list = events_[agent];
    // Numbers have no gaps, so the first that is wanted is found by counting.
    const std::int64_t first = list.empty() ? 1 : list.front().event_seq;
    const auto from = static_cast<std::size_t>(
        std::max<std::int64_t>(0, query.after_seq.value_or(0) + 1 - first));
    for (std::size_t i = from; i < list.size(); ++i) {
        if (query.before_seq && list[i].event_seq >= *query.before_seq) break;
        if (!query.newest_first && static_cast<std::int64_t>(page.size()) >= query.limit) break;
        page.push_back(list[i]);
    }
    if (query.newest_first) std::ranges::reverse(page);
    if (static_cast<std::int64_t>(page.size()) > query.limit)
        page.resize(static_cast<std::size_t>(query.limit));
    return page;
}

base::Result<std::int64_t> FakeService::newest_event(const std::string& agent) {
    TRY(known(agent));
    const std::lock_guard lock(mutex_);
    const auto& list = events_[agent];
    return list.empty() ? 0 : list.back().event_seq;
}

std::shared_ptr<void> FakeService::watch(const std::string& agent,
                                         std::function<void(std::int64_t)> changed) {
    auto token = std::make_shared<std::function<void(std::int64_t)>>(std::move(changed));
    const std::lock_guard lock(mutex_);
    watchers_.emplace(agent, token);
    changed_.notify_all();
    return token;
}

base::Result<std::string> FakeService::prompt(const std::string& agent, const std::string& text,
                                              const service::Caller& caller) {
    TRY(note(agent, fmt::format("prompt {} {}", agent, text), caller));
    return "message-1";
}

base::Result<std::string> FakeService::enqueue(const std::string& agent,
                                               const service::EnqueueRequest& request) {
    TRY(note(agent, "enqueue " + agent));
    const std::lock_guard lock(mutex_);
    enqueued_ = request;
    return "message-2";
}

base::Result<json::object> FakeService::wake(const std::string& agent,
                                             const service::WakeRequest& request,
                                             const service::Caller& caller) {
    TRY(note(agent, fmt::format("wake {} {}", agent, request.reason), caller));
    return json::object{{"disposition", "triggered"}};
}

base::Result<json::object> FakeService::callback(const service::CallbackRequest& request) {
    const std::lock_guard lock(mutex_);
    called_back_ = request;
    if (request.token != "cb_right")
        return std::unexpected(base::Error{base::ErrorCode::Refused, "nobody holds that capability",
                                           "capability_refused"});
    return json::object{{"agent_id", "main"},
                        {"external_trigger_id", "trigger-1"},
                        {"scope", "agent"},
                        {"delivery_mode", "wake_hint"},
                        {"disposition", "triggered"}};
}

base::Result<service::WebhookDelivered> FakeService::deliver_webhook(
    const service::WebhookDelivery& delivery) {
    const std::lock_guard lock(mutex_);
    webhook_ = delivery;
    if (delivery.token == "wh_busy")
        return std::unexpected(base::Error{.code = base::ErrorCode::Refused,
                                           .message = "too many",
                                           .kind = "rate_limited",
                                           .details = {{"retry_after_s", 7}}});
    if (delivery.token != "wh_right")
        return std::unexpected(
            base::Error{base::ErrorCode::Refused, "no webhook has this URL", "webhook_refused"});
    return service::WebhookDelivered{.agent_id = "main", .message_id = "message-1"};
}

base::Result<service::WebhookView> FakeService::create_webhook(
    const std::string& agent, const service::WebhookRequest& request,
    const service::Caller& caller) {
    TRY(note(agent, fmt::format("webhook {} {}", agent, base::enum_name(request.signature)),
             caller));
    return service::WebhookView{.webhook_id = "webhook-1",
                                .agent_id = agent,
                                .name = request.name.value_or("ci"),
                                .signature = request.signature,
                                .webhook_url = "http://127.0.0.1:7878/webhooks/wh_right",
                                .secret = request.secret.value_or("made")};
}

base::Result<std::vector<service::WebhookView>> FakeService::webhooks(const std::string& agent) {
    TRY(known(agent));
    return std::vector{service::WebhookView{.webhook_id = "webhook-1", .agent_id = agent}};
}

base::Result<service::WebhookView> FakeService::rotate_webhook(
    const std::string& agent, const std::string& webhook, const std::optional<std::string>& secret,
    const service::Caller& caller) {
    TRY(note(agent, fmt::format("rotate_webhook {} {}", agent, webhook), caller));
    return service::WebhookView{.webhook_id = webhook, .agent_id = agent, .secret = secret};
}

base::Result<service::WebhookView> FakeService::revoke_webhook(const std::string& agent,
                                                               const std::string& webhook,
                                                               const service::Caller& caller) {
    TRY(note(agent, fmt::format("revoke_webhook {} {}", agent, webhook), caller));
    return service::WebhookView{
        .webhook_id = webhook, .agent_id = agent, .status = domain::TriggerStatus::Revoked};
}

base::Result<domain::OperatorBinding> FakeService::bind_operator(
    const std::string& agent, const service::OperatorBindingRequest& request,
    const service::Caller& caller) {
    TRY(note(agent, fmt::format("bind_operator {} {}", agent, request.transport), caller));
    return domain::OperatorBinding{.binding_id = "opbind_1",
                                   .transport = request.transport,
                                   .target_agent_id = {agent},
                                   .delivery_auth = request.delivery_auth};
}

base::Result<std::vector<domain::OperatorBinding>> FakeService::operator_bindings(
    const std::string& agent) {
    TRY(known(agent));
    return std::vector{
        domain::OperatorBinding{.binding_id = "opbind_1", .target_agent_id = {agent}}};
}

base::Result<domain::OperatorBinding> FakeService::revoke_operator_binding(
    const std::string& agent, const std::string& binding, const service::Caller& caller) {
    TRY(note(agent, fmt::format("revoke_operator_binding {} {}", agent, binding), caller));
    return domain::OperatorBinding{.binding_id = binding,
                                   .target_agent_id = {agent},
                                   .status = domain::BindingStatus::Revoked};
}

base::Result<std::string> FakeService::operator_ingress(
    const std::string& agent, const service::OperatorIngressRequest& request,
    const service::Caller& caller) {
    TRY(note(agent, fmt::format("operator_ingress {} {}", agent, request.binding_id), caller));
    return "message-1";
}

base::Result<domain::AgentIdentity> FakeService::create_agent(
    const std::string& agent, const std::optional<std::string>& template_name,
    const service::Caller& caller) {
    TRY(note("main", fmt::format("create {} {}", agent, template_name.value_or("-")), caller));
    return domain::AgentIdentity{.agent_id = {agent}};
}

base::Result<std::vector<json::object>> FakeService::templates() {
    return std::vector<json::object>{{{"template_id", "holon-default"}}};
}

base::Result<std::vector<json::object>> FakeService::skills(const std::string& agent) {
    TRY(note(agent, "skills " + agent));
    return std::vector<json::object>{{{"skill_id", "agent:ghx"}, {"name", "ghx"}}};
}

base::Result<json::object> FakeService::skill(const std::string& agent, const std::string& name) {
    TRY(note(agent, "skills " + agent));
    return json::object{{"name", name}, {"text", "how to"}};
}

base::Result<std::string> FakeService::install_skill(const std::string& agent,
                                                     const service::SkillInstall& request,
                                                     const service::Caller& caller) {
    TRY(note(agent, "install " + base::json_text(base::to_json(request)), caller));
    return request.name.value_or("made");
}

base::Result<std::string> FakeService::uninstall_skill(const std::string& agent,
                                                       const std::string& name,
                                                       const service::Caller& caller) {
    TRY(note(agent, "uninstall " + name, caller));
    return name;
}

base::Status FakeService::set_lifecycle(const std::string& agent, service::LifecycleAction action,
                                        const service::Caller& caller) {
    return note(agent, fmt::format("lifecycle {} {}", agent, base::enum_name(action)), caller);
}

base::Result<json::object> FakeService::abort_run(const std::string& agent,
                                                  const std::optional<std::string>& run_id,
                                                  const service::Caller& caller) {
    TRY(note(agent, fmt::format("abort {} {}", agent, run_id.value_or("-")), caller));
    return json::object{{"run_id", "run-9"}};
}

base::Result<service::Undone> FakeService::undo(const std::string& agent,
                                                const service::UndoRequest& request,
                                                const service::Caller& caller) {
    TRY(note(agent, "undo " + agent, caller));
    return service::Undone{.agent_id = agent,
                           .run_id = "run-1",
                           .root = "/p",
                           .patches = request.patches.value_or(1),
                           .paths = {"a.txt"},
                           .dry_run = request.dry_run};
}

base::Result<json::object> FakeService::compact_conversation(const std::string& agent,
                                                             const service::Caller& caller) {
    TRY(note(agent, "compact " + agent, caller));
    return json::object{{"compacted", true},
                        {"agent_id", agent},
                        {"compacted_rounds", 7},
                        {"shortened_results", 3},
                        {"previous_estimated_tokens", 900},
                        {"projected_estimated_tokens", 400}};
}

base::Result<domain::Task> FakeService::start_task(const std::string& agent,
                                                   const service::TaskRequest& request,
                                                   const service::Caller& caller) {
    TRY(note(agent, fmt::format("task {} {} {}", agent, request.cmd, request.login), caller));
    return domain::Task{.id = {"task-1"}, .agent_id = {agent}, .summary = request.summary};
}

base::Result<service::WorkItemsPage> FakeService::work_items(const std::string& agent,
                                                             const service::WorkItemsQuery& query) {
    TRY(note(agent, fmt::format("work items {} {} {}", agent, base::enum_name(query.filter),
                                query.limit)));
    return service::WorkItemsPage{.work_items = {{{"id", "work_1"}}}, .next = query.after};
}

base::Result<json::object> FakeService::work_item(const std::string& agent, const std::string& id) {
    TRY(note(agent, fmt::format("work item {} {}", agent, id)));
    return json::object{{"id", id}};
}

base::Result<domain::WorkItem> FakeService::create_work_item(
    const std::string& agent, const service::WorkItemRequest& request,
    const service::Caller& caller) {
    TRY(note(agent, fmt::format("new work {} {}", agent, request.objective), caller));
    return domain::WorkItem{.id = {"work_1"}, .agent_id = {agent}, .objective = request.objective};
}

base::Result<json::object> FakeService::change_work_item(const std::string& agent,
                                                         const std::string& id,
                                                         const service::WorkItemChange& change,
                                                         const service::Caller& caller) {
    TRY(note(agent,
             fmt::format("{} {} {} {}", base::enum_name(change.action), agent, id, change.text),
             caller));
    return json::object{{"id", id}};
}

base::Result<domain::Timer> FakeService::create_timer(const std::string& agent,
                                                      const service::TimerRequest& request,
                                                      const service::Caller& caller) {
    TRY(note(agent, fmt::format("timer {} {}", agent, request.duration_ms), caller));
    return domain::Timer{.id = {"timer-1"}, .agent_id = {agent}};
}

base::Result<domain::Timer> FakeService::cancel_timer(const std::string& agent,
                                                      const std::string& timer,
                                                      const service::Caller& caller) {
    TRY(note(agent, fmt::format("cancel_timer {} {}", agent, timer), caller));
    return domain::Timer{.id = {timer}, .agent_id = {agent}};
}

base::Result<json::object> FakeService::external_trigger(const std::string& agent, bool rotate,
                                                         const service::Caller& caller) {
    TRY(note(agent, fmt::format("trigger {} {}", agent, rotate), caller));
    return json::object{{"external_trigger_id", "trigger-1"}, {"path", "/callbacks/wake/cb_x"}};
}

base::Status FakeService::revoke_trigger(const std::string& agent, const service::Caller& caller) {
    return note(agent, "revoke " + agent, caller);
}

base::Result<domain::WorkspaceEntry> FakeService::attach_workspace(const std::string& agent,
                                                                   const std::string& path,
                                                                   const service::Caller& caller) {
    TRY(note(agent, fmt::format("attach {} {}", agent, path), caller));
    return domain::WorkspaceEntry{.workspace_id = "ws-1", .workspace_anchor = path};
}

base::Status FakeService::exit_workspace(const std::string& agent, const service::Caller& caller) {
    return note(agent, "exit " + agent, caller);
}

base::Status FakeService::detach_workspace(const std::string& agent,
                                           const std::string& workspace_id,
                                           const service::Caller& caller) {
    return note(agent, fmt::format("detach {} {}", agent, workspace_id), caller);
}

void FakeService::add_events(const std::string& agent, int count, std::size_t payload_bytes) {
    std::vector<std::shared_ptr<std::function<void(std::int64_t)>>> notified;
    std::int64_t newest = 0;
    {
        const std::lock_guard lock(mutex_);
        auto& list = events_[agent];
        for (int i = 0; i < count; ++i)
            list.push_back(event(list.empty() ? 1 : list.back().event_seq + 1, payload_bytes));
        newest = list.back().event_seq;
        const auto [first, last] = watchers_.equal_range(agent);
        for (auto watcher = first; watcher != last; ++watcher)
            if (auto live = watcher->second.lock()) notified.push_back(std::move(live));
    }
    for (const auto& watcher : notified) (*watcher)(newest);
}

void FakeService::forget_events(const std::string& agent, std::int64_t seq) {
    const std::lock_guard lock(mutex_);
    std::erase_if(events_[agent], [&](const auto& one) { return one.event_seq <= seq; });
}

std::size_t FakeService::watchers() {
    const std::lock_guard lock(mutex_);
    return static_cast<std::size_t>(std::ranges::count_if(
        watchers_, [](const auto& entry) { return !entry.second.expired(); }));
}

std::vector<std::string> FakeService::calls() {
    const std::lock_guard lock(mutex_);
    return calls_;
}
std::optional<service::EnqueueRequest> FakeService::last_enqueue() {
    const std::lock_guard lock(mutex_);
    return enqueued_;
}
std::optional<service::CallbackRequest> FakeService::last_callback() {
    const std::lock_guard lock(mutex_);
    return called_back_;
}
std::optional<service::WebhookDelivery> FakeService::last_webhook() {
    const std::lock_guard lock(mutex_);
    return webhook_;
}
std::optional<service::Caller> FakeService::last_caller() {
    const std::lock_guard lock(mutex_);
    return caller_;
}

void FakeService::hold() {
    const std::lock_guard lock(mutex_);
    held_ = true;
}
void FakeService::release() {
    const std::lock_guard lock(mutex_);
    held_ = false;
    changed_.notify_all();
}
bool FakeService::wait_for_held(std::size_t count) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, std::chrono::milliseconds(kWaitMs),
                             [&] { return waiting_ >= count; });
}
void FakeService::fail_next(base::Error error) {
    const std::lock_guard lock(mutex_);
    failure_ = std::move(error);
}

base::Result<json::value> FakeSettings::get(const std::string&) {
    return unused();
}
base::Result<json::value> FakeSettings::set(const std::string&, const std::string&) {
    return unused();
}
base::Status FakeSettings::unset(const std::string&) {
    return unused();
}
base::Result<json::object> FakeSettings::list() {
    return unused();
}
std::vector<service::SettingDescription> FakeSettings::schema() {
    return {};
}
base::Result<std::vector<service::ModelAvailability>> FakeSettings::models() {
    return std::vector<service::ModelAvailability>{
        {.model = "a/b",
         .provider = "a",
         .display_name = "B",
         .metadata_source = "built_in_catalog",
         .policy = {{"model_ref", "a/b"}, {"source", "built_in_catalog"}}},
        {.model = "a/own",
         .provider = "a",
         .display_name = "Own",
         .metadata_source = "unknown_fallback",
         .policy = {{"model_ref", "a/own"}, {"source", "unknown_fallback"}}}};
}
base::Result<service::ProviderView> FakeSettings::set_provider(const service::ProviderChange&) {
    return unused();
}
base::Result<service::ProviderView> FakeSettings::provider(const std::string&) {
    return unused();
}
base::Result<std::vector<service::ProviderView>> FakeSettings::providers() {
    return unused();
}
base::Result<bool> FakeSettings::remove_provider(const std::string&) {
    return unused();
}
base::Result<service::CredentialView> FakeSettings::set_credential(const std::string&,
                                                                   const std::string&,
                                                                   const std::string&) {
    return unused();
}
base::Result<std::vector<service::CredentialView>> FakeSettings::credentials() {
    return unused();
}
base::Result<service::CredentialView> FakeSettings::remove_credential(const std::string&) {
    return unused();
}
base::Result<service::LoginResult> FakeSettings::login(const service::LoginRequest&) {
    return base::fail(base::ErrorCode::Unavailable, "no login here");
}
base::Result<json::object> FakeSettings::doctor(bool) {
    return unused();
}
base::Result<json::object> FakeSettings::doctor_provider(const std::string&, bool) {
    return unused();
}

json::value Received::json() const {
    const auto value = base::parse_json(body);
    EXPECT_TRUE(value) << status << " " << body;
    return value.value_or(json::value(nullptr));
}

Client Client::tcp(const std::string& address) {
    const auto colon = address.rfind(':');
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_port = htons(static_cast<std::uint16_t>(std::stoi(address.substr(colon + 1))));
    ::inet_pton(AF_INET, address.substr(0, colon).c_str(), &to.sin_addr);
    base::Fd fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    EXPECT_EQ(::connect(fd.get(), reinterpret_cast<const sockaddr*>(&to), sizeof to), 0)
        << std::strerror(errno);
    return Client(std::move(fd));
}

Client Client::unix_socket(const std::filesystem::path& path) {
    sockaddr_un to{};
    to.sun_family = AF_UNIX;
    std::memcpy(to.sun_path, path.c_str(), path.native().size());
    base::Fd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    EXPECT_EQ(::connect(fd.get(), reinterpret_cast<const sockaddr*>(&to), sizeof to), 0)
        << std::strerror(errno);
    return Client(std::move(fd));
}

bool Client::send(std::string_view bytes) {
    while (!bytes.empty()) {
        const auto sent = ::send(fd_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
        if (sent <= 0) return false;
        bytes.remove_prefix(static_cast<std::size_t>(sent));
    }
    return true;
}

bool Client::fill() {
    pollfd wait{.fd = fd_.get(), .events = POLLIN, .revents = 0};
    if (::poll(&wait, 1, kWaitMs) <= 0) {
        ADD_FAILURE() << "the server sent nothing for too long";
        return false;
    }
    std::array<char, 16384> bytes;
    const auto got = ::recv(fd_.get(), bytes.data(), bytes.size(), 0);
    if (got <= 0) return false;
    buffer_.append(bytes.data(), static_cast<std::size_t>(got));
    return true;
}

std::string Client::read_until(std::string_view mark) {
    std::size_t end = buffer_.find(mark);
    while (end == std::string::npos) {
        if (!fill()) return std::exchange(buffer_, {});
        end = buffer_.find(mark);
    }
    std::string out = buffer_.substr(0, end + mark.size());
    buffer_.erase(0, out.size());
    return out;
}

Received Client::receive(bool head) {
    Received out;
    const std::string text = read_until("\r\n\r\n");
    const auto lines = base::split_lines(text);
    if (lines.empty() || !lines[0].starts_with("HTTP/1.1 ")) return out;
    out.status = std::stoi(std::string(lines[0].substr(9, 3)));
    for (const auto line : std::span(lines).subspan(1)) {
        const auto colon = line.find(':');
        if (colon == std::string_view::npos) continue;
        std::string name(line.substr(0, colon));
        for (char& c : name) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
        out.headers[name] = base::trim(line.substr(colon + 1));
    }
    if (head || !out.headers.contains("content-length")) return out;
    const auto size = static_cast<std::size_t>(std::stoul(out.headers["content-length"]));
    while (buffer_.size() < size && fill()) {
    }
    out.body = buffer_.substr(0, size);
    buffer_.erase(0, out.body.size());
    return out;
}

bool Client::is_closed() {
    return buffer_.empty() && !fill();
}

void Client::finish_sending() {
    ::shutdown(fd_.get(), SHUT_WR);
}

std::string request(std::string_view method, std::string_view path,
                    std::vector<std::pair<std::string, std::string>> headers,
                    std::string_view body) {
    std::string out = fmt::format("{} {} HTTP/1.1\r\nHost: localhost\r\n", method, path);
    for (const auto& [name, value] : headers) out += fmt::format("{}: {}\r\n", name, value);
    if (!body.empty()) out += fmt::format("Content-Length: {}\r\n", body.size());
    return out + "\r\n" + std::string(body);
}

std::string get(std::string_view path) {
    return request("GET", path);
}

std::string post(std::string_view path, std::string_view json) {
    return request("POST", path, {{"Content-Type", "application/json"}}, json);
}

ServerTest::ServerTest() {
    std::string name = (std::filesystem::temp_directory_path() / "http-XXXXXX").string();
    folder_ = ::mkdtemp(name.data());
}

ServerTest::~ServerTest() {
    service_.release();
    server_.reset();
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
}

void ServerTest::start(Options options) {
    options.tcp = {{.host = "127.0.0.1", .port = 0}};
    options.socket_path = socket_path();
    auto server = Server::start({.service = service_,
                                 .settings = settings_,
                                 .clock = clock_,
                                 .gate = gate_,
                                 .facts = {.home_dir = "/home",
                                           .advertise_url = "https://h.example",
                                           .http_addr = "127.0.0.1:7878",
                                           .config_fingerprint = "abc"},
                                 .request_shutdown = [this] { ++shutdowns_; },
                                 .mcp = mcp_},
                                std::move(options));
    ASSERT_TRUE(server) << server.error().message;
    server_ = std::move(*server);
}

}  // namespace test_http
