#include "surfaces/http/api/openapi.h"

#include "base/typed.h"
#include "domain/events/kinds.h"
#include "surfaces/http/api/answers.h"

namespace http_surface {
namespace {

constexpr std::string_view kAbout =
    "The control surface of holon, the same on TCP and on the Unix socket. To read the "
    "state of an agent, use /agents/{agent_id}/status: its shape is stable. To keep a view of an "
    "agent, read /agents/{agent_id}/state once and continue from "
    "/agents/{agent_id}/events/stream with its event_seq; /state is the bootstrap of holon's own "
    "clients and may change with them, not a "
    "general snapshot for third parties.";

json::array parameters(const Route& route) {
    json::array out;
    std::string_view rest = route.pattern;
    for (auto open = rest.find('{'); open != std::string_view::npos; open = rest.find('{')) {
        const auto close = rest.find('}', open);
        out.push_back(json::object{{"name", rest.substr(open + 1, close - open - 1)},
                                   {"in", "path"},
                                   {"required", true},
                                   {"schema", {{"type", "string"}}}});
        rest = rest.substr(close + 1);
    }
    for (const auto& query : route.query)
        out.push_back(json::object{{"name", query.name},
                                   {"in", "query"},
                                   {"description", query.text},
                                   {"schema", json::parse(json::string_view(query.schema))}});
    return out;
}

json::object with_schema(json::object schema) {
    return {{"application/json", {{"schema", std::move(schema)}}}};
}

std::string_view stream_text(const Route& route) {
    if (route.pattern.starts_with("/plans/"))
        return "Server-sent events; the data of each is a line of the run's journal. 204 when it "
               "has ended and has no more.";
    if (route.pattern.starts_with("/control/runs/"))
        return "Server-sent events: run_started, with run_id, agent_id, model_ref, message_id and "
               "event_seq; then run_ended, with an error when the run cannot be followed to its "
               "end.";
    return "Server-sent events; the data of each is an EventEnvelope. x-event-kinds lists its "
           "types and their payloads.";
}

json::object success(const Route& route) {
    if (route.pattern.ends_with("/stream"))
        return {{"description", stream_text(route)},
                {"content", {{"text/event-stream", {{"schema", {{"type", "string"}}}}}}}};
    if (!route.response_schema)
        return {{"description", "Text."},
                {"content", {{"text/plain", {{"schema", {{"type", "string"}}}}}}}};
    return {{"description", "Done."}, {"content", with_schema(route.response_schema())}};
}

json::object operation(const Route& route) {
    json::object out{{"summary", route.summary}};
    if (auto list = parameters(route); !list.empty()) out["parameters"] = std::move(list);
    if (route.request_schema)
        out["requestBody"] =
            json::object{{"required", true}, {"content", with_schema(route.request_schema())}};
    else if (route.body == BodyRule::Bytes)
        out["requestBody"] = json::object{
            {"required", false},
            {"content", {{"*/*", {{"schema", {{"type", "string"}, {"format", "binary"}}}}}}}};
    json::object responses;
    if (route.supported) responses["200"] = success(route);
    if (!route.supported)
        responses["501"] =
            json::object{{"description", "Not supported by this runtime yet."},
                         {"content", with_schema({{"$ref", "#/components/schemas/Failure"}})}};
    responses["default"] =
        json::object{{"description", "What went wrong."},
                     {"content", with_schema({{"$ref", "#/components/schemas/Failure"}})}};
    out["responses"] = std::move(responses);
    out["security"] = route.guard == Guard::Token
                          ? json::array{json::object{{"token", json::array{}}}, json::object{}}
                          : json::array{};
    return out;
}

std::string payload_name(const domain::events::Kind& kind) {
    return fmt::format("event.{}", kind.name);
}

json::object schemas() {
    json::object failure = base::schema_of<Failure>();
    failure.erase("additionalProperties");  // Some have further members, such as oldest_seq.
    json::object out{{"Failure", std::move(failure)}};
    for (const auto& kind : domain::events::kinds()) out[payload_name(kind)] = kind.schema();
    return out;
}

// What the `type` of an EventEnvelope may be. Events that another version stored may have others.
json::array event_kinds() {
    json::array out;
    for (const auto& kind : domain::events::kinds())
        out.push_back(
            json::object{{"type", kind.name},
                         {"category", base::enum_name(kind.category)},
                         {"visibility", base::enum_name(kind.visibility)},
                         {"payload", {{"$ref", "#/components/schemas/" + payload_name(kind)}}}});
    return out;
}

}  // namespace

json::object openapi_document(std::span<const Route> routes) {
    json::object paths;
    for (const auto& route : routes) {
        auto& path = paths[json::string_view(route.pattern)];
        if (path.is_null()) path.emplace_object();
        path.as_object()[route.method == Method::Get ? "get" : "post"] = operation(route);
    }
    return {{"openapi", "3.1.0"},
            {"info", {{"title", "holon"}, {"version", HOLON_VERSION}, {"description", kAbout}}},
            {"paths", std::move(paths)},
            {"components",
             {{"schemas", schemas()},
              {"securitySchemes", {{"token", {{"type", "http"}, {"scheme", "bearer"}}}}}}},
            {"x-event-kinds", event_kinds()}};
}

}  // namespace http_surface
