#include "flow/retention/decide.h"

#include <algorithm>

namespace retention {

using std::chrono::days;
using store::Stream;

std::optional<Cut> cut_of(const config::Retention& set, base::Time now, int shortenings) {
    std::int64_t age = set.max_age_days;
    for (int i = 0; i < shortenings; ++i) {
        if (age <= set.min_age_days) return std::nullopt;
        age = std::max(age / 2, set.min_age_days);
    }
    return Cut{.before = now - days(age),
               .temporary_before = now - days(std::min(set.temporary_agent_days, age)),
               .keep_turns = set.keep_turns};
}

std::int64_t kept_of(Stream stream, const Cut& cut) {
    switch (stream) {
        case Stream::Messages:
            return cut.keep_turns;
        case Stream::Events:
            return kEventsKept;
        case Stream::Briefs:
        case Stream::Episodes:
            return kBriefsKept;
        case Stream::Transcript:  // Only those whose message is gone.
            return 0;
        case Stream::Tasks:
        case Stream::Waits:
        case Stream::Timers:
            return kOthersKept;
    }
    return 0;
}

Choice choose(std::span<const store::AgedRow> page, const Bounds& bounds, std::int64_t limit) {
    Choice choice{.is_over = std::ssize(page) < limit};
    std::vector<store::AgedRow> unreadable;
    for (const auto& row : page) {
        if (row.seq > bounds.last_seq) {
            choice.is_over = true;
            break;
        }
        choice.next_after = row.seq;
        if (row.is_needed || bounds.pinned.contains(row.id)) continue;
        if (!row.at) {
            unreadable.push_back(row);
            continue;
        }
        if (*row.at >= bounds.before) {
            choice.is_over = true;
            break;
        }
        choice.removable.insert(choice.removable.end(), unreadable.begin(), unreadable.end());
        unreadable.clear();
        choice.removable.push_back(row);
    }
    return choice;
}

}  // namespace retention
