// What is written of a task when it begins and when it ends, in the transaction that is given.
#pragma once

#include <optional>
#include <vector>

#include "exec/sandbox/denials.h"
#include "exec/tasks/host.h"

namespace tasks {

base::Result<domain::Task> commit_running(events::Log& log, const CommandRequest& request,
                                          const results::Preview& initial, bool promoted,
                                          bool withheld);

// The end of the task, its events and the message that reports it, which fulfils the
// wait for it where it is queued: all of it or nothing. False when the task had ended already.
base::Result<bool> commit_end(events::Log& log, const Rejoin& rejoin, const domain::TaskId& id,
                              const supervisor::End& end, const results::Preview& output,
                              const std::vector<sandbox::Denial>& denials,
                              const std::optional<OutputAnswer>& answer);

}  // namespace tasks
