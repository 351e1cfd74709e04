#include "surfaces/http/api/handlers.h"

namespace http_surface::searches {
namespace {

std::string text_of(const Request& request, std::string_view key) {
    const auto found = request.query.find(std::string(key));
    return found == request.query.end() ? "" : found->second;
}

std::unexpected<base::Error> invalid(std::string message) {
    return std::unexpected(
        base::Error{base::ErrorCode::InvalidInput, std::move(message), "invalid_query"});
}

base::Result<std::string> query_of(const Request& request) {
    auto query = text_of(request, "query");
    if (query.empty()) return invalid("'query' is missing: the words to find");
    return query;
}

}  // namespace

Answer memory(const Context& context, const Request& request) {
    const auto everywhere = text_of(request, "include_all_workspaces");
    if (!everywhere.empty() && everywhere != "true" && everywhere != "false")
        return invalid("'include_all_workspaces' is true or false");
    const domain::MemoryQuery query{
        .query = TRY(query_of(request)),
        .limit = TRY(number_of(request, "limit", domain::MemoryQuery{}.limit)),
        .include_all_workspaces = everywhere == "true"};
    return json_response(
        base::to_json(TRY(context.service.search_memory(TRY(agent_of(context, request)), query))));
}

Answer document(const Context& context, const Request& request) {
    const auto chars = TRY(number_of(request, "max_chars", domain::kMemoryCharsDefault));
    return json_response(base::to_json(TRY(context.service.memory_document(
        TRY(agent_of(context, request)), text_of(request, "source_ref"), chars))));
}

Answer records(const Context& context, const Request& request) {
    domain::RecordQuery query{
        .query = TRY(query_of(request)),
        .limit = TRY(number_of(request, "limit", domain::RecordQuery{}.limit))};
    if (auto agent = text_of(request, "agent"); !agent.empty()) query.agent = std::move(agent);
    if (const auto since = text_of(request, "since"); !since.empty()) {
        const auto at = base::parse_time(since);
        if (!at) return invalid("'since' is a time such as 2031-01-02T03:04:05Z");
        query.since = *at;
    }
    return json_response(base::to_json(TRY(context.service.search_records(query))));
}

}  // namespace http_surface::searches
