// Results of tasks that a turn has read before their message was handled.
#pragma once

#include "domain/turn.h"
#include "domain/waiting.h"
#include "record/events/events.h"

namespace queue {

// The model has read in `attempt` how the task ended: a queued message that reports the same is
// dropped, with the reason on record, and a wait for the task is resolved. Without such a message
// nothing changes.
base::Status drop_read_result(events::Log& log, const domain::Attempt& attempt,
                              const domain::TaskId& task);

}  // namespace queue
