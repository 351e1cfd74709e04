// A run made again from its files alone: recorded results are served instead of executing, in the
// order they came, on time that only the record moves; and what the machine decides must be what
// was recorded.
#pragma once

#include "exec/plan/language/check.h"
#include "exec/plan/record/folder.h"
#include "exec/tools/dispatcher.h"

namespace plan {

struct Replayed {
    std::vector<std::string> divergences{};
    std::int64_t served{0};
    domain::PlanRunStatus status{domain::PlanRunStatus::Succeeded};
};

// `dispatcher` describes calls and makes none. Runs on a loop of its own, on any thread; writes
// nothing. Calls have the ids that the decisions give them, which need not be those of the record.
Replayed replay(const RunFiles& files, const CheckedPlan& plan,
                const tools::Dispatcher& dispatcher);

}  // namespace plan
