#include "base/plain_text.h"

#include <cstdint>

#include "base/text.h"

namespace base {
namespace {

// One character of valid UTF-8.
std::uint32_t scalar_of(std::string_view character) {
    const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(character[i]); };
    switch (character.size()) {
        case 1:
            return byte(0);
        case 2:
            return (byte(0) & 0x1FU) << 6 | (byte(1) & 0x3FU);
        case 3:
            return (byte(0) & 0x0FU) << 12 | (byte(1) & 0x3FU) << 6 | (byte(2) & 0x3FU);
        default:
            return (byte(0) & 0x07U) << 18 | (byte(1) & 0x3FU) << 12 | (byte(2) & 0x3FU) << 6 |
                   (byte(3) & 0x3FU);
    }
}

bool is_harmless(std::uint32_t c) {
    if (c == '\n') return true;
    if (c < 0x20 || (c >= 0x7F && c <= 0x9F)) return false;  // Control characters.
    if (c == 0xAD || c == 0x61C || c == 0xFEFF) return false;
    if (c >= 0x200B && c <= 0x200F) return false;  // Zero width, direction marks.
    if (c >= 0x2028 && c <= 0x202E) return false;  // Separators, direction overrides.
    if (c >= 0x2060 && c <= 0x206F) return false;  // Invisible operators, isolates.
    return c < 0xE0000;                            // Tags and private use.
}

}  // namespace

std::string plain_text(std::string_view bytes, std::size_t chars) {
    const std::string text = to_utf8(bytes);
    std::string out;
    for (std::string_view rest = text; !rest.empty();) {
        const std::string_view character = first_chars(rest, 1);
        rest.remove_prefix(character.size());
        if (is_harmless(scalar_of(character)))
            out += character;
        else if (character == "\t" || character == "\r")
            out += ' ';
    }
    return ellipsize(trim(out), chars);
}

bool is_plain(std::string_view bytes, std::size_t chars) {
    return !bytes.contains('\n') && plain_text(bytes, chars) == bytes;
}

}  // namespace base
