// What reaches an agent: prompts of the operator, events from external senders, hints. Each is
// queued durably when its operation returns, and wakes the agent; the operations are those that
// service.h promises.
#pragma once

#include <functional>

#include "service/local/agents/transactions.h"
#include "service/service.h"

namespace service {

// The references are the service's and outlive this. Any thread may call.
class LocalDeliveries {
public:
    struct Parts {
        Transactions& transactions;
        base::Clock& clock;
        base::Ids& ids;
        // Has the scheduler serve the agent; any thread.
        std::function<void(const domain::AgentId&)> wake;
    };
    explicit LocalDeliveries(Parts parts) : parts_(std::move(parts)) {}

    base::Result<std::string> prompt(const std::string& agent, const std::string& text,
                                     const Caller& caller);
    base::Result<std::string> enqueue(const std::string& agent, const EnqueueRequest& request);
    base::Result<json::object> wake(const std::string& agent, const WakeRequest& request,
                                    const Caller& caller);
    base::Result<json::object> callback(const CallbackRequest& request);

    // Admits and queues `message` in the caller's transaction, and wakes nobody. Returns the id
    // under which it is known: that of an earlier message when `dedupe_key` names one. Conflict or
    // NotFound when it is refused.
    static base::Result<std::string> admit(events::Log& log, const domain::Message& message,
                                           const std::optional<std::string>& dedupe_key);

private:
    base::Result<std::string> deliver(const domain::Message& message,
                                      const std::optional<std::string>& dedupe_key);

    Parts parts_;
};

}  // namespace service
