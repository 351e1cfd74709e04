// Words in lines, upper and lower case the same.
#pragma once

#include <string_view>
#include <vector>

#include "surfaces/show/line.h"

namespace tui {

// Where the words are in the text, from this byte on; npos when they are not. Empty words are
// nowhere.
std::size_t find_words(std::string_view text, std::string_view words, std::size_t from);
// The lines that have the words in them.
std::vector<std::size_t> lines_with(const std::vector<show::Line>& lines, std::string_view words);

}  // namespace tui
