// What an agent reports to its operator, as records of their own.
#pragma once

#include <string>

#include "domain/agent.h"
#include "domain/message.h"
#include "domain/record.h"
#include "record/events/events.h"

namespace briefs {

inline constexpr std::string_view kAckPrefix = "Queued work: ";  // Clients hide these by it.
inline constexpr std::size_t kAckPreviewChars = 80;

// Stores the brief, gives it its time, and its id unless it has one, and appends brief_created. The
// time is also noted in `statistics`, which the caller puts. A brief that needs the operator or
// reports that work is done also becomes a delivery by each of the log's brief channels.
base::Status publish(events::Log& log, const domain::Agent& agent,
                     domain::AgentStatistics& statistics, domain::Brief brief);

domain::Brief ack(const domain::Agent& agent, const domain::Message& message);

}  // namespace briefs
