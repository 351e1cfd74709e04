#include "surfaces/show/line.h"

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>

#include "surfaces/show/columns.h"

namespace show {
namespace {

constexpr std::size_t kColumnsLeast = 2;  // Has room for any one character.

// How many bytes of the text fit, by whole characters.
std::size_t bytes_that_fit(std::string_view text, std::size_t columns) {
    std::size_t at = 0;
    for (std::size_t used = 0; at < text.size();) {
        const std::size_t bytes = grapheme_bytes(text.substr(at));
        used += columns_of(text.substr(at, bytes));
        if (used > columns) break;
        at += bytes;
    }
    return at;
}

void add(Line& line, std::string_view text, Face face) {
    if (text.empty()) return;
    if (line.empty() || line.back().face != face) line.push_back({.text = "", .face = face});
    line.back().text += text;
}

// The text of a line in one piece, and parts of it with their faces. Parts are asked for from left
// to right.
class Flat {
public:
    explicit Flat(const Line& line) {
        for (const auto& span : line) {
            text_ += span.text;
            ends_.push_back({text_.size(), span.face});
        }
    }

    std::string_view text() const { return text_; }

    Line part(std::size_t begin, std::size_t end) {
        Line line;
        while (begin < end) {
            while (ends_[run_].first <= begin) ++run_;
            const std::size_t to = std::min(end, ends_[run_].first);
            add(line, text().substr(begin, to - begin), ends_[run_].second);
            begin = to;
        }
        return line;
    }

private:
    std::string text_;
    std::vector<std::pair<std::size_t, Face>> ends_;
    std::size_t run_{0};
};

// The next piece that is not broken. A character too wide for the line, as joined emoji, is taken
// apart.
std::size_t piece_bytes(std::string_view text, std::size_t columns) {
    const std::size_t bytes = grapheme_bytes(text);
    if (columns_of(text.substr(0, bytes)) <= columns) return bytes;
    std::size_t end = 1;
    while (end < bytes && (static_cast<unsigned char>(text[end]) & 0xC0U) == 0x80U) ++end;
    return end;
}

}  // namespace

std::string text_of(const Line& line) {
    std::string text;
    for (const auto& span : line) text += span.text;
    return text;
}

std::size_t columns_of(const Line& line) {
    std::size_t columns = 0;
    for (const auto& span : line) columns += columns_of(span.text);
    return columns;
}

Line fitted(const Line& line, std::size_t columns) {
    if (columns_of(line) <= columns) return line;
    Line cut;
    if (columns == 0) return cut;
    std::size_t left = columns - 1;
    for (const auto& span : line) {
        const std::size_t bytes = bytes_that_fit(span.text, left);
        left -= columns_of(std::string_view(span.text).substr(0, bytes));
        add(cut, std::string_view(span.text).substr(0, bytes), span.face);
        if (bytes == span.text.size()) continue;
        add(cut, "…", span.face);
        break;
    }
    return cut;
}

Line padded(Line line, std::size_t columns) {
    const std::size_t used = columns_of(line);
    if (used < columns) add(line, std::string(columns - used, ' '), Face::Plain);
    return line;
}

std::vector<Line> wrapped(const Line& line, std::size_t columns, Break breaks) {
    columns = std::max(columns, kColumnsLeast);
    Flat flat(line);
    const std::string_view text = flat.text();
    std::vector<Line> lines;
    std::size_t begin = 0;
    std::size_t used = 0;
    std::optional<std::size_t> blank;  // Where this line can be broken,
    std::size_t used_behind = 0;       // and its cells up to and with that blank.
    bool is_indent = true;             // Blanks at its front: a break there would gain nothing.
    const auto end_line = [&](std::size_t end, std::size_t next) {
        lines.push_back(flat.part(begin, end));
        used = blank && next == *blank + 1 ? used - used_behind : 0;
        begin = next;
        blank.reset();
        is_indent = used == 0;
    };
    for (std::size_t at = 0; at < text.size();) {
        if (text[at] == '\n') {
            blank.reset();
            end_line(at, at + 1);
            ++at;
            continue;
        }
        const std::size_t bytes = piece_bytes(text.substr(at), columns);
        const std::size_t cells = columns_of(text.substr(at, bytes));
        const bool is_blank = text[at] == ' ' && breaks == Break::Words;
        if (used + cells > columns && is_blank) {
            blank.reset();
            end_line(at, at + 1);  // The blank is where the line ends.
            at += bytes;
            continue;
        }
        if (used + cells > columns) {
            blank ? end_line(*blank, *blank + 1) : end_line(at, at);
            continue;
        }
        used += cells;
        at += bytes;
        is_indent = is_indent && is_blank;
        if (is_blank && !is_indent) {
            blank = at - 1;
            used_behind = used;
        }
    }
    lines.push_back(flat.part(begin, text.size()));
    return lines;
}

}  // namespace show
