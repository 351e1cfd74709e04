// Notifications of agents, the transports of operators, and what is to be delivered to them.
#pragma once

#include <string_view>

namespace migrations {

// due_at is null once a delivery is over. Pending ones outlive their agent.
inline constexpr std::string_view kNotifications = R"sql(
CREATE TABLE operator_notifications (
    id       TEXT PRIMARY KEY,
    agent_id TEXT NOT NULL,
    seq      BIGINT NOT NULL,
    record   TEXT NOT NULL
);
CREATE INDEX operator_notifications_of_agent ON operator_notifications (agent_id, seq);
CREATE TABLE operator_bindings (
    id       TEXT PRIMARY KEY,
    agent_id TEXT NOT NULL,
    record   TEXT NOT NULL
);
CREATE INDEX operator_bindings_of_agent ON operator_bindings (agent_id, id);
CREATE TABLE operator_deliveries (
    id       TEXT PRIMARY KEY,
    agent_id TEXT NOT NULL,
    seq      BIGINT NOT NULL,
    due_at   BIGINT,
    record   TEXT NOT NULL,
    body     TEXT NOT NULL
);
CREATE INDEX operator_deliveries_of_agent ON operator_deliveries (agent_id, seq);
CREATE INDEX operator_deliveries_due ON operator_deliveries (due_at) WHERE due_at IS NOT NULL;
)sql";

}  // namespace migrations
