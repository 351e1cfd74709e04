// The end of a log, bounded in every direction.
#pragma once

#include <filesystem>
#include <functional>
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

// Calls `show` with each further line of the log from its current end on, until that returns false.
// Follows the name: a log that is rotated or made later is read from its beginning. Blocks.
base::Status follow_log(const std::filesystem::path& file,
                        const std::function<bool(const std::string& line)>& show);

// The same on text; `is_cut` says that more came before it. Pure.
std::vector<std::string> last_lines(std::string_view text, std::int64_t lines, bool is_cut);

}  // namespace service
