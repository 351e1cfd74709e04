// A command line as people may see it: short, and without what looks like a secret.
#pragma once

#include <string>
#include <string_view>

#include "base/json.h"

namespace builtin {

inline constexpr std::size_t kCommandPreviewCharsMax = 240;
inline constexpr std::size_t kCommandSoftCharsMax = 4000;

// Values of flags and variables named like secrets, and the user part of URLs, are masked. Commands
// that contain a script (heredoc, `python -`, `sh -c`) become a note: their text may hold anything.
std::string command_preview(std::string_view cmd);

bool contains_heredoc(std::string_view cmd);
bool contains_inline_script(std::string_view cmd);

}  // namespace builtin
