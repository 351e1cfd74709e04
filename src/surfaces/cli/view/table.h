// Tables that fit the terminal they are printed on.
#pragma once

#include <string>
#include <vector>

namespace cli {

using Rows = std::vector<std::vector<std::string>>;  // The first row may be a heading.

// The rows in columns, in lines of at most `columns`. The first column has what people copy into
// the next command, so it is never cut: the widest others are. Where too little room is left for
// them, each row has a line for its first cell and one for the others. Cells are printable and of
// one line.
std::string table(const Rows& rows, std::size_t columns);

}  // namespace cli
