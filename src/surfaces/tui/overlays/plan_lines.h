// Plans as lines to read: what their steps do, and what a preview says would change. Pure.
#pragma once

#include <vector>

#include "base/json.h"
#include "domain/plan.h"
#include "surfaces/show/line.h"

namespace tui {

// One step of a plan: the exact command, the patch as a diff, or the tool with its arguments.
std::vector<show::Line> step_lines(const json::value& step, std::size_t columns);
// All steps of a plan document.
std::vector<show::Line> plan_lines(const json::value& plan, std::size_t columns);
// What service::Plans::preview() says, with its diffs; or the faults of the plan.
std::vector<show::Line> preview_lines(const json::value& preview, std::size_t columns);
// "succeeded: 3 of 3 steps, 5 calls", and why it failed.
std::vector<show::Line> run_lines(const domain::PlanRun& run, std::size_t columns);

}  // namespace tui
