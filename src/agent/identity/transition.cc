#include "agent/identity/transition.h"

#include "agent/identity/closure.h"
#include "agent/identity/views.h"

namespace identity {

base::Status record_state(events::Log& log, const domain::AgentId& agent,
                          domain::AgentStatus previous) {
    json::object state = agent_state(TRY(load_facts(log.tx(), agent)));
    state["previous_status"] = base::enum_name(previous);
    return log.append(agent, "agent_state_changed", std::move(state));
}

base::Result<domain::AgentStatus> current_status(store::Tx& tx, const domain::AgentId& agent) {
    return status_of(TRY(load_facts(tx, agent)));
}

base::Status record_change(events::Log& log, const domain::AgentId& agent,
                           domain::AgentStatus previous) {
    if (TRY(current_status(log.tx(), agent)) == previous) return {};
    return record_state(log, agent, previous);
}

}  // namespace identity
