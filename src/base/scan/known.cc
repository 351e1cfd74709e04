#include "base/scan/known.h"

#include <algorithm>
#include <set>

#include "base/scan/engine/encodings.h"
#include "base/scan/rule.h"
#include "base/text.h"

namespace scan {
namespace {

constexpr std::size_t kBase64Columns = 76;  // base64(1), MIME.
constexpr std::size_t kPemColumns = 64;     // openssl.
constexpr std::size_t kHexColumns = 60;     // xxd -p.

// Base64 of a text that starts `shift` bytes into a group: without the characters at both ends
// that also depend on its neighbours.
std::string base64_inside(std::string_view credential, std::size_t shift, Alphabet alphabet) {
    const std::string text = base64(std::string(shift, '\0') + std::string(credential), alphabet);
    const std::size_t first = (shift * 8 + 5) / 6;
    const std::size_t last = (shift + credential.size()) * 8 / 6;
    return text.substr(first, last - first);
}

// The same for base32, whose groups are five bytes.
std::string base32_inside(std::string_view credential, std::size_t shift) {
    constexpr std::string_view kDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";
    const std::string bytes = std::string(shift, '\0') + std::string(credential);
    std::string text;
    unsigned group = 0;
    unsigned bits = 0;
    for (const char c : bytes) {
        group = group << 8U | static_cast<unsigned char>(c);
        bits += 8;
        while (bits >= 5) {
            bits -= 5;
            text += kDigits[group >> bits & 31U];
        }
        group &= (1U << bits) - 1U;
    }
    return text.substr((shift * 8 + 4) / 5);
}

// Each byte as `format` spells it: programs that escape everything do so.
std::string each_byte(std::string_view credential, fmt::format_string<unsigned> format) {
    std::string text;
    for (const char c : credential)
        text += fmt::format(format, static_cast<unsigned>(static_cast<unsigned char>(c)));
    return text;
}

// With the line breaks that programs insert by default; the same text when it is short.
std::string wrapped(std::string_view text, std::size_t columns) {
    std::string lines;
    for (std::size_t at = 0; at < text.size(); at += columns)
        lines.append(at == 0 ? "" : "\n").append(text.substr(at, columns));
    return lines;
}

// PHP and others write "\/" for a slash.
std::string with_escaped_slashes(std::string_view text) {
    std::string escaped;
    for (const char c : text) escaped.append(c == '/' ? "\\" : "") += c;
    return escaped;
}

}  // namespace

std::vector<Spelling> spellings(std::string_view credential) {
    if (credential.size() < kKnownBytesMin) return {};
    std::set<std::string> plain{std::string(credential), json_escaped(credential),
                                with_escaped_slashes(json_escaped(credential))};
    std::string backwards(credential);
    std::ranges::reverse(backwards);
    plain.insert(backwards);
    for (const std::size_t shift : {0, 1, 2})
        for (const auto alphabet : {Alphabet::Standard, Alphabet::Url})
            plain.insert(base64_inside(credential, shift, alphabet));
    for (const std::size_t columns : {kBase64Columns, kPemColumns})
        plain.insert(wrapped(base64_inside(credential, 0, Alphabet::Standard), columns));
    std::vector<Spelling> list;
    for (const std::size_t shift : {0, 1, 2, 3, 4})
        list.push_back({base32_inside(credential, shift), true});
    for (const auto& text : plain) list.push_back({text});
    list.push_back({hex(credential), true});
    if (auto lines = wrapped(hex(credential), kHexColumns); lines.contains('\n'))
        list.push_back({std::move(lines), true});
    list.push_back({each_byte(credential, "%{:02x}"), true});
    list.push_back({each_byte(credential, "\\u{:04x}"), true});
    list.push_back({each_byte(credential, "\\x{:02x}"), true});
    if (auto text = base::percent_encoded(credential); !plain.contains(text))
        list.push_back({std::move(text), true});
    return list;
}

std::vector<Needle> needles(std::string_view credential) {
    std::vector<Needle> list;
    for (const auto& [text, any_case] : spellings(credential)) {
        const auto head = std::string_view(text).substr(0, kNeedleBytesMax);
        list.push_back(
            {(any_case ? "(?i)" : "") + literal(head), head.size(), text.size() - head.size()});
    }
    return list;
}

}  // namespace scan
