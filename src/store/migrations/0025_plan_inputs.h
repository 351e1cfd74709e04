// What a plan run was given is stored once: its row is written again with each of its calls.
#pragma once

#include <string_view>

namespace migrations {

inline constexpr std::string_view kPlanInputs = R"sql(
CREATE TABLE plan_inputs (
    run_id TEXT PRIMARY KEY,
    record TEXT NOT NULL
);
INSERT INTO plan_inputs (run_id, record)
    SELECT run_id, json_object('context', json_extract(record, '$.context'),
                               'params', json_extract(record, '$.params'))
    FROM plan_runs
    WHERE json_valid(record) AND json_extract(record, '$.params') IS NOT NULL
      AND json_extract(record, '$.context') IS NOT NULL;
)sql";

}  // namespace migrations
