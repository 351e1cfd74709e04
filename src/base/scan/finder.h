// Finds the spellings of known credentials, with nothing to compile first.
//
// The scanner finds them as well, next to its rules, but its engines take tens of milliseconds to
// build for a long token: too long before the first request of a run.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/scan/known.h"

namespace scan {

bool begins_with(std::string_view text, std::string_view start, bool any_case);

// Any thread may use one. Time is linear in the text.
class Finder {
public:
    explicit Finder(std::vector<Spelling> spellings);

    // Does any spelling occur in `text`?
    bool finds(std::string_view text) const;
    // `text` with each spelling in it replaced by `mark`.
    std::string replaced(std::string text, std::string_view mark) const;

    const std::vector<Spelling>& spellings() const { return spellings_; }

private:
    // The first spelling in `text`, from `at` on: where it begins and how long it is. At the end of
    // `text` and 0 long when there is none.
    struct Found {
        std::size_t at;
        std::size_t length;
    };
    Found next(std::string_view text, std::size_t at) const;
    // How long the longest spelling is that begins at `text`; 0 without one.
    std::size_t length_at(std::string_view text) const;

    std::vector<Spelling> spellings_;
    // By the last two bytes of a window that is as long as the starts of spellings: how far the
    // window may move without missing one (Wu and Manber). 0: it may be one.
    std::vector<std::uint8_t> skips_;
    // By their first bytes, whatever their case.
    std::unordered_map<std::uint64_t, std::vector<std::size_t>> starts_;
};

}  // namespace scan
