// Finds the spellings of known credentials, with nothing to compile first.
//
// The scanner finds them as well, next to its rules, but its engines take tens of milliseconds to
// build for a long token: too long before the first request of a run.
#pragma once

#include <bitset>
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

    // `text` with each spelling in it replaced by `mark`.
    std::string replaced(std::string text, std::string_view mark) const;

    const std::vector<Spelling>& spellings() const { return spellings_; }

private:
    // How long the longest spelling is that begins at `text`; 0 without one.
    std::size_t length_at(std::string_view text) const;

    std::vector<Spelling> spellings_;
    // Where to look further, by the first bytes of the spellings, whatever their case.
    std::bitset<1U << 16U> maybe_;
    std::unordered_map<std::uint64_t, std::vector<std::size_t>> starts_;
};

}  // namespace scan
