// Removes runs that were kept long enough: rows, files and artifacts.
#pragma once

#include "exec/plan/record/retention.h"
#include "flow/plans/execution/session.h"

namespace plans {

// What the operator has set; nothing is ever removed by itself when that is off.
std::optional<plan::Retention> configured_retention(const config::PlanRetention& set);

// Removes at most `runs_max` of the oldest runs that `retention` releases and that are neither
// needed nor executing, and what crashes have left of runs and previews. What a crash leaves half
// done, the next call finishes.
base::Result<domain::PlanPruned> prune(const Parts& parts, const plan::Retention& retention,
                                       std::size_t runs_max, bool dry_run);

// The same as configured, for a program that has other things to do: bounded, and never an error.
void sweep(const Parts& parts);

}  // namespace plans
