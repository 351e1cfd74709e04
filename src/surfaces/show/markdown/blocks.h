// Markdown in blocks that stand for themselves, so that a text can be shown while it is written.
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

namespace show {

// Consecutive parts of the text that are all of it: paragraphs, lists, fenced code, tables. A text
// that grows changes only the last of them.
std::vector<std::string_view> markdown_blocks(std::string_view text);

}  // namespace show
