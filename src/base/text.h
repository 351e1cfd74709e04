// Untrusted text, made safe and short. "Characters" are Unicode scalar values.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace base {

bool is_utf8(std::string_view bytes);

// Valid UTF-8 for any bytes: each maximal invalid part becomes U+FFFD.
std::string to_utf8(std::string_view bytes);

// The number of characters of valid UTF-8.
std::size_t char_count(std::string_view utf8);

// The first / last `chars` characters of valid UTF-8.
std::string_view first_chars(std::string_view utf8, std::size_t chars);
std::string_view last_chars(std::string_view utf8, std::size_t chars);

// At most `chars` characters; when cut, the last one is "…".
std::string ellipsize(std::string_view utf8, std::size_t chars);

// "a b" as a part of a path or query of a URL: "a%20b".
std::string percent_encoded(std::string_view text);

std::string_view trim(std::string_view text);
std::vector<std::string_view> split_lines(std::string_view text);  // Without their newlines.
std::string collapse_whitespace(std::string_view text);            // On one line, single spaces.
std::string counted(std::int64_t count, std::string_view noun);    // "1 agent", "2 agents".

// Control characters and escape sequences written visibly (\x1b), so that text from a model or a
// command cannot steer a terminal or forge a log line. Newline and tab stay when `multiline`.
std::string printable(std::string_view utf8, bool multiline = false);

// The candidate closest to `word` by edit distance, or empty when none is near (more than half of
// it would have to change).
std::string nearest(std::string_view word, std::span<const std::string> candidates);

// ceil(characters / 4), at least 1: the estimate that budgets are stated in.
std::size_t estimate_tokens(std::string_view utf8);

}  // namespace base
