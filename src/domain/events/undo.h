// Events of changes that the operator took back.
#pragma once

#include "domain/events/payload.h"

namespace domain::events {

struct PatchesUndone {
    static constexpr std::string_view kKind = "patches_undone";
    AgentId agent_id;
    RunId run_id;  // Of the turn that made them.
    std::vector<ToolCallId> call_ids{};
    std::string root;                  // The folder that the paths are relative to.
    std::vector<std::string> paths{};  // Files that changed, the first of path_count.
    std::int64_t path_count{0};
    std::string summary;
    std::string admission_context;
    std::optional<std::string> actor_id{};
};
BOOST_DESCRIBE_STRUCT(PatchesUndone, (),
                      (agent_id, run_id, call_ids, root, paths, path_count, summary,
                       admission_context, actor_id))

}  // namespace domain::events
