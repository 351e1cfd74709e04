// Webhooks: entry points that external systems send messages by.
#pragma once

#include <string_view>

namespace migrations {

// A token is found by its digest; names are unique among the active webhooks of an agent.
inline constexpr std::string_view kWebhooks = R"sql(
CREATE TABLE webhooks (
    id         TEXT PRIMARY KEY,
    agent_id   TEXT NOT NULL,
    seq        BIGINT NOT NULL,
    name       TEXT NOT NULL,
    token_hash TEXT NOT NULL,
    is_active  BIGINT NOT NULL,
    record     TEXT NOT NULL
);
CREATE UNIQUE INDEX webhooks_token ON webhooks (token_hash);
CREATE UNIQUE INDEX webhooks_active_name ON webhooks (agent_id, name) WHERE is_active = 1;
CREATE INDEX webhooks_of_agent ON webhooks (agent_id, seq);
)sql";

}  // namespace migrations
