// Where a text may have joints or encoded runs, found in one pass over all of its bytes.
//
// Most blocks of most texts have neither. A search for them reads the other blocks only.
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
    // A run of so many covers two whole words next to each other, wherever it begins.
    static constexpr std::size_t kRunBytes = 3 * sizeof(std::uint64_t);

    explicit Outline(std::string_view text);

    // The first byte from `at` on that is in a block with a quote, a backslash or a less-than sign;
    // the end of the text without one.
    std::size_t next_quote(std::size_t at) const;
    // The first word from `at` on that is all digits behind another that is. Every run of kRunBytes
    // has such a one. The end of the text without one.
    std::size_t next_run(std::size_t at) const;

private:
    friend class OutlineMarker;
    struct Block {
        bool has_quote{false};
        std::uint8_t words{0};  // A bit for each such word.
    };
    std::size_t size_;
    std::vector<Block> blocks_;
};

}  // namespace gate
