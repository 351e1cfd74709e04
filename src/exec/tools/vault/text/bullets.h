// A Markdown list as a tree. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace vault {

inline constexpr std::size_t kBulletsMax = 100'000;
inline constexpr std::size_t kBulletDepthMax = 32;  // Deeper ones stay at this depth.

struct Bullet {
    std::string text;      // Continuation lines are joined by a newline.
    std::size_t depth{0};  // From 0.
    std::size_t line{0};   // From 1.
    bool ordered{false};
    std::optional<bool> checked{};  // Of "[ ]" and "[x]".
    friend bool operator==(const Bullet&, const Bullet&) = default;
};

struct Bullets {
    std::vector<Bullet> items;  // In the order of the text; a child follows its parent.
    bool truncated{false};
};

// Every item of every list: "-", "*", "+", "1." and "1)", nested by indentation. Other lines end a
// list, those indented below an item belong to it; code and the front matter of a note are passed
// over. Lines end in LF or CR LF. Any bytes are text.
Bullets parse_bullets(std::string_view markdown);

}  // namespace vault
