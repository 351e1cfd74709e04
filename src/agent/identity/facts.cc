#include "agent/identity/facts.h"

namespace identity {

base::Result<AgentFacts> load_facts(store::Tx& tx, const domain::AgentId& id) {
    auto agent = TRY(tx.agent(id));
    if (!agent)
        return base::fail(
            base::ErrorCode::NotFound,
            "there is no agent '{}'; create it with: holon run --agent {} --create-agent \"…\"", id,
            id);
    AgentFacts facts{.agent = std::move(*agent)};
    facts.statistics = TRY(tx.statistics(id));
    facts.open_attempt = TRY(tx.open_attempt_of(id));
    facts.pending = TRY(tx.pending_count(id));
    facts.active_tasks = TRY(tx.active_tasks(id));
    facts.open_waits = TRY(tx.open_waits(id));
    facts.active_timers = TRY(tx.active_timers(id, kTimersShown));
    facts.pending_wake_hint = TRY(tx.wake_hint(id));
    facts.active_trigger = TRY(tx.active_trigger(id));
    return facts;
}

}  // namespace identity
