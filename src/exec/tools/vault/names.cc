#include "exec/tools/vault/names.h"

#include <algorithm>
#include <array>
#include <cctype>

#include "base/text.h"

namespace vault {
namespace {

constexpr std::string_view kRelative = "Use a path relative to the vault, with '/' between names.";
constexpr std::size_t kExtensionBytesMax = 16;

char lower(char c) {
    return static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
}

std::string lowered(std::string_view text) {
    std::string out(text);
    std::ranges::transform(out, out.begin(), lower);
    return out;
}

bool is_url(std::string_view path) {
    const std::size_t colon = path.find(':');
    if (colon == std::string_view::npos || colon == 0) return false;
    const std::string scheme = lowered(path.substr(0, colon));
    if (!std::ranges::all_of(scheme, [](unsigned char c) {
            return std::isalnum(c) != 0 || c == '+' || c == '-' || c == '.';
        }))
        return false;
    return path.substr(colon).starts_with("://") || scheme == "file" || scheme == "data" ||
           scheme == "mailto" || scheme == "javascript";
}

bool has_drive(std::string_view path) {
    return path.size() >= 3 && std::isalpha(static_cast<unsigned char>(path[0])) != 0 &&
           path[1] == ':' && (path[2] == '/' || path[2] == '\\');
}

// Where the stem of a name ends: at its last dot, unless what follows is no extension.
std::size_t stem_size(std::string_view name) {
    const std::size_t dot = name.rfind('.');
    if (dot == std::string_view::npos || dot == 0 || name.size() - dot > kExtensionBytesMax ||
        name.substr(dot).contains(' '))
        return name.size();
    return dot;
}

// The longest start of valid UTF-8 within so many bytes.
std::string_view cut(std::string_view utf8, std::size_t bytes) {
    if (utf8.size() <= bytes) return utf8;
    while (bytes > 0 && (static_cast<unsigned char>(utf8[bytes]) & 0xC0U) == 0x80U) --bytes;
    return utf8.substr(0, bytes);
}

std::string within_limit(std::string_view stem, std::string_view rest) {
    return std::string(cut(stem, kNameBytesMax - rest.size())) + std::string(rest);
}

bool is_reserved(std::string_view name) {
    static constexpr std::array kDevices{"con", "prn", "aux", "nul"};
    const std::string stem = lowered(name.substr(0, name.find('.')));
    if (std::ranges::find(kDevices, stem) != kDevices.end()) return true;
    return stem.size() == 4 && (stem.starts_with("com") || stem.starts_with("lpt")) &&
           stem[3] >= '1' && stem[3] <= '9';
}

// One character of valid UTF-8, taken off the front.
char32_t next_char(std::string_view& text) {
    const auto first = static_cast<unsigned char>(text[0]);
    const std::size_t size = first < 0x80 ? 1 : first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4;
    char32_t value = size == 1 ? first : first & (0xFFU >> (size + 1));
    for (std::size_t i = 1; i < size; ++i)
        value = (value << 6U) | (static_cast<unsigned char>(text[i]) & 0x3FU);
    text.remove_prefix(size);
    return value;
}

// U+00C0 to U+017F without their marks; '-' where a sign is no letter.
constexpr std::string_view kPlainLatin =
    "aaaaaaaceeeeiiiidnooooo-ouuuuytsaaaaaaaceeeeiiiidnooooo-ouuuuyty"
    "aaaaaaccccccccddddeeeeeeeeeegggggggghhhhiiiiiiiiiiiijjkkklllllll"
    "lllnnnnnnnnnoooooooorrrrrrssssssssttttttuuuuuuuuuuuuwwyyyzzzzzzs";
static_assert(kPlainLatin.size() == 0x180 - 0xC0);

// Marks that no reader sees and that turn text around, and ends of lines beyond ASCII.
bool is_hidden(char32_t c) {
    return c == 0x061C || c == 0x200B || c == 0x200E || c == 0x200F ||
           (c >= 0x2028 && c <= 0x202E) || (c >= 0x2060 && c <= 0x2069) || c == 0xFEFF ||
           (c >= 0x80 && c <= 0x9F);
}

bool is_sign(char32_t c) {
    return c < 0xC0 || (c >= 0x2000 && c <= 0x2BFF) || (c >= 0x3000 && c <= 0x3004) ||
           (c >= 0x3008 && c <= 0x3020) || (c >= 0xFE10 && c <= 0xFE6F) ||
           (c >= 0xFF00 && c <= 0xFF0F) || c == 0xFFFD || c >= 0x1F000;
}

}  // namespace

Outcome<std::vector<std::string>> split_path(std::string_view path) {
    if (!base::is_utf8(path) || path.contains('\0'))
        return invalid(path, "is not valid UTF-8 or has a zero byte", kRelative);
    if (path.size() > kPathBytesMax) return invalid(path, "is too long for a path", kRelative);
    if (path.starts_with('/') || path.starts_with("~/") || path == "~" || path.starts_with('\\') ||
        has_drive(path))
        return escapes(path, "is not relative to the vault");
    if (is_url(path)) return escapes(path, "is a URL, not a path in the vault");
    std::vector<std::string> names;
    for (std::size_t at = 0; at <= path.size();) {
        const std::size_t end = std::min(path.find('/', at), path.size());
        const std::string_view name = path.substr(at, end - at);
        at = end + 1;
        // A vault may be shared with a system where the backslash separates.
        if (name == ".." || name.starts_with("..\\") || name.ends_with("\\..") ||
            name.contains("\\..\\"))
            return escapes(path, "goes up with '..'");
        if (!name.empty() && name != ".") names.emplace_back(name);
    }
    if (names.size() > kPathDepthMax) return invalid(path, "has too many folders in it", kRelative);
    return names;
}

std::string join(const std::vector<std::string>& names) {
    std::string path;
    for (const auto& name : names) path += (path.empty() ? "" : "/") + name;
    return path;
}

std::string join(std::string_view folder, std::string_view name) {
    return folder.empty() ? std::string(name) : fmt::format("{}/{}", folder, name);
}

std::string_view folder_of(std::string_view path) {
    const std::size_t slash = path.rfind('/');
    return slash == std::string_view::npos ? std::string_view() : path.substr(0, slash);
}

std::string_view name_of(std::string_view path) {
    return path.substr(path.rfind('/') + 1);  // npos + 1 is 0.
}

std::string safe_name(std::string_view name) {
    std::string safe;
    const std::string utf8 = base::to_utf8(name);
    for (std::string_view left = utf8; !left.empty();) {
        const std::string_view before = left;
        const char32_t c = next_char(left);
        if (is_hidden(c)) continue;
        if (c < 0x20 || c == 0x7F ||
            (c < 0x80 && std::string_view("\\/:*?\"<>|#^[]`").contains(static_cast<char>(c))))
            safe += '-';
        else
            safe += before.substr(0, before.size() - left.size());
    }
    std::string_view kept = safe;
    while (kept.starts_with(' ')) kept.remove_prefix(1);
    while (kept.ends_with(' ') || kept.ends_with('.')) kept.remove_suffix(1);
    if (kept.empty()) return "Untitled";
    const std::size_t stem = stem_size(kept);
    if (is_reserved(kept)) {
        const std::size_t end = std::min(kept.find('.'), kept.size());
        return fmt::format("{}_{}", kept.substr(0, end), kept.substr(end));
    }
    return within_limit(kept.substr(0, stem), kept.substr(stem));
}

std::string numbered_name(std::string_view name, std::size_t number) {
    const std::size_t stem = stem_size(name);
    return within_limit(name.substr(0, stem), fmt::format(" ({}){}", number, name.substr(stem)));
}

std::string slugify_title(std::string_view title, std::size_t chars_max) {
    const std::string utf8 = base::to_utf8(title);
    std::string slug;
    std::size_t chars = 0;
    bool gap = false;
    for (std::string_view left = utf8; !left.empty() && chars < chars_max;) {
        const std::string_view before = left;
        const char32_t c = next_char(left);
        std::string letter;
        if (c < 0x80)
            letter = std::isalnum(static_cast<int>(c)) != 0 ? std::string(1, lower(before[0])) : "";
        else if (c >= 0xC0 && c < 0x180)
            letter = kPlainLatin[c - 0xC0] == '-' ? "" : std::string(1, kPlainLatin[c - 0xC0]);
        else if (!is_sign(c))
            letter = before.substr(0, before.size() - left.size());
        if (letter.empty()) {
            gap = gap || (c != '\'' && c != 0x2019);  // "don't" is one word.
            continue;
        }
        if (gap && !slug.empty()) {
            if (chars + 2 > chars_max) break;
            slug += '-';
            ++chars;
        }
        gap = false;
        slug += letter;
        ++chars;
    }
    return slug.empty() ? "untitled" : slug;
}

bool is_protected(const std::vector<std::string>& names) {
    return std::ranges::any_of(names, [](const auto& name) { return lowered(name) == ".git"; });
}

}  // namespace vault
