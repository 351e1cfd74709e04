// The URLs by which external systems wake agents and send them messages. A URL holds a token that
// is derived from a key, so that nothing secret is stored; see
// docs/decisions/0002-capability-tokens.md.
#pragma once

#include <string>

#include "domain/ids.h"
#include "flow/scheduler/triggers.h"

namespace service {

// Any thread may call, but for set_base_url().
class Capabilities {
public:
    Capabilities(std::string key, std::string base_url)
        : key_(std::move(key)), base_url_(std::move(base_url)) {}

    // Without a key there are no capabilities.
    bool is_available() const { return !key_.empty(); }
    // Where the URLs lead; before the runtime starts.
    void set_base_url(std::string url) { base_url_ = std::move(url); }

    // A secret: everyone who has it can wake the agent.
    std::string url_of(const domain::ExternalTriggerId& id) const;
    // The same for a webhook, in the `generation` that its last rotation began.
    std::string webhook_url_of(const domain::WebhookId& id, std::int64_t generation) const;
    std::string webhook_token_of(const domain::WebhookId& id, std::int64_t generation) const;
    // The signing secret of a webhook whose sender does not choose it.
    std::string webhook_secret_of(const domain::WebhookId& id, std::int64_t generation) const;
    // What stored secrets are encrypted under. A secret itself.
    const std::string& key() const { return key_; }
    // What is stored of a token. Null without a key. It refers to this object.
    scheduler::TokenHash token_hash_of() const;

private:
    std::string token_of(const domain::ExternalTriggerId& id) const;

    std::string key_;
    std::string base_url_;
};

}  // namespace service
