// The ways one credential is usually spelled in output, logs and files.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace scan {

// A shorter credential is also a word of ordinary text, and is not looked for.
inline constexpr std::size_t kKnownBytesMin = 6;
// Only this many bytes of a longer spelling are searched for; the remaining ones are assumed to
// follow.
inline constexpr std::size_t kNeedleBytesMax = 1024;

struct Spelling {
    std::string text;
    bool any_case{false};
};

// As it is, base64 in both alphabets at all three alignments, base32 at all five, hex in both
// cases, percent-encoded, escaped for JSON (only where needed, with slashes, or every byte), and
// backwards; base64 and hex also in the lines that programs break them into. Each spelling once;
// none for one below kKnownBytesMin.
std::vector<Spelling> spellings(std::string_view credential);

struct Needle {
    std::string expression;  // Matches `bytes` of the spelling.
    std::size_t bytes{0};
    std::size_t follow{0};  // So many bytes of it come behind the match.
};

// One for each spelling.
std::vector<Needle> needles(std::string_view credential);

}  // namespace scan
