#include "surfaces/show/columns.h"

#include <clocale>
#include <cwchar>

#include <algorithm>
#include <utility>

#include "base/text.h"

namespace show {
namespace {

constexpr char32_t kEmojiStyle = 0xFE0F;  // Asks for the wide form of the character before it.
constexpr char32_t kJoiner = 0x200D;      // Joins two emoji into one.

// One character at the front of valid UTF-8, and how many bytes it has.
std::pair<char32_t, std::size_t> next_char(std::string_view text) {
    const auto first = static_cast<unsigned char>(text.front());
    const std::size_t size = first < 0x80 ? 1 : first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4;
    char32_t code = first < 0x80 ? first : first & (0xFFU >> (size + 1));
    for (std::size_t i = 1; i < std::min(size, text.size()); ++i)
        code = (code << 6U) | (static_cast<unsigned char>(text[i]) & 0x3FU);
    return {code, std::min(size, text.size())};
}

// The C library's table of widths, whatever the locale of the program is.
class Widths {
public:
    Widths() : utf8_(newlocale(LC_CTYPE_MASK, "C.UTF-8", nullptr)) {}
    ~Widths() {
        if (utf8_ != nullptr) freelocale(utf8_);
    }
    Widths(const Widths&) = delete;
    Widths& operator=(const Widths&) = delete;

    std::size_t of(char32_t c) const {
        if (c < 0x7F) return 1;
        if (utf8_ == nullptr)
            return 2;  // Not known: too short a line is better than a wrapped one.
        const locale_t before = uselocale(utf8_);
        const int columns = wcwidth(static_cast<wchar_t>(c));
        uselocale(before);
        return columns < 0 ? 1 : static_cast<std::size_t>(columns);
    }

private:
    locale_t utf8_;
};

std::size_t width_of(char32_t c) {
    static const Widths kWidths;
    return c == kEmojiStyle ? 1 : kWidths.of(c);
}

// How many bytes of the text fit into `columns`; at least one character, or nothing would ever be
// printed on a very narrow terminal.
std::size_t bytes_within(std::string_view text, std::size_t columns) {
    std::size_t used = 0;
    std::size_t at = 0;
    while (at < text.size()) {
        const auto [c, size] = next_char(text.substr(at));
        if (at > 0 && used + width_of(c) > columns) break;
        used += width_of(c);
        at += size;
    }
    return at;
}

bool is_flag_half(char32_t c) {
    return c >= 0x1F1E6 && c <= 0x1F1FF;
}

bool is_skin_tone(char32_t c) {
    return c >= 0x1F3FB && c <= 0x1F3FF;
}

}  // namespace

std::size_t grapheme_bytes(std::string_view text) {
    if (text.empty()) return 0;
    auto [before, at] = next_char(text);
    if (before < 0x20 || before == 0x7F) return at;
    bool may_pair = is_flag_half(before);
    while (at < text.size() && at < kGraphemeBytesMax - 4) {
        if (static_cast<unsigned char>(text[at]) < 0x80) break;  // Most text ends here.
        const auto [c, size] = next_char(text.substr(at));
        const bool extends = c == kEmojiStyle || is_skin_tone(c) || width_of(c) == 0;
        const bool pairs = may_pair && is_flag_half(c);
        if (!extends && !pairs && before != kJoiner) break;
        if (pairs) may_pair = false;
        before = c;
        at += size;
    }
    return at;
}

std::size_t last_grapheme(std::string_view text) {
    // An ASCII character begins a new one, so what is before it does not matter.
    std::size_t from = text.size();
    const std::size_t least = text.size() - std::min(text.size(), 2 * kGraphemeBytesMax);
    while (from > least) {
        --from;
        if (static_cast<unsigned char>(text[from]) < 0x80) break;
    }
    while (from > 0 && (static_cast<unsigned char>(text[from]) & 0xC0U) == 0x80U) --from;
    std::size_t last = from;
    for (std::size_t at = from; at < text.size(); at += grapheme_bytes(text.substr(at))) last = at;
    return last;
}

std::size_t columns_of(std::string_view utf8) {
    std::size_t columns = 0;
    while (!utf8.empty()) {
        const auto [c, size] = next_char(utf8);
        columns += width_of(c);
        utf8.remove_prefix(size);
    }
    return columns;
}

std::string fitted(std::string_view text, std::size_t columns) {
    std::size_t used = 0;
    for (std::size_t at = 0; at < text.size();) {
        const auto [c, size] = next_char(text.substr(at));
        used += width_of(c);
        at += size;
        if (used < columns) continue;
        // Full. What follows must not need room, as a combining mark.
        if (used == columns && columns_of(text.substr(at)) == 0) break;
        std::size_t end = at - size;
        while (end > 0 && columns_of(text.substr(0, end)) + 1 > columns) {
            do --end;
            while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0U) == 0x80U);
        }
        return columns == 0 ? "" : std::string(text.substr(0, end)) + "…";
    }
    return std::string(text);
}

std::string padded(const std::string& text, std::size_t columns) {
    const std::size_t used = columns_of(text);
    return used < columns ? text + std::string(columns - used, ' ') : text;
}

std::vector<std::string> wrapped(std::string_view line, std::size_t columns) {
    std::vector<std::string> lines;
    for (std::size_t end = bytes_within(line, columns); end < line.size();
         end = bytes_within(line, columns)) {
        std::size_t next = end;
        if (const auto blank = line.substr(0, end + 1).rfind(' ');
            blank != std::string_view::npos && line.find_first_not_of(' ') < blank) {
            end = blank;
            next = blank + 1;
        }
        lines.emplace_back(line.substr(0, end));
        line.remove_prefix(next);
    }
    lines.emplace_back(line);
    return lines;
}

std::string folded(std::string_view text, std::size_t columns) {
    std::string out;
    for (const auto line : base::split_lines(text)) {
        const std::size_t blanks = std::min(line.find_first_not_of(' '), line.size());
        const std::string indent(blanks + 2, ' ');
        // As wide as all parts but the first can be.
        const std::size_t room = columns > 2 * indent.size() ? columns - indent.size() : columns;
        const auto begin = wrapped(line, columns);
        if (!out.empty()) out += '\n';
        out += begin.front();
        if (begin.size() == 1) continue;
        std::string_view rest = line;
        rest.remove_prefix(begin.front().size());
        rest.remove_prefix(std::min(rest.find_first_not_of(' '), rest.size()));
        for (const auto& part : wrapped(rest, room))
            out += '\n' + (room < columns ? indent : "") + part;
    }
    return out;
}

std::string hanging(std::string_view head, std::string_view text, std::size_t columns) {
    std::string out(head);
    if (columns == kUnbounded) return out.append(text);
    const std::size_t margin = columns_of(head);
    // A narrow terminal has no room for both.
    const bool is_narrow = columns < 2 * margin;
    const std::string indent(is_narrow ? 2 : margin, ' ');
    bool is_first = !is_narrow;
    for (const auto line : base::split_lines(text))
        for (const auto& part :
             wrapped(line, std::max(columns, indent.size() + 1) - indent.size())) {
            if (!is_first) out += '\n' + indent;
            out += part;
            is_first = false;
        }
    return out;
}

}  // namespace show
