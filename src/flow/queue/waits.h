// What a message ends when it arrives: an agent's waits.
//
//     active --a matching message is queued--> triggered --it is claimed--> resolved
#pragma once

#include <optional>

#include "record/events/events.h"

namespace queue {

// More open waits than this an agent may not have.
inline constexpr std::int64_t kOpenWaitsMax = 1000;

// Is this what is waited for? Pure. A wake hint ends no wait: it only says that a check may be
// worthwhile, and the agent decides.
bool triggers(const domain::Message& message, const domain::Wait& wait);

// In the commit that queues `message`: each active wait that it ends is triggered by it. A wait of
// a work item for its operator or for an external change stays active; when the message came is
// noted.
base::Status trigger_waits(events::Log& log, const domain::Message& message);

// In the commit that takes `message` up: what it triggered is resolved, by `run` when it has one.
base::Status resolve_waits(events::Log& log, const domain::Message& message,
                           const std::optional<domain::RunId>& run);

// `wait` for a task is over. When it was the last task that its work item waited for, the blocker
// that the runtime had written is removed. Any other wait changes nothing.
base::Status release_work_item(events::Log& log, const domain::Wait& wait);

// A wake hint has reached the agent. It ends no wait; the newest waits of its work items for an
// external change note when it came, kNotedWaitsMax of them.
inline constexpr std::size_t kNotedWaitsMax = 16;
base::Status note_hint(events::Log& log, const domain::AgentId& agent);

// Opens `wait`. What it waits for may already be here: a result that is still queued triggers it at
// once, one that was claimed before resolves it. An expiry gets its timer. Refused above
// kOpenWaitsMax.
base::Result<domain::Wait> open_wait(events::Log& log, domain::Wait wait);

// Cancels an active wait, with its expiry. One that has fired stays for the turn that claims its
// message.
base::Status cancel_wait(events::Log& log, domain::Wait wait);

// The dedupe key that a task's result is admitted with: by it an earlier result is found.
std::string task_result_key(const domain::TaskId& task);

}  // namespace queue
