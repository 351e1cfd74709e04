// Named agents: what external senders may wake, which are listed, and what could not be opened.
#pragma once

#include <string_view>

namespace migrations {

inline constexpr std::string_view kLifecycle = R"sql(
ALTER TABLE queue_entries ADD COLUMN failures BIGINT NOT NULL DEFAULT 0;

ALTER TABLE agents ADD COLUMN is_listed BIGINT NOT NULL DEFAULT 1;
UPDATE agents SET is_listed = 0
    WHERE record LIKE '%"visibility":"private"%' OR record LIKE '%"status":"archived"%';
CREATE INDEX agents_listed ON agents (agent_id) WHERE is_listed = 1;

CREATE INDEX timers_order ON timers (agent_id, seq);
CREATE INDEX waits_open ON waits (agent_id) WHERE is_open = 1;

-- Capabilities; a token is found by its digest, and an agent has one active capability at most.
CREATE TABLE external_triggers (
    id         TEXT PRIMARY KEY,
    agent_id   TEXT NOT NULL,
    seq        BIGINT NOT NULL,
    token_hash TEXT NOT NULL,
    is_active  BIGINT NOT NULL,
    record     TEXT NOT NULL
);
CREATE UNIQUE INDEX external_triggers_token ON external_triggers (token_hash);
CREATE UNIQUE INDEX external_triggers_one_active ON external_triggers (agent_id)
    WHERE is_active = 1;
CREATE INDEX external_triggers_of_agent ON external_triggers (agent_id, seq);

-- At most one for each agent: what comes while it waits is merged into it.
CREATE TABLE wake_hints (
    agent_id TEXT PRIMARY KEY,
    record   TEXT NOT NULL
);

CREATE TABLE workspaces (
    workspace_id TEXT PRIMARY KEY,
    record       TEXT NOT NULL
);
)sql";

}  // namespace migrations
