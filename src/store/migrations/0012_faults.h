// What keeps an agent from running, rows that cannot be read, and who sent queued input.
#pragma once

#include <string_view>

namespace migrations {

// quarantined_rows.content is the row as a JSON object; bytes that are not UTF-8 are in hex, under
// the name of the column and "_hex".
inline constexpr std::string_view kFaults = R"sql(
CREATE TABLE agent_faults (
    agent_id     TEXT PRIMARY KEY,
    is_set_aside BIGINT NOT NULL,
    record       TEXT NOT NULL
);
CREATE INDEX agent_faults_set_aside ON agent_faults (agent_id) WHERE is_set_aside = 1;
CREATE TABLE quarantined_rows (
    table_name     TEXT NOT NULL,
    row_key        TEXT NOT NULL,
    quarantined_at BIGINT NOT NULL,
    error          TEXT NOT NULL,
    content        TEXT NOT NULL,
    PRIMARY KEY (table_name, row_key, quarantined_at)
);
CREATE TABLE write_probe (
    id        BIGINT PRIMARY KEY,
    probed_at BIGINT NOT NULL
);
ALTER TABLE queue_entries ADD COLUMN sender TEXT;
CREATE INDEX queue_entries_sender ON queue_entries (agent_id, sender)
    WHERE status IN ('interrupted', 'queued') AND sender IS NOT NULL;
)sql";

}  // namespace migrations
