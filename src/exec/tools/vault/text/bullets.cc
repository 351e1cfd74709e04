#include "exec/tools/vault/text/bullets.h"

#include <algorithm>
#include <cctype>

#include "base/text.h"

namespace vault {
namespace {

constexpr std::size_t kTabWidth = 4;
constexpr std::size_t kNumberDigitsMax = 9;
// Less than a strict reader asks for below "1.", because that is how people write it.
constexpr std::size_t kChildIndentMin = 2;

struct Marker {
    std::size_t indent{0};  // Columns before it.
    bool ordered{false};
    std::string_view text;
};

struct Indent {
    std::size_t columns{0};
    std::string_view rest;
};

Indent indent_of(std::string_view line) {
    std::size_t columns = 0, i = 0;
    for (; i < line.size() && (line[i] == ' ' || line[i] == '\t'); ++i)
        columns += line[i] == '\t' ? kTabWidth - columns % kTabWidth : 1;
    return {columns, line.substr(i)};
}

bool is_rule(std::string_view rest) {
    std::size_t signs = 0;
    for (const char c : rest) {
        if (c == ' ' || c == '\t') continue;
        if (c != rest[0] || (c != '-' && c != '*')) return false;
        ++signs;
    }
    return signs >= 3;
}

std::optional<Marker> marker_of(std::string_view line) {
    const auto [columns, rest] = indent_of(line);
    if (rest.empty() || is_rule(rest)) return std::nullopt;
    std::size_t size = 0;
    if (std::string_view("-*+").contains(rest[0])) {
        size = 1;
    } else {
        while (size < rest.size() && std::isdigit(static_cast<unsigned char>(rest[size])) != 0)
            ++size;
        if (size == 0 || size > kNumberDigitsMax || size == rest.size() ||
            (rest[size] != '.' && rest[size] != ')'))
            return std::nullopt;
        ++size;
    }
    if (size < rest.size() && rest[size] != ' ' && rest[size] != '\t') return std::nullopt;
    return Marker{.indent = columns, .ordered = size > 1, .text = rest.substr(size)};
}

// "[ ] text" and "[x] text" are tasks.
std::optional<bool> take_checkbox(std::string_view& text) {
    if (text.size() < 3 || text[0] != '[' || text[2] != ']' ||
        (text.size() > 3 && text[3] != ' ') || !std::string_view(" xX").contains(text[1]))
        return std::nullopt;
    const bool checked = text[1] != ' ';
    text = base::trim(text.substr(3));
    return checked;
}

bool is_fence(std::string_view line) {
    const std::string_view rest = indent_of(line).rest;
    return rest.starts_with("```") || rest.starts_with("~~~");
}

// How many lines the YAML at the start of a note takes, from "---" to "---" or "...".
std::size_t front_matter_lines(std::string_view text) {
    std::size_t number = 0;
    for (const std::string_view line : base::split_lines(text)) {
        const std::string_view content = base::trim(line);
        if (++number == 1 && (content != "---" || line.starts_with(' '))) return 0;
        if (number > 1 && (content == "---" || content == "...")) return number;
    }
    return 0;  // It never ends, so it is a rule and text.
}

}  // namespace

Bullets parse_bullets(std::string_view markdown) {
    Bullets out;
    std::vector<std::size_t> indents;  // Of the items we are inside of.
    std::string_view fence;
    bool blank = false;
    std::size_t number = 0;
    const std::string text = base::to_utf8(markdown);
    const std::size_t front = front_matter_lines(text);
    for (std::string_view line : base::split_lines(text)) {
        if (line.ends_with('\r')) line.remove_suffix(1);
        if (++number <= front) continue;
        const auto [columns, rest] = indent_of(line);
        if (is_fence(line)) {
            if (fence.empty())
                fence = rest.substr(0, 3);
            else if (rest.starts_with(fence))
                fence = {};
            continue;
        }
        if (!fence.empty()) continue;
        if (base::trim(rest).empty()) {
            blank = true;
            continue;
        }
        if (auto marker = marker_of(line)) {
            if (out.items.size() == kBulletsMax) {
                out.truncated = true;
                break;
            }
            while (!indents.empty() && marker->indent < indents.back() + kChildIndentMin)
                indents.pop_back();
            Bullet item{.depth = std::min(indents.size(), kBulletDepthMax),
                        .line = number,
                        .ordered = marker->ordered};
            std::string_view content = base::trim(marker->text);
            item.checked = take_checkbox(content);
            item.text = content;
            out.items.push_back(std::move(item));
            indents.push_back(marker->indent);
        } else if (!indents.empty() && (columns > 0 || (!blank && rest[0] != '#'))) {
            out.items.back().text += "\n" + std::string(base::trim(rest));
        } else {
            indents.clear();
        }
        blank = false;
    }
    return out;
}

}  // namespace vault
