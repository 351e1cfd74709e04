#include "agent/identity/transition.h"

#include "agent/identity/closure.h"
#include "agent/identity/views.h"
#include "domain/events/scheduler.h"

namespace identity {

base::Status record_state(events::Log& log, const domain::AgentId& agent,
                          domain::AgentStatus previous) {
    return record_state(log, TRY(load_facts(log.tx(), agent)), previous);
}

base::Status record_state(events::Log& log, const AgentFacts& facts, domain::AgentStatus previous) {
    return log.append(facts.agent.agent_id,
                      domain::events::AgentStateChanged{.state = agent_state(facts),
                                                        .previous_status = previous});
}

base::Result<domain::AgentStatus> current_status(store::Tx& tx, const domain::AgentId& agent) {
    return status_of(TRY(load_facts(tx, agent)));
}

base::Status record_change(events::Log& log, const domain::AgentId& agent,
                           domain::AgentStatus previous) {
    const auto facts = TRY(load_facts(log.tx(), agent));
    return status_of(facts) == previous ? base::Status{} : record_state(log, facts, previous);
}

}  // namespace identity
