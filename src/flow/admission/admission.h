// Lets a message in: judges it, stores it, queues it and records it, in the caller's transaction.
#pragma once

#include <optional>
#include <string>
#include <variant>

#include "flow/admission/decide.h"
#include "record/events/events.h"

namespace admission {

struct Admitted {
    domain::MessageId message_id;
};
struct AlreadyHave {
    domain::MessageId message_id;  // The one that came first.
};
using Outcome = std::variant<Admitted, AlreadyHave, Refuse>;

// NotFound when the agent does not exist. On Admitted, the message, its queue entry and the events
// message_admitted and message_enqueued are part of the transaction.
base::Result<Outcome> admit(events::Log& log, const domain::Message& message,
                            const std::optional<std::string>& dedupe_key);

}  // namespace admission
