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
