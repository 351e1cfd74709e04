#include "exec/results/preview.h"

#include <algorithm>

#include "base/scan/secrets.h"
#include "base/text.h"

namespace results {
namespace {

constexpr std::size_t kMarkerCharsReserved = 160;  // For the line that names what is left out.

std::size_t count_lines(std::string_view text) {
    if (text.empty()) return 0;
    return static_cast<std::size_t>(std::ranges::count(text, '\n')) + (text.back() == '\n' ? 0 : 1);
}

// The longest prefix of whole lines within `chars`; of a first line longer than that, its start.
std::string_view head_lines(std::string_view text, std::size_t chars) {
    const std::string_view cut = base::first_chars(text, chars);
    const std::size_t end = cut.size() == text.size() ? cut.size() : cut.rfind('\n');
    return end == std::string_view::npos ? cut : cut.substr(0, end);
}

std::string_view tail_lines(std::string_view text, std::size_t chars) {
    const std::string_view cut = base::last_chars(text, chars);
    if (cut.size() == text.size()) return cut;
    const std::size_t start = cut.find('\n');
    return start == std::string_view::npos || start + 1 == cut.size() ? cut : cut.substr(start + 1);
}

// Without empty lines before and blanks behind; the first line keeps its indentation.
std::string_view without_blank_edges(std::string_view text) {
    const std::size_t first = text.find_first_not_of(" \t\r\n");
    if (first == std::string_view::npos) return {};
    const std::size_t line = text.rfind('\n', first);
    text.remove_prefix(line == std::string_view::npos ? 0 : line + 1);
    return text.substr(0, text.find_last_not_of(" \t\r\n") + 1);
}

}  // namespace

Preview preview(const base::CapturedStream& stream, std::size_t chars) {
    // Before anything is cut: half a secret is not recognised any more.
    const std::string head =
        stream.spilled ? scan::without_secrets(base::to_utf8(stream.head), scan::Cut::AtEnd)
                       : scan::without_secrets(base::to_utf8(stream.head));
    const std::string tail = scan::without_secrets(base::to_utf8(stream.tail), scan::Cut::AtStart);
    if (!stream.spilled) {
        const std::string_view whole = without_blank_edges(head);
        if (base::char_count(whole) <= chars) return {std::string(whole), false};
    }
    const std::size_t room = chars > kMarkerCharsReserved ? chars - kMarkerCharsReserved : 0;
    const std::string_view first = head_lines(head, room / 2);
    const std::string_view last = tail_lines(
        stream.spilled ? std::string_view(tail) : std::string_view(head), room - room / 2);
    const std::string of = stream.lines > 0 ? fmt::format(" of {}", stream.lines) : "";
    return {fmt::format("{}\n[output cut: first {} and last {}{} lines shown, {} bytes in all]\n{}",
                        first, count_lines(first), count_lines(last), of, stream.bytes,
                        last.ends_with('\n') ? last.substr(0, last.size() - 1) : last),
            true};
}

}  // namespace results
