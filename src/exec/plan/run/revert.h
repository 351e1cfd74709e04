#pragma once

#include "domain/plan.h"
#include "exec/plan/language/model.h"

namespace plan {

// The plan that takes back what a run changed, last change first, from the `undo` lists in its
// results. Nothing when it changed nothing that can be taken back.
base::Result<std::optional<json::value>> revert_plan(
    const domain::PlanRun& run, const std::vector<domain::PlanRecord>& records);

// What a run changed without leaving a way back: steps with effects but no undo.
std::vector<std::string> irrevertible(const std::vector<domain::PlanRecord>& records);

}  // namespace plan
