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

// Any thread may use one. Time is linear in the text.
class Finder {
public:
    explicit Finder(std::vector<Spelling> spellings);

    // `text` with each spelling in it replaced by `mark`.
    std::string replaced(std::string text, std::string_view mark) const;

    const std::vector<Spelling>& spellings() const { return spellings_; }

private:
    // The spellings that begin with the same bytes, by those bytes.
    struct Table {
        std::bitset<1U << 16U> maybe;
        std::unordered_map<std::uint64_t, std::vector<std::size_t>> starts;
    };
    std::size_t length_at(const Table& table, std::string_view text, std::size_t at) const;

    std::vector<Spelling> spellings_;
    Table exact_;
    Table any_case_;  // Looked up in lower case.
};

}  // namespace scan
