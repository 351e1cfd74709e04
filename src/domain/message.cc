#include "domain/message.h"

#include <algorithm>

namespace domain {

std::string readable(const Body& body) {
    if (const auto* text = std::get_if<TextBody>(&body)) return text->text;
    if (const auto* brief = std::get_if<BriefBody>(&body))
        return brief->title ? *brief->title + "\n\n" + brief->text : brief->text;
    return base::pretty_json(std::get<JsonBody>(body).value);
}

AuthorityClass instructed_by(const Message& message) {
    if (!message.metadata) return message.authority_class;
    const auto named =
        base::enum_from<AuthorityClass>(base::string_at(*message.metadata, kInstructedBy));
    // Enumerators are ordered from most to least authority.
    return named ? std::max(*named, message.authority_class) : message.authority_class;
}

std::optional<std::string> external_sender(const Message& message) {
    if (message.admission_context != AdmissionContext::PublicUnauthenticated &&
        message.admission_context != AdmissionContext::ExternalTriggerCapability)
        return std::nullopt;
    if (const auto* channel = std::get_if<ChannelOrigin>(&message.origin))
        return fmt::format("channel:{}:{}", channel->channel_id, channel->sender_id.value_or(""));
    if (const auto* webhook = std::get_if<WebhookOrigin>(&message.origin))
        return "webhook:" + webhook->source;
    if (const auto* callback = std::get_if<CallbackOrigin>(&message.origin))
        return "callback:" + callback->descriptor_id;
    return "other";
}

TrustLevel trust_of(AuthorityClass authority) {
    switch (authority) {
        case AuthorityClass::OperatorInstruction:
            return TrustLevel::TrustedOperator;
        case AuthorityClass::RuntimeInstruction:
            return TrustLevel::TrustedSystem;
        case AuthorityClass::IntegrationSignal:
            return TrustLevel::TrustedIntegration;
        case AuthorityClass::ExternalEvidence:
            return TrustLevel::UntrustedExternal;
    }
    return TrustLevel::UntrustedExternal;
}

}  // namespace domain
