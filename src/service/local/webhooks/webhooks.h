// Webhooks: made, rotated and revoked by the operator, and the deliveries that external systems
// send to them. The operations are those that service.h promises.
#pragma once

#include <functional>

#include "service/local/agents/capabilities.h"
#include "service/local/agents/transactions.h"
#include "service/local/webhooks/rate.h"
#include "service/service.h"

namespace service {

// Bounds of every webhook that has none of its own.
struct WebhookBounds {
    std::int64_t rate_per_minute{60};
    std::int64_t body_bytes_max{256 * 1024};
    std::chrono::seconds timestamp_tolerance{300};
};

// No more for one agent: each is a bucket in memory and a row in every list.
inline constexpr std::int64_t kWebhooksMax = 100;
inline constexpr std::int64_t kWebhookBodyBytesCap = 1024 * 1024;
inline constexpr std::int64_t kWebhookRateCap = 60'000;

// The references are the service's and outlive this. Any thread may call.
class LocalWebhooks {
public:
    struct Parts {
        Transactions& transactions;
        base::Clock& clock;
        base::Ids& ids;
        const Capabilities& capabilities;
        WebhookBounds bounds;
        // Has the scheduler serve the agent; any thread.
        std::function<void(const domain::AgentId&)> wake;
    };
    explicit LocalWebhooks(Parts parts) : parts_(std::move(parts)) {}

    base::Result<WebhookView> create(const std::string& agent, const WebhookRequest& request,
                                     const Caller& caller);
    base::Result<std::vector<WebhookView>> list(const std::string& agent);
    base::Result<WebhookView> rotate(const std::string& agent, const std::string& webhook,
                                     const std::optional<std::string>& secret,
                                     const Caller& caller);
    base::Result<WebhookView> revoke(const std::string& agent, const std::string& webhook,
                                     const Caller& caller);
    base::Result<WebhookDelivered> deliver(const WebhookDelivery& delivery);

private:
    WebhookView view(const domain::Webhook& webhook) const;
    // With its URL and secret, for the one answer that shows them.
    base::Result<WebhookView> opened(const domain::Webhook& webhook) const;
    base::Result<std::string> secret_of(const domain::Webhook& webhook) const;
    base::Status renew(domain::Webhook& webhook, const std::optional<std::string>& secret) const;
    base::Status check(const domain::Webhook& webhook, const WebhookDelivery& delivery) const;
    base::Result<domain::Webhook> load(const WebhookDelivery& delivery) const;

    Parts parts_;
    RateLimit rate_;
};

}  // namespace service
