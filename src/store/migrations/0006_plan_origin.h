// Who wrote a plan, where that was a model, by the hash of the plan.
#pragma once

#include <string_view>

namespace migrations {

inline constexpr std::string_view kPlanOrigin = R"sql(
CREATE TABLE plan_origins (
    plan_hash TEXT PRIMARY KEY,
    made_at   BIGINT NOT NULL,
    record    TEXT NOT NULL
);
CREATE INDEX plan_origins_by_age ON plan_origins (made_at);
)sql";

}  // namespace migrations
