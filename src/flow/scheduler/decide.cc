#include "flow/scheduler/decide.h"

#include <algorithm>

#include "agent/identity/closure.h"
#include "flow/turn/decide/decide.h"

namespace scheduler {

namespace {

using Bound = std::optional<std::int64_t>;

Bound least(const Bound& one, const Bound& other) {
    if (!one || !other) return one ? one : other;
    return std::min(*one, *other);
}

Bound rest_of(const Bound& limit, std::int64_t used) {
    return limit ? Bound(*limit - used) : std::nullopt;
}

bool is_spent(const Bound& left) {
    return left && *left <= 0;
}

Suspend suspend(std::string_view setting, std::int64_t limit, std::string_view unit) {
    return {std::string(setting),
            fmt::format("the agent has used up its limit of {} {} ({})", limit, unit, setting)};
}

}  // namespace

Choice choose(const identity::AgentFacts& facts, const RoundBudget& budget) {
    if (facts.agent.stopped) return Idle{"the agent is stopped"};
    if (facts.agent.paused) return Idle{"the agent is paused"};
    if (identity::is_set_aside(facts))
        return Idle{"the agent is set aside: " + facts.fault->reason};
    if (facts.agent.booting) return Idle{"the agent is booting"};
    if (facts.open_attempt) return Idle{"a turn is open"};
    if (facts.pending == 0) return Idle{std::string(kNothingQueued)};
    const auto& limits = budget.limits;
    Bound rounds;
    Bound tokens;
    Bound wall_ms;
    // What a child does is paid by it and by everyone above it; the smallest budget decides.
    for (const auto& used : facts.spenders) {
        const Bound its_rounds = rest_of(limits.agent_rounds, used.model_rounds);
        if (is_spent(its_rounds))
            return suspend("runtime.max_agent_rounds", *limits.agent_rounds, "model rounds");
        Bound its_tokens = rest_of(limits.agent_tokens, used.tokens);
        if (is_spent(its_tokens))
            return suspend("runtime.max_agent_tokens", *limits.agent_tokens, "tokens");
        Bound its_wall_ms = rest_of(limits.agent_wall_ms, used.turn_ms);
        if (is_spent(its_wall_ms))
            return suspend("runtime.max_agent_wall_ms", *limits.agent_wall_ms, "ms spent in turns");
        if (const auto& given = used.delegation) {
            its_tokens = least(its_tokens, given->tokens_max - used.tokens);
            if (is_spent(its_tokens))
                return suspend("children.max_tree_tokens", given->tokens_max, "tokens");
            its_wall_ms = least(its_wall_ms, given->wall_ms_max - used.turn_ms);
            if (is_spent(its_wall_ms))
                return suspend("children.max_tree_wall_ms", given->wall_ms_max,
                               "ms spent in turns");
        }
        rounds = least(rounds, its_rounds);
        tokens = least(tokens, its_tokens);
        wall_ms = least(wall_ms, its_wall_ms);
    }
    const Bound left = rest_of(budget.rounds_total, budget.rounds_used);
    if (is_spent(left)) return Idle{std::string(kBudgetSpent)};
    const Bound most = least(least(turn::kRoundsMax, limits.turn_rounds), least(rounds, left));
    return TakeNext{.rounds_max = *most,
                    .tokens_max = least(limits.turn_tokens, tokens),
                    .wall_ms_max = least(limits.turn_wall_ms, wall_ms)};
}

}  // namespace scheduler
