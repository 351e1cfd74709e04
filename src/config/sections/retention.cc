#include "config/sections/retention.h"

#include <algorithm>
#include <string_view>
#include <utility>

namespace config {
namespace {

constexpr std::int64_t kDaysMax = 36'500;  // Times before the first representable one are no times.

base::Status check_bound(const std::optional<std::int64_t>& value, std::string_view member,
                         std::int64_t max) {
    if (!value || (*value > 0 && *value <= max)) return {};
    return base::fail(base::ErrorCode::InvalidInput, "/retention/{}: must be 1 to {}, got {}",
                      member, max, *value);
}

}  // namespace

base::Status check_retention(const RetentionSection& section) {
    TRY(check_bound(section.max_age_days, "max_age_days", kDaysMax));
    TRY(check_bound(section.min_age_days, "min_age_days", kDaysMax));
    TRY(check_bound(section.temporary_agent_days, "temporary_agent_days", kDaysMax));
    TRY(check_bound(section.keep_turns, "keep_turns", std::int64_t{1} << 40));
    return check_bound(section.max_bytes, "max_bytes", std::int64_t{1} << 60);
}

Retention retention_of(const RetentionSection& section) {
    Retention set;
    set.enabled = section.enabled.value_or(set.enabled);
    set.max_age_days = section.max_age_days.value_or(set.max_age_days);
    set.max_bytes = section.max_bytes.value_or(set.max_bytes);
    // A shorter age is the operator's own word.
    set.min_age_days = std::min(section.min_age_days.value_or(set.min_age_days), set.max_age_days);
    set.keep_turns = section.keep_turns.value_or(set.keep_turns);
    set.temporary_agent_days = section.temporary_agent_days.value_or(set.temporary_agent_days);
    return set;
}

}  // namespace config
