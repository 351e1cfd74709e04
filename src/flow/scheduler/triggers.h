// An agent's wake capability: one that is active, found again rather than made again.
#pragma once

#include <functional>
#include <optional>

#include "record/events/events.h"

namespace scheduler {

using TokenHash = std::function<std::string(const domain::ExternalTriggerId&)>;

// The active capability. Without one a new one is made, also after the last was revoked.
base::Result<domain::ExternalTrigger> ensure_trigger(events::Log& log, const domain::AgentId& agent,
                                                     const TokenHash& token_hash_of);

// Has it had one, be it revoked? Revoking one on purpose stays so.
base::Result<bool> was_provisioned(store::Tx& tx, const domain::AgentId& agent);

// Gives an agent that never had a capability its first one, under this id or, without one, a fresh
// one.
base::Status provision(events::Log& log, const domain::AgentId& agent,
                       const TokenHash& token_hash_of,
                       std::optional<domain::ExternalTriggerId> id = std::nullopt);

// The active capability, if there is one, works no more. Its record stays.
base::Status revoke(events::Log& log, const domain::AgentId& agent);

}  // namespace scheduler
