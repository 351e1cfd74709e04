// Messages that a turn leaves for its own agent, and how many of them: an agent that feeds itself
// would otherwise never stop.
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "config/sections/retention.h"
#include "domain/agent.h"
#include "domain/message.h"
#include "record/events/events.h"

namespace admission {

struct FollowUpText {
    std::string text;
    domain::Priority priority{domain::Priority::Next};
    domain::TrustLevel trust{domain::TrustLevel::TrustedSystem};  // Never above the turn's own.
};

// How many follow-ups led to this message, each queued by the turn of the one before; 0 for any
// message that is none. Only what the runtime itself wrote counts.
std::int64_t follow_up_depth(const domain::Message& message);

// Why the turn that answers `cause` may not queue a further follow-up, and what to do instead;
// nothing when it may. Pure.
std::optional<std::string> refuse_follow_up(const domain::Message& cause,
                                            const domain::AgentStatistics& statistics,
                                            const config::FollowUpLimits& limits, base::Time now);

// Counts one that was queued, or a short sleep. Pure.
inline constexpr std::chrono::hours kFollowUpWindow{1};
void count_follow_up(domain::AgentStatistics& statistics, base::Time now);

// Admits a follow-up of the turn that answers `cause`, in the caller's transaction.
base::Status append_follow_up(events::Log& log, const domain::Message& cause,
                              FollowUpText follow_up);

}  // namespace admission
