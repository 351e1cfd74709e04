// The difference of two texts, for people who approve a change.
#pragma once

#include <string>
#include <string_view>

namespace vault {

inline constexpr std::size_t kDiffBytesMax = 64 * 1024;

// A unified diff, cut with a note at kDiffBytesMax. Valid and applicable, though not always the
// smallest: lines between the first and the last change pair up only when none were added or
// removed there.
std::string unified_diff(std::string_view path, std::string_view before, std::string_view after);

}  // namespace vault
