// Plans over HTTP. Their JSON is camelCase, as everywhere on the plan surface.
#include <pwd.h>

#include "base/text.h"
#include "service/plans_json.h"
#include "surfaces/http/api/handlers.h"
#include "surfaces/http/api/plan_bodies.h"
#include "surfaces/http/api/route_table.h"

namespace http_surface {
namespace plans {
namespace {

using service::plan_json;

constexpr std::int64_t kRunsShown = 20;
constexpr std::int64_t kRunsShownMax = 1000;
constexpr std::int64_t kRecordsShown = 128;
constexpr std::int64_t kRecordsShownMax = 512;
constexpr std::size_t kReasonCharsMax = 1000;
constexpr std::size_t kPageBytesMax = std::size_t{4} * 1024 * 1024;
constexpr std::chrono::hours kApprovalDefault{24};

std::unexpected<base::Error> invalid(std::string message) {
    return std::unexpected(
        base::Error{base::ErrorCode::InvalidInput, std::move(message), "invalid_body"});
}

base::Result<service::Plans*> plans_of(const Context& context) {
    if (context.plans) return context.plans;
    return std::unexpected(base::Error{base::ErrorCode::Unavailable,
                                       "this runtime executes no plans", "not_supported"});
}

// The id of the run that the path names.
base::Result<std::string> run_of(service::Plans& plans, const Request& request) {
    return TRY(plans.run(request.params.find("run_id")->second)).run_id.value;
}

template <class T>
base::Result<T> plan_body(const Request& request) {
    const auto value = TRY(json_of(request));
    auto body = service::plan_from<T>(value, base::Unknown::Reject);
    if (!body) body.error().kind = "invalid_body";
    return body;
}

std::string user_name(uid_t uid) {
    std::array<char, 4096> buffer{};
    passwd entry{};
    passwd* found = nullptr;
    if (getpwuid_r(uid, &entry, buffer.data(), buffer.size(), &found) == 0 && found)
        return found->pw_name;
    return fmt::format("uid {}", uid);
}

// The approver follows from the connection, never from the body.
std::string approver_of(const Request& request) {
    if (request.peer.uid) return user_name(*request.peer.uid);
    return std::string(base::enum_name(request.rights.admission));
}

base::Result<std::string> reason_of(const Request& request, std::string_view fallback) {
    const auto body = TRY(plan_body<ReasonBody>(request));
    return base::ellipsize(body.reason.value_or(std::string(fallback)), kReasonCharsMax);
}

base::Status check_folder(const std::optional<std::string>& folder, std::string_view name) {
    if (folder && !folder->starts_with('/'))
        return invalid(fmt::format("'{}' has to be an absolute path", name));
    return {};
}

template <class Body>
base::Result<service::PlanRequest> with_place(const Body& body, service::PlanRequest request) {
    TRY(check_folder(body.vault, "vault"));
    request.vault = body.vault;
    request.params = body.params.value_or(json::object{});
    request.policy = body.policy.value_or(json::object{});
    request.context = body.context.value_or(json::object{});
    return request;
}

base::Result<service::PlanRequest> request_of(const Request& request) {
    const auto body = TRY(plan_body<PlanBody>(request));
    if (int{body.text.has_value()} + int{body.plan.has_value()} + int{body.action.has_value()} != 1)
        return invalid("give one of 'text', 'plan' and 'action'");
    service::PlanRequest out{.action = body.action};
    if (body.text) out.text = *body.text;
    if (body.plan) out.text = base::json_text(*body.plan);
    return with_place(body, std::move(out));
}

template <class T>
Response answer_with(const T& value) {
    return json_response(plan_json(value));
}

template <class T>
Response answer_with_list(const std::vector<T>& list) {
    json::array out;
    for (const auto& one : list) out.push_back(plan_json(one));
    return json_response(out);
}

Answer check(const Context& context, const Request& request) {
    return answer_with(TRY(TRY(plans_of(context))->check(TRY(request_of(request)))));
}

Answer preview(const Context& context, const Request& request) {
    return json_response(TRY(TRY(plans_of(context))->preview(TRY(request_of(request)))));
}

Answer create(const Context& context, const Request& request) {
    return answer_with(TRY(TRY(plans_of(context))->create(TRY(request_of(request)))));
}

Answer list(const Context& context, const Request& request) {
    const auto query = TRY(list_query(request, kRunsShown, kRunsShownMax));
    const auto list = TRY(TRY(plans_of(context))->runs(query));
    auto response = answer_with_list(list.items);
    add_next_link(response, request, list.next);
    return response;
}

Answer status(const Context& context, const Request& request) {
    auto& plans = *TRY(plans_of(context));
    const auto run = TRY(run_of(plans, request));
    const bool executing = TRY(plans.is_executing(run));
    return json_response(
        json::object{{"run", plan_json(TRY(plans.run(run)))}, {"isCarried", executing}});
}

Answer show(const Context& context, const Request& request) {
    auto& plans = *TRY(plans_of(context));
    return json_response(TRY(plans.show(TRY(run_of(plans, request)))));
}

Answer records(const Context& context, const Request& request) {
    auto& plans = *TRY(plans_of(context));
    const auto run = TRY(run_of(plans, request));
    const auto after = TRY(number_of(request, "after_seq", 0));
    const auto limit = std::clamp(TRY(number_of(request, "limit", kRecordsShown)), std::int64_t{1},
                                  kRecordsShownMax);
    RecordPage page{.records = TRY(plans.records(run, after, limit))};
    std::size_t bytes = 0;
    const auto over = std::ranges::find_if(page.records, [&](const domain::PlanRecord& record) {
        return (bytes += record.line.size()) > kPageBytesMax;
    });
    // At least one line, or a reader would never make progress.
    if (over != page.records.end())
        page.records.erase(std::max(over, page.records.begin() + 1), page.records.end());
    if (!page.records.empty())
        page.has_newer = TRY(plans.run(run)).last_seq > page.records.back().seq;
    return answer_with(page);
}

Answer stream(const Context& context, const Request& request) {
    auto& plans = *TRY(plans_of(context));
    const auto id = TRY(run_of(plans, request));
    const auto after = TRY(stream_cursor(request)).value_or(0);
    // In this order: a run that has ended writes nothing more.
    const bool has_ended = TRY(plans.has_ended(id));
    const auto last = TRY(plans.run(id)).last_seq;
    if (after > last)
        return std::unexpected(base::Error{
            base::ErrorCode::NotFound,
            fmt::format("the journal of the run has no line {} yet; its last is {}", after, last),
            "cursor_not_found",
            {{"after_seq", after}, {"event_seq", last}}});
    // An EventSource does not reconnect after this.
    if (has_ended && after == last) return Response{.status = 204};
    return Response{.follow_run = FollowRun{id, after}};
}

Answer approve(const Context& context, const Request& request) {
    auto& plans = *TRY(plans_of(context));
    const auto body = TRY(plan_body<ApproveBody>(request));
    const auto lifetime = std::chrono::milliseconds(
        body.lifetime_ms.value_or(std::chrono::milliseconds(kApprovalDefault).count()));
    if (lifetime <= std::chrono::milliseconds(0))
        return invalid("'lifetimeMs' has to be 1 or more");
    // The name as it was sent: an approval needs the whole id.
    return answer_with(
        TRY(plans.approve(request.params.find("run_id")->second, approver_of(request), lifetime)));
}

Answer reject(const Context& context, const Request& request) {
    auto& plans = *TRY(plans_of(context));
    const auto reason = TRY(reason_of(request, "rejected"));
    return answer_with(
        TRY(plans.reject(TRY(run_of(plans, request)), approver_of(request), reason)));
}

Answer begin(const Context& context, const Request& request) {
    auto& plans = *TRY(plans_of(context));
    TRY(plan_body<NoBody>(request));
    return answer_with(TRY(plans.begin(TRY(run_of(plans, request)))));
}

Answer cancel(const Context& context, const Request& request) {
    auto& plans = *TRY(plans_of(context));
    const auto reason = TRY(reason_of(request, "cancelled"));
    return answer_with(TRY(plans.cancel(TRY(run_of(plans, request)), reason)));
}

Answer revert(const Context& context, const Request& request) {
    auto& plans = *TRY(plans_of(context));
    TRY(plan_body<NoBody>(request));
    return answer_with(TRY(plans.make_revert(TRY(run_of(plans, request)), approver_of(request))));
}

base::Result<std::string> subject_of(service::Plans& plans, const Request& request) {
    const auto body = TRY(plan_body<SubjectBody>(request));
    if (body.run.has_value() == body.folder.has_value())
        return invalid("give one of 'run' and 'folder'");
    TRY(check_folder(body.folder, "folder"));
    if (body.folder) return *body.folder;
    return TRY(plans.run(*body.run)).run_id.value;
}

Answer verify(const Context& context, const Request& request) {
    auto& plans = *TRY(plans_of(context));
    return answer_with(TRY(plans.verify(TRY(subject_of(plans, request)))));
}

Answer replay(const Context& context, const Request& request) {
    auto& plans = *TRY(plans_of(context));
    return answer_with(TRY(plans.replay(TRY(subject_of(plans, request)))));
}

Answer actions(const Context& context, const Request&) {
    return answer_with_list(TRY(TRY(plans_of(context))->actions()));
}

Answer action(const Context& context, const Request& request) {
    return answer_with(TRY(TRY(plans_of(context))->action(request.params.find("name")->second)));
}

Answer save(const Context& context, const Request& request) {
    auto& plans = *TRY(plans_of(context));
    const auto body = TRY(plan_body<SaveBody>(request));
    if (body.run.has_value() == body.text.has_value())
        return invalid("give one of 'run' and 'text'");
    return answer_with(
        TRY(plans.save(body.name, body.description.value_or(""), body.run, body.text)));
}

Answer remove_action(const Context& context, const Request& request) {
    TRY(plan_body<NoBody>(request));
    const auto& name = request.params.find("name")->second;
    TRY(TRY(plans_of(context))->remove_action(name));
    return answer_with(Removed{.name = name});
}

// Begins at once if no approval is needed.
Answer run_action(const Context& context, const Request& request) {
    auto& plans = *TRY(plans_of(context));
    const auto body = TRY(plan_body<ActionRunBody>(request));
    const auto wanted = TRY(with_place(body, {.action = request.params.find("name")->second}));
    auto created = TRY(plans.create(wanted));
    if (created.run && !created.needs_approval)
        created.run = TRY(plans.begin(created.run->run_id.value));
    return answer_with(created);
}

Answer tools(const Context& context, const Request&) {
    return answer_with_list(TRY(TRY(plans_of(context))->tools()));
}

}  // namespace
}  // namespace plans

namespace {

// Answers may get new members, bodies may not.
void open_up(json::value& schema) {
    if (auto* object = schema.if_object()) {
        const auto* closed = object->if_contains("additionalProperties");
        if (closed && closed->is_bool()) object->erase("additionalProperties");
        for (auto& member : *object) open_up(member.value());
    } else if (auto* array = schema.if_array()) {
        for (auto& item : *array) open_up(item);
    }
}

template <class T>
json::object body() {
    return service::camel_schema(base::schema_of<T>());
}

template <class T>
json::object shown() {
    json::value schema(body<T>());
    open_up(schema);
    return std::move(schema.get_object());
}

json::object some_json() {
    return {{"type", "object"}};
}

template <class T>
json::object shown_list() {
    return {{"type", "array"}, {"items", shown<T>()}};
}

constexpr QueryDoc kRunsQuery[] = {
    {"limit", "How many, the newest.",
     R"({"type":"integer","minimum":0,"maximum":1000,"default":20})"},
    {"before", "The next part: the value that the Link header of this one has.",
     R"({"type":"string"})"}};
constexpr QueryDoc kRecordsQuery[] = {
    {"after_seq", "Only lines after this one.", R"({"type":"integer","minimum":0,"default":0})"},
    {"limit", "How many.", R"({"type":"integer","minimum":1,"maximum":512,"default":128})"}};
constexpr QueryDoc kStreamQuery[] = {
    {"after_seq",
     "Starts after this line; 0 starts at the first. A Last-Event-ID header takes precedence.",
     R"({"type":"integer","minimum":0,"default":0})"}};

#define RUN "/plans/runs/{run_id}"
#define ACTION "/plans/actions/{name}"

constexpr Route kPlanRoutes[] = {
    post("/plans/check", "All faults of a plan at once; executes nothing.", plans::check,
         body<PlanBody>, shown<service::PlanCheck>),
    post("/plans/preview", "What a plan would do: only reading tools are called.", plans::preview,
         body<PlanBody>, some_json),
    get("/plans/tools", "The tools that plans may use, with their schemas.", plans::tools,
        shown_list<service::ToolView>),
    get("/plans/runs", "Plan runs, newest first.", plans::list, shown_list<domain::PlanRun>,
        kRunsQuery),
    post("/plans/runs", "Stores a plan run without beginning it, or lists the faults of its plan.",
         plans::create, body<PlanBody>, shown<service::PlanCreated>),
    get(RUN, "The status of a plan run.", plans::status, shown<RunShown>),
    of_history(get(RUN "/show", "A plan run with its plan, calls, results and events.", plans::show,
                   some_json)),
    of_history(get(RUN "/records", "A page of the run's journal, with the same lines as its files.",
                   plans::records, shown<RecordPage>, kRecordsQuery)),
    of_history(get(RUN "/records/stream", "The run's journal as it is written; ends with the run.",
                   plans::stream, nullptr, kStreamQuery)),
    post(RUN "/approve", "Approves the plan with its policy, in the caller's name.", plans::approve,
         body<ApproveBody>, shown<domain::PlanRun>),
    post(RUN "/reject", "Ends a run that has not begun.", plans::reject, body<ReasonBody>,
         shown<domain::PlanRun>),
    post(RUN "/begin", "Begins or resumes a plan run; the daemon executes it from then on.",
         plans::begin, body<NoBody>, shown<domain::PlanRun>),
    post(RUN "/cancel",
         "Cancels a plan run and its calls in flight; waits for the end, for 20 s at most.",
         plans::cancel, body<ReasonBody>, shown<domain::PlanRun>),
    post(RUN "/revert",
         "Stores a run, approved in the caller's name, that undoes the changes of this one; does "
         "not begin it.",
         plans::revert, body<NoBody>, shown<service::PlanReverted>),
    post("/plans/verify", "Checks order, pairing, approval and integrity of the records of a run.",
         plans::verify, body<SubjectBody>, shown<service::PlanVerdict>),
    post("/plans/replay", "Decides a run again from its records; executes nothing.", plans::replay,
         body<SubjectBody>, shown<service::PlanReplay>),
    get("/plans/actions", "Plans saved under a name.", plans::actions,
        shown_list<domain::PlanAction>),
    post("/plans/actions", "Saves the plan of a successful run, or another plan, under a name.",
         plans::save, body<SaveBody>, shown<domain::PlanAction>),
    get(ACTION, "One saved action, with its plan.", plans::action, shown<domain::PlanAction>),
    post(ACTION "/remove", "Deletes the action.", plans::remove_action, body<NoBody>,
         shown<Removed>),
    post(ACTION "/run", "Stores a run of the action, and begins it unless it needs approval.",
         plans::run_action, body<ActionRunBody>, shown<service::PlanCreated>),
};

#undef RUN
#undef ACTION

}  // namespace

std::span<const Route> plan_routes() {
    return kPlanRoutes;
}

}  // namespace http_surface
