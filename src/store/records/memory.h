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
    // Inserts or replaces the memory of its agent, whole.
    virtual Status put_working_memory(const domain::WorkingMemory& memory) = 0;

    // Appends to the agent's episodes; one never changes, and only retention removes it. An id that
    // any episode has is a Conflict.
    virtual Status append_episode(const domain::ContextEpisode& episode) = 0;
    // One page, by the order in which they were appended.
    virtual Result<std::vector<Numbered<domain::ContextEpisode>>> episodes(const AgentId& agent,
                                                                           const Page& page) = 0;
};

}  // namespace store
