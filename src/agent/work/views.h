// A work item as clients and models read it. Computed, never stored.
#pragma once

#include <optional>
#include <vector>

#include "agent/work/decide.h"
#include "base/json.h"

namespace work {

struct ViewFacts {
    domain::WorkItem item;
    bool is_current{false};
    bool with_todos{true};
    // Of the item, open ones.
    std::vector<domain::Wait> waits{};
    std::optional<domain::PlanArtifact> plan_artifact{};  // As the file is now.
    std::optional<domain::DeliverySummary> delivery_summary{};
};
// WorkItemView: never the revision, the inline plan or the raw result summary.
json::object view(const ViewFacts& facts);

// The report of a completed item: what was promoted when it was completed, else what an older
// program stored as a delivery summary. Null without one.
std::optional<json::object> completion_report(
    const domain::WorkItem& item, const std::optional<domain::DeliverySummary>& summary);

// A wait as summaries show it.
json::object wait_view(const domain::Wait& wait);

}  // namespace work
