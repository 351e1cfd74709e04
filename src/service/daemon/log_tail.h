// The end of a log, bounded in every direction.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "base/result.h"

namespace service {

inline constexpr std::int64_t kTailLinesDefault = 80;
inline constexpr std::size_t kTailBytesMax = 128 * 1024;
inline constexpr std::size_t kTailLineChars = 8192;

// The last `lines` lines of the last kTailBytesMax bytes; empty when there is no log. A line longer
// than kTailLineChars keeps its end, behind "...".
base::Result<std::vector<std::string>> log_tail(const std::filesystem::path& file,
                                                std::int64_t lines);

// The same on text; `is_cut` says that more came before it. Pure.
std::vector<std::string> last_lines(std::string_view text, std::int64_t lines, bool is_cut);

}  // namespace service
