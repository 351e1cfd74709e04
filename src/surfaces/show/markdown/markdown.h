// Markdown as lines on a terminal.
#pragma once

#include <string_view>
#include <vector>

#include "surfaces/show/line.h"

namespace show {

inline constexpr std::size_t kMarkdownBytesMax =
    1024 * 1024;  // Longer texts are shown as they are.

// The text in lines of at most `columns` cells: emphasis, code, lists, quotes, headings, tables,
// links as text and address. Untrusted text is safe: what controls a terminal is shown as text.
std::vector<Line> markdown(std::string_view text, std::size_t columns);

// How many bytes at the front of a text that is still being written are whole blocks: what follows
// later changes nothing in them. 0 when there is none.
std::size_t finished_blocks(std::string_view text);

}  // namespace show
