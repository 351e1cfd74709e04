// The record of an agent that changes its workspace.
#pragma once

#include <string>
#include <vector>

#include "domain/agent.h"
#include "domain/events/workspace.h"

namespace workspace {

// An event to append, in order.
using Note = domain::events::Draft;

// An entry as events show it.
domain::events::WorkspaceUsed place_of(const domain::WorkspaceEntry& entry);

// Attaches the entry's workspace, unless it is the agent's home or attached.
std::vector<Note> attach(domain::Agent& agent, const domain::WorkspaceEntry& entry);

// Makes `entry` the active one, attached if need be, and gives what happened. The workspace that is
// left stays as it is, on disk and attached. The agent's execution is up to date.
std::vector<Note> move_to(domain::Agent& agent, const domain::WorkspaceEntry& entry);

}  // namespace workspace
