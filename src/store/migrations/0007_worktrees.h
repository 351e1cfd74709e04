// Worktrees that the runtime made, or is about to make, for its agents.
#pragma once

#include <string_view>

namespace migrations {

inline constexpr std::string_view kWorktrees = R"sql(
CREATE TABLE worktrees (
    worktree_path TEXT PRIMARY KEY,
    agent_id      TEXT NOT NULL,
    created_at    BIGINT NOT NULL,
    record        TEXT NOT NULL
);
CREATE INDEX worktrees_by_agent ON worktrees (agent_id, created_at, worktree_path);
)sql";

}  // namespace migrations
