// What retention works with: attempts by their message, and how far the removal of old rows is.
#pragma once

#include <string_view>

namespace migrations {

// A database that has agents by now is of an older program: nothing of it is removed before its
// operator had time to read what would be.
inline constexpr std::string_view kRetention = R"sql(
ALTER TABLE attempts ADD COLUMN message_id TEXT;
CREATE INDEX attempts_of_message ON attempts (message_id, run_id) WHERE message_id IS NOT NULL;
CREATE TABLE retention (
    id     BIGINT PRIMARY KEY,
    record TEXT NOT NULL
);
INSERT INTO retention (id, record)
SELECT 1, '{"existed_before":true}' WHERE EXISTS (SELECT 1 FROM agents);
)sql";

}  // namespace migrations
