#include "config/sections/gate_policy.h"

#include <boost/mp11.hpp>

namespace config {
namespace {

std::optional<domain::GatePolicy> word_on(const std::optional<GateFamilies>& families,
                                          std::string_view family) {
    std::optional<domain::GatePolicy> found;
    if (!families) return found;
    using Members = boost::describe::describe_members<GateFamilies, boost::describe::mod_public>;
    boost::mp11::mp_for_each<Members>([&](auto member) {
        if (family == member.name) found = (*families).*member.pointer;
    });
    return found;
}

}  // namespace

domain::GatePolicy GateSettings::policy(const std::string& agent, std::string_view family,
                                        domain::GatePolicy unset) const {
    if (const auto own = agents.find(agent); own != agents.end()) {
        if (const auto word = word_on(own->second.families, family)) return *word;
        if (own->second.policy) return *own->second.policy;
    }
    if (const auto word = word_on(general.families, family)) return *word;
    return general.policy.value_or(unset);
}

}  // namespace config
