// YAML front matter as JSON, within bounds.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"

namespace gate {

inline constexpr std::size_t kYamlDepthMax = 16;
inline constexpr std::size_t kYamlNodesMax = 16'384;

struct YamlFault {
    std::string rule;
    std::string pointer;  // Of the value, as far as it is known.
    std::string message;
};

struct YamlDocument {
    json::value value;
    std::vector<YamlFault> faults;
};

// Maps, lists and scalars only: anchors, aliases, custom tags, a key twice and a second document
// are faults. Plain scalars become null, booleans and numbers by the core schema; quoted ones stay
// text. The value is null when there are faults.
YamlDocument read_yaml(std::string_view text);

}  // namespace gate
