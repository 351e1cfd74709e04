// How much of a text fits on a terminal. Texts are valid UTF-8 without control characters.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace show {

// Text for a pipe or a file is not cut: it has this many columns.
inline constexpr std::size_t kUnbounded = 1'000'000;

// Columns that a text takes: two for wide characters and emoji, none for combining ones. Where
// terminals differ (sequences that some join into one emoji) it is the larger number.
std::size_t columns_of(std::string_view utf8);
// Bytes of the first character as a person sees it: a letter with its marks, joined emoji, a flag.
// 0 for an empty text. At most kGraphemeBytesMax, so that a heap of marks costs no more.
inline constexpr std::size_t kGraphemeBytesMax = 128;
std::size_t grapheme_bytes(std::string_view text);
// Where the last such character begins; 0 for an empty text.
std::size_t last_grapheme(std::string_view text);
// The text, cut to `columns` with an ellipsis.
std::string fitted(std::string_view text, std::size_t columns);
// The text, filled with blanks to `columns`.
std::string padded(const std::string& text, std::size_t columns);
// Lines of at most `columns`, broken at blanks where there are some. An empty text is one empty
// line.
std::vector<std::string> wrapped(std::string_view line, std::size_t columns);
// The text with each of its lines wrapped; what a line continues with is indented two blanks more
// than its beginning.
std::string folded(std::string_view text, std::size_t columns);
// The text behind `head`, its lines wrapped and all but the first indented to where it begins.
// Where nothing is bounded, the text as it is.
std::string hanging(std::string_view head, std::string_view text, std::size_t columns);

}  // namespace show
