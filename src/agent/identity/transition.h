// Each change of an agent's status is on record, with what it was before.
#pragma once

#include "agent/identity/facts.h"
#include "record/events/events.h"

namespace identity {

// Appends agent_state_changed: the state as it stands in the transaction, and `previous_status`.
base::Status record_state(events::Log& log, const domain::AgentId& agent,
                          domain::AgentStatus previous);

}  // namespace identity
