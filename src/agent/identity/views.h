// An agent as others read it: AgentState, AgentSummary, AgentModelState. Computed, never stored.
#pragma once

#include <string>
#include <vector>

#include "agent/identity/facts.h"
#include "base/json.h"

namespace identity {

// What the configuration says of models; the agent's own override is in its facts.
struct ModelFacts {
    std::string runtime_default_model;
    std::vector<std::string> fallback_models{};
};

json::object agent_state(const AgentFacts& facts);
json::object model_state(const domain::Agent& agent, const ModelFacts& models);
json::object agent_summary(const AgentFacts& facts, const ModelFacts& models);

}  // namespace identity
