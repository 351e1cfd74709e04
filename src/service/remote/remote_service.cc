#include "service/remote/remote_service.h"

#include <algorithm>

#include "base/text.h"
#include "service/remote/held_run.h"
#include "service/remote/watch.h"

namespace service {
namespace {

using base::ErrorCode;
using base::fail;

constexpr std::int64_t kEventPageMax = 512;
constexpr std::chrono::milliseconds kTaskYieldDefault = 10s;
// A skill or a template may come from the network, file by file.
constexpr std::chrono::milliseconds kInstallTimeout = 300s;

std::string agent_path(const std::string& agent, std::string_view rest) {
    return fmt::format("/agents/{}{}", base::percent_encoded(agent), rest);
}

std::string task_path(const std::string& task, std::string_view rest) {
    return fmt::format("/tasks/{}{}", base::percent_encoded(task), rest);
}

std::string run_path(const std::string& run_id) {
    return "/control/runs/" + base::percent_encoded(run_id);
}

base::Result<json::object> as_object(json::value value, std::string_view what) {
    if (!value.is_object()) return unreadable_answer(what, "not an object");
    return std::move(value.get_object());
}

template <class T>
base::Result<T> decode(const json::value& value, std::string_view what) {
    auto decoded = base::from_json<T>(value);
    if (!decoded) return unreadable_answer(what, decoded.error().message);
    return decoded;
}

template <class T>
base::Result<std::vector<T>> decode_list(const json::value& value, std::string_view what) {
    if (!value.is_array()) return unreadable_answer(what, "not a list");
    std::vector<T> list;
    for (const auto& item : value.get_array()) list.push_back(TRY(decode<T>(item, what)));
    return list;
}

template <class T>
base::Result<Listed<T>> listed_at(const Client& client, const std::string& path,
                                  const ListQuery& query) {
    auto answer = TRY(client.list(path, query));
    return Listed<T>{.items = TRY(decode_list<T>(answer.body, path)),
                     .next = std::move(answer.next)};
}

// An event as the stream has it, as the record has it.
base::Result<domain::Event> decode_event(const json::value& envelope) {
    const auto at = base::parse_time(base::string_at(envelope, "ts"));
    if (!at) return unreadable_answer("events", at.error().message);
    const auto* payload = base::find(envelope, "payload");
    return domain::Event{.id = {base::string_at(envelope, "id")},
                         .event_seq = base::int_at(envelope, "event_seq"),
                         .created_at = *at,
                         .kind = base::string_at(envelope, "type"),
                         .data = payload ? *payload : json::value(json::object{})};
}

std::string page_path(const std::string& agent, const EventsQuery& query) {
    std::string path = agent_path(agent, "/events");
    path += fmt::format("?limit={}&order={}", query.limit, query.newest_first ? "desc" : "asc");
    if (query.after_seq) path += fmt::format("&after_seq={}", *query.after_seq);
    if (query.before_seq) path += fmt::format("&before_seq={}", *query.before_seq);
    return path;
}

template <class T>
void put(json::object& body, std::string_view name, const std::optional<T>& value) {
    if (value) body[name] = base::to_json(*value);
}

}  // namespace

RemoteService::RemoteService(RemoteParts parts)
    : client_(std::move(parts.address)), on_lost_(std::move(parts.on_lost)) {}

base::Result<json::object> RemoteService::get_object(const std::string& path) {
    return as_object(TRY(client_.get(path)), path);
}

base::Result<json::object> RemoteService::control(const std::string& agent, std::string_view action,
                                                  const json::object& body,
                                                  std::chrono::milliseconds timeout) {
    std::string path = "/control" + agent_path(agent, action);
    Request request{
        .method = Method::Post, .path = path, .body = base::json_text(body), .timeout = timeout};
    return as_object(TRY(client_.ask(request)), path);
}

base::Result<RunHold> RemoteService::start_run(const RunRequest& request, const Caller& /*caller*/,
                                               RunEnded ended) {
    return hold_run(client_.address(), request, std::move(ended));
}

base::Status RemoteService::interrupt_run(const std::string& run_id, const std::string& reason) {
    TRY(client_.post(run_path(run_id) + "/interrupt", json::object{{"reason", reason}}));
    return {};
}

base::Result<RunResponse> RemoteService::run_result(const std::string& run_id) {
    return decode<RunResponse>(TRY(client_.get(run_path(run_id))), "run result");
}

base::Status RemoteService::finish_run(const std::string& run_id) {
    TRY(client_.post(run_path(run_id) + "/finish", json::object{}));
    return {};
}

base::Result<std::vector<RecentRun>> RemoteService::recent_runs(std::int64_t limit) {
    return decode_list<RecentRun>(TRY(client_.get(fmt::format("/control/runs?limit={}", limit))),
                                  "/control/runs");
}

base::Result<json::object> RemoteService::status(const std::string& agent) {
    return get_object(agent_path(agent, "/status"));
}

base::Result<std::vector<json::object>> RemoteService::agent_list(const AgentsQuery& query) {
    return decode_list<json::object>(
        TRY(client_.get(fmt::format("/agents/list?after={}&limit={}", query.after, query.limit))),
        "/agents/list");
}

base::Result<std::vector<std::string>> RemoteService::agents() {
    std::vector<std::string> names;
    for (AgentsQuery query;;) {
        const auto page = TRY(agent_list(query));
        for (const auto& entry : page)
            if (const auto* identity = base::find(entry, "identity"))
                names.push_back(base::string_at(*identity, "agent_id"));
        if (std::ssize(page) < query.limit || names.empty()) return names;
        query.after = names.back();
    }
}

base::Result<json::object> RemoteService::state(const std::string& agent) {
    return get_object(agent_path(agent, "/state"));
}

base::Result<std::vector<domain::Task>> RemoteService::tasks(const std::string& agent,
                                                             std::int64_t limit) {
    return decode_list<domain::Task>(
        TRY(client_.get(agent_path(agent, fmt::format("/tasks?limit={}", limit)))), "tasks");
}

base::Result<Listed<domain::Timer>> RemoteService::timers(const std::string& agent,
                                                          const ListQuery& query) {
    return listed_at<domain::Timer>(client_, agent_path(agent, "/timers"), query);
}

base::Result<json::object> RemoteService::activity() {
    json::object all = TRY(get_object("/control/runtime/status"));
    auto activity = TRY(as_object(std::move(all["activity"]), "activity"));
    // The answer has it next to the counts.
    if (const auto* failure = base::find(all, "last_failure")) activity["last_failure"] = *failure;
    return activity;
}

base::Result<std::string> RemoteService::debug_prompt(const std::string& agent,
                                                      const std::string& text,
                                                      domain::TrustLevel trust) {
    const json::value answer =
        TRY(control(agent, "/debug-prompt", {{"text", text}, {"trust", base::enum_name(trust)}}));
    return base::string_at(answer, "dump");
}

base::Result<json::object> RemoteService::model(const std::string& agent) {
    const json::object summary = TRY(status(agent));
    const auto* model = base::find(summary, "model");
    if (!model || !model->is_object()) return unreadable_answer("status", "no model");
    return model->get_object();
}

base::Result<json::object> RemoteService::set_model(const std::string& agent,
                                                    const std::string& model_ref) {
    auto answer = TRY(control(agent, "/model", {{"model", model_ref}}));
    return as_object(answer["model"], "model");
}

base::Result<json::object> RemoteService::clear_model(const std::string& agent) {
    auto answer = TRY(control(agent, "/model/clear", {}));
    return as_object(answer["model"], "model");
}

base::Result<Listed<domain::TranscriptEntry>> RemoteService::transcript(const std::string& agent,
                                                                        const ListQuery& query) {
    return listed_at<domain::TranscriptEntry>(client_, agent_path(agent, "/transcript"), query);
}

base::Result<Listed<domain::Brief>> RemoteService::briefs(const std::string& agent,
                                                          const ListQuery& query) {
    return listed_at<domain::Brief>(client_, agent_path(agent, "/briefs"), query);
}

base::Result<std::vector<domain::Event>> RemoteService::events(const std::string& agent,
                                                               std::int64_t after_seq,
                                                               std::int64_t limit) {
    std::vector<domain::Event> list;
    while (static_cast<std::int64_t>(list.size()) < limit) {
        const std::int64_t left = limit - static_cast<std::int64_t>(list.size());
        const std::int64_t size = std::min(left, kEventPageMax);
        auto page =
            TRY(event_page(agent, {.after_seq = after_seq, .limit = size, .newest_first = false}));
        if (page.empty()) break;
        after_seq = page.back().event_seq;
        const bool is_last = static_cast<std::int64_t>(page.size()) < size;
        std::ranges::move(page, std::back_inserter(list));
        if (is_last) break;
    }
    return list;
}

base::Result<std::vector<domain::Event>> RemoteService::event_page(const std::string& agent,
                                                                   const EventsQuery& query) {
    const json::value page = TRY(client_.get(page_path(agent, query)));
    const auto* events = base::find(page, "events");
    if (!events || !events->is_array()) return unreadable_answer("events", "no list of events");
    std::vector<domain::Event> list;
    for (const auto& envelope : events->get_array()) list.push_back(TRY(decode_event(envelope)));
    return list;
}

base::Result<std::int64_t> RemoteService::newest_event(const std::string& agent) {
    const auto page = TRY(event_page(agent, {.limit = 1}));
    return page.empty() ? 0 : page.front().event_seq;
}

std::shared_ptr<void> RemoteService::watch(const std::string& agent,
                                           std::function<void(std::int64_t)> changed) {
    return follow(client_.address(), agent, {.changed = std::move(changed), .lost = on_lost_});
}

std::shared_ptr<void> RemoteService::watch_deltas(const std::string& agent,
                                                  std::function<void(const Delta&)> changed) {
    // Questions that came or went while nobody listened.
    const auto connected = [changed] { changed({.kind = DeltaKind::Question}); };
    // The stream that watch() follows reports a loss.
    return follow(client_.address(), agent,
                  {.changed = [](std::int64_t) {},
                   .delta = std::move(changed),
                   .lost = {},
                   .connected = connected});
}

base::Result<std::string> RemoteService::prompt(const std::string& agent, const std::string& text,
                                                const Caller& /*caller*/) {
    const json::value answer = TRY(control(agent, "/prompt", {{"text", text}}));
    return base::string_at(answer, "message_id");
}

base::Result<std::string> RemoteService::enqueue(const std::string& agent,
                                                 const EnqueueRequest& request) {
    json::object body{{"kind", base::enum_name(request.kind)},
                      {"priority", base::enum_name(request.priority)},
                      {"origin", base::to_json(request.origin)},
                      {"body", base::to_json(request.body)}};
    put(body, "metadata", request.metadata);
    put(body, "correlation_id", request.correlation_id);
    put(body, "causation_id", request.causation_id);
    const auto answer = TRY(client_.post(agent_path(agent, "/enqueue"), body));
    return base::string_at(answer, "message_id");
}

base::Result<json::object> RemoteService::wake(const std::string& agent, const WakeRequest& request,
                                               const Caller& /*caller*/) {
    json::object body{{"reason", request.reason}};
    put(body, "source", request.source);
    put(body, "correlation_id", request.correlation_id);
    put(body, "causation_id", request.causation_id);
    return control(agent, "/wake", body);
}

base::Result<json::object> RemoteService::callback(const CallbackRequest& request) {
    const std::string path = fmt::format("/callbacks/{}/{}", base::percent_encoded(request.mode),
                                         base::percent_encoded(request.token));
    Request sent{.method = Method::Post, .path = path};
    if (request.body) {
        if (const auto* value = std::get_if<domain::JsonBody>(&*request.body)) {
            sent.body = base::json_text(value->value);
        } else {
            sent.body = domain::readable(*request.body);
            sent.content_type = "text/plain; charset=utf-8";
        }
    }
    return as_object(TRY(client_.ask(sent)), path);
}

base::Result<domain::AgentIdentity> RemoteService::create_agent(
    const std::string& agent, const std::optional<std::string>& template_name,
    const Caller& /*caller*/) {
    json::object body;
    put(body, "template", template_name);
    return decode<domain::AgentIdentity>(TRY(control(agent, "/create", body, kInstallTimeout)),
                                         "create");
}

base::Result<domain::Task> RemoteService::stop_task(const std::string& agent,
                                                    const std::string& task,
                                                    const Caller& /*caller*/) {
    return decode<domain::Task>(TRY(control(agent, task_path(task, "/stop"), {})), "task");
}

base::Result<domain::Task> RemoteService::send_task_input(const std::string& agent,
                                                          const std::string& task,
                                                          const std::string& text,
                                                          const Caller& /*caller*/) {
    return decode<domain::Task>(TRY(control(agent, task_path(task, "/input"), {{"text", text}})),
                                "task");
}

base::Result<json::object> RemoteService::task_output(const std::string& agent,
                                                      const std::string& task) {
    return get_object(agent_path(agent, task_path(task, "/output")));
}

base::Result<domain::WorkspaceEntry> RemoteService::move_agent(const std::string& agent,
                                                               const std::string& path,
                                                               const Caller& /*caller*/) {
    return decode<domain::WorkspaceEntry>(TRY(control(agent, "/workspace/move", {{"path", path}})),
                                          "workspace");
}

base::Status RemoteService::delete_agent(const std::string& agent, const Caller& /*caller*/) {
    TRY(control(agent, "/delete", {}));
    return {};
}

base::Result<std::vector<json::object>> RemoteService::templates() {
    return decode_list<json::object>(TRY(client_.get("/templates")), "templates");
}

base::Result<domain::MemoryHits> RemoteService::search_memory(const std::string& agent,
                                                              const domain::MemoryQuery& query) {
    const auto path =
        fmt::format("{}?query={}&limit={}&include_all_workspaces={}", agent_path(agent, "/memory"),
                    base::percent_encoded(query.query), query.limit, query.include_all_workspaces);
    return decode<domain::MemoryHits>(TRY(client_.get(path)), "memory");
}

base::Result<domain::MemoryDocument> RemoteService::memory_document(const std::string& agent,
                                                                    const std::string& source_ref,
                                                                    std::int64_t max_chars) {
    const auto path =
        fmt::format("{}?source_ref={}&max_chars={}", agent_path(agent, "/memory/document"),
                    base::percent_encoded(source_ref), max_chars);
    return decode<domain::MemoryDocument>(TRY(client_.get(path)), "memory document");
}

base::Result<domain::RecordHits> RemoteService::search_records(const domain::RecordQuery& query) {
    std::string path =
        fmt::format("/search?query={}&limit={}", base::percent_encoded(query.query), query.limit);
    if (query.agent) path += "&agent=" + base::percent_encoded(*query.agent);
    if (query.since) path += "&since=" + base::percent_encoded(base::to_text(*query.since));
    return decode<domain::RecordHits>(TRY(client_.get(path)), "search");
}

base::Result<std::vector<json::object>> RemoteService::skills(const std::string& agent) {
    const auto answer = TRY(get_object(agent_path(agent, "/skills")));
    const auto* list = base::find(answer, "skills");
    return decode_list<json::object>(list ? *list : json::value(nullptr), "skills");
}

base::Result<json::object> RemoteService::skill(const std::string& agent, const std::string& name) {
    return get_object(agent_path(agent, "/skills/" + base::percent_encoded(name)));
}

base::Result<std::string> RemoteService::install_skill(const std::string& agent,
                                                       const SkillInstall& request,
                                                       const Caller& /*caller*/) {
    const auto answer =
        TRY(control(agent, "/skills/install", {{"kind", base::to_json(request)}}, kInstallTimeout));
    return base::string_at(answer, "skill_name");
}

base::Result<std::string> RemoteService::uninstall_skill(const std::string& agent,
                                                         const std::string& name,
                                                         const Caller& /*caller*/) {
    const auto answer = TRY(control(agent, "/skills/uninstall", {{"name", name}}));
    return base::string_at(answer, "skill_name");
}

base::Status RemoteService::set_lifecycle(const std::string& agent, LifecycleAction action,
                                          const Caller& /*caller*/) {
    TRY(control(agent, "/control", {{"action", base::enum_name(action)}}));
    return {};
}

base::Result<json::object> RemoteService::abort_run(const std::string& agent,
                                                    const std::optional<std::string>& run_id,
                                                    const Caller& /*caller*/) {
    json::object body{{"mode", "stop_after_abort"}};
    put(body, "run_id", run_id);
    return control(agent, "/current-run/abort", body);
}

base::Result<json::object> RemoteService::compact_conversation(const std::string& agent,
                                                               const Caller& /*caller*/) {
    return control(agent, "/compact", {});
}

base::Result<domain::Task> RemoteService::start_task(const std::string& agent,
                                                     const TaskRequest& request,
                                                     const Caller& /*caller*/) {
    json::object body{{"summary", request.summary},
                      {"cmd", request.cmd},
                      {"login", request.login},
                      {"tty", request.tty},
                      {"accepts_input", request.accepts_input}};
    put(body, "workdir", request.workdir);
    put(body, "shell", request.shell);
    put(body, "yield_time_ms", request.yield_time_ms);
    put(body, "max_output_tokens", request.max_output_tokens);
    put(body, "trust", request.trust);
    // The daemon may delay the answer until the command has had this long.
    const auto yield =
        std::chrono::milliseconds(request.yield_time_ms.value_or(kTaskYieldDefault.count()));
    return decode<domain::Task>(TRY(control(agent, "/tasks", body, kAnswerTimeout + yield)),
                                "task");
}

base::Result<WorkItemsPage> RemoteService::work_items(const std::string& agent,
                                                      const WorkItemsQuery& query) {
    std::string path =
        fmt::format("/work-items?limit={}&filter={}", query.limit, base::enum_name(query.filter));
    if (query.after) path += "&after=" + base::percent_encoded(*query.after);
    return decode<WorkItemsPage>(TRY(client_.get(agent_path(agent, path))), "work items");
}

base::Result<json::object> RemoteService::work_item(const std::string& agent,
                                                    const std::string& id) {
    return get_object(agent_path(agent, "/work-items/" + base::percent_encoded(id)));
}

base::Result<domain::WorkItem> RemoteService::create_work_item(const std::string& agent,
                                                               const WorkItemRequest& request,
                                                               const Caller& /*caller*/) {
    json::object body{{"objective", request.objective}};
    put(body, "plan_status", request.plan_status);
    put(body, "plan", request.plan);
    put(body, "trust", request.trust);
    return decode<domain::WorkItem>(TRY(control(agent, "/work-items", body)), "work item");
}

base::Result<json::object> RemoteService::change_work_item(const std::string& agent,
                                                           const std::string& id,
                                                           const WorkItemChange& change,
                                                           const Caller& /*caller*/) {
    json::object body;
    if (change.action == WorkAction::Block) {
        body["blocked_by"] = change.text;
        put(body, "recheck_after", change.recheck_after_ms);
    }
    return decode<json::object>(
        TRY(control(agent,
                    fmt::format("/work-items/{}/{}", base::percent_encoded(id),
                                base::enum_name(change.action)),
                    body)),
        "work item");
}

base::Result<domain::Timer> RemoteService::create_timer(const std::string& agent,
                                                        const TimerRequest& request,
                                                        const Caller& /*caller*/) {
    json::object body{{"duration_ms", request.duration_ms}};
    put(body, "interval_ms", request.interval_ms);
    put(body, "summary", request.summary);
    put(body, "trust", request.trust);
    put(body, "at", request.at);
    put(body, "cron", request.cron);
    put(body, "time_zone", request.time_zone);
    return decode<domain::Timer>(TRY(control(agent, "/timers", body)), "timer");
}

base::Result<domain::Timer> RemoteService::cancel_timer(const std::string& agent,
                                                        const std::string& timer,
                                                        const Caller& /*caller*/) {
    return decode<domain::Timer>(
        TRY(control(agent, fmt::format("/timers/{}/cancel", base::percent_encoded(timer)), {})),
        "timer");
}

base::Result<json::object> RemoteService::external_trigger(const std::string& agent, bool rotate,
                                                           const Caller& /*caller*/) {
    return control(agent, rotate ? "/external-trigger/rotate" : "/external-trigger", {});
}

base::Status RemoteService::revoke_trigger(const std::string& agent, const Caller& /*caller*/) {
    TRY(control(agent, "/external-trigger/revoke", {}));
    return {};
}

// External systems deliver to the daemon themselves.
base::Result<WebhookDelivered> RemoteService::deliver_webhook(const WebhookDelivery& /*delivery*/) {
    return base::fail(base::ErrorCode::Unavailable, "deliveries go to the daemon's own address");
}

base::Result<WebhookView> RemoteService::create_webhook(const std::string& agent,
                                                        const WebhookRequest& request,
                                                        const Caller& /*caller*/) {
    const auto body = base::to_json(request);
    return decode<WebhookView>(TRY(control(agent, "/webhooks", body.as_object())), "webhook");
}

base::Result<std::vector<WebhookView>> RemoteService::webhooks(const std::string& agent) {
    return decode_list<WebhookView>(TRY(client_.get(agent_path(agent, "/webhooks"))), "webhooks");
}

base::Result<WebhookView> RemoteService::rotate_webhook(const std::string& agent,
                                                        const std::string& webhook,
                                                        const std::optional<std::string>& secret,
                                                        const Caller& /*caller*/) {
    json::object body;
    put(body, "secret", secret);
    return decode<WebhookView>(
        TRY(control(agent, fmt::format("/webhooks/{}/rotate", base::percent_encoded(webhook)),
                    body)),
        "webhook");
}

base::Result<WebhookView> RemoteService::revoke_webhook(const std::string& agent,
                                                        const std::string& webhook,
                                                        const Caller& /*caller*/) {
    return decode<WebhookView>(
        TRY(control(agent, fmt::format("/webhooks/{}/revoke", base::percent_encoded(webhook)), {})),
        "webhook");
}

base::Result<domain::OperatorBinding> RemoteService::bind_operator(
    const std::string& agent, const OperatorBindingRequest& request, const Caller& /*caller*/) {
    const auto body = base::to_json(request);
    const auto answer = TRY(control(agent, "/operator-bindings", body.as_object()));
    const auto* binding = base::find(answer, "binding");
    return decode<domain::OperatorBinding>(binding ? *binding : json::value(), "binding");
}

base::Result<std::vector<domain::OperatorBinding>> RemoteService::operator_bindings(
    const std::string& agent) {
    return decode_list<domain::OperatorBinding>(
        TRY(client_.get(agent_path(agent, "/operator-bindings"))), "bindings");
}

base::Result<domain::OperatorBinding> RemoteService::revoke_operator_binding(
    const std::string& agent, const std::string& binding, const Caller& /*caller*/) {
    return decode<domain::OperatorBinding>(
        TRY(control(agent,
                    fmt::format("/operator-bindings/{}/revoke", base::percent_encoded(binding)),
                    {})),
        "binding");
}

base::Result<std::string> RemoteService::operator_ingress(const std::string& agent,
                                                          const OperatorIngressRequest& request,
                                                          const Caller& /*caller*/) {
    const auto body = base::to_json(request);
    return base::string_at(TRY(control(agent, "/operator-ingress", body.as_object())),
                           "message_id");
}

base::Result<domain::WorkspaceEntry> RemoteService::attach_workspace(const std::string& agent,
                                                                     const std::string& path,
                                                                     const Caller& /*caller*/) {
    const json::value answer = TRY(control(agent, "/workspace/attach", {{"path", path}}));
    return domain::WorkspaceEntry{.workspace_id = base::string_at(answer, "workspace_id"),
                                  .workspace_anchor = base::string_at(answer, "workspace_anchor")};
}

base::Status RemoteService::exit_workspace(const std::string& agent, const Caller& /*caller*/) {
    TRY(control(agent, "/workspace/exit", {}));
    return {};
}

base::Result<Undone> RemoteService::undo(const std::string& agent, const UndoRequest& request,
                                         const Caller& /*caller*/) {
    const auto body = base::to_json(request);
    return decode<Undone>(TRY(control(agent, "/undo", body.as_object())), "undo");
}

base::Status RemoteService::detach_workspace(const std::string& agent,
                                             const std::string& workspace_id,
                                             const Caller& /*caller*/) {
    TRY(control(agent, "/workspace/detach", {{"workspace_id", workspace_id}}));
    return {};
}

}  // namespace service
