// Where a path leads in the values that a JSON Schema allows.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"

namespace plan {

// Why no value of `schema` has something at `path`; nothing where one could have. `name` is that of
// the whole, for the message. A schema that does not close its objects allows everything in them.
struct Nowhere {
    std::string message;
    std::string hint;
};
std::optional<Nowhere> leads_nowhere(const json::object& schema,
                                     const std::vector<std::string>& path, std::string_view name);

// The schema of what is at `path`, where there is one for it.
std::optional<json::object> part_of(const json::object& schema,
                                    const std::vector<std::string>& path);

// Does the schema allow a value of this type?
bool may_be(const json::object& schema, std::string_view type);

}  // namespace plan
