#include "service/local/agents/capabilities.h"

#include "base/hash.h"

namespace service {

std::string Capabilities::token_of(const domain::ExternalTriggerId& id) const {
    constexpr std::size_t kTokenHexDigits = 32;
    return "cb_" +
           base::hmac_sha256_hex(key_, "external-trigger:" + id.value).substr(0, kTokenHexDigits);
}

std::string Capabilities::url_of(const domain::ExternalTriggerId& id) const {
    return base_url_ + "/callbacks/wake/" + token_of(id);
}

scheduler::TokenHash Capabilities::token_hash_of() const {
    if (!is_available()) return nullptr;
    return [this](const domain::ExternalTriggerId& id) { return base::sha256_hex(token_of(id)); };
}

}  // namespace service
