// The list of agents in groups. Pure.
#pragma once

#include <string_view>
#include <vector>

#include "base/json.h"
#include "surfaces/tui/widgets/picker.h"

namespace tui {

// "needs you", "working", "waiting", "sleeping" or "failed", of an AgentListEntry.
std::string_view agent_group(const json::object& entry);

// AgentListEntries in groups, those that said something last first, with those whose parent is
// known below it, in the parent's group. `children` are ChildAgentSummaries of agents that the list
// does not have.
std::vector<Row> agent_rows(const std::vector<json::object>& entries,
                            const std::vector<json::object>& children);

}  // namespace tui
