#include "agent/identity/transition.h"

#include "agent/identity/closure.h"
#include "agent/identity/views.h"
#include "domain/events/scheduler.h"

namespace identity {

base::Status record_state(events::Log& log, const domain::AgentId& agent,
                          domain::AgentStatus previous) {
    return log.append(agent, domain::events::AgentStateChanged{
                                 .state = agent_state(TRY(load_facts(log.tx(), agent))),
                                 .previous_status = previous});
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
