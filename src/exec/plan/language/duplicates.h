#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace plan {

// The name of a member that one object of the JSON `text` has twice, or nothing. Parsers keep the
// last of them in silence, so that what runs would not be what a reader saw first.
std::optional<std::string> duplicate_member(std::string_view text);

}  // namespace plan
