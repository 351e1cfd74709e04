// The parameters of a plan and the types that its tools want them to have.
#pragma once

#include "exec/plan/language/check.h"

namespace plan {

// By name, a type of JSON Schema: what the input schema says where the parameter is a whole value,
// array where it is looped over, object where a member of it is used, string where it is a part of
// a text. Absent where its uses do not agree.
std::map<std::string, std::string> param_types(const Checked& plan,
                                               const tools::Registry& registry);

// `value` as a `type`, or nothing. What a person typed may have been read as a number or a truth
// where a text was meant.
std::optional<json::value> fitted(const json::value& value, std::string_view type);

}  // namespace plan
