#include "surfaces/cli/view/columns.h"

#include <sys/ioctl.h>

#include <algorithm>
#include <utility>

namespace cli {
namespace {

// One character at the front of valid UTF-8, and how many bytes it has.
std::pair<char32_t, std::size_t> next_char(std::string_view text) {
    const auto first = static_cast<unsigned char>(text.front());
    const std::size_t size = first < 0x80 ? 1 : first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4;
    char32_t code = first < 0x80 ? first : first & (0xFFU >> (size + 1));
    for (std::size_t i = 1; i < std::min(size, text.size()); ++i)
        code = (code << 6U) | (static_cast<unsigned char>(text[i]) & 0x3FU);
    return {code, std::min(size, text.size())};
}

std::size_t columns_of(char32_t c) {
    if ((c >= 0x300 && c <= 0x36F) || (c >= 0x200B && c <= 0x200F) || (c >= 0xFE00 && c <= 0xFE0F))
        return 0;
    const bool is_wide = (c >= 0x1100 && c <= 0x115F) || (c >= 0x2E80 && c <= 0xA4CF) ||
                         (c >= 0xAC00 && c <= 0xD7A3) || (c >= 0xF900 && c <= 0xFAFF) ||
                         (c >= 0xFE30 && c <= 0xFE6F) || (c >= 0xFF00 && c <= 0xFF60) ||
                         (c >= 0x1F300 && c <= 0x1FAFF) || (c >= 0x20000 && c <= 0x3FFFD);
    return is_wide ? 2 : 1;
}

}  // namespace

FrameSize size_of(const Terminal& terminal) {
    winsize size{};
    FrameSize out;
    if (::ioctl(fileno(terminal.err), TIOCGWINSZ, &size) != 0) return out;
    if (size.ws_col > 0) out.columns = size.ws_col;
    if (size.ws_row > 0) out.rows = size.ws_row;
    return out;
}

std::size_t columns_of(std::string_view utf8) {
    std::size_t columns = 0;
    while (!utf8.empty()) {
        const auto [c, size] = next_char(utf8);
        columns += columns_of(c);
        utf8.remove_prefix(size);
    }
    return columns;
}

std::string fitted(std::string_view text, std::size_t columns) {
    std::size_t used = 0;
    for (std::size_t at = 0; at < text.size();) {
        const auto [c, size] = next_char(text.substr(at));
        const std::size_t width = columns_of(c);
        const bool is_last = at + size == text.size();
        if (used + width + (is_last ? 0 : 1) > columns)
            return columns == 0 ? "" : std::string(text.substr(0, at)) + "…";
        used += width;
        at += size;
    }
    return std::string(text);
}

std::string padded(const std::string& text, std::size_t columns) {
    const std::size_t used = columns_of(text);
    return used < columns ? text + std::string(columns - used, ' ') : text;
}

}  // namespace cli
