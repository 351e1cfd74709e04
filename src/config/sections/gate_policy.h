// Which results pass the gate, as the operator set it.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "config/file.h"

namespace config {

struct GateSettings {
    GateSection general{};
    std::map<std::string, GateSection> agents{};  // Those that have words of their own.

    // The most specific word that was said: on the agent's family, the agent, the family, all. A
    // family that is not known has no word of its own.
    domain::GatePolicy policy(const std::string& agent, std::string_view family) const;
    // Is the gate off for every agent and family?
    bool is_off() const { return general == GateSection{} && agents.empty(); }
};
BOOST_DESCRIBE_STRUCT(GateSettings, (), (general, agents))

}  // namespace config
