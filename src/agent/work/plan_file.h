// The plan of a work item: a file in the agent's home that the agent and its operator edit.
//
// Never through a link: a plan is shown to the model, and a link could lead to a private key.
// These functions block on the file system; any thread.
#pragma once

#include <filesystem>
#include <string_view>

#include "base/result.h"
#include "domain/work.h"

namespace work {

inline constexpr std::size_t kPlanBytesMax = 256 * 1024;
inline constexpr std::size_t kPlanPreviewChars = 1'600;

// "work-items/<id>/plan.md", below the agent's home.
std::string plan_path(const domain::WorkItemId& id);

// The file as it is now. A missing file is an empty plan. Refused when the file or a folder on the
// way to it is a link; InvalidInput when it is no regular file or larger than kPlanBytesMax.
base::Result<domain::PlanArtifact> read_plan(const std::filesystem::path& home,
                                             const domain::AgentId& agent,
                                             const domain::WorkItemId& id);

// Creates the file with this text, or replaces it. Fails as read_plan() does, and when `text` is
// too large; then nothing was changed.
base::Status write_plan(const std::filesystem::path& home, const domain::WorkItemId& id,
                        std::string_view text);

}  // namespace work
