#include "flow/ingress/signature.h"

#include <charconv>
#include <vector>

#include "base/hash.h"
#include "base/text.h"

namespace ingress {
namespace {

using domain::SignatureScheme;

constexpr std::size_t kLabelCharsMax = 200;
// More signatures than a rotation of secrets ever sends.
constexpr std::size_t kSignaturesMax = 8;

std::unexpected<base::Error> refused(std::string kind, std::string message) {
    return std::unexpected(base::Error{
        .code = base::ErrorCode::Refused, .message = std::move(message), .kind = std::move(kind)});
}

std::string_view header(const Headers& headers, std::string_view name) {
    const auto found = headers.find(name);
    return found == headers.end() ? std::string_view() : base::trim(found->second);
}

base::Status missing(std::string_view name) {
    return refused("signature_missing",
                   fmt::format("the delivery has no {} header; enter the secret of this webhook "
                               "where the sender asks for one",
                               name));
}

base::Status wrong(std::string_view name) {
    return refused("signature_wrong",
                   fmt::format("{} does not match; the sender has another secret, or the body was "
                               "changed on its way",
                               name));
}

base::Status check_github(const Delivery& delivery) {
    const std::string_view sent = header(delivery.headers, "x-hub-signature-256");
    if (sent.empty()) return missing("X-Hub-Signature-256");
    const std::string right = "sha256=" + base::hmac_sha256_hex(delivery.secret, delivery.body);
    if (!base::equal_in_constant_time(sent, right)) return wrong("X-Hub-Signature-256");
    return {};
}

// The token itself is sent. Digests are compared, so that its length does not show either.
base::Status check_gitlab(const Delivery& delivery) {
    const std::string_view sent = header(delivery.headers, "x-gitlab-token");
    if (sent.empty()) return missing("X-Gitlab-Token");
    if (!base::equal_in_constant_time(base::sha256_hex(sent), base::sha256_hex(delivery.secret)))
        return wrong("X-Gitlab-Token");
    return {};
}

struct StripeHeader {
    std::string_view time{};
    std::vector<std::string_view> signatures{};  // Of scheme v1; others are ignored.
};

StripeHeader parse_stripe(std::string_view text) {
    StripeHeader parsed;
    while (!text.empty()) {
        const std::size_t comma = std::min(text.find(','), text.size());
        const std::string_view one = base::trim(text.substr(0, comma));
        text.remove_prefix(std::min(comma + 1, text.size()));
        if (one.starts_with("t=")) parsed.time = one.substr(2);
        if (one.starts_with("v1=") && parsed.signatures.size() < kSignaturesMax)
            parsed.signatures.push_back(one.substr(3));
    }
    return parsed;
}

base::Status check_stripe(const Delivery& delivery) {
    const std::string_view sent = header(delivery.headers, "stripe-signature");
    if (sent.empty()) return missing("Stripe-Signature");
    const StripeHeader parsed = parse_stripe(sent);
    std::int64_t seconds = 0;
    const char* const end = parsed.time.data() + parsed.time.size();
    const auto [stop, error] = std::from_chars(parsed.time.data(), end, seconds);
    if (parsed.time.empty() || error != std::errc{} || stop != end)
        return wrong("Stripe-Signature");
    const std::string right =
        base::hmac_sha256_hex(delivery.secret, fmt::format("{}.{}", parsed.time, delivery.body));
    bool is_right = false;
    for (const auto signature : parsed.signatures)
        is_right |= base::equal_in_constant_time(signature, right);
    if (!is_right) return wrong("Stripe-Signature");
    // Only now: an unsigned time says nothing.
    const std::int64_t now = base::to_micros(delivery.now) / 1'000'000;
    const std::int64_t distance = now > seconds ? now - seconds : seconds - now;
    if (distance > delivery.tolerance.count())
        return refused("signature_expired",
                       fmt::format("the delivery was signed {} seconds ago, and {} are allowed; "
                                   "check the clocks, or it was sent again by somebody else",
                                   now - seconds, delivery.tolerance.count()));
    return {};
}

std::optional<std::string> label(std::string_view text) {
    if (text.empty()) return std::nullopt;
    return base::ellipsize(base::to_utf8(text), kLabelCharsMax);
}

}  // namespace

base::Status check_signature(const Delivery& delivery) {
    switch (delivery.scheme) {
        case SignatureScheme::None:
            return {};
        case SignatureScheme::Github:
            return check_github(delivery);
        case SignatureScheme::Gitlab:
            return check_gitlab(delivery);
        case SignatureScheme::Stripe:
            return check_stripe(delivery);
    }
    return refused("signature_missing", "the signature of this webhook is not known");
}

DeliveryLabels labels_of(SignatureScheme scheme, const Headers& headers, const json::value& body) {
    switch (scheme) {
        case SignatureScheme::None:
            return {};
        case SignatureScheme::Github:
            return {label(header(headers, "x-github-event")),
                    label(header(headers, "x-github-delivery"))};
        case SignatureScheme::Gitlab:
            return {label(header(headers, "x-gitlab-event")),
                    label(header(headers, "x-gitlab-event-uuid"))};
        case SignatureScheme::Stripe:
            return {label(base::string_at(body, "type")), label(base::string_at(body, "id"))};
    }
    return {};
}

}  // namespace ingress
