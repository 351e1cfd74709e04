// Tables that fit the terminal they are printed on.
#pragma once

#include <string>
#include <vector>

namespace show {

using Rows = std::vector<std::vector<std::string>>;  // The first row may be a heading.

// The rows in columns, in lines of at most `columns`. The first column has what people copy into
// the next command, so it is never cut: texts are, the last one most of all, and states and times
// are not. Where too little room is left, each row has a line for its first cell and up to
// kStackedLines below it for the others. Cells are printable and of one line.
inline constexpr std::size_t kStackedLines = 2;
std::string table(const Rows& rows, std::size_t columns);

}  // namespace show
