// The way back in for what the runtime itself has to say: a task's result.
#pragma once

#include "record/events/events.h"

namespace admission {

// Takes `message` through ingress, which gives it its labels and bounds, and admits it under its
// own id, once for each task and kind. Fails, and with it the commit, when the agent is gone.
base::Status rejoin(events::Log& log, domain::Message message);

}  // namespace admission
