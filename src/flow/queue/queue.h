// The durable, per-agent order of admitted messages. Nothing of it lives in memory.
#pragma once

#include <optional>
#include <string>

#include "record/events/events.h"

namespace queue {

// Adds the message behind all others of its agent and priority, with its events. The same id or
// dedupe key again changes nothing.
base::Result<store::AppendOutcome> append(events::Log& log, const domain::Message& message,
                                          const std::optional<std::string>& dedupe_key);

// Takes the message that is next for `agent`: highest priority, then oldest; an interrupted one
// before those that never ran. Empty when there is none.
base::Result<std::optional<store::QueuedMessage>> claim(events::Log& log,
                                                        const domain::AgentId& agent);

// Ends the claim on a message: processed, interrupted (it comes back) or dropped, with the reason.
base::Status release(events::Log& log, const domain::MessageId& message, domain::QueueStatus status,
                     const std::optional<std::string>& reason);

}  // namespace queue
