#include "surfaces/tui/screen/cells.h"

#include "surfaces/show/columns.h"

namespace tui {
namespace {

constexpr std::string_view kJoiner = "\u200D";      // Makes one emoji of two.
constexpr std::string_view kEmojiStyle = "\uFE0F";  // Makes the character before it wide.

std::size_t size_at(std::string_view text) {
    const auto first = static_cast<unsigned char>(text.front());
    const std::size_t size = first < 0x80 ? 1 : first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4;
    return std::min(size, text.size());
}

bool is_control(std::string_view character) {
    const auto first = static_cast<unsigned char>(character.front());
    if (first < 0x20 || first == 0x7F) return true;
    return first == 0xC2 && character.size() == 2 &&
           static_cast<unsigned char>(character[1]) < 0xA0;
}

}  // namespace

std::vector<ScreenCell> cells_of(const show::Line& line, std::size_t columns) {
    std::vector<ScreenCell> cells;
    std::size_t used = 0;
    bool joins = false;  // The next character belongs to the cell before it.
    for (const auto& span : line) {
        std::string_view rest = span.text;
        while (!rest.empty()) {
            const std::string_view character = rest.substr(0, size_at(rest));
            rest.remove_prefix(character.size());
            if (is_control(character)) continue;
            const std::size_t width = show::columns_of(character);
            const bool is_mark = width == 0 || character == kEmojiStyle;
            if (!cells.empty() && (is_mark || joins)) {
                ScreenCell& cell = cells.back();
                const std::size_t more = joins ? 0 : width;
                if (used + more > columns) return cells;
                cell.text += character;
                cell.columns += more;
                cell.is_simple = false;
                used += more;
                joins = character == kJoiner;
                continue;
            }
            if (used + width > columns) return cells;
            cells.push_back({std::string(character), span.face, width, width > 0});
            used += width;
        }
    }
    return cells;
}

std::size_t width_of(const std::vector<ScreenCell>& cells) {
    std::size_t width = 0;
    for (const auto& cell : cells) width += cell.columns;
    return width;
}

std::string_view sgr_of(show::Face face, bool colours) {
    switch (face) {
        case show::Face::Plain:
            return "";
        case show::Face::Dim:
            return "\x1b[2m";
        case show::Face::Bold:
            return "\x1b[1m";
        case show::Face::Italic:
            return "\x1b[3m";
        case show::Face::Accent:
        case show::Face::Code:
            return colours ? "\x1b[36m" : "";
        case show::Face::Heading:
            return colours ? "\x1b[1;35m" : "\x1b[1m";
        case show::Face::Link:
            return "\x1b[4m";
        case show::Face::Good:
        case show::Face::Added:
            return colours ? "\x1b[32m" : "";
        case show::Face::Bad:
        case show::Face::Removed:
            return colours ? "\x1b[31m" : "";
        case show::Face::Warning:
            return colours ? "\x1b[33m" : "";
        case show::Face::Selected:
            return "\x1b[7m";
    }
    return "";
}

show::Line plain(std::string text) {
    return faced(std::move(text), show::Face::Plain);
}
show::Line dim(std::string text) {
    return faced(std::move(text), show::Face::Dim);
}
show::Line faced(std::string text, show::Face face) {
    return {show::Span{std::move(text), face}};
}

void append(show::Line& line, const show::Line& more) {
    line.insert(line.end(), more.begin(), more.end());
}

}  // namespace tui
