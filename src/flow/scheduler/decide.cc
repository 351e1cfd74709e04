#include "flow/scheduler/decide.h"

#include <algorithm>

#include "flow/turn/decide.h"

namespace scheduler {

Choice choose(const identity::AgentFacts& facts, const RoundBudget& budget) {
    if (facts.agent.stopped) return Rest{"the agent is stopped"};
    if (facts.agent.paused) return Rest{"the agent is paused"};
    if (facts.open_attempt) return Rest{"a turn is open"};
    if (facts.pending == 0) return Rest{std::string(kNothingQueued)};
    std::int64_t rounds_max = turn::kRoundsMax;
    if (budget.rounds_total)
        rounds_max = std::min(rounds_max, *budget.rounds_total - budget.rounds_used);
    if (rounds_max <= 0) return Rest{std::string(kBudgetSpent)};
    return TakeNext{rounds_max};
}

}  // namespace scheduler
