#include "service/local/agents/capabilities.h"

#include "base/hash.h"

namespace service {
namespace {

constexpr std::size_t kTokenHexDigits = 32;

}  // namespace

std::string Capabilities::token_of(const domain::ExternalTriggerId& id) const {
    return "cb_" +
           base::hmac_sha256_hex(key_, "external-trigger:" + id.value).substr(0, kTokenHexDigits);
}

std::string Capabilities::url_of(const domain::ExternalTriggerId& id) const {
    return base_url_ + "/callbacks/wake/" + token_of(id);
}

std::string Capabilities::webhook_token_of(const domain::WebhookId& id,
                                           std::int64_t generation) const {
    return "wh_" + base::hmac_sha256_hex(key_, fmt::format("webhook:{}:{}", id, generation))
                       .substr(0, kTokenHexDigits);
}

std::string Capabilities::webhook_url_of(const domain::WebhookId& id,
                                         std::int64_t generation) const {
    return base_url_ + "/webhooks/" + webhook_token_of(id, generation);
}

std::string Capabilities::webhook_secret_of(const domain::WebhookId& id,
                                            std::int64_t generation) const {
    return "whs_" + base::hmac_sha256_hex(key_, fmt::format("webhook-secret:{}:{}", id, generation))
                        .substr(0, kTokenHexDigits);
}

scheduler::TokenHash Capabilities::token_hash_of() const {
    if (!is_available()) return nullptr;
    return [this](const domain::ExternalTriggerId& id) { return base::sha256_hex(token_of(id)); };
}

}  // namespace service
