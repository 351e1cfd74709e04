// How long what agents did is kept, and how much an agent may queue for itself.
#pragma once

#include <cstdint>
#include <optional>

#include "base/result.h"
#include "base/typed.h"

namespace config {

// `retention` of config.json.
struct RetentionSection {
    std::optional<bool> enabled{};
    std::optional<std::int64_t> max_age_days{};
    std::optional<std::int64_t> max_bytes{};
    std::optional<std::int64_t> min_age_days{};
    std::optional<std::int64_t> keep_turns{};
    std::optional<std::int64_t> temporary_agent_days{};
};
BOOST_DESCRIBE_STRUCT(RetentionSection, (),
                      (enabled, max_age_days, max_bytes, min_age_days, keep_turns,
                       temporary_agent_days))

struct Retention {
    bool enabled{true};
    std::int64_t max_age_days{90};
    // Of the database and the files of agents and plans together. While more is used, what is
    // younger than max_age_days goes, too, from the oldest on.
    std::int64_t max_bytes{std::int64_t{10} << 30};
    // Younger rows stay even then, so that a message that is sent again is still recognised.
    std::int64_t min_age_days{7};
    std::int64_t keep_turns{50};            // The newest of each agent stay, whatever their age.
    std::int64_t temporary_agent_days{30};  // Agents of runs without --agent.
    friend bool operator==(const Retention&, const Retention&) = default;
};

// InvalidInput, naming the member, for a bound that is not above 0 or beyond a hundred years.
base::Status check_retention(const RetentionSection& section);

// Of a section that was checked.
Retention retention_of(const RetentionSection& section);

// Follow-ups that an agent queues for itself (Enqueue): how long a chain of them may be, and how
// many an hour.
struct FollowUpLimits {
    std::int64_t depth{25};
    std::int64_t per_hour{100};
    friend bool operator==(const FollowUpLimits&, const FollowUpLimits&) = default;
};

}  // namespace config
