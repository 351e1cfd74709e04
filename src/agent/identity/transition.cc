#include "agent/identity/transition.h"

#include "agent/identity/views.h"

namespace identity {

base::Status record_state(events::Log& log, const domain::AgentId& agent,
                          domain::AgentStatus previous) {
    json::object state = agent_state(TRY(load_facts(log.tx(), agent)));
    state["previous_status"] = base::enum_name(previous);
    return log.append(agent, "agent_state_changed", std::move(state));
}

}  // namespace identity
