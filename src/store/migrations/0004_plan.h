// Runs of plans, their journals, and the plans kept under a name.
#pragma once

#include <string_view>

namespace migrations {

inline constexpr std::string_view kPlan = R"sql(
CREATE TABLE plan_runs (
    run_id     TEXT PRIMARY KEY,
    created_at BIGINT NOT NULL,
    is_open    BIGINT NOT NULL,
    record     TEXT NOT NULL
);
CREATE INDEX plan_runs_by_age ON plan_runs (created_at, run_id);
CREATE INDEX plan_runs_open ON plan_runs (created_at, run_id) WHERE is_open = 1;

-- Kept apart from its run, because it is large and never changes.
CREATE TABLE plan_documents (
    run_id TEXT PRIMARY KEY,
    plan   TEXT NOT NULL
);

-- Calls, results and events in the order they were committed. The key is also the guard against two
-- processes that carry on one run.
CREATE TABLE plan_records (
    run_id TEXT NOT NULL,
    seq    BIGINT NOT NULL,
    kind   BIGINT NOT NULL,
    line   TEXT NOT NULL,
    PRIMARY KEY (run_id, seq)
);

CREATE TABLE plan_actions (
    name   TEXT PRIMARY KEY,
    record TEXT NOT NULL
);
)sql";

}  // namespace migrations
