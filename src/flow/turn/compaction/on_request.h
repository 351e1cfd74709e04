// A compaction that the operator asks for, of an agent that is in no turn.
#pragma once

#include "agent/context/compaction.h"
#include "domain/agent.h"
#include "domain/labels.h"
#include "record/events/events.h"

namespace turn {

struct RequestedCompaction {
    context::Compaction compaction;
    bool is_applied{false};  // False: it would free too little, and nothing was written.
};

// Writes the compaction as an entry of the transcript, which the next turn continues from, and its
// event. `files_now`: see read_files() of gather.h. Conflict while the agent has an open turn.
base::Result<RequestedCompaction> compact_now(events::Log& log, const domain::Agent& agent,
                                              domain::AdmissionContext admission,
                                              const context::FilesNow& files_now = {});

}  // namespace turn
