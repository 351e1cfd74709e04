// Long texts that several records of an agent hold are stored once, by their digest.
#pragma once

#include <string_view>

namespace migrations {

// A body goes with the last record that uses it. `owner` names the record: its table and its key.
inline constexpr std::string_view kBodies = R"sql(
CREATE TABLE bodies (
    hash TEXT PRIMARY KEY,
    body TEXT NOT NULL
);
CREATE TABLE body_uses (
    agent_id TEXT NOT NULL,
    owner    TEXT NOT NULL,
    hash     TEXT NOT NULL,
    PRIMARY KEY (agent_id, owner, hash)
);
CREATE INDEX body_uses_of_body ON body_uses (hash, agent_id);
)sql";

}  // namespace migrations
