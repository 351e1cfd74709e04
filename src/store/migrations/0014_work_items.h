// Work items and the reports of completed ones.
#pragma once

#include <string_view>

namespace migrations {

// readiness: 0 runnable, 1 waiting for the operator, 2 blocked, 3 completed, by the record alone.
// recheck_at is null unless a reminder is still to fire.
inline constexpr std::string_view kWorkItems = R"sql(
CREATE TABLE work_items (
    id         TEXT PRIMARY KEY,
    agent_id   TEXT NOT NULL,
    readiness  BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    recheck_at BIGINT,
    record     TEXT NOT NULL
);
CREATE INDEX work_items_changed ON work_items (agent_id, updated_at, id);
CREATE INDEX work_items_ready ON work_items (agent_id, readiness, updated_at, id);
CREATE INDEX work_items_open ON work_items (agent_id, updated_at, id) WHERE readiness < 3;
CREATE INDEX work_items_runnable ON work_items (agent_id) WHERE readiness = 0;
CREATE INDEX work_items_recheck ON work_items (agent_id, recheck_at, id)
    WHERE recheck_at IS NOT NULL;
ALTER TABLE waits ADD COLUMN work_item_id TEXT;
CREATE INDEX waits_of_work_item ON waits (work_item_id, seq)
    WHERE is_open = 1 AND work_item_id IS NOT NULL;
CREATE TABLE delivery_summaries (
    id           TEXT PRIMARY KEY,
    agent_id     TEXT NOT NULL,
    work_item_id TEXT NOT NULL,
    seq          BIGINT NOT NULL,
    record       TEXT NOT NULL
);
CREATE INDEX delivery_summaries_of_item ON delivery_summaries (work_item_id, seq);
CREATE INDEX delivery_summaries_of_agent ON delivery_summaries (agent_id);
)sql";

}  // namespace migrations
