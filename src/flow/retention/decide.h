// Which rows are old enough to go. Pure.
#pragma once

#include <optional>
#include <set>
#include <span>
#include <vector>

#include "config/sections/retention.h"
#include "store/records/retention.h"

namespace retention {

// The newest rows of each agent that stay whatever their age, for people who read it; of messages
// the setting says how many.
inline constexpr std::int64_t kEventsKept = 256;
inline constexpr std::int64_t kBriefsKept = 64;
inline constexpr std::int64_t kOthersKept = 32;

// What a pass may remove.
struct Cut {
    base::Time before{};            // Rows that last changed before this.
    base::Time temporary_before{};  // Temporary agents that did nothing since.
    std::int64_t keep_turns{0};
    friend bool operator==(const Cut&, const Cut&) = default;
};

// The cut of the first pass, and of each further one while too much disk is used: the age is
// halved, down to the shortest one. Nothing when there is no shorter age left.
std::optional<Cut> cut_of(const config::Retention& set, base::Time now, int shortenings);

// How many of the newest rows of a stream stay.
std::int64_t kept_of(store::Stream stream, const Cut& cut);

struct Bounds {
    base::Time before{};
    std::int64_t last_seq{0};        // Rows after it stay.
    std::set<std::string> pinned{};  // Messages that something open refers to.
};

struct Choice {
    std::vector<store::AgedRow> removable{};
    std::int64_t next_after{0};  // Where the next page begins.
    bool is_over{false};         // No later row is old enough.
};

// Chooses from a page of rows, oldest first. Rows that are needed or pinned are passed over; the
// first other row that is young enough to stay ends the stream. One that cannot be read is as old
// as the next that can. `limit` is what the page was asked for.
Choice choose(std::span<const store::AgedRow> page, const Bounds& bounds, std::int64_t limit);

}  // namespace retention
