// Each change of an agent's status is recorded, with the former one.
#pragma once

#include "agent/identity/facts.h"
#include "record/events/events.h"

namespace identity {

// Appends agent_state_changed: the state as of the transaction, and `previous_status`.
base::Status record_state(events::Log& log, const domain::AgentId& agent,
                          domain::AgentStatus previous);
// The same from `facts` that were just loaded: nothing of the agent has changed since.
base::Status record_state(events::Log& log, const AgentFacts& facts, domain::AgentStatus previous);

// The status as of the transaction.
base::Result<domain::AgentStatus> current_status(store::Tx& tx, const domain::AgentId& agent);

// The same as record_state() when the status is no longer `previous`; otherwise nothing.
base::Status record_change(events::Log& log, const domain::AgentId& agent,
                           domain::AgentStatus previous);

}  // namespace identity
