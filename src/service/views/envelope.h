// An event as it leaves the runtime: provenance and projection next to the payload, not in it.
//
// The payload is the stored one, unchanged: what must not be shown was never stored. Reading an
// envelope is recovery of history; nothing here can put an event back into a queue.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/typed.h"
#include "domain/record.h"

namespace views {

enum class ProjectionName { Operator, LocalDebug };
BOOST_DESCRIBE_ENUM(ProjectionName, Operator, LocalDebug)

struct Projection {
    ProjectionName name{ProjectionName::Operator};
    bool raw_payload_included{true};
    std::vector<std::string> redactions{};  // JSON pointers of what was left out at the source.
    friend bool operator==(const Projection&, const Projection&) = default;
};
BOOST_DESCRIBE_STRUCT(Projection, (), (name, raw_payload_included, redactions))

// The origin of an event, as far as its payload has it; unknown members are absent.
struct Provenance {
    std::optional<json::value> origin{};
    std::optional<json::value> trust{};
    std::optional<json::value> authority_class{};
    std::optional<json::value> delivery_surface{};
    std::optional<json::value> admission_context{};
    std::optional<json::value> transport{};
    std::optional<json::value> source{};
    std::optional<json::value> reply_route{};
    std::optional<json::value> message_id{};
    std::optional<json::value> task_id{};
    std::optional<json::value> work_item_id{};
    std::optional<json::value> correlation_id{};
    std::optional<json::value> causation_id{};
    friend bool operator==(const Provenance&, const Provenance&) = default;
};
BOOST_DESCRIBE_STRUCT(Provenance, (),
                      (origin, trust, authority_class, delivery_surface, admission_context,
                       transport, source, reply_route, message_id, task_id, work_item_id,
                       correlation_id, causation_id))

struct EventEnvelope {
    domain::EventId id;
    std::int64_t event_seq{0};  // Per agent and durable: the only cursor.
    base::Time ts{};
    domain::AgentId agent_id;
    std::string type;
    Projection projection{};
    Provenance provenance{};
    json::value payload;
    friend bool operator==(const EventEnvelope&, const EventEnvelope&) = default;
};
BOOST_DESCRIBE_STRUCT(EventEnvelope, (),
                      (id, event_seq, ts, agent_id, type, projection, provenance, payload))

EventEnvelope envelope(const domain::AgentId& agent, const domain::Event& event,
                       ProjectionName projection = ProjectionName::Operator);

}  // namespace views
