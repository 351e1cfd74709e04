#include "exec/tools/patch/file_lines.h"

#include "base/result.h"
#include "exec/tools/patch/patch.h"

namespace patch {

std::string_view ending_text(Ending ending) {
    switch (ending) {
        case Ending::None:
            return "";
        case Ending::Lf:
            return "\n";
        case Ending::CrLf:
            return "\r\n";
    }
    CHECK(false, "every ending has a text");
}

FileLines::FileLines(std::string_view bytes) : bytes_(bytes) {
    CHECK(bytes.size() <= kFileBytesMax, "the reader of a file bounds its size");
    for (std::size_t at = 0; at < bytes.size();) {
        starts_.push_back(static_cast<std::uint32_t>(at));
        const auto end = bytes.find('\n', at);
        at = end == std::string_view::npos ? bytes.size() : end + 1;
    }
    starts_.push_back(static_cast<std::uint32_t>(bytes.size()));
}

Ending FileLines::ending(std::size_t i) const {
    const std::string_view line = raw(i);
    if (line.ends_with("\r\n")) return Ending::CrLf;
    return line.ends_with('\n') ? Ending::Lf : Ending::None;
}

Ending FileLines::style_before(std::size_t i) const {
    // The last line may have no ending; then the one before it decides.
    for (const std::size_t back : {1, 2}) {
        if (i >= back && ending(i - back) != Ending::None) return ending(i - back);
    }
    if (i < size() && ending(i) != Ending::None) return ending(i);
    return Ending::Lf;
}

}  // namespace patch
