#include "agent/identity/facts.h"

#include <algorithm>

namespace identity {

Spender spender_of(const domain::Agent& agent, const domain::AgentStatistics& statistics) {
    return {.agent_id = agent.agent_id,
            .delegation = agent.delegation,
            .tokens = statistics.total_input_tokens + statistics.total_output_tokens +
                      statistics.delegated_tokens,
            .model_rounds = statistics.total_model_rounds + statistics.delegated_model_rounds,
            .turn_ms = statistics.total_turn_ms + statistics.delegated_turn_ms};
}

std::optional<std::int64_t> delegated_tokens_left(const std::vector<Spender>& spenders) {
    std::optional<std::int64_t> left;
    for (const auto& spender : spenders) {
        if (!spender.delegation) continue;
        const std::int64_t rest = spender.delegation->tokens_max - spender.tokens;
        left = left ? std::min(*left, rest) : rest;
    }
    return left;
}

base::Result<std::vector<Spender>> load_spenders(store::Tx& tx, const domain::Agent& agent,
                                                 const domain::AgentStatistics& statistics) {
    std::vector<Spender> spenders{spender_of(agent, statistics)};
    std::optional<domain::Agent> above = agent;
    while (domain::is_supervised(*above) && spenders.size() < kDepthChecked) {
        above = TRY(tx.agent(*above->identity.parent_agent_id));
        if (!above) break;
        spenders.push_back(spender_of(*above, TRY(tx.statistics(above->agent_id))));
    }
    return spenders;
}

std::optional<base::Time> work_held_since(const domain::Agent& agent,
                                          const domain::AgentStatistics& statistics) {
    if (agent.sleep && agent.sleep->until) return agent.sleep->since;
    const auto& terminal = statistics.last_turn_terminal;
    if (terminal && terminal->kind != domain::TerminalKind::Completed)
        return terminal->completed_at;
    return std::nullopt;
}

base::Result<AgentFacts> load_facts(store::Tx& tx, const domain::AgentId& id) {
    auto agent = TRY(tx.agent(id));
    if (!agent)
        return base::fail(
            base::ErrorCode::NotFound,
            "there is no agent '{}'; create it with: holon run --agent {} --create-agent \"…\"", id,
            id);
    AgentFacts facts{.agent = std::move(*agent)};
    facts.statistics = TRY(tx.statistics(id));
    facts.fault = TRY(tx.fault(id));
    facts.open_attempt = TRY(tx.open_attempt_of(id));
    facts.pending = TRY(tx.pending_count(id));
    facts.active_tasks = TRY(tx.active_tasks(id));
    facts.open_waits = TRY(tx.open_waits(id));
    facts.active_timers = TRY(tx.active_timers(id, kTimersShown));
    const auto& focus = facts.agent.current_work_item_id;
    if (focus) facts.current_work_item = TRY(tx.work_item(*focus));
    const auto held_since = work_held_since(facts.agent, facts.statistics);
    for (auto& item : TRY(tx.runnable_work(id, held_since.value_or(base::Time{}), 2)))
        if (item.id != focus) {
            facts.queued_work_item = std::move(item);
            break;
        }
    facts.pending_wake_hint = TRY(tx.wake_hint(id));
    facts.active_trigger = TRY(tx.active_trigger(id));
    facts.spenders = TRY(load_spenders(tx, facts.agent, facts.statistics));
    facts.memory = TRY(tx.working_memory(id));
    return facts;
}

}  // namespace identity
