// What somebody who did not watch a run has to know of it, within bounds.
#pragma once

#include "domain/plan.h"
#include "store/store.h"

namespace plan {

inline constexpr std::int64_t kReceiptRecordsMax = 20'000;
inline constexpr std::size_t kReceiptPathsMax = 20;  // Of each kind of change.
inline constexpr std::size_t kReceiptErrorsMax = 5;
inline constexpr std::size_t kReceiptMessageCharsMax = 300;
inline constexpr std::size_t kReceiptOutputCharsMax = 4000;

// {run_id, status, goal, steps {total, succeeded, failed, skipped}, calls, changes {created,
// modified, renamed, deleted, more?}, errors [{step_id, code, message}], output?, reason?,
// next_step?}. `output` is what the last step that succeeded gave, as JSON text, cut where it is
// long.
json::object receipt(const domain::PlanRun& run, const std::vector<domain::PlanRecord>& records);

// The same of a run in the store, from its last kReceiptRecordsMax records.
base::Result<json::object> receipt_in(store::Tx& tx, const domain::PlanRun& run);

}  // namespace plan
