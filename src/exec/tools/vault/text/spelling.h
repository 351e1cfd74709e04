// Names that look the same and are written with other code points: "é" is one, or "e" and a mark.
// Some systems write file names the one way, some the other. Pure.
#pragma once

#include <string>
#include <string_view>

namespace vault {

// The same for both: letters and their marks taken apart. Only for comparing, never for writing.
std::string spelling(std::string_view text);

// Can `text` be spelled in several ways at all? Plain ASCII cannot.
bool has_spellings(std::string_view text);

}  // namespace vault
