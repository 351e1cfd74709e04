// Runs of plans that are being removed, to continue with after a crash.
#pragma once

#include <string_view>

namespace migrations {

inline constexpr std::string_view kPlanRetention = R"sql(
CREATE INDEX plan_runs_dropped ON plan_runs (created_at, run_id) WHERE is_open = -1;
)sql";

}  // namespace migrations
