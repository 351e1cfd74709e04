#include "exec/plan/record/retention.h"

#include <algorithm>

namespace plan {

bool is_needed(const domain::PlanRun& run, std::span<const domain::PlanAction> actions,
               base::Time now) {
    if (run.is_open()) return true;
    const bool may_continue = run.status != domain::PlanRunStatus::Succeeded && run.approval &&
                              run.approval->expires_at > now;
    return may_continue || std::ranges::any_of(actions, [&](const domain::PlanAction& action) {
               return action.saved_from == run.run_id;
           });
}

std::vector<KeptRun> expired(std::span<const KeptRun> oldest_first, const Retention& retention,
                             Totals totals, base::Time now) {
    std::vector<KeptRun> out;
    for (const auto& one : oldest_first) {
        const auto age = now - one.run.ended_at.value_or(one.run.created_at);
        const bool too_old = retention.max_age && age > *retention.max_age;
        const bool too_many = retention.max_runs && totals.runs > *retention.max_runs;
        const bool too_much = retention.max_bytes && totals.bytes > *retention.max_bytes;
        if (!too_old && !too_many && !too_much) continue;
        out.push_back(one);
        --totals.runs;
        totals.bytes -= one.bytes;
    }
    return out;
}

}  // namespace plan
