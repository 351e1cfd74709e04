#include "exec/tools/vault/text/diff.h"

#include <algorithm>
#include <vector>

#include <fmt/format.h>

#include "base/text.h"

namespace vault {
namespace {

constexpr std::size_t kContextLines = 3;

std::vector<std::string_view> lines_of(std::string_view text) {
    std::vector<std::string_view> lines;
    while (!text.empty()) {
        const std::size_t end = text.find('\n');
        const std::size_t size = end == std::string_view::npos ? text.size() : end + 1;
        lines.push_back(text.substr(0, size));
        text.remove_prefix(size);
    }
    return lines;
}

// Lines [before, before_end) of the old text become [after, after_end) of the new one.
struct Change {
    std::size_t before, before_end, after, after_end;
};

std::vector<Change> changes(const std::vector<std::string_view>& a,
                            const std::vector<std::string_view>& b) {
    std::size_t head = 0, tail = 0;
    const std::size_t shorter = std::min(a.size(), b.size());
    while (head < shorter && a[head] == b[head]) ++head;
    while (tail < shorter - head && a[a.size() - 1 - tail] == b[b.size() - 1 - tail]) ++tail;
    const std::size_t a_end = a.size() - tail, b_end = b.size() - tail;
    if (head == a_end && head == b_end) return {};
    if (a_end != b_end) return {{head, a_end, head, b_end}};
    std::vector<Change> found;
    for (std::size_t i = head; i < a_end; ++i) {
        if (a[i] == b[i]) continue;
        if (!found.empty() && found.back().before_end == i)
            found.back().before_end = found.back().after_end = i + 1;
        else
            found.push_back({i, i + 1, i, i + 1});
    }
    return found;
}

void put(std::string& out, char sign, std::string_view line) {
    out += sign;
    out += line;
    if (!line.ends_with('\n')) out += "\n\\ No newline at end of file\n";
}

}  // namespace

std::string unified_diff(std::string_view path, std::string_view before, std::string_view after) {
    std::string out = fmt::format("--- a/{}\n+++ b/{}\n", path, path);
    if (!base::is_utf8(before) || !base::is_utf8(after)) return out + "Binary files differ\n";
    const auto a = lines_of(before), b = lines_of(after);
    const auto all = changes(a, b);
    for (std::size_t first = 0; first < all.size() && out.size() < kDiffBytesMax;) {
        std::size_t last = first;
        while (last + 1 < all.size() &&
               all[last + 1].before - all[last].before_end <= 2 * kContextLines)
            ++last;
        const std::size_t above = std::min(kContextLines, all[first].before);
        const std::size_t below = std::min(kContextLines, a.size() - all[last].before_end);
        const std::size_t a_from = all[first].before - above, a_to = all[last].before_end + below;
        const std::size_t b_from = all[first].after - above, b_to = all[last].after_end + below;
        // A side without lines is counted from the line before it.
        out += fmt::format("@@ -{},{} +{},{} @@\n", a_from + (a_to > a_from ? 1 : 0), a_to - a_from,
                           b_from + (b_to > b_from ? 1 : 0), b_to - b_from);
        std::size_t at = a_from;
        for (; first <= last; ++first) {
            for (; at < all[first].before; ++at) put(out, ' ', a[at]);
            for (; at < all[first].before_end; ++at) put(out, '-', a[at]);
            for (std::size_t i = all[first].after; i < all[first].after_end; ++i)
                put(out, '+', b[i]);
        }
        for (; at < a_to; ++at) put(out, ' ', a[at]);
    }
    if (out.size() <= kDiffBytesMax) return out;
    std::size_t end = kDiffBytesMax;
    while ((static_cast<unsigned char>(out[end]) & 0xC0U) == 0x80U) --end;
    return out.substr(0, end) + "\n… (the rest of the diff is left out)\n";
}

}  // namespace vault
