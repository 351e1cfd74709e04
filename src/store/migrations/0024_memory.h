// Working memory and episodes.
#pragma once

#include <string_view>

namespace migrations {

inline constexpr std::string_view kMemory = R"sql(
CREATE TABLE working_memory (
    agent_id TEXT PRIMARY KEY,
    record   TEXT NOT NULL
);
CREATE TABLE episodes (
    agent_id TEXT NOT NULL,
    seq      BIGINT NOT NULL,
    id       TEXT NOT NULL,
    record   TEXT NOT NULL,
    PRIMARY KEY (agent_id, seq)
);
CREATE UNIQUE INDEX episodes_id ON episodes (id);
)sql";

}  // namespace migrations
