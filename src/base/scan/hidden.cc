#include "base/scan/hidden.h"

#include <algorithm>
#include <cctype>

#include "base/scan/engine/encodings.h"

namespace scan {
namespace {

constexpr std::size_t kRunBytesMin = 16;
constexpr std::size_t kDecodedBytesMax = std::size_t{64} << 10;
constexpr std::size_t kInflatedBytesMax = std::size_t{1} << 20;
constexpr int kDepthMax = 3;
constexpr std::string_view kGzip = "\x1f\x8b\x08";

struct Run {
    std::size_t begin{0}, end{0};
};

// The next run of base64 digits, also over line breaks between long lines.
Run next_base64(std::string_view text, std::size_t from) {
    while (from < text.size()) {
        const auto* const begin = std::find_if(text.begin() + from, text.end(), is_base64_digit);
        const auto* end = std::find_if_not(begin, text.end(), is_base64_digit);
        constexpr std::ptrdiff_t kWrappedMin = 60;
        for (const auto* line = begin;
             end - line >= kWrappedMin && end != text.end() && (*end == '\n' || *end == '\r');) {
            line = end + (*end == '\r' && end + 1 != text.end() ? 2 : 1);
            if (line >= text.end()) break;
            end = std::find_if_not(line, text.end(), is_base64_digit);
        }
        const Run run{static_cast<std::size_t>(begin - text.begin()),
                      static_cast<std::size_t>(end - text.begin())};
        if (run.end - run.begin >= kRunBytesMin) return run;
        from = run.end + 1;
    }
    return {text.size(), text.size()};
}

bool is_between_bytes(char c) {
    return std::isspace(static_cast<unsigned char>(c)) || c == ':' || c == ',' || c == '-' ||
           c == '\\' || c == 'x' || c == 'X' || c == '|';
}

// Two hex digits that stand alone, with what is printed between bytes after them: where the next
// pair may begin. 0 when there is no such pair.
std::size_t pair_at(std::string_view text, std::size_t at) {
    if (at + 2 > text.size() || !is_hex_digit(text[at]) || !is_hex_digit(text[at + 1])) return 0;
    std::size_t next = at + 2;
    if (next < text.size() && is_hex_digit(text[next])) return 0;
    const std::size_t bound = std::min(text.size(), next + 4);
    while (next < bound && is_between_bytes(text[next])) ++next;
    // "0x73, 0x6b"
    if (next + 1 < text.size() && text[next] == '0' &&
        (text[next + 1] == 'x' || text[next + 1] == 'X'))
        next += 2;
    return next;
}

// The next run of pairs of hex digits with something between them, and its bytes.
Run next_spaced_hex(std::string_view text, std::size_t from, std::string& bytes) {
    constexpr std::size_t kPairsMin = 6;
    for (std::size_t at = from; at < text.size(); ++at) {
        if (!is_hex_digit(text[at]) || (at > from && is_hex_digit(text[at - 1]))) continue;
        bytes.clear();
        std::size_t end = at;
        for (std::size_t next = at, after = 0; bytes.size() < kDecodedBytesMax; next = after) {
            after = pair_at(text, next);
            if (after == 0) break;
            bytes += decode_hex(text.substr(next, 2), 1);
            end = next + 2;
            if (after >= text.size()) break;
        }
        if (bytes.size() >= kPairsMin) return {at, end};
        at = std::max(at, end);
    }
    bytes.clear();
    return {text.size(), text.size()};
}

bool has_credential(const std::string& bytes, const Finder& finder, int depth);

// Digits of something else may stand before it, so it may begin at any place in a group.
bool decodes_to_one(std::string_view run, const Finder& finder, int depth) {
    for (std::size_t shift = 0; shift < 4 && shift + kRunBytesMin <= run.size(); ++shift)
        if (has_credential(decode_base64(run.substr(shift), kDecodedBytesMax), finder, depth + 1))
            return true;
    return false;
}

bool is_packed_with_one(std::string_view bytes, const Finder& finder, int depth) {
    if (!bytes.starts_with(kGzip)) return false;
    return has_credential(inflate(bytes, kInflatedBytesMax), finder, depth + 1);
}

bool has_credential(const std::string& bytes, const Finder& finder, int depth) {
    if (bytes.empty() || depth > kDepthMax) return false;
    if (finder.finds(bytes) || is_packed_with_one(bytes, finder, depth)) return true;
    for (Run run = next_base64(bytes, 0); run.begin < bytes.size();
         run = next_base64(bytes, run.end + 1))
        if (decodes_to_one(std::string_view(bytes).substr(run.begin, run.end - run.begin), finder,
                           depth))
            return true;
    const std::string unhexed = decode_hex(bytes, kDecodedBytesMax);
    return unhexed.size() >= kRunBytesMin / 2 && has_credential(unhexed, finder, depth + 1);
}

// Each run for which `is_bad` holds becomes `mark`.
template <class Next, class Bad>
std::string replaced_runs(std::string text, std::string_view mark, const Next& next,
                          const Bad& is_bad) {
    std::string out;
    std::size_t passed = 0;
    for (Run run = next(text, 0); run.begin < text.size(); run = next(text, run.end + 1)) {
        if (!is_bad(text, run)) continue;
        out.append(text, passed, run.begin - passed).append(mark);
        passed = run.end;
    }
    if (passed == 0) return text;
    return out.append(text, passed);
}

}  // namespace

std::string without_hidden(std::string text, const Finder& finder, std::string_view mark) {
    text = replaced_runs(
        std::move(text), mark,
        [](std::string_view all, std::size_t from) { return next_base64(all, from); },
        [&](std::string_view all, const Run& run) {
            return decodes_to_one(all.substr(run.begin, run.end - run.begin), finder, 0);
        });
    std::string bytes;
    text = replaced_runs(
        std::move(text), mark,
        [&](std::string_view all, std::size_t from) { return next_spaced_hex(all, from, bytes); },
        [&](std::string_view, const Run&) { return has_credential(bytes, finder, 1); });
    for (std::size_t at = text.find(kGzip); at != std::string::npos; at = text.find(kGzip, at + 1))
        if (is_packed_with_one(std::string_view(text).substr(at), finder, 0)) {
            text.replace(at, text.size() - at, mark);
            break;
        }
    return text;
}

}  // namespace scan
