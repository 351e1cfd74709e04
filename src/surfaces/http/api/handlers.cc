#include "surfaces/http/api/handlers.h"

#include <charconv>

#include "base/text.h"
#include "surfaces/http/server/access.h"

namespace http_surface {
namespace {

base::Error error(base::ErrorCode code, std::string kind, std::string message) {
    return {code, std::move(message), std::move(kind)};
}

}  // namespace

base::Result<std::string> agent_of(const Context& context, const Request& request) {
    const auto named = request.params.find("agent_id");
    if (named == request.params.end()) return context.facts.default_agent;
    if (!domain::is_agent_id(named->second))
        return base::fail(base::ErrorCode::NotFound, "there is no agent '{}'",
                          base::printable(base::ellipsize(named->second, 64)));
    return named->second;
}

base::Result<json::value> json_of(const Request& request) {
    if (!request.head.content_type || !is_json(*request.head.content_type))
        return std::unexpected(error(base::ErrorCode::InvalidInput, "unsupported_media_type",
                                     "send JSON with Content-Type: application/json"));
    auto value = base::parse_json(request.body);
    if (!value) value.error().kind = "invalid_json";
    return value;
}

base::Result<std::int64_t> number_of(const Request& request, std::string_view key,
                                     std::int64_t fallback) {
    const auto entry = request.query.find(key);
    if (entry == request.query.end()) return fallback;
    const auto& text = entry->second;
    std::int64_t number = 0;
    const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (failure != std::errc() || end != text.data() + text.size() || number < 0)
        return std::unexpected(error(base::ErrorCode::InvalidInput, "invalid_query",
                                     fmt::format("'{}' has to be a number from 0 up", key)));
    return number;
}

base::Result<std::optional<std::int64_t>> cursor_of(const Request& request, std::string_view key) {
    if (!request.query.contains(key)) return std::nullopt;
    return TRY(number_of(request, key, 0));
}

base::Result<std::optional<std::int64_t>> stream_cursor(const Request& request) {
    if (!request.head.last_event_id || request.head.last_event_id->empty())
        return cursor_of(request, "after_seq");
    Request said = request;
    said.query["after_seq"] = *request.head.last_event_id;
    auto cursor = cursor_of(said, "after_seq");
    if (!cursor) cursor.error().message = "Last-Event-ID must be the id of an event";
    return cursor;
}

base::Result<service::ListQuery> list_query(const Request& request, std::int64_t limit,
                                            std::int64_t limit_max) {
    service::ListQuery query{.limit = std::min(TRY(number_of(request, "limit", limit)), limit_max)};
    if (const auto before = request.query.find("before"); before != request.query.end())
        query.before = before->second;
    return query;
}

void add_next_link(Response& response, const Request& request, const std::string& next) {
    if (next.empty()) return;
    std::string link = "<?";
    for (const auto& [key, value] : request.query)
        if (key != "before")
            link += fmt::format("{}={}&", base::percent_encoded(key), base::percent_encoded(value));
    response.headers.emplace_back(
        "Link", fmt::format("{}before={}>; rel=\"next\"", link, base::percent_encoded(next)));
}

service::Caller caller_of(const Request& request) {
    return {.admission = request.rights.admission, .actor_id = "control"};
}

Answer not_supported(const Context&, const Request&) {
    return std::unexpected(error(base::ErrorCode::Unavailable, "not_supported",
                                 "this runtime does not support that yet"));
}

}  // namespace http_surface
