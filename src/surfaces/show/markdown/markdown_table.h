// A table of Markdown on a terminal.
#pragma once

#include <vector>

#include "surfaces/show/line.h"

namespace show {

enum class Align { Left, Centre, Right };

struct MarkdownTable {
    std::vector<std::vector<Line>> rows{};  // The first is the heading.
    std::vector<Align> aligns{};            // Of the columns.
};

// In lines of at most `columns`: cells are wrapped where the table is too wide, and where that does
// not do, each cell has a line of its own behind its heading.
std::vector<Line> table_lines(const MarkdownTable& table, std::size_t columns);

}  // namespace show
