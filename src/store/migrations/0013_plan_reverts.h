// Runs of plans are found by the run that they take back.
#pragma once

#include <string_view>

namespace migrations {

// A record that is no JSON keeps nobody from starting; its run is reported where it is loaded.
inline constexpr std::string_view kPlanReverts = R"sql(
ALTER TABLE plan_runs ADD COLUMN reverts TEXT;
UPDATE plan_runs SET reverts = json_extract(record, '$.reverts')
WHERE json_valid(record) AND json_type(record, '$.reverts') = 'text';
CREATE INDEX plan_runs_by_reverts ON plan_runs (reverts, created_at, run_id)
WHERE reverts IS NOT NULL;
)sql";

}  // namespace migrations
