// States in the words of people. Names of states are for JSON.
#pragma once

#include <string>
#include <string_view>

#include "base/json.h"
#include "domain/turn.h"

namespace cli {

// "waiting for your next prompt"
std::string waiting_text(domain::WaitingReason reason);
// "ready", "working", of the name of a domain::AgentStatus; any other name as it is.
std::string status_text(std::string_view status);
// "waiting for you", of the name of a scheduling posture.
std::string posture_text(std::string_view posture);
// What would let the agent of this AgentSummary or AgentListEntry continue.
std::string state_text(const json::value& summary);

}  // namespace cli
