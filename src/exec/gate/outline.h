// Where a text may have joints or encoded runs, found in one pass over all of its bytes.
//
// Most blocks of most texts have neither. Whoever looks for them reads the other blocks only.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace gate {

// Digits of base64 and of all encodings with fewer.
constexpr bool is_encoding_digit(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '/' && c <= '9') || c == '+' ||
           c == '-' || c == '_';
}

class Outline {
public:
    static constexpr std::size_t kBlockBytes = 64;
    enum class Mark : std::uint8_t {
        Quote = 1,  // The block has a quote, a backslash or a less-than sign.
        Run = 2,    // A run of digits ends or continues in it that may have kRunBytes of them.
    };
    // A run of so many covers two whole words next to each other, wherever it begins.
    static constexpr std::size_t kRunBytes = 3 * sizeof(std::uint64_t);

    explicit Outline(std::string_view text);

    // The first byte from `at` on that is in a block with the mark; the end of the text without
    // one.
    std::size_t next(Mark mark, std::size_t at) const;

private:
    std::size_t size_;
    std::vector<std::uint8_t> marks_;  // By block.
};

}  // namespace gate
