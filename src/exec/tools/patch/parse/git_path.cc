#include "exec/tools/patch/parse/git_path.h"

#include "base/text.h"

namespace patch {
namespace {

constexpr std::string_view kEscapes = "abtnvfr\"\\";
constexpr std::string_view kEscaped = "\a\b\t\n\v\f\r\"\\";

bool is_octal(char c) {
    return c >= '0' && c <= '7';
}

// Reads the quoted path that `text` starts with and moves `text` behind its closing quote.
std::optional<std::string> take_quoted(std::string_view& text) {
    std::string path;
    for (std::size_t i = 1; i < text.size(); ++i) {
        if (text[i] == '"') {
            text.remove_prefix(i + 1);
            return path;
        }
        if (text[i] != '\\') {
            path += text[i];
            continue;
        }
        if (++i >= text.size()) return std::nullopt;
        if (const auto known = kEscapes.find(text[i]); known != std::string_view::npos) {
            path += kEscaped[known];
            continue;
        }
        unsigned value = 0;
        const std::size_t end = i + 3;
        for (; i < end; ++i) {
            if (i >= text.size() || !is_octal(text[i])) return std::nullopt;
            value = value * 8 + static_cast<unsigned>(text[i] - '0');
        }
        --i;
        if (value > 0xFF) return std::nullopt;
        path += static_cast<char>(value);
    }
    return std::nullopt;
}

GitPaths dropped(std::string from, std::string to) {
    return {without_prefix(std::move(from)), without_prefix(std::move(to))};
}

// Equal paths, with prefixes of equal length, have the space that parts them in the middle.
std::optional<GitPaths> split_at_equal_paths(std::string_view text) {
    const std::size_t middle = text.size() / 2;
    if (text.size() % 2 == 0 || text[middle] != ' ') return std::nullopt;
    GitPaths paths =
        dropped(std::string(text.substr(0, middle)), std::string(text.substr(middle + 1)));
    if (paths.from != paths.to) return std::nullopt;
    return paths;
}

}  // namespace

std::optional<std::string> header_path(std::string_view text) {
    if (text.starts_with('"')) {
        auto path = take_quoted(text);
        if (!path || path->empty()) return std::nullopt;
        if (!text.empty() && text.front() != '\t' && !base::trim(text).empty()) return std::nullopt;
        return path;
    }
    const std::string_view path = base::trim(text.substr(0, text.find('\t')));
    if (path.empty()) return std::nullopt;
    return std::string(path);
}

std::string without_prefix(std::string path) {
    const bool prefixed = path.starts_with("a/") || path.starts_with("b/");
    if (!prefixed || path.size() == 2 || path[2] == '/') return path;
    return path.substr(2);
}

GitHeader git_header_paths(std::string_view text) {
    text = base::trim(text);
    if (text.starts_with('"')) {
        auto from = take_quoted(text);
        if (!from || !text.starts_with(' ')) return {};
        auto to = header_path(text.substr(1));
        if (!to) return {};
        return {.paths = dropped(std::move(*from), std::move(*to))};
    }
    if (text.ends_with('"')) {
        const auto quote = text.find(" \"");
        if (quote == std::string_view::npos) return {};
        auto to = header_path(text.substr(quote + 1));
        if (!to) return {};
        return {.paths = dropped(std::string(text.substr(0, quote)), std::move(*to))};
    }
    const auto space = text.find_first_of(" \t");
    if (space == std::string_view::npos) return {};
    if (text.find_first_of(" \t", space + 1) == std::string_view::npos) {
        return {.paths = dropped(std::string(text.substr(0, space)),
                                 std::string(text.substr(space + 1)))};
    }
    auto paths = split_at_equal_paths(text);
    return {.paths = paths, .ambiguous = !paths.has_value()};
}

}  // namespace patch
