// Which agent runs next, and may it? Pure.
#pragma once

#include <string>
#include <variant>

#include "agent/identity/facts.h"

namespace scheduler {

struct Idle {
    std::string reason;
    friend bool operator==(const Idle&, const Idle&) = default;
};
// How far the next turn may go.
struct TakeNext {
    std::int64_t rounds_max{0};
    std::optional<std::int64_t> tokens_max{};
    std::optional<std::int64_t> wall_ms_max{};
    friend bool operator==(const TakeNext&, const TakeNext&) = default;
};
// The agent has used up what it was given: it is paused, and a brief names the limit.
struct Suspend {
    std::string limit;  // The setting.
    std::string text;
    friend bool operator==(const Suspend&, const Suspend&) = default;
};
using Choice = std::variant<Idle, TakeNext, Suspend>;

// What turns, and agents over their whole life, may use; see docs/configuration.md.
struct Limits {
    std::optional<std::int64_t> turn_rounds{};  // Never above turn::kRoundsMax.
    std::optional<std::int64_t> turn_tokens{};
    std::optional<std::int64_t> turn_wall_ms{};
    std::optional<std::int64_t> agent_rounds{};
    std::optional<std::int64_t> agent_tokens{};
    std::optional<std::int64_t> agent_wall_ms{};  // Time spent in turns.
};

// The bound on model rounds for everything this process does for the agent; see --max-turns.
struct RoundBudget {
    std::optional<std::int64_t> rounds_total{};
    std::int64_t rounds_used{0};
    Limits limits{};
};

inline constexpr std::string_view kNothingQueued = "nothing is queued";
inline constexpr std::string_view kBudgetSpent = "the round budget is spent";

// Never two turns at once; nothing while booting, paused, stopped or set aside; nothing without
// input.
Choice choose(const identity::AgentFacts& facts, const RoundBudget& budget);

}  // namespace scheduler
