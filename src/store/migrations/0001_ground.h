// The first schema. `record` holds the whole value as JSON; the other columns are what indexes and
// queries need. Written in the words SQLite and PostgreSQL share.
#pragma once

#include <string_view>

namespace migrations {

inline constexpr std::string_view kGround = R"sql(
CREATE TABLE agents (
    agent_id TEXT PRIMARY KEY,
    record   TEXT NOT NULL
);

-- The last number given out, per agent and stream (event, message, transcript, brief, …). Kept
-- apart from the rows it counts, so that removing old rows never reuses a number.
CREATE TABLE stream_heads (
    agent_id TEXT NOT NULL,
    stream   TEXT NOT NULL,
    seq      BIGINT NOT NULL,
    PRIMARY KEY (agent_id, stream)
);

-- Rows never change; what becomes of a message is in queue_entries.
CREATE TABLE messages (
    id         TEXT PRIMARY KEY,
    agent_id   TEXT NOT NULL,
    seq        BIGINT NOT NULL,
    dedupe_key TEXT,
    record     TEXT NOT NULL
);
CREATE UNIQUE INDEX messages_order ON messages (agent_id, seq);
CREATE UNIQUE INDEX messages_dedupe ON messages (agent_id, dedupe_key)
    WHERE dedupe_key IS NOT NULL;

CREATE TABLE queue_entries (
    message_id TEXT PRIMARY KEY,
    agent_id   TEXT NOT NULL,
    seq        BIGINT NOT NULL,
    priority   BIGINT NOT NULL,
    status     TEXT NOT NULL,
    tries      BIGINT NOT NULL,
    reason     TEXT,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL
);
-- 'interrupted' sorts before 'queued', which is the order they run in.
CREATE INDEX queue_entries_pending ON queue_entries (agent_id, priority, status, seq)
    WHERE status IN ('interrupted', 'queued');

CREATE TABLE attempts (
    run_id   TEXT PRIMARY KEY,
    agent_id TEXT NOT NULL,
    is_open  BIGINT NOT NULL,
    record   TEXT NOT NULL
);
CREATE INDEX attempts_of_agent ON attempts (agent_id);
CREATE UNIQUE INDEX attempts_one_open ON attempts (agent_id) WHERE is_open = 1;

CREATE TABLE frames (
    run_id TEXT PRIMARY KEY,
    frame  TEXT NOT NULL
);

CREATE TABLE tool_executions (
    call_id  TEXT PRIMARY KEY,
    agent_id TEXT NOT NULL,
    run_id   TEXT NOT NULL,
    round    BIGINT NOT NULL,
    ordinal  BIGINT NOT NULL,
    record   TEXT NOT NULL
);
CREATE INDEX tool_executions_of_run ON tool_executions (run_id, round, ordinal, call_id);
CREATE INDEX tool_executions_of_agent ON tool_executions (agent_id);

CREATE TABLE events (
    agent_id  TEXT NOT NULL,
    event_seq BIGINT NOT NULL,
    record    TEXT NOT NULL,
    PRIMARY KEY (agent_id, event_seq)
);

CREATE TABLE transcript (
    agent_id           TEXT NOT NULL,
    seq                BIGINT NOT NULL,
    related_message_id TEXT,
    record             TEXT NOT NULL,
    PRIMARY KEY (agent_id, seq)
);
CREATE INDEX transcript_of_message ON transcript (related_message_id, seq)
    WHERE related_message_id IS NOT NULL;

CREATE TABLE briefs (
    agent_id TEXT NOT NULL,
    seq      BIGINT NOT NULL,
    record   TEXT NOT NULL,
    PRIMARY KEY (agent_id, seq)
);

CREATE TABLE waits (
    id       TEXT PRIMARY KEY,
    agent_id TEXT NOT NULL,
    seq      BIGINT NOT NULL,
    is_open  BIGINT NOT NULL,
    record   TEXT NOT NULL
);
CREATE INDEX waits_of_agent ON waits (agent_id, is_open, seq);

CREATE TABLE timers (
    id           TEXT PRIMARY KEY,
    agent_id     TEXT NOT NULL,
    seq          BIGINT NOT NULL,
    is_active    BIGINT NOT NULL,
    next_fire_at BIGINT,
    record       TEXT NOT NULL
);
CREATE INDEX timers_of_agent ON timers (agent_id, is_active, seq);
CREATE INDEX timers_due ON timers (next_fire_at, id)
    WHERE is_active = 1 AND next_fire_at IS NOT NULL;

CREATE TABLE tasks (
    id        TEXT PRIMARY KEY,
    agent_id  TEXT NOT NULL,
    seq       BIGINT NOT NULL,
    is_active BIGINT NOT NULL,
    record    TEXT NOT NULL
);
CREATE INDEX tasks_of_agent ON tasks (agent_id, seq);
CREATE INDEX tasks_active ON tasks (agent_id, seq) WHERE is_active = 1;

CREATE TABLE outbox (
    effect_id  TEXT PRIMARY KEY,
    agent_id   TEXT NOT NULL,
    seq        BIGINT NOT NULL,
    kind       TEXT NOT NULL,
    payload    TEXT NOT NULL,
    created_at BIGINT NOT NULL
);
CREATE INDEX outbox_of_agent ON outbox (agent_id, seq);
)sql";

}  // namespace migrations
