// Events about what an agent remembers.
#pragma once

#include "domain/events/payload.h"
#include "domain/memory.h"

namespace domain::events {

struct WorkingMemoryUpdated {
    static constexpr std::string_view kKind = "working_memory_updated";
    AgentId agent_id;
    std::int64_t revision{0};
    MemoryReason reason{MemoryReason::TerminalTurnCompleted};
    WorkingMemoryDelta delta{};
    TurnMemoryDelta turn_memory_delta{};
};
BOOST_DESCRIBE_STRUCT(WorkingMemoryUpdated, (),
                      (agent_id, revision, reason, delta, turn_memory_delta))

struct EpisodeMemoryFinalized {
    static constexpr std::string_view kKind = "episode_memory_finalized";
    AgentId agent_id;
    std::string episode_id;
    EpisodeBoundary boundary_reason{EpisodeBoundary::HardTurnCap};
    std::vector<std::int64_t> turn_range{};  // First and last.
    std::optional<WorkItemId> work_item_id{};
};
BOOST_DESCRIBE_STRUCT(EpisodeMemoryFinalized, (),
                      (agent_id, episode_id, boundary_reason, turn_range, work_item_id))

}  // namespace domain::events
