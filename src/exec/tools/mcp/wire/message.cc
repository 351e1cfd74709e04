#include "exec/tools/mcp/wire/message.h"

#include <algorithm>

namespace mcp {
namespace {

json::object object_at(const json::object& message, std::string_view name) {
    const auto* found = base::find(message, name);
    return found && found->is_object() ? found->get_object() : json::object{};
}

Message answer_of(const json::object& message, const json::value& id) {
    if (!id.is_int64()) return Garbage{"an answer to a request that was never made"};
    if (const auto* error = base::find(message, "error"); error && error->is_object())
        return ErrorReply{.id = id.get_int64(),
                          .code = base::int_at(*error, "code"),
                          .message = base::string_at(*error, "message")};
    const auto* result = base::find(message, "result");
    if (!result || !result->is_object()) return Garbage{"an answer without a result"};
    return Reply{.id = id.get_int64(), .result = result->get_object()};
}

Message message_of(const json::value& value) {
    if (!value.is_object()) return Garbage{"not a JSON object"};
    const json::object& message = value.get_object();
    const auto* id = base::find(message, "id");
    const auto* method = base::find(message, "method");
    if (!method)
        return id ? answer_of(message, *id) : Message(Garbage{"neither a method nor an id"});
    if (!method->is_string()) return Garbage{"a method that is not a text"};
    std::string name(std::string_view(method->get_string()));
    if (!id) return Notification{std::move(name), object_at(message, "params")};
    if (!id->is_string() && !id->is_number()) return Garbage{"an id that is no text or number"};
    return Request{*id, std::move(name), object_at(message, "params")};
}

std::string line(json::object message) {
    message["jsonrpc"] = "2.0";
    return base::json_text(message) + "\n";
}

}  // namespace

bool is_known_version(std::string_view version) {
    return std::ranges::find(kProtocolVersions, version) != std::end(kProtocolVersions);
}

json::object client_info() {
    return {{"name", "holon"}, {"version", HOLON_VERSION}};
}

json::object with_client(json::object params, json::object capabilities) {
    auto* meta = params["_meta"].is_object() ? &params["_meta"].get_object()
                                             : &params["_meta"].emplace_object();
    (*meta)["io.modelcontextprotocol/protocolVersion"] = kStatelessVersion;
    (*meta)["io.modelcontextprotocol/clientInfo"] = client_info();
    (*meta)["io.modelcontextprotocol/clientCapabilities"] = std::move(capabilities);
    return params;
}

std::vector<Message> decode(std::string_view text) {
    const auto parsed = base::parse_json(text);
    if (!parsed) return {Garbage{"not JSON: " + parsed.error().message}};
    if (!parsed->is_array()) return {message_of(*parsed)};
    const auto& batch = parsed->get_array();
    if (batch.empty() || batch.size() > kBatchMax) return {Garbage{"a batch of no fitting size"}};
    std::vector<Message> messages;
    for (const auto& entry : batch) messages.push_back(message_of(entry));
    return messages;
}

std::string request(std::int64_t id, std::string_view method, json::object params) {
    return line({{"id", id}, {"method", method}, {"params", std::move(params)}});
}

std::string notification(std::string_view method, json::object params) {
    json::object message{{"method", method}};
    if (!params.empty()) message["params"] = std::move(params);
    return line(std::move(message));
}

std::string answer(const json::value& id, json::object result) {
    return line({{"id", id}, {"result", std::move(result)}});
}

std::string refusal(const json::value& id, std::int64_t code, std::string_view message) {
    return line({{"id", id}, {"error", {{"code", code}, {"message", message}}}});
}

}  // namespace mcp
