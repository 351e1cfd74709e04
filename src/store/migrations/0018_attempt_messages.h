// Attempts of earlier programs get the message that they answer as a column.
#pragma once

#include <string>
#include <vector>

#include "base/json.h"
#include "store/migrations/migrations.h"
#include "store/sql/codec.h"

namespace migrations {

inline constexpr std::int64_t kAttemptsPerBatch = 500;

// An attempt whose record cannot be read keeps nobody from starting: its column stays empty, and
// `holon store check` reports it.
inline base::Result<Batch> fill_attempt_messages(sql::Connection& connection,
                                                 std::string_view progress) {
    struct Found {
        std::string run_id;
        std::string message_id;
    };
    std::vector<Found> found;
    TRY(connection.query(
        "SELECT run_id, record FROM attempts WHERE run_id > $1 ORDER BY run_id "
        "LIMIT $2",
        {progress, kAttemptsPerBatch}, [&](const sql::Row& row) -> base::Status {
            const auto record = sql::decode<json::value>(row.text(1));
            found.push_back({std::string(row.text(0)),
                             record ? base::string_at(*record, "message_id") : std::string()});
            return {};
        }));
    for (const auto& [run_id, message_id] : found)
        if (!message_id.empty())
            TRY(connection.execute("UPDATE attempts SET message_id = $2 WHERE run_id = $1",
                                   {run_id, message_id}));
    if (std::ssize(found) < kAttemptsPerBatch) return Batch{.is_last = true};
    return Batch{.progress = found.back().run_id};
}

}  // namespace migrations
