// May this message re-enter the model, given how things stood before it was taken? Pure.
#pragma once

#include "domain/agent.h"
#include "domain/message.h"
#include "domain/turn.h"

namespace scheduler {

// Only ticks without content, status messages, control and brief deliveries stay below the model.
// Everything else, failed task results above all, ends in a turn, whatever was waited for: nothing
// terminal is swallowed.
domain::ContinuationResolution resolve(const domain::ClosureDecision& prior,
                                       const domain::Message& message);

// Does the message say something, or is it a bare wake? A tick says what its hint carries.
bool is_contentful(const domain::Message& message);
bool is_contentful(const domain::Body& body);

}  // namespace scheduler
