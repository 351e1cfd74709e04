// Which results pass the gate, as the operator set it.
#pragma once

#include <string>
#include <string_view>

#include "config/file.h"

namespace config {

class GateSettings {
public:
    GateSettings() = default;
    explicit GateSettings(GateSection section) : section_(std::move(section)) {}

    // The most specific word that was said: on the agent's family, the agent, the family, all. A
    // family that is not known has no word of its own.
    domain::GatePolicy policy(const std::string& agent, std::string_view family) const;
    const GateSection& section() const { return section_; }
    // Is there nothing to judge, whoever asks?
    bool is_off() const { return section_ == GateSection{}; }

private:
    GateSection section_{};
};

}  // namespace config
