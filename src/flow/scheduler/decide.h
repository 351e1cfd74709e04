// Which agent runs next, and may it? Pure.
#pragma once

#include <string>
#include <variant>

#include "agent/identity/facts.h"

namespace scheduler {

struct Rest {
    std::string reason;
    friend bool operator==(const Rest&, const Rest&) = default;
};
struct TakeNext {
    std::int64_t rounds_max{0};
    friend bool operator==(const TakeNext&, const TakeNext&) = default;
};
using Choice = std::variant<Rest, TakeNext>;

// The bound on model rounds for everything this process does for the agent; see --max-turns.
struct RoundBudget {
    std::optional<std::int64_t> rounds_total{};
    std::int64_t rounds_used{0};
};

inline constexpr std::string_view kNothingQueued = "nothing is queued";
inline constexpr std::string_view kBudgetSpent = "the round budget is spent";

// Never two turns at once; nothing while paused or stopped; nothing without input.
Choice choose(const identity::AgentFacts& facts, const RoundBudget& budget);

}  // namespace scheduler
