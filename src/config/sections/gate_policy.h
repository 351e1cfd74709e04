// Which results pass the gate, as the operator set it.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "config/file.h"

namespace config {

struct GateSettings {
    GateSection general{};
    std::map<std::string, GateSection> agents{};  // Those with their own settings.

    // The most specific setting: of the agent's family, the agent, the family, all; `unset` where
    // the operator has set none. An unknown family has no setting of its own.
    domain::GatePolicy policy(const std::string& agent, std::string_view family,
                              domain::GatePolicy unset = domain::GatePolicy::Off) const;
    // Has the operator turned the gate off for every agent and family?
    bool is_off() const {
        return general == GateSection{.policy = domain::GatePolicy::Off} && agents.empty();
    }
};
BOOST_DESCRIBE_STRUCT(GateSettings, (), (general, agents))

}  // namespace config
