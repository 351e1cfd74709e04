// Any bytes are Markdown and a diff: every line fits, nothing controls the terminal, and a finished
// block stays as it was drawn.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/result.h"
#include "base/text.h"
#include "surfaces/show/diff.h"
#include "surfaces/show/markdown/markdown.h"

namespace {

constexpr std::size_t kColumnsLeast = 8;

void check_lines(const std::vector<show::Line>& lines, std::size_t columns) {
    for (const auto& line : lines) {
        const std::string text = show::text_of(line);
        CHECK(show::columns_of(line) <= columns, "a line fits");
        CHECK(base::is_utf8(text) && text == base::printable(text), "a line is safe");
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    std::string_view text(reinterpret_cast<const char*>(data), size);
    if (text.empty()) return 0;
    const std::size_t columns = kColumnsLeast + static_cast<unsigned char>(text.front()) % 150;
    text.remove_prefix(1);
    check_lines(show::diff_lines(text, columns), columns);
    const auto whole = show::markdown(text, columns);
    check_lines(whole, columns);
    const std::size_t half = show::finished_blocks(text.substr(0, text.size() / 2));
    const std::size_t finished = show::finished_blocks(text);
    CHECK(half <= finished && finished <= text.size(), "what is finished stays finished");
    const auto part = show::markdown(text.substr(0, half), columns);
    CHECK(part.size() <= whole.size() && std::equal(part.begin(), part.end(), whole.begin()),
          "what is finished is drawn as it was");
    return 0;
}
