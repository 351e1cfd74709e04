// Any bytes are Markdown: every item has a place in the text and a parent above it.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/result.h"
#include "base/text.h"
#include "exec/tools/vault/text/bullets.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    const auto lines = static_cast<std::size_t>(std::ranges::count(text, '\n')) + 1;
    std::size_t line = 0, depth = 0;
    for (const auto& item : vault::parse_bullets(text).items) {
        CHECK(item.line > line && item.line <= lines, "items come in the order of their lines");
        CHECK(item.depth <= depth && item.depth <= vault::kBulletDepthMax,
              "an item is at most one deeper than the one before");
        CHECK(base::is_utf8(item.text), "text is valid UTF-8");
        line = item.line;
        depth = item.depth + 1;
    }
    return 0;
}
