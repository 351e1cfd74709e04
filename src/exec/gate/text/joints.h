// A text whose lines are put together where its writer took one word apart.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "exec/gate/text/outline.h"

namespace gate {

// `text` without the joints between parts of one literal: `"abc" +\n   "def"`, `abc\` and a line
// end. Programs and shells read across them, so secrets are looked for across them as well.
class Joined {
public:
    // `outline` is that of `text`.
    Joined(std::string_view text, const Outline& outline);

    bool has_joints() const { return !joints_.empty(); }
    std::string_view text() const { return joined_; }
    // Whether a joint was in [begin, end) of text(), and where those bytes are in the original.
    bool spans_joint(std::size_t begin, std::size_t end) const;
    std::pair<std::size_t, std::size_t> original(std::size_t begin, std::size_t end) const;

private:
    struct Joint {
        std::size_t at;       // In the joined text: what follows came behind it.
        std::size_t removed;  // Bytes taken out up to and with this joint.
    };
    std::size_t original_of(std::size_t at) const;

    std::string joined_;
    std::vector<Joint> joints_;
};

}  // namespace gate
