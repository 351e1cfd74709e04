// Which runs have been kept long enough. Pure; the caller loads the facts and removes the runs.
#pragma once

#include <chrono>
#include <span>

#include "domain/plan.h"

namespace plan {

// What is absent does not count.
struct Retention {
    std::optional<std::chrono::milliseconds> max_age{};
    std::optional<std::int64_t> max_runs{};
    std::optional<std::int64_t> max_bytes{};
};

struct KeptRun {
    domain::PlanRun run;
    std::int64_t bytes{0};
    friend bool operator==(const KeptRun&, const KeptRun&) = default;
};

// Of all runs, also those that are not offered for removal.
struct Totals {
    std::int64_t runs{0};
    std::int64_t bytes{0};
};

// Open runs, runs that an action was saved from, and runs that an approval still lets resume.
bool is_needed(const domain::PlanRun& run, std::span<const domain::PlanAction> actions,
               base::Time now);

// Those of `oldest_first` to remove: the too old ones, and from the oldest on as many as there are
// too many of or take too much room.
std::vector<KeptRun> expired(std::span<const KeptRun> oldest_first, const Retention& retention,
                             Totals totals, base::Time now);

}  // namespace plan
