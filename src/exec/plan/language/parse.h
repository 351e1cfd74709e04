// From text to a Plan: JSON or YAML, strict, every fault reported at once.
#pragma once

#include <expected>

#include "exec/plan/language/model.h"

namespace plan {

// The one document in `text`, which is JSON when its first character is '{' or '[', else YAML.
// Bounded in size and depth; duplicate members, aliases and several documents are refused.
base::Result<json::value> parse_document(std::string_view text);

// Unknown members, wrong types and values out of range, each with its place.
std::expected<Plan, std::vector<Fault>> decode(const json::value& document);

// The same, with whatever of the plan could be read in spite of the faults, so that the rest of it
// can be checked as well.
struct Decoded {
    Plan plan;
    std::vector<Fault> faults;
};
Decoded decode_all(const json::value& document);

// Equal for equal plans, whatever the order of their members and the format they were written in.
std::string plan_hash(const json::value& document);

}  // namespace plan
