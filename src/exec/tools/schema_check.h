// Does a value fit a JSON Schema? The subset that our derived schemas use, plus what plan authors
// and external tools commonly write; anything else in a schema is ignored, never guessed at.
#pragma once

#include <string>
#include <vector>

#include "base/json.h"

namespace tools {

// Faults reported for one value; more are left out.
inline constexpr std::size_t kSchemaFaultsMax = 16;

struct SchemaFault {
    std::string pointer;  // JSON pointer, "" for the value itself.
    std::string message;
    friend bool operator==(const SchemaFault&, const SchemaFault&) = default;
};

// Knows type (one or several), enum, const, properties, required, additionalProperties, items,
// minItems, maxItems, minLength, maxLength, minimum, maximum and anyOf. A member whose value is
// null and that is not required counts as absent. Depth is bounded by what the JSON parser admits.
std::vector<SchemaFault> check_schema(const json::object& schema, const json::value& value);

}  // namespace tools
