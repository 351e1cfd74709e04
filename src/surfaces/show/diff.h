// A change as people read it.
#pragma once

#include <string_view>
#include <vector>

#include "surfaces/show/line.h"

namespace show {

inline constexpr std::size_t kSideBySideColumns = 120;
inline constexpr std::size_t kSideBySideColumnsMax = 1000;  // More are no terminal.

// A unified diff or a patch of ApplyPatch in lines of at most `columns` cells, with line numbers
// where the text has them; side by side from kSideBySideColumns on. Safe for untrusted text.
std::vector<Line> diff_lines(std::string_view diff, std::size_t columns);

}  // namespace show
