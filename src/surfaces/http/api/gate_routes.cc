// The gate: accepted and rejected documents, and the two decisions that only a person makes.
#include "surfaces/http/api/bodies.h"
#include "surfaces/http/api/handlers.h"

namespace http_surface::gates {
namespace {

constexpr std::int64_t kListDefault = 50;
constexpr std::int64_t kListMax = 1000;
constexpr std::int64_t kAgeDaysMax = 36'500;

std::unexpected<base::Error> invalid(std::string_view kind, std::string message) {
    return std::unexpected(
        base::Error{base::ErrorCode::InvalidInput, std::move(message), std::string(kind)});
}

base::Result<service::Gate*> gate_of(const Context& context) {
    if (context.gate) return context.gate;
    return std::unexpected(
        base::Error{base::ErrorCode::Unavailable, "this runtime has no gate", "not_supported"});
}

template <class T>
Answer answer_with(const T& value) {
    return json_response(base::to_json(value));
}

const std::string& id_of(const Request& request) {
    return request.params.find("document_id")->second;
}

}  // namespace

Answer list(const Context& context, const Request& request) {
    std::optional<domain::GatePlace> place;
    if (const auto named = request.query.find("place"); named != request.query.end()) {
        place = base::enum_from<domain::GatePlace>(named->second);
        if (!place)
            return invalid("invalid_query", "place must be outbox, inbound, quarantine or purged");
    }
    const auto query = TRY(list_query(request, kListDefault, kListMax));
    const auto list = TRY(TRY(gate_of(context))->list(place, query));
    auto response = json_response(base::to_json(list.items));
    add_next_link(response, request, list.next);
    return response;
}

Answer show(const Context& context, const Request& request) {
    return answer_with(TRY(TRY(gate_of(context))->show(id_of(request))));
}

Answer check(const Context& context, const Request& request) {
    const auto body = TRY(body_of<GateCheckBody>(request, base::Unknown::Reject));
    if (!body.file.starts_with('/'))
        return invalid("invalid_body", "file must be an absolute path");
    return answer_with(TRY(TRY(gate_of(context))->check(body.file)));
}

Answer release(const Context& context, const Request& request) {
    const auto body = TRY(body_of<GateReleaseBody>(request, base::Unknown::Reject));
    return answer_with(TRY(TRY(gate_of(context))->release(id_of(request), body.reason)));
}

Answer purge(const Context& context, const Request& request) {
    const auto body = TRY(body_of<service::PurgeRequest>(request, base::Unknown::Reject));
    if (body.document_id.has_value() == body.older_than_days.has_value())
        return invalid("invalid_body", "give document_id or older_than_days, one of them");
    if (const auto days = body.older_than_days.value_or(0); days < 0 || days > kAgeDaysMax)
        return invalid("invalid_body", fmt::format("older_than_days must be 0 to {}", kAgeDaysMax));
    return answer_with(TRY(TRY(gate_of(context))->purge(body)));
}

}  // namespace http_surface::gates
