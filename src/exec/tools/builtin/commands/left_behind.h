// Commands of a process that died: found by a mark in their environment.
#pragma once

#include <cstddef>
#include <string>

namespace builtin {

// The variable with the mark.
inline constexpr const char* kCallVariable = "HOLON_CALL";

// Ends every process of this user that has the mark in its environment, and gives their number.
// What a command changed in its own environment is out of reach. Blocks; any thread.
std::size_t end_left_behind(const std::string& mark);

}  // namespace builtin
