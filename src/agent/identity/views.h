// An agent as others read it: AgentState, AgentSummary, AgentModelState. Computed, never stored.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "agent/identity/facts.h"
#include "base/json.h"

namespace identity {

// The configuration of models; the agent's own override is in its facts.
struct ModelFacts {
    std::string runtime_default_model;
    // The models to try when `model` fails, in order.
    std::function<std::vector<std::string>(const std::string& model)> fallbacks_of =
        [](const std::string&) { return std::vector<std::string>{}; };
    // The limits that `model` is used with.
    std::function<json::value(const std::string& model)> policy_of = [](const std::string&) {
        return json::value(nullptr);
    };
};

// The model of the agent's next turn.
const std::string& effective_model(const domain::Agent& agent, const ModelFacts& models);

json::object agent_state(const AgentFacts& facts);
json::object model_state(const AgentFacts& facts, const ModelFacts& models);
json::object agent_summary(const AgentFacts& facts, const ModelFacts& models);
json::object agent_list_entry(const AgentFacts& facts, const ModelFacts& models);
// ChildAgentSummary: a child as its parent's summary lists it.
json::object child_summary(const AgentFacts& child, json::object observability);
// An agent whose records cannot be read, shown as set aside for this reason.
json::object unreadable_list_entry(const domain::AgentId& agent, const std::string& reason,
                                   const ModelFacts& models);
// Without the digest of its token.
json::object trigger_view(const domain::ExternalTrigger& trigger);

}  // namespace identity
