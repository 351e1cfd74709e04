#include "surfaces/http/api/answers.h"
#include "surfaces/http/api/bodies.h"
#include "surfaces/http/api/handlers.h"

#include <openssl/evp.h>

#include "base/text.h"
#include "surfaces/http/server/access.h"

namespace http_surface::deliveries {
namespace {

std::unexpected<base::Error> refused(std::string message) {
    return std::unexpected(base::Error{base::ErrorCode::Refused, std::move(message)});
}

Response delivered(const std::string& agent, const std::string& message_id) {
    return json_response(base::to_json(Delivered{.agent_id = agent, .message_id = message_id}));
}

base::Result<domain::Priority> priority_of(const EnqueueBody& body) {
    if (!body.priority) return domain::Priority::Normal;
    const auto priority = base::enum_from<domain::Priority>(*body.priority);
    if (*body.priority == "interrupt" || priority == domain::Priority::Interject)
        return refused("only the operator may interject");
    if (!priority)
        return std::unexpected(base::Error{base::ErrorCode::InvalidInput,
                                           "/priority: expected next, normal or background",
                                           "invalid_body"});
    return *priority;
}

base::Result<domain::Origin> origin_of(const EnqueueBody& body) {
    if (!body.origin) return domain::WebhookOrigin{.source = "http"};
    const std::string kind = base::string_at(*body.origin, "kind");
    auto origin = base::from_json<domain::Origin>(*body.origin);
    if (!origin) {
        origin.error().kind = "invalid_body";
        return origin;
    }
    if (kind != "webhook" && kind != "channel")
        return refused("this route accepts webhook and channel origins only");
    return origin;
}

base::Result<domain::MessageKind> kind_of(const EnqueueBody& body, const domain::Origin& origin) {
    const bool channel = std::holds_alternative<domain::ChannelOrigin>(origin);
    const std::string kind = body.kind.value_or("webhook_event");
    if (!channel && kind == "webhook_event") return domain::MessageKind::WebhookEvent;
    if (channel && kind == "channel_event") return domain::MessageKind::ChannelEvent;
    return refused(
        "the kind of a message has to match its origin: webhook_event for a webhook, "
        "channel_event for a channel");
}

domain::Body content_of(const EnqueueBody& body) {
    if (body.body) return *body.body;
    if (body.text) return domain::TextBody{*body.text};
    if (body.json) return domain::JsonBody{*body.json};
    return domain::TextBody{};
}

std::string base64(std::string_view bytes) {
    std::string out(4 * ((bytes.size() + 2) / 3) + 1, '\0');
    const int size = EVP_EncodeBlock(reinterpret_cast<unsigned char*>(out.data()),
                                     reinterpret_cast<const unsigned char*>(bytes.data()),
                                     static_cast<int>(bytes.size()));
    out.resize(static_cast<std::size_t>(size));
    return out;
}

std::unexpected<base::Error> bad_callback(std::string_view what) {
    return base::fail(base::ErrorCode::InvalidInput, "the body is not valid {}", what);
}

// The body of a callback, by its content type. Whatever else a program calls its text (curl says
// that it is a form), text stays text; bytes that are none are kept as base64.
base::Result<std::optional<domain::Body>> callback_body(const Request& request) {
    const std::string_view bytes = request.body;
    if (bytes.empty()) return std::nullopt;
    if (!request.head.content_type) {
        if (base::is_utf8(bytes)) return domain::TextBody{std::string(bytes)};
        return domain::JsonBody{json::object{{"body_base64", base64(bytes)}}};
    }
    const std::string& type = *request.head.content_type;
    if (type.starts_with("text/")) {
        if (!base::is_utf8(bytes)) return bad_callback("UTF-8");
        return domain::TextBody{std::string(bytes)};
    }
    const std::string_view plain = base::trim(std::string_view(type).substr(0, type.find(';')));
    if (plain == "application/json" || plain.ends_with("+json")) {
        auto value = base::parse_json(bytes);
        if (!value) return bad_callback("JSON");
        return domain::JsonBody{std::move(*value)};
    }
    if (base::is_utf8(bytes) && !bytes.contains('\0')) return domain::TextBody{std::string(bytes)};
    return domain::JsonBody{
        json::object{{"content_type", base::to_utf8(type)}, {"body_base64", base64(bytes)}}};
}

Answer callback(const Context& context, const Request& request, std::string_view mode) {
    auto body = TRY(callback_body(request));
    auto result = TRY(context.service.callback({.token = request.params.find("token")->second,
                                                .mode = std::string(mode),
                                                .body = std::move(body),
                                                .content_type = request.head.content_type}));
    result["ok"] = true;
    return json_response(result);
}

}  // namespace

Answer enqueue(const Context& context, const Request& request) {
    const auto agent = TRY(agent_of(context, request));
    const auto body = TRY(body_of<EnqueueBody>(request));
    if (body.trust) return refused("trust follows from the route of a message; leave it out");
    service::EnqueueRequest message{.priority = TRY(priority_of(body)),
                                    .body = content_of(body),
                                    .metadata = body.metadata,
                                    .correlation_id = body.correlation_id,
                                    .causation_id = body.causation_id};
    message.origin = TRY(origin_of(body));
    message.kind = TRY(kind_of(body, message.origin));
    return delivered(agent, TRY(context.service.enqueue(agent, message)));
}

Answer webhook(const Context& context, const Request& request) {
    if (!request.head.content_type || !is_json(*request.head.content_type))
        return std::unexpected(base::Error{base::ErrorCode::InvalidInput,
                                           "send JSON with Content-Type: application/json",
                                           "unsupported_media_type"});
    const auto done =
        TRY(context.service.deliver_webhook({.token = request.params.find("token")->second,
                                             .headers = request.head.delivery,
                                             .body = request.body}));
    return delivered(done.agent_id, done.message_id);
}

// An earlier version took messages here from everyone who knew the name of an agent.
Answer closed_webhook(const Context& context, const Request& request) {
    const auto agent = TRY(agent_of(context, request));
    return std::unexpected(base::Error{
        .code = base::ErrorCode::Refused,
        .message = fmt::format("this URL is closed: a webhook needs a URL with a secret. The "
                               "operator makes one with: holon webhook create --agent {}",
                               agent),
        .kind = "webhook_closed"});
}

Answer wake_callback(const Context& context, const Request& request) {
    return callback(context, request, "wake");
}
Answer enqueue_callback(const Context& context, const Request& request) {
    return callback(context, request, "enqueue");
}

Answer prompt(const Context& context, const Request& request) {
    const auto agent = TRY(agent_of(context, request));
    const auto body = TRY(body_of<PromptBody>(request));
    return delivered(agent, TRY(context.service.prompt(agent, body.text, caller_of(request))));
}

Answer wake(const Context& context, const Request& request) {
    const auto agent = TRY(agent_of(context, request));
    const auto body = TRY(body_of<WakeBody>(request));
    if (base::trim(body.reason).empty()) return refused("the reason is blank; say why");
    auto result = TRY(context.service.wake(agent,
                                           {.reason = body.reason,
                                            .source = body.source,
                                            .correlation_id = body.correlation_id,
                                            .causation_id = body.causation_id},
                                           caller_of(request)));
    result["ok"] = true;
    result["agent_id"] = agent;
    return json_response(result);
}

}  // namespace http_surface::deliveries
