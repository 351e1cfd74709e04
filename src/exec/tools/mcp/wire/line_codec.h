// Bytes of a server's standard output, cut into lines within a bound.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

namespace mcp {

// The longest message that is read. An image in base64 fits, a runaway server does not.
inline constexpr std::size_t kLineBytesMax = std::size_t{8} * 1024 * 1024;

class LineCodec {
public:
    explicit LineCodec(std::size_t line_bytes_max = kLineBytesMax) : max_(line_bytes_max) {}

    // Adds bytes as they came. `on_line` gets each line that they complete, without its end, blank
    // ones left out. Of a line beyond the bound nothing is kept: `on_too_long` is called once, when
    // the bound is passed, and reading continues after the line.
    void add(std::string_view bytes, const std::function<void(std::string_view)>& on_line,
             const std::function<void()>& on_too_long);

private:
    std::size_t max_;
    std::string partial_;
    bool skipping_{false};
};

}  // namespace mcp
