#include "app/lineage.h"

#include <algorithm>

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

bool Lineage::share_settings(const domain::AgentId& one, const domain::AgentId& other) const {
    const auto own = [&](const domain::AgentId& agent) {
        const auto& holder = settings_of(agent);
        const bool has_own = std::ranges::any_of(
            by_prefix_, [&](const auto& entry) { return entry.second == holder; });
        return has_own ? holder : std::string();
    };
    return own(one) == own(other);
}

const std::string& Lineage::settings_of(const domain::AgentId& agent) const {
    if (by_prefix_.empty() || !agent.value.starts_with(domain::kChildPrefix)) return agent.value;
    const auto found = by_prefix_.upper_bound(agent.value);
    if (found == by_prefix_.begin()) return agent.value;
    const auto& [prefix, top] = *std::prev(found);
    return agent.value.starts_with(prefix) ? top : agent.value;
}

}  // namespace app
