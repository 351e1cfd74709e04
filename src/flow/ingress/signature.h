// Whether a delivery to a webhook was signed by the service that the operator named, and what its
// headers say about it. Pure.
#pragma once

#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "base/json.h"
#include "base/result.h"
#include "domain/trigger.h"

namespace ingress {

using Headers = std::map<std::string, std::string, std::less<>>;  // Names in lower case.

struct Delivery {
    domain::SignatureScheme scheme{domain::SignatureScheme::None};
    std::string_view secret;  // What the operator and the service share.
    const Headers& headers;
    std::string_view body;  // The bytes that were signed.
    base::Time now{};
    std::chrono::seconds tolerance{};  // How old, or how far ahead, a signed time may be.
};

// Success: the signature is right, or the scheme asks for none. Refused (signature_missing,
// signature_wrong, signature_expired) otherwise; the message contains nothing of the secret.
// Comparisons take as long for a wrong signature as for a right one.
//
// Github: X-Hub-Signature-256 is the HMAC-SHA-256 of the body. Gitlab: X-Gitlab-Token is the
// secret. Stripe: Stripe-Signature has a time and the HMAC-SHA-256 of time and body.
base::Status check_signature(const Delivery& delivery);

// What the sender calls the event, and its id of this delivery: the same id twice is one message.
struct DeliveryLabels {
    std::optional<std::string> event_type{};
    std::optional<std::string> delivery_id{};
    friend bool operator==(const DeliveryLabels&, const DeliveryLabels&) = default;
};
DeliveryLabels labels_of(domain::SignatureScheme scheme, const Headers& headers,
                         const json::value& body);

}  // namespace ingress
