// Timers: when one is due, its agent gets a tick, in the commit that moves the timer on.
#pragma once

#include <optional>
#include <string>

#include "record/events/events.h"

namespace scheduler {

inline constexpr std::int64_t kTimersPerAgentMax = 16'000;
inline constexpr std::int64_t kIntervalMsMin = 1'000;  // A shorter one would only be coalesced.
inline constexpr std::int64_t kTimerMsMax = 31'536'000'000;  // A year.
inline constexpr std::size_t kTimerSummaryCharsMax = 500;
inline constexpr std::int64_t kMissedCounted =
    1000;  // More times that were missed are not counted.

struct TimerRequest {
    domain::AgentId agent_id;
    std::int64_t duration_ms{0};
    std::optional<std::int64_t> interval_ms{};
    std::optional<std::string> summary{};
    // Of the summary. A weaker one than the runtime's own is kept: the tick enters with it.
    std::optional<domain::TrustLevel> trust{};
    std::optional<base::Time> at{};  // Instead of duration_ms; a time that has passed is now.
    // Instead of all times above: fires whenever the expression fits in the zone.
    std::optional<std::string> cron{};
    std::string time_zone{"UTC"};
};
// Stores an active timer, with its event. InvalidInput for times out of bounds and for an
// expression or a zone that cannot be read, Refused above kTimersPerAgentMax.
base::Result<domain::Timer> create_timer(events::Log& log, const TimerRequest& request);

// NotFound for a timer that is not the agent's; one that is over already is returned as it is.
base::Result<domain::Timer> cancel_timer(events::Log& log, const domain::AgentId& agent,
                                         const domain::TimerId& id);

// A timer that is due, moved on: over, or set to its next time after `now`. Times that have passed
// meanwhile are one fire, and `missed` counts the others. Pure.
struct Fired {
    domain::Timer timer;
    base::Time due{};
    std::int64_t missed{0};
};
Fired move_on(domain::Timer timer, base::Time now);

// Fires the timer if it is still due. While its last tick is still queued no other is added.
base::Status fire(events::Log& log, const domain::TimerId& id);

}  // namespace scheduler
