// The transports by which operators talk to agents. The operations are those that service.h
// promises.
#pragma once

#include <functional>

#include "service/local/agents/capabilities.h"
#include "service/local/agents/transactions.h"
#include "service/service.h"

namespace service {

inline constexpr std::size_t kBindingTextChars = 500;
inline constexpr std::size_t kBindingUrlChars = 2'000;
inline constexpr std::size_t kBindingMetadataBytes = 16 * 1024;

// The references are the service's and outlive this. Any thread may call.
class LocalOperators {
public:
    struct Parts {
        Transactions& transactions;
        base::Clock& clock;
        base::Ids& ids;
        Capabilities& capabilities;  // Has the key under which tokens are stored.
        // Has the scheduler serve the agent; any thread.
        std::function<void(const domain::AgentId&)> wake;
    };
    explicit LocalOperators(Parts parts) : parts_(std::move(parts)) {}

    base::Result<domain::OperatorBinding> bind(const std::string& agent,
                                               const OperatorBindingRequest& request,
                                               const Caller& caller);
    base::Result<std::vector<domain::OperatorBinding>> list(const std::string& agent) const;
    base::Result<domain::OperatorBinding> revoke(const std::string& agent,
                                                 const std::string& binding, const Caller& caller);
    base::Result<std::string> receive(const std::string& agent,
                                      const OperatorIngressRequest& request, const Caller& caller);

private:
    Parts parts_;
};

}  // namespace service
