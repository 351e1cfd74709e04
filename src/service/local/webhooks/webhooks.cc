#include "service/local/webhooks/webhooks.h"

#include <algorithm>

#include "base/hash.h"
#include "base/text.h"
#include "domain/events/waiting.h"
#include "flow/ingress/ingress.h"
#include "flow/ingress/signature.h"
#include "service/local/agents/deliveries.h"
#include "service/local/webhooks/sealed.h"

namespace service {
namespace {

using base::ErrorCode;
using base::fail;
using domain::SignatureScheme;
using domain::Webhook;

constexpr std::size_t kNameBytesMax = 64;
constexpr std::size_t kSecretBytesMin = 8;
constexpr std::size_t kSecretBytesMax = 1024;

base::Status check_by_operator(const Caller& caller) {
    if (caller.admission == domain::AdmissionContext::ControlAuthenticated ||
        caller.admission == domain::AdmissionContext::LocalProcess)
        return {};
    return fail(ErrorCode::Refused, "only the operator may do this");
}

std::unexpected<base::Error> refusal(std::string kind, std::string message,
                                     json::object details = {}) {
    return std::unexpected(base::Error{.code = ErrorCode::Refused,
                                       .message = std::move(message),
                                       .kind = std::move(kind),
                                       .details = std::move(details)});
}

std::unexpected<base::Error> no_such_webhook() {
    return refusal("webhook_refused",
                   "no active webhook has this URL; the operator makes one with: holon webhook "
                   "create");
}

base::Status check_name(std::string_view name) {
    const bool is_plain = std::ranges::all_of(name, [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
               c == '.' || c == '-' || c == '_';
    });
    if (is_plain && !name.empty() && name.size() <= kNameBytesMax) return {};
    return fail(ErrorCode::InvalidInput,
                "the name of a webhook has letters, digits, '.', '-' and '_', at most {}",
                kNameBytesMax);
}

base::Status check_bound(std::string_view what, const std::optional<std::int64_t>& value,
                         std::int64_t most) {
    if (!value || (*value >= 1 && *value <= most)) return {};
    return fail(ErrorCode::InvalidInput, "{} is between 1 and {}", what, most);
}

base::Status check_secret(SignatureScheme scheme, const std::optional<std::string>& secret) {
    if (!secret) return {};
    if (scheme == SignatureScheme::None)
        return fail(ErrorCode::InvalidInput,
                    "a secret needs a signature that uses it: --signature github, gitlab or "
                    "stripe");
    const bool is_plain = std::ranges::all_of(*secret, [](char c) { return c > 0x20 && c < 0x7f; });
    if (is_plain && secret->size() >= kSecretBytesMin && secret->size() <= kSecretBytesMax)
        return {};
    return fail(ErrorCode::InvalidInput, "a secret has {} to {} printable characters and no space",
                kSecretBytesMin, kSecretBytesMax);
}

std::string default_name(SignatureScheme scheme) {
    return scheme == SignatureScheme::None ? "generic_webhook"
                                           : std::string(base::enum_name(scheme));
}

base::Status append_change(events::Log& log, const Webhook& webhook, std::string change,
                           const Caller& caller) {
    return log.append(webhook.target_agent_id,
                      domain::events::WebhookChanged{.agent_id = webhook.target_agent_id,
                                                     .webhook_id = webhook.webhook_id,
                                                     .name = webhook.name,
                                                     .signature = webhook.signature,
                                                     .change = std::move(change),
                                                     .admission_context = caller.admission});
}

// By its id, or by the name of an active one.
base::Result<Webhook> find(store::Tx& tx, const std::string& agent, const std::string& name) {
    TRY(known_agent(tx, domain::AgentId{agent}));
    const auto all = TRY(tx.webhooks({agent}, kWebhooksMax));
    for (const auto& one : all)
        if (one.webhook_id.value == name) return one;
    for (const auto& one : all)
        if (one.name == name && one.status == domain::TriggerStatus::Active) return one;
    return fail(ErrorCode::NotFound,
                "agent {} has no webhook '{}'; list them with: holon webhook list --agent {}",
                agent, base::printable(name), agent);
}

}  // namespace

WebhookView LocalWebhooks::view(const Webhook& webhook) const {
    return {.webhook_id = webhook.webhook_id.value,
            .agent_id = webhook.target_agent_id.value,
            .name = webhook.name,
            .signature = webhook.signature,
            .status = webhook.status,
            .rate_per_minute = webhook.rate_per_minute.value_or(parts_.bounds.rate_per_minute),
            .body_bytes_max = webhook.body_bytes_max.value_or(parts_.bounds.body_bytes_max),
            .delivery_count = webhook.delivery_count,
            .created_at = webhook.created_at,
            .last_delivered_at = webhook.last_delivered_at,
            .revoked_at = webhook.revoked_at};
}

base::Result<std::string> LocalWebhooks::secret_of(const Webhook& webhook) const {
    if (webhook.sealed_secret.empty()) return std::string();
    return unseal(parts_.capabilities.key(), webhook.webhook_id.value, webhook.sealed_secret);
}

base::Result<WebhookView> LocalWebhooks::opened(const Webhook& webhook) const {
    WebhookView shown = view(webhook);
    shown.webhook_url = parts_.capabilities.webhook_url_of(webhook.webhook_id, webhook.generation);
    if (auto secret = TRY(secret_of(webhook)); !secret.empty()) shown.secret = std::move(secret);
    return shown;
}

// A new token, and a new secret unless the sender is the one who chooses it.
base::Status LocalWebhooks::renew(Webhook& webhook,
                                  const std::optional<std::string>& secret) const {
    const auto& capabilities = parts_.capabilities;
    webhook.token_hash =
        base::sha256_hex(capabilities.webhook_token_of(webhook.webhook_id, webhook.generation));
    if (webhook.signature == SignatureScheme::None) return {};
    if (!secret && webhook.signature == SignatureScheme::Stripe) {
        if (!webhook.sealed_secret.empty()) return {};
        return fail(ErrorCode::InvalidInput,
                    "Stripe chooses the signing secret (whsec_…): make the endpoint there, with "
                    "any URL first, and give its secret with --secret-stdin");
    }
    const std::string chosen =
        secret.value_or(capabilities.webhook_secret_of(webhook.webhook_id, webhook.generation));
    webhook.sealed_secret = seal(capabilities.key(), webhook.webhook_id.value, chosen);
    return {};
}

base::Result<WebhookView> LocalWebhooks::create(const std::string& agent,
                                                const WebhookRequest& request,
                                                const Caller& caller) {
    TRY(check_by_operator(caller));
    if (!parts_.capabilities.is_available())
        return fail(ErrorCode::Unavailable, "this runtime has no key for webhooks");
    Webhook made{.target_agent_id = {agent},
                 .name = request.name.value_or(default_name(request.signature)),
                 .signature = request.signature,
                 .rate_per_minute = request.rate_per_minute,
                 .body_bytes_max = request.body_bytes_max};
    TRY(check_name(made.name));
    TRY(check_bound("the rate of a webhook in deliveries a minute", request.rate_per_minute,
                    kWebhookRateCap));
    TRY(check_bound("the size of a delivery in bytes", request.body_bytes_max,
                    kWebhookBodyBytesCap));
    TRY(check_secret(request.signature, request.secret));
    TRY(parts_.transactions.write([&](events::Log& log) -> base::Status {
        TRY(known_agent(log.tx(), made.target_agent_id));
        const auto all = TRY(log.tx().webhooks(made.target_agent_id, kWebhooksMax));
        const auto is_same = [&](const Webhook& one) {
            return one.status == domain::TriggerStatus::Active && one.name == made.name;
        };
        if (std::ranges::any_of(all, is_same))
            return fail(ErrorCode::Conflict,
                        "agent {0} already has a webhook '{1}'; choose another --name, or replace "
                        "its URL: holon webhook rotate {1} --agent {0}",
                        agent, made.name);
        if (static_cast<std::int64_t>(all.size()) >= kWebhooksMax)
            return fail(ErrorCode::Refused,
                        "agent {} has had {} webhooks, and there may be no more", agent,
                        kWebhooksMax);
        made.webhook_id = log.ids().fresh<domain::WebhookId>();
        made.created_at = log.now();
        TRY(renew(made, request.secret));
        TRY(log.tx().put_webhook(made));
        return append_change(log, made, "created", caller);
    }));
    return opened(made);
}

base::Result<std::vector<WebhookView>> LocalWebhooks::list(const std::string& agent) {
    std::vector<WebhookView> shown;
    TRY(parts_.transactions.read([&](store::Tx& tx) -> base::Status {
        TRY(known_agent(tx, domain::AgentId{agent}));
        for (const auto& one : TRY(tx.webhooks({agent}, kWebhooksMax))) shown.push_back(view(one));
        return {};
    }));
    return shown;
}

base::Result<WebhookView> LocalWebhooks::rotate(const std::string& agent,
                                                const std::string& webhook,
                                                const std::optional<std::string>& secret,
                                                const Caller& caller) {
    TRY(check_by_operator(caller));
    Webhook changed;
    TRY(parts_.transactions.write([&](events::Log& log) -> base::Status {
        changed = TRY(find(log.tx(), agent, webhook));
        if (changed.status != domain::TriggerStatus::Active)
            return fail(ErrorCode::Conflict, "webhook '{}' was revoked; make another one",
                        changed.name);
        TRY(check_secret(changed.signature, secret));
        ++changed.generation;
        changed.rotated_at = log.now();
        TRY(renew(changed, secret));
        TRY(log.tx().put_webhook(changed));
        return append_change(log, changed, "rotated", caller);
    }));
    return opened(changed);
}

base::Result<WebhookView> LocalWebhooks::revoke(const std::string& agent,
                                                const std::string& webhook, const Caller& caller) {
    TRY(check_by_operator(caller));
    Webhook changed;
    TRY(parts_.transactions.write([&](events::Log& log) -> base::Status {
        changed = TRY(find(log.tx(), agent, webhook));
        if (changed.status == domain::TriggerStatus::Revoked) return {};
        changed.status = domain::TriggerStatus::Revoked;
        changed.revoked_at = log.now();
        changed.sealed_secret.clear();
        TRY(log.tx().put_webhook(changed));
        return append_change(log, changed, "revoked", caller);
    }));
    rate_.forget(changed.webhook_id.value);
    return view(changed);
}

base::Result<Webhook> LocalWebhooks::load(const WebhookDelivery& delivery) const {
    std::optional<Webhook> found;
    TRY(parts_.transactions.read([&](store::Tx& tx) -> base::Status {
        found = TRY(tx.webhook_by_token(base::sha256_hex(delivery.token)));
        return {};
    }));
    if (!found || found->status != domain::TriggerStatus::Active) return no_such_webhook();
    return std::move(*found);
}

base::Status LocalWebhooks::check(const Webhook& webhook, const WebhookDelivery& delivery) const {
    const std::int64_t most = webhook.body_bytes_max.value_or(parts_.bounds.body_bytes_max);
    if (delivery.body.size() > static_cast<std::size_t>(std::min(most, kWebhookBodyBytesCap)))
        return refusal("payload_too_large",
                       fmt::format("the delivery has {} bytes, and this webhook accepts {}",
                                   delivery.body.size(), most));
    const std::string secret = TRY(secret_of(webhook));
    return ingress::check_signature({.scheme = webhook.signature,
                                     .secret = secret,
                                     .headers = delivery.headers,
                                     .body = delivery.body,
                                     .now = parts_.clock.now(),
                                     .tolerance = parts_.bounds.timestamp_tolerance});
}

base::Result<WebhookDelivered> LocalWebhooks::deliver(const WebhookDelivery& delivery) {
    const Webhook webhook = TRY(load(delivery));
    TRY(check(webhook, delivery));
    auto body = base::parse_json(delivery.body);
    if (!body) return fail(ErrorCode::InvalidInput, "the delivery is not valid JSON");
    // Only what is known to be the sender's own counts against its rate.
    const std::int64_t rate = webhook.rate_per_minute.value_or(parts_.bounds.rate_per_minute);
    if (const auto wait = rate_.take(webhook.webhook_id.value, rate, parts_.clock.now()))
        return refusal(
            "rate_limited",
            fmt::format("this webhook accepts {} deliveries a minute; try again in {} seconds",
                        rate, wait->count()),
            {{"retry_after_s", wait->count()}});
    const auto labels = ingress::labels_of(webhook.signature, delivery.headers, *body);
    std::optional<std::string> dedupe_key;
    if (labels.delivery_id)
        dedupe_key = fmt::format("webhook:{}:{}", webhook.webhook_id, *labels.delivery_id);
    const auto message = TRY(ingress::receive(
        {.agent_id = webhook.target_agent_id,
         .kind = domain::MessageKind::WebhookEvent,
         .origin = domain::WebhookOrigin{.source = webhook.name, .event_type = labels.event_type},
         .body = domain::JsonBody{std::move(*body)},
         .surface = domain::DeliverySurface::HttpWebhook,
         .admission = domain::AdmissionContext::PublicUnauthenticated,
         .dedupe_key = dedupe_key},
        parts_.clock.now(), parts_.ids));
    WebhookDelivered delivered{.agent_id = webhook.target_agent_id.value};
    TRY(parts_.transactions.write([&](events::Log& log) -> base::Status {
        auto current = TRY(log.tx().webhook_by_token(webhook.token_hash));
        if (!current || current->status != domain::TriggerStatus::Active) return no_such_webhook();
        delivered.message_id = TRY(LocalDeliveries::admit(log, message, dedupe_key));
        ++current->delivery_count;
        current->last_delivered_at = log.now();
        return log.tx().put_webhook(*current);
    }));
    parts_.wake(webhook.target_agent_id);
    return delivered;
}

}  // namespace service
