#include "surfaces/http/api/handlers.h"

#include "surfaces/http/api/answers.h"

namespace http_surface::reads {
namespace {

constexpr std::int64_t kBriefsShown = 20;
constexpr std::int64_t kRecordsShown = 50;
constexpr std::int64_t kEventsShown = 128;
constexpr std::int64_t kEventsShownMax = 512;

// The reference has no upper bound here; ours keeps one answer from taking all memory.
constexpr std::int64_t kRecordsShownMax = service::kListedMax;

template <class T>
Response list_response(const Request& request, const service::Listed<T>& list) {
    auto response = json_response(base::to_json(list.items));
    add_next_link(response, request, list.next);
    return response;
}

json::array objects(std::vector<json::object> list) {
    json::array out;
    out.reserve(list.size());
    for (auto& one : list) out.emplace_back(std::move(one));
    return out;
}

base::Result<views::ProjectionName> projection_of(const Request& request) {
    const auto entry = request.query.find("projection");
    if (entry == request.query.end()) return views::ProjectionName::Operator;
    if (const auto name = base::enum_from<views::ProjectionName>(entry->second)) return *name;
    return std::unexpected(base::Error{base::ErrorCode::InvalidInput,
                                       "'projection' is operator or local_debug", "invalid_query"});
}

base::Result<bool> flag_of(const Request& request, std::string_view key) {
    const auto entry = request.query.find(key);
    if (entry == request.query.end() || entry->second == "false") return false;
    if (entry->second == "true") return true;
    return std::unexpected(base::Error{base::ErrorCode::InvalidInput,
                                       fmt::format("'{}' is true or false", key), "invalid_query"});
}

// The requested part of the events.
struct PageQuery {
    service::EventsQuery events;
    views::ProjectionName projection{views::ProjectionName::Operator};
};

base::Result<PageQuery> page_query(const Request& request) {
    PageQuery query;
    query.events.after_seq = TRY(cursor_of(request, "after_seq"));
    query.events.before_seq = TRY(cursor_of(request, "before_seq"));
    query.events.limit = std::clamp(TRY(number_of(request, "limit", kEventsShown)), std::int64_t{1},
                                    kEventsShownMax);
    const auto order = request.query.find("order");
    if (order != request.query.end() && order->second != "asc" && order->second != "desc")
        return std::unexpected(
            base::Error{base::ErrorCode::InvalidInput, "'order' is asc or desc", "invalid_query"});
    query.events.newest_first = order == request.query.end() || order->second == "desc";
    query.projection = TRY(projection_of(request));
    return query;
}

// Are there more events after a page, in its direction?
base::Result<bool> has_more(service::Service& service, const std::string& agent,
                            service::EventsQuery query, const std::vector<domain::Event>& page) {
    if (static_cast<std::int64_t>(page.size()) < query.limit) return false;
    (query.newest_first ? query.before_seq : query.after_seq) = page.back().event_seq;
    query.limit = 1;
    // An event number of 1 has none before it, and 0 would mean "no bound".
    if (query.newest_first && query.before_seq <= 1) return false;
    return !TRY(service.event_page(agent, query)).empty();
}

std::unexpected<base::Error> cursor_not_found(std::int64_t after, std::int64_t oldest,
                                              std::int64_t newest) {
    return std::unexpected(base::Error{
        base::ErrorCode::NotFound,
        fmt::format("event {} is not a point from which events can be replayed; read /state and "
                    "follow from its event_seq",
                    after),
        "cursor_not_found",
        {{"after_seq", after}, {"oldest_seq", oldest}, {"event_seq", newest}}});
}

bool is_child(const json::value& summary) {
    const auto* identity = base::find(summary, "identity");
    return identity && base::string_at(*identity, "ownership") == "parent_supervised";
}

Response not_public() {
    return refusal(403, "agent_private",
                   "this agent is a private child; the status of its parent shows it under "
                   "active_children");
}

}  // namespace

Answer root(const Context& context, const Request&) {
    return json_response(base::to_json(Root{.default_agent = context.facts.default_agent}));
}

Answer models(const Context& context, const Request&) {
    Models models{.model_availability = TRY(context.settings.models())};
    for (const auto& model : models.model_availability) {
        const std::string source = base::string_at(model.policy, "source");
        if (source == "built_in_catalog" || source == "conservative_builtin")
            models.available_models.push_back(model.policy);
    }
    return json_response(base::to_json(models));
}

Answer agent_list(const Context& context, const Request& request) {
    service::AgentsQuery query{.limit = TRY(number_of(request, "limit", service::kAgentsPageMax))};
    if (const auto after = request.query.find("after"); after != request.query.end())
        query.after = after->second;
    return json_response(objects(TRY(context.service.agent_list(query))));
}

Answer status(const Context& context, const Request& request) {
    const auto summary = TRY(context.service.status(TRY(agent_of(context, request))));
    return is_child(summary) ? not_public() : json_response(summary);
}

// The cursor is read before the state: a client that follows from it may see an event twice in its
// effects, but never misses one.
Answer state(const Context& context, const Request& request) {
    const auto agent = TRY(agent_of(context, request));
    const auto newest = TRY(context.service.newest_event(agent));
    auto body = TRY(context.service.state(agent));
    if (is_child(body.at("agent"))) return not_public();
    body["event_seq"] = newest;
    return json_response(body);
}

Answer briefs(const Context& context, const Request& request) {
    const auto query = TRY(list_query(request, kBriefsShown, kRecordsShownMax));
    return list_response(request,
                         TRY(context.service.briefs(TRY(agent_of(context, request)), query)));
}

Answer transcript(const Context& context, const Request& request) {
    const auto query = TRY(list_query(request, kRecordsShown, kRecordsShownMax));
    return list_response(request,
                         TRY(context.service.transcript(TRY(agent_of(context, request)), query)));
}

Answer tasks(const Context& context, const Request& request) {
    const auto limit = std::min(TRY(number_of(request, "limit", kRecordsShown)), kRecordsShownMax);
    return json_response(
        base::to_json(TRY(context.service.tasks(TRY(agent_of(context, request)), limit))));
}

Answer timers(const Context& context, const Request& request) {
    const auto query = TRY(list_query(request, kRecordsShown, kRecordsShownMax));
    return list_response(request,
                         TRY(context.service.timers(TRY(agent_of(context, request)), query)));
}

Answer events(const Context& context, const Request& request) {
    const auto agent = TRY(agent_of(context, request));
    const auto query = TRY(page_query(request));
    const auto found = TRY(context.service.event_page(agent, query.events));
    const bool more = TRY(has_more(context.service, agent, query.events, found));
    const bool desc = query.events.newest_first;
    EventPage page{.has_older = desc && more,
                   .has_newer = !desc && more,
                   .order = desc ? EventOrder::Desc : EventOrder::Asc,
                   .limit = query.events.limit};
    for (const auto& event : found)
        page.events.push_back(views::envelope({agent}, event, query.projection));
    if (!found.empty()) {
        page.oldest_seq = (desc ? found.back() : found.front()).event_seq;
        page.newest_seq = (desc ? found.front() : found.back()).event_seq;
    }
    return json_response(base::to_json(page));
}

Answer event_stream(const Context& context, const Request& request) {
    TRY(number_of(request, "limit", kEventsShown));
    TRY(projection_of(request));
    const bool deltas = TRY(flag_of(request, "deltas"));
    const auto agent = TRY(agent_of(context, request));
    const auto after = TRY(stream_cursor(request));
    const auto newest = TRY(context.service.newest_event(agent));
    if (after && !request.rights.replay)
        return refusal(403, "replay_not_allowed",
                       "this token may follow new events, but not read history");
    if (!after) return Response{.follow = Follow{agent, newest, newest, deltas}};
    if (*after == newest) return Response{.follow = Follow{agent, newest, newest, deltas}};
    // The event behind the cursor has to be there still; 0 means the oldest that is kept.
    const auto kept = TRY(context.service.event_page(agent, {.limit = 1, .newest_first = false}));
    const std::int64_t oldest = kept.empty() ? newest + 1 : kept.front().event_seq;
    if (*after > newest || (*after != 0 && *after + 1 < oldest))
        return cursor_not_found(*after, oldest, newest);
    return Response{.follow = Follow{agent, std::max(*after, oldest - 1), newest, deltas}};
}

}  // namespace http_surface::reads
