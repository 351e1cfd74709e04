#include "app/lineage.h"

#include "agent/children/ids.h"

namespace app {

Lineage::Lineage(const config::Config& config) {
    const auto add = [this](const auto& agents) {
        for (const auto& entry : agents)
            by_prefix_.emplace(children::prefix_below(entry.first), entry.first);
    };
    add(config.sandboxes.agents);
    add(config.flow.agents);
    add(config.gate.agents);
}

const std::string& Lineage::settings_of(const domain::AgentId& agent) const {
    if (by_prefix_.empty() || !agent.value.starts_with(domain::kChildPrefix)) return agent.value;
    const auto found = by_prefix_.upper_bound(agent.value);
    if (found == by_prefix_.begin()) return agent.value;
    const auto& [prefix, top] = *std::prev(found);
    return agent.value.starts_with(prefix) ? top : agent.value;
}

}  // namespace app
