#include "exec/tools/mcp/wire/line_codec.h"

#include "base/text.h"

namespace mcp {

void LineCodec::add(std::string_view bytes, const std::function<void(std::string_view)>& on_line,
                    const std::function<void()>& on_too_long) {
    while (!bytes.empty()) {
        const std::size_t end = bytes.find('\n');
        const std::string_view piece = bytes.substr(0, end);
        const bool ends_line = end != std::string_view::npos;
        bytes.remove_prefix(ends_line ? end + 1 : bytes.size());
        if (!skipping_ && partial_.size() + piece.size() > max_) {
            skipping_ = true;
            partial_ = {};
            on_too_long();
        }
        if (!skipping_) partial_ += piece;
        if (!ends_line) continue;
        // Moved out first, since the receiver of a line may destroy us.
        const std::string line = std::exchange(partial_, {});
        if (!std::exchange(skipping_, false) && !base::trim(line).empty()) on_line(line);
    }
}

}  // namespace mcp
