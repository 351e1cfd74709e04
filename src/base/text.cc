#include "base/text.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <numeric>

#include <fmt/format.h>

namespace base {
namespace {

// The length of the valid UTF-8 sequence at the start of `bytes`, or 0.
std::size_t sequence_length(std::string_view bytes) {
    const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(bytes[i]); };
    const auto continues = [&](std::size_t i) {
        return i < bytes.size() && (byte(i) & 0xC0U) == 0x80U;
    };
    const unsigned char first = byte(0);
    if (first < 0x80) return 1;
    if (first >= 0xC2 && first <= 0xDF) return continues(1) ? 2 : 0;
    if (first >= 0xE0 && first <= 0xEF) {
        if (!continues(1) || !continues(2)) return 0;
        if (first == 0xE0 && byte(1) < 0xA0) return 0;
        if (first == 0xED && byte(1) > 0x9F) return 0;  // Surrogates.
        return 3;
    }
    if (first >= 0xF0 && first <= 0xF4) {
        if (!continues(1) || !continues(2) || !continues(3)) return 0;
        if (first == 0xF0 && byte(1) < 0x90) return 0;
        if (first == 0xF4 && byte(1) > 0x8F) return 0;
        return 4;
    }
    return 0;
}

// How many bytes at the start of `bytes` are ASCII. Eight at a time: most text is nothing else.
std::size_t ascii_length(std::string_view bytes) {
    std::size_t at = 0;
    for (std::uint64_t word = 0; at + sizeof word <= bytes.size(); at += sizeof word) {
        std::memcpy(&word, bytes.data() + at, sizeof word);
        if ((word & 0x8080808080808080U) != 0) break;
    }
    while (at < bytes.size() && static_cast<unsigned char>(bytes[at]) < 0x80) ++at;
    return at;
}

bool starts_character(char c) {
    return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U;
}

bool is_space(char c) {
    return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\v' || c == '\f';
}

std::size_t edit_distance(std::string_view a, std::string_view b) {
    std::vector<std::size_t> row(b.size() + 1);
    std::iota(row.begin(), row.end(), 0U);
    for (std::size_t i = 1; i <= a.size(); ++i) {
        std::size_t diagonal = row[0];
        row[0] = i;
        for (std::size_t j = 1; j <= b.size(); ++j) {
            const std::size_t substituted = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
            diagonal = row[j];
            row[j] = std::min({row[j] + 1, row[j - 1] + 1, substituted});
        }
    }
    return row[b.size()];
}

}  // namespace

bool is_utf8(std::string_view bytes) {
    while (true) {
        bytes.remove_prefix(ascii_length(bytes));
        if (bytes.empty()) return true;
        const std::size_t length = sequence_length(bytes);
        if (length == 0) return false;
        bytes.remove_prefix(length);
    }
}

std::string to_utf8(std::string_view bytes) {
    if (is_utf8(bytes)) return std::string(bytes);
    std::string out;
    out.reserve(bytes.size());
    bool replaced = false;
    while (!bytes.empty()) {
        const std::size_t length = sequence_length(bytes);
        if (length == 0) {
            // One mark for a lead byte and its stray continuations, as browsers do.
            if (!replaced || starts_character(bytes[0])) out += "\xEF\xBF\xBD";
            replaced = true;
            bytes.remove_prefix(1);
        } else {
            replaced = false;
            out += bytes.substr(0, length);
            bytes.remove_prefix(length);
        }
    }
    return out;
}

std::size_t char_count(std::string_view utf8) {
    const std::size_t ascii = ascii_length(utf8);
    return ascii +
           static_cast<std::size_t>(std::ranges::count_if(utf8.substr(ascii), starts_character));
}

std::string_view first_chars(std::string_view utf8, std::size_t chars) {
    std::size_t at = 0;
    for (; at < utf8.size(); ++at) {
        if (!starts_character(utf8[at])) continue;
        if (chars == 0) break;
        --chars;
    }
    return utf8.substr(0, at);
}

std::string_view last_chars(std::string_view utf8, std::size_t chars) {
    std::size_t at = utf8.size();
    while (at > 0 && chars > 0) {
        --at;
        if (starts_character(utf8[at])) --chars;
    }
    return utf8.substr(at);
}

std::string ellipsize(std::string_view utf8, std::size_t chars) {
    if (char_count(utf8) <= chars) return std::string(utf8);
    if (chars == 0) return "";
    return std::string(first_chars(utf8, chars - 1)) + "…";
}

std::string percent_encoded(std::string_view text) {
    std::string out;
    for (const char c : text) {
        const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                           (c >= '0' && c <= '9') || c == '-' || c == '_' || c == '.' || c == '~';
        if (plain)
            out += c;
        else
            out += fmt::format("%{:02X}", static_cast<unsigned char>(c));
    }
    return out;
}

std::string_view trim(std::string_view text) {
    while (!text.empty() && is_space(text.front())) text.remove_prefix(1);
    while (!text.empty() && is_space(text.back())) text.remove_suffix(1);
    return text;
}

std::vector<std::string_view> split_lines(std::string_view text) {
    std::vector<std::string_view> lines;
    while (!text.empty()) {
        const std::size_t end = text.find('\n');
        lines.push_back(text.substr(0, end));
        if (end == std::string_view::npos) break;
        text.remove_prefix(end + 1);
    }
    return lines;
}

std::string counted(std::int64_t count, std::string_view noun) {
    return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

std::string collapse_whitespace(std::string_view text) {
    std::string out;
    bool pending = false;
    for (char c : trim(text)) {
        if (is_space(c)) {
            pending = true;
            continue;
        }
        if (pending) out += ' ';
        pending = false;
        out += c;
    }
    return out;
}

namespace {

// The code of a mark at the start of `text` that turns what follows around or ends a line, 0 when
// there is none. Such marks make a name look like another. All of them have three bytes.
unsigned steering_mark(std::string_view text) {
    if (!text.starts_with("\xE2\x80") && !text.starts_with("\xE2\x81")) return 0;
    if (text.size() < 3) return 0;
    const unsigned code = 0x2000U | ((static_cast<unsigned char>(text[1]) & 0x3FU) << 6U) |
                          (static_cast<unsigned char>(text[2]) & 0x3FU);
    const bool steers = code == 0x200E || code == 0x200F || (code >= 0x2028 && code <= 0x202E) ||
                        (code >= 0x2066 && code <= 0x2069);
    return steers ? code : 0;
}

}  // namespace

std::string printable(std::string_view utf8, bool multiline) {
    std::string out;
    out.reserve(utf8.size());
    for (std::size_t i = 0; i < utf8.size(); ++i) {
        const auto c = static_cast<unsigned char>(utf8[i]);
        const bool kept = multiline && (c == '\n' || c == '\t');
        // C1 controls arrive as 0xC2 0x80..0x9F and steer some terminals as well.
        const bool c1 =
            c == 0xC2 && i + 1 < utf8.size() && static_cast<unsigned char>(utf8[i + 1]) < 0xA0;
        if (const unsigned mark = steering_mark(utf8.substr(i))) {
            out += fmt::format("\\u{:04x}", mark);
            i += 2;
        } else if (c1) {
            out += fmt::format("\\x{:02x}", static_cast<unsigned char>(utf8[++i]));
        } else if ((c < 0x20 || c == 0x7F) && !kept) {
            out += c == '\n'   ? "\\n"
                   : c == '\t' ? "\\t"
                   : c == '\r' ? "\\r"
                               : fmt::format("\\x{:02x}", c);
        } else {
            out += utf8[i];
        }
    }
    return out;
}

std::string nearest(std::string_view word, std::span<const std::string> candidates) {
    std::string best;
    std::size_t best_distance = word.size() / 2 + 1;
    for (const auto& candidate : candidates) {
        // Lengths alone exclude most words, and an untrusted word of any size costs nothing.
        const auto [shorter, longer] = std::minmax({word.size(), candidate.size()});
        if (longer - shorter >= best_distance) continue;
        const std::size_t distance = edit_distance(word, candidate);
        if (distance < best_distance) {
            best = candidate;
            best_distance = distance;
        }
    }
    return best;
}

std::size_t estimate_tokens(std::string_view utf8) {
    return std::max<std::size_t>(1, (char_count(utf8) + 3) / 4);
}

}  // namespace base
