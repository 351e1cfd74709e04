#include "exec/gate/text/payloads.h"

#include <algorithm>
#include <array>
#include <cstring>

#include <fmt/format.h>

#include "base/scan/engine/encodings.h"
#include "exec/gate/unpack.h"

namespace gate {
namespace {

constexpr std::string_view kProgram = "encoded_program";
constexpr std::string_view kScript = "encoded_script";
constexpr std::string_view kArchive = "encoded_archive";
constexpr std::size_t kKindBytes = 512;  // They tell what a file is.
// They tell what it may be; a string of so many needs no memory of its own.
constexpr std::size_t kFirstBytes = 15;

std::string_view bytes(const char* text, std::size_t size) {
    return {text, size};
}

std::uint32_t little_endian(std::string_view text, std::size_t at) {
    std::uint32_t number = 0;
    for (std::size_t i = 4; i-- > 0;)
        number = number << 8 | static_cast<unsigned char>(text[at + i]);
    return number;
}

bool is_windows_program(std::string_view text) {
    if (!text.starts_with("MZ") || text.size() < 64) return false;
    const std::size_t header = little_endian(text, 60);
    return header + 4 <= text.size() ? text.substr(header, 4) == bytes("PE\0\0", 4)
                                     : text.find("This program") != text.npos;
}

bool is_mach_o(std::string_view text) {
    if (text.size() < 16) return false;
    const auto magic = text.substr(0, 4);
    if (magic == bytes("\xca\xfe\xba\xbe", 4))  // Also Java classes, which are programs as well.
        return true;
    return magic == bytes("\xcf\xfa\xed\xfe", 4) || magic == bytes("\xce\xfa\xed\xfe", 4) ||
           magic == bytes("\xfe\xed\xfa\xcf", 4) || magic == bytes("\xfe\xed\xfa\xce", 4);
}

// Tar files are known by what is in front of this byte, all others by their first bytes.
constexpr std::size_t kTarBytes = 263;

// Of files that file_kind() and is_gzip() know.
bool has_known_first_byte(std::string_view text) {
    constexpr char kFirsts[] = "\x7f\xca\xcf\xce\xfe\xfd\x1f\x28\0#!MPB7Rx";
    return !text.empty() && bytes(kFirsts, sizeof kFirsts - 1).contains(text.front());
}

// A run of digits of one encoding, over line ends when its lines are long.
struct Run {
    std::size_t begin{0};
    std::size_t end{0};
};

constexpr std::size_t kWrappedLineMin = 32;

// Where the run that reaches `at` continues after a line end, or `at`.
std::size_t behind_line_end(std::string_view text, std::size_t at) {
    std::size_t next = at;
    if (text.substr(next).starts_with("\\r")) next += 2;
    if (text.substr(next).starts_with("\\n"))
        next += 2;
    else
        while (next < text.size() && (text[next] == '\r' || text[next] == '\n')) ++next;
    if (next == at) return at;
    while (next < text.size() && (text[next] == ' ' || text[next] == '\t')) ++next;
    return next;
}

Run run_around(std::string_view text, std::size_t at, std::size_t floor) {
    Run run{at, at};
    while (run.begin > floor && is_encoding_digit(text[run.begin - 1])) --run.begin;
    std::size_t line = run.begin;
    while (true) {
        while (run.end < text.size() && is_encoding_digit(text[run.end])) ++run.end;
        if (run.end - line < kWrappedLineMin) return run;
        const std::size_t next = behind_line_end(text, run.end);
        if (next == run.end || next >= text.size() || !is_encoding_digit(text[next])) return run;
        line = run.end = next;
    }
}

bool is_base32_digit(char c) {
    return (c >= 'A' && c <= 'Z') || (c >= '2' && c <= '7') || c == '\n' || c == '\r';
}

std::string decode_base32(std::string_view text, std::size_t bytes_max) {
    std::string bytes;
    std::uint32_t group = 0;
    int bits = 0;
    for (const char c : text) {
        if (c == '\n' || c == '\r') continue;
        if (bytes.size() >= bytes_max) break;
        group = group << 5 | static_cast<std::uint32_t>(c >= 'A' ? c - 'A' : c - '2' + 26);
        bits += 5;
        if (bits < 8) continue;
        bits -= 8;
        bytes += static_cast<char>(group >> bits & 255);
    }
    return bytes;
}

// Ascii85 between <~ and ~>, as it is written where it is mixed with other text.
std::string decode_ascii85(std::string_view text, std::size_t bytes_max) {
    std::string bytes;
    std::uint64_t group = 0;
    int count = 0;
    const auto flush = [&](int digits) {
        for (int i = digits; i < 5; ++i) group = group * 85 + 84;
        for (int i = 0; i < digits - 1; ++i)
            bytes += static_cast<char>(group >> (24 - 8 * i) & 255);
        group = 0;
        count = 0;
    };
    for (const char c : text) {
        if (bytes.size() >= bytes_max) return bytes;
        if (c == 'z' && count == 0) {
            bytes.append(4, '\0');
        } else if (c >= '!' && c <= 'u') {
            group = group * 85 + static_cast<std::uint64_t>(c - '!');
            if (++count == 5) flush(5);
        }
    }
    if (count > 1) flush(count);
    return bytes;
}

// The next "<~"; the end of the text without one.
std::size_t next_ascii85(std::string_view text, const Outline& outline, std::size_t at) {
    for (at = outline.next_quote(at); at < text.size(); at = outline.next_quote(at)) {
        const std::size_t next = (at / Outline::kBlockBytes + 1) * Outline::kBlockBytes;
        const auto found = text.substr(0, next + 1).find("<~", at);
        if (found != text.npos) return found;
        at = next;
    }
    return text.size();
}

bool is_readable(std::string_view text) {
    constexpr std::size_t kReadableMin = 8;
    return text.size() >= kReadableMin && std::ranges::none_of(text, [](unsigned char c) {
               return (c < 0x20 && c != '\n' && c != '\r' && c != '\t') || c == 0x7f;
           });
}

class Finder {
public:
    Finder(std::vector<Payload>& out, const VisitDecoded& decoded) : out_(out), visit_(decoded) {}

    // Blocks between <~ and ~>.
    void check_ascii85(std::string_view text, const Outline& outline) {
        constexpr std::size_t kBlockMin = 20;
        for (auto begin = next_ascii85(text, outline, 0); begin < text.size();
             begin = next_ascii85(text, outline, begin + 2)) {
            const auto end = text.substr(begin, kDecodedBytesMax * 2).find("~>");
            if (end == text.npos) continue;
            if (end < kBlockMin) continue;
            judge(decode_ascii85(text.substr(begin + 2, end - 2), kDecodedBytesMax),
                  {begin, begin + end + 2}, "ascii85", 0);
        }
    }

    void check_text(std::string_view text, std::string_view via, int depth, const Run* outer) {
        const Outline outline(text);
        check_text(text, outline, via, depth, outer);
    }

    void check_text(std::string_view text, const Outline& outline, std::string_view via, int depth,
                    const Run* outer) {
        std::size_t floor = 0;
        for (std::size_t at = outline.next_run(0); at < text.size(); at = outline.next_run(floor)) {
            const Run run = run_around(text, at, floor);
            floor = run.end;
            if (run.end - run.begin >= kRunBytesMin)
                check_run(text.substr(run.begin, run.end - run.begin), outer ? *outer : run, via,
                          depth);
        }
    }

private:
    void check_run(std::string_view run, const Run& place, std::string_view via, int depth) {
        const auto head = run.substr(0, kDecodedBytesMax * 2);
        const bool is_hex = std::ranges::all_of(
            head, [](char c) { return scan::is_hex_digit(c) || c == '\n' || c == '\r'; });
        if (is_hex) {
            judge(scan::decode_hex(head, kDecodedBytesMax), place, name(via, "hexadecimal"), depth);
            return;
        }
        if (std::ranges::all_of(head, is_base32_digit) &&
            judge(decode_base32(head, kDecodedBytesMax), place, name(via, "base32"), depth))
            return;
        const std::string first = scan::decode_base64(head, kFirstBytes);
        if ((is_readable(first) || may_begin_file(first, head.size()) ||
             may_be_utf16(first, head)) &&
            may_be_something(scan::decode_base64(head.substr(0, 2 * kKindBytes), kKindBytes)) &&
            judge(scan::decode_base64(head, kDecodedBytesMax), place, name(via, "base64"), depth))
            return;
        // Letters glued to the front of a run shift its groups. What it is shows at its beginning.
        for (std::size_t shift = 1; shift < 4; ++shift) {
            if (!may_begin_file(scan::decode_base64(head.substr(shift), kFirstBytes), head.size()))
                continue;
            const std::string start = scan::decode_base64(head.substr(shift), kKindBytes);
            if (file_kind(start).rule.empty() && !is_gzip(start)) continue;
            if (judge(scan::decode_base64(head.substr(shift), kDecodedBytesMax), place,
                      name(via, "base64"), depth, false))
                return;
        }
        check_reversed(head, place, via, depth);
    }

    // Text that was turned around after it was encoded.
    void check_reversed(std::string_view head, const Run& place, std::string_view via, int depth) {
        constexpr std::size_t kReversedMin = 32;
        if (head.size() < kReversedMin || head.size() >= 2 * kDecodedBytesMax) return;
        const auto last = head.substr(head.size() - kReversedMin);
        std::array<char, kFirstBytes> turned_end{};
        std::ranges::copy(last.rbegin(), last.rbegin() + kFirstBytes, turned_end.begin());
        const std::string first =
            scan::decode_base64({turned_end.data(), turned_end.size()}, kFirstBytes);
        if (!is_readable(first) && !has_known_first_byte(first)) return;
        const std::string start =
            scan::decode_base64(std::string(last.rbegin(), last.rend()), kReversedMin);
        if (!is_readable(start) && file_kind(start).rule.empty()) return;
        const std::string turned(head.rbegin(), head.rend());
        judge(scan::decode_base64(turned, kDecodedBytesMax), place,
              name(via, "base64, turned around"), depth);
    }

    // Most runs are nothing that can be decoded, and their first bytes say so. What is long may be
    // a tar file, which has a name first.
    static bool may_begin_file(std::string_view first, std::size_t encoded_bytes) {
        return encoded_bytes >= kTarBytes || has_known_first_byte(first);
    }

    // Two of three zero bytes make a digit A, and is_utf16() wants seven of them in twenty bytes.
    static bool may_be_utf16(std::string_view first, std::string_view encoded) {
        constexpr std::ptrdiff_t kDigitsForOne = 16;
        const auto sample = encoded.substr(0, kKindBytes * 4 / 3);
        return first.starts_with("\xff\xfe") || first.starts_with("\xfe\xff") ||
               std::ranges::count(sample, 'A') * kDigitsForOne >= std::ssize(sample);
    }

    // By some more of them, so that the rest is decoded for little else.
    static bool may_be_something(std::string_view start) {
        return is_readable(start) || !file_kind(start).rule.empty() || is_gzip(start) ||
               is_zip(start) || is_utf16(start);
    }

    static std::string name(std::string_view via, std::string_view encoding) {
        return via.empty() ? std::string(encoding) : fmt::format("{}, {}", via, encoding);
    }

    // True when it was something that must not be inline.
    bool judge(std::string_view decoded, const Run& place, const std::string& via, int depth,
               bool is_aligned = true) {
        const FileKind kind = file_kind(decoded);
        if (depth < kEncodingDepthMax &&
            (is_gzip(decoded) || is_zip(decoded) || is_utf16(decoded))) {
            bool is_bad = false;
            visit_unpacked(decoded, [&](std::string_view inside, const std::string& packed) {
                is_bad = judge(inside, place, via + ", " + packed, kEncodingDepthMax) || is_bad;
            });
            if (is_bad) return true;
        }
        if (!kind.rule.empty()) {
            out_.push_back(
                {kind.rule, fmt::format("{} in {}", kind.name, via), place.begin, place.end});
            return true;
        }
        if (!is_aligned || !is_readable(decoded)) return false;
        if (visit_) visit_(decoded, place.begin, place.end);
        const std::size_t before = out_.size();
        if (depth < kEncodingDepthMax) check_text(decoded, via, depth + 1, &place);
        return out_.size() > before;
    }

    std::vector<Payload>& out_;
    const VisitDecoded& visit_;
};

}  // namespace

FileKind file_kind(std::string_view text) {
    if (text.size() < kTarBytes && !has_known_first_byte(text)) return {};
    if (text.starts_with("\x7f"
                         "ELF"))
        return {kProgram, "an ELF program"};
    if (is_windows_program(text)) return {kProgram, "a Windows program"};
    if (is_mach_o(text)) return {kProgram, "a Mach-O or Java program"};
    if (text.starts_with(bytes("\0asm", 4))) return {kProgram, "a WebAssembly program"};
    if (text.starts_with("#!/")) return {kScript, "a script"};
    if (text.starts_with("\x1f\x8b\x08")) return {kArchive, "a gzip file"};
    if (text.starts_with("PK\x03\x04")) return {kArchive, "a zip file"};
    if (text.starts_with("BZh") && text.substr(4, 6) == "1AY&SY") return {kArchive, "a bzip2 file"};
    if (text.starts_with(bytes("\xfd"
                               "7zXZ\0",
                               6)))
        return {kArchive, "an xz file"};
    if (text.starts_with("7z\xbc\xaf\x27\x1c")) return {kArchive, "a 7z file"};
    if (text.starts_with("\x28\xb5\x2f\xfd")) return {kArchive, "a zstd file"};
    if (text.starts_with("Rar!\x1a\x07")) return {kArchive, "a rar file"};
    if (text.size() >= kTarBytes && text.substr(257, 5) == "ustar") return {kArchive, "a tar file"};
    if (text.starts_with("!<arch>\n")) return {kArchive, "a Debian package or library"};
    return {};
}

std::vector<Payload> find_payloads(std::string_view text, const Outline& outline,
                                   const VisitDecoded& decoded) {
    std::vector<Payload> found;
    Finder finder(found, decoded);
    finder.check_text(text, outline, "", 0, nullptr);
    finder.check_ascii85(text, outline);
    return found;
}

std::vector<Payload> find_payloads(std::string_view text) {
    return find_payloads(text, Outline(text), nullptr);
}

}  // namespace gate
