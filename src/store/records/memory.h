// What agents keep in mind between turns: their working memory and their episodes.
#pragma once

#include "domain/memory.h"
#include "store/records/types.h"

namespace store {

class MemoryRecords {
public:
    virtual ~MemoryRecords() = default;

    // All empty, with its id, when nothing was put for the agent yet.
    virtual Result<domain::WorkingMemory> working_memory(const AgentId& agent) = 0;
    virtual Status put_working_memory(const domain::WorkingMemory& memory) = 0;

    // Appends; an episode never changes. The same id again is a Conflict.
    virtual Status append_episode(const domain::ContextEpisode& episode) = 0;
    virtual Result<std::vector<Numbered<domain::ContextEpisode>>> episodes(const AgentId& agent,
                                                                           const Page& page) = 0;
};

}  // namespace store
