#include "flow/ingress/ingress.h"

#include <algorithm>

#include "base/scan/texts.h"
#include "base/text.h"

namespace ingress {
namespace {

using base::ErrorCode;
using base::fail;

// Ids in metadata that are worth finding again without reading it.
constexpr std::array<std::string_view, 8> kSourceRefKeys{"queued_event_id",
                                                         "task_result_id",
                                                         "external_trigger_id",
                                                         "waiting_intent_id",
                                                         "callback_delivery_id",
                                                         "timer_id",
                                                         "task_id",
                                                         "resource"};
constexpr std::size_t kSourceRefCharsMax = 200;

std::map<std::string, std::string> source_refs(const Raw& raw) {
    std::map<std::string, std::string> refs;
    if (raw.metadata)
        for (const auto key : kSourceRefKeys) {
            const std::string value = base::string_at(*raw.metadata, key);
            if (!value.empty()) refs.emplace(key, base::ellipsize(value, kSourceRefCharsMax));
        }
    if (const auto* timer = std::get_if<domain::TimerOrigin>(&raw.origin))
        refs["timer_id"] = timer->timer_id.value;
    if (const auto* task = std::get_if<domain::TaskOrigin>(&raw.origin))
        refs["task_id"] = task->task_id.value;
    if (const auto* callback = std::get_if<domain::CallbackOrigin>(&raw.origin))
        refs["external_trigger_id"] = callback->descriptor_id;
    return refs;
}

// All text of a body, as it counts against its bound.
std::string text_of(const domain::Body& body) {
    if (const auto* json = std::get_if<domain::JsonBody>(&body))
        return base::json_text(json->value);
    std::string text = domain::readable(body);
    if (const auto* brief = std::get_if<domain::BriefBody>(&body); brief && brief->attachments)
        text += base::json_text(base::to_json(*brief->attachments));
    return text;
}

base::Status check_text(std::string_view what, std::string_view text, std::size_t bytes_max) {
    if (text.size() > bytes_max)
        return fail(ErrorCode::InvalidInput,
                    "{} has {} bytes, the limit is {}; put large content into a file", what,
                    text.size(), bytes_max);
    if (!base::is_utf8(text)) return fail(ErrorCode::InvalidInput, "{} is not valid UTF-8", what);
    return {};
}

base::Status check_content(const Raw& raw) {
    TRY(check_text("the message", text_of(raw.body), kBodyBytesMax));
    if (raw.dedupe_key) TRY(check_text("the dedupe key", *raw.dedupe_key, kLabelsBytesMax));
    if (!raw.metadata) return {};
    if (!raw.metadata->is_object())
        return fail(ErrorCode::InvalidInput, "the message's metadata is not an object");
    const bool ours = raw.admission == domain::AdmissionContext::RuntimeOwned;
    return check_text("the message's metadata", base::json_text(*raw.metadata),
                      ours ? kRuntimeMetadataBytesMax : kMetadataBytesMax);
}

}  // namespace

domain::TrustLevel default_trust(const domain::Origin& origin) {
    struct Visitor {
        using T = domain::TrustLevel;
        T operator()(const domain::OperatorOrigin&) const { return T::TrustedOperator; }
        T operator()(const domain::SystemOrigin&) const { return T::TrustedSystem; }
        T operator()(const domain::TaskOrigin&) const { return T::TrustedSystem; }
        T operator()(const domain::TimerOrigin&) const { return T::TrustedSystem; }
        T operator()(const domain::CallbackOrigin&) const { return T::TrustedIntegration; }
        T operator()(const domain::WebhookOrigin&) const { return T::TrustedIntegration; }
        T operator()(const domain::ChannelOrigin&) const { return T::UntrustedExternal; }
    };
    return std::visit(Visitor{}, origin);
}

domain::AuthorityClass authority_of(domain::TrustLevel trust) {
    switch (trust) {
        case domain::TrustLevel::TrustedOperator:
            return domain::AuthorityClass::OperatorInstruction;
        case domain::TrustLevel::TrustedSystem:
            return domain::AuthorityClass::RuntimeInstruction;
        case domain::TrustLevel::TrustedIntegration:
            return domain::AuthorityClass::IntegrationSignal;
        case domain::TrustLevel::UntrustedExternal:
            return domain::AuthorityClass::ExternalEvidence;
    }
    return domain::AuthorityClass::ExternalEvidence;
}

domain::TriggerKind trigger_of(domain::MessageKind kind) {
    using Kind = domain::MessageKind;
    using Trigger = domain::TriggerKind;
    switch (kind) {
        case Kind::OperatorPrompt:
            return Trigger::OperatorInput;
        case Kind::ChannelEvent:
        case Kind::WebhookEvent:
        case Kind::CallbackEvent:
            return Trigger::ExternalEvent;
        case Kind::TimerTick:
            return Trigger::TimerFire;
        case Kind::SystemTick:
            return Trigger::SystemTick;
        case Kind::TaskResult:
            return Trigger::TaskResult;
        case Kind::TaskStatus:
            return Trigger::TaskStatus;
        case Kind::Control:
            return Trigger::Control;
        case Kind::BriefAck:
        case Kind::BriefResult:
            return Trigger::BriefDelivery;
        case Kind::InternalFollowup:
            return Trigger::InternalFollowup;
    }
    return Trigger::SystemTick;
}

bool is_allowed(domain::MessageKind kind, const domain::Origin& origin) {
    using Kind = domain::MessageKind;
    const auto from = [&]<class T>(std::type_identity<T>) {
        return std::holds_alternative<T>(origin);
    };
    const bool by_operator = from(std::type_identity<domain::OperatorOrigin>{});
    const bool by_system = from(std::type_identity<domain::SystemOrigin>{});
    const bool by_task = from(std::type_identity<domain::TaskOrigin>{});
    switch (kind) {
        case Kind::OperatorPrompt:
            return by_operator;
        case Kind::ChannelEvent:
            return from(std::type_identity<domain::ChannelOrigin>{});
        case Kind::WebhookEvent:
            return from(std::type_identity<domain::WebhookOrigin>{});
        case Kind::CallbackEvent:
            return from(std::type_identity<domain::CallbackOrigin>{});
        case Kind::TimerTick:
            return from(std::type_identity<domain::TimerOrigin>{});
        case Kind::SystemTick:
        case Kind::BriefAck:
        case Kind::BriefResult:
            return by_system;
        case Kind::InternalFollowup:  // Of the agent itself, or between a parent and its child.
            return by_system || by_task;
        case Kind::TaskResult:
        case Kind::TaskStatus:
            return by_task;
        case Kind::Control:
            return by_operator || by_system;
    }
    return false;
}

std::optional<domain::OperatorRoute> operator_route(const domain::Message& message) {
    // Only what such a transport delivered may say so: metadata of others is theirs to choose.
    if (message.admission_context != domain::AdmissionContext::OperatorTransportAuthenticated ||
        !message.metadata)
        return std::nullopt;
    const auto* transport = base::find(*message.metadata, kOperatorTransport);
    if (!transport) return std::nullopt;
    domain::OperatorRoute route{.binding_id = base::string_at(*transport, "binding_id")};
    if (auto reply = base::string_at(*transport, "reply_route_id"); !reply.empty())
        route.reply_route_id = std::move(reply);
    return route;
}

bool vouches_for(domain::AdmissionContext admission, const domain::Origin& origin) {
    struct Visitor {
        using Entry = domain::AdmissionContext;
        Entry entry;
        bool by_hand() const {
            return entry == Entry::ControlAuthenticated || entry == Entry::LocalProcess;
        }
        // A bound transport has authenticated its operator.
        bool operator()(const domain::OperatorOrigin&) const {
            return by_hand() || entry == Entry::OperatorTransportAuthenticated;
        }
        bool operator()(const domain::ChannelOrigin&) const {
            return by_hand() || entry == Entry::PublicUnauthenticated;
        }
        bool operator()(const domain::WebhookOrigin&) const {
            return by_hand() || entry == Entry::PublicUnauthenticated;
        }
        bool operator()(const domain::CallbackOrigin&) const {
            return entry == Entry::ExternalTriggerCapability;
        }
        bool operator()(const domain::TimerOrigin&) const { return entry == Entry::RuntimeOwned; }
        bool operator()(const domain::SystemOrigin&) const { return entry == Entry::RuntimeOwned; }
        bool operator()(const domain::TaskOrigin&) const { return entry == Entry::RuntimeOwned; }
    };
    return std::visit(Visitor{admission}, origin);
}

base::Result<domain::Message> receive(Raw raw, base::Time now, base::Ids& ids) {
    if (!is_allowed(raw.kind, raw.origin))
        return fail(ErrorCode::InvalidInput, "a {} message cannot come from this origin",
                    base::enum_name(raw.kind));
    if (!vouches_for(raw.admission, raw.origin))
        return fail(ErrorCode::Refused, "a message admitted as {} cannot claim this origin",
                    base::enum_name(raw.admission));
    if (raw.metadata && raw.metadata->is_null()) raw.metadata.reset();
    TRY(check_content(raw));
    // Enumerators are ordered from most to least trusted.
    const auto trust = std::max(default_trust(raw.origin),
                                raw.trust.value_or(domain::TrustLevel::TrustedOperator));
    domain::Message message{.id = ids.fresh<domain::MessageId>(),
                            .agent_id = std::move(raw.agent_id),
                            .created_at = now,
                            .kind = raw.kind,
                            .origin = raw.origin,
                            .trust = trust,
                            .authority_class = authority_of(trust),
                            .priority = raw.priority.value_or(domain::Priority::Normal),
                            .trigger_kind = trigger_of(raw.kind)};
    if (auto refs = source_refs(raw); !refs.empty()) message.source_refs = std::move(refs);
    // Bindings are lifted out of metadata only for what the runtime itself made: anyone else could
    // forge them.
    if (raw.admission == domain::AdmissionContext::RuntimeOwned) {
        if (const auto* task = std::get_if<domain::TaskOrigin>(&raw.origin))
            message.task_id = task->task_id;
        if (raw.metadata)
            if (const std::string item = base::string_at(*raw.metadata, "work_item_id");
                !item.empty())
                message.work_item_id = domain::WorkItemId{item};
    }
    message.delivery_surface = raw.surface;
    message.admission_context = raw.admission;
    message.correlation_id = std::move(raw.correlation_id);
    message.causation_id = std::move(raw.causation_id);
    TRY(check_text("the message's labels", base::json_text(base::to_json(message)),
                   kLabelsBytesMax));
    // The runtime's own credentials are no part of any conversation, also when the operator pasted
    // them.
    scan::remove_credentials_in(raw.body);
    scan::remove_credentials_in(raw.metadata);
    message.body = std::move(raw.body);
    message.metadata = std::move(raw.metadata);
    return message;
}

}  // namespace ingress
