// YAML as JSON values, for documents that people write.
#pragma once

#include "base/json.h"

namespace plan {

// One document. Anchors with aliases, tags, duplicate keys, keys that are not scalars and nesting
// beyond base::kJsonDepthMax are refused, with the line. Plain scalars follow the core schema:
// null, true, false, whole numbers and decimals; everything in quotes is text.
base::Result<json::value> parse_yaml(std::string_view text);

}  // namespace plan
