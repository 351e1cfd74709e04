#include "base/scan/finder.h"

#include <algorithm>
#include <cctype>
#include <cstring>

namespace scan {
namespace {

// What a spelling is looked up by. None is shorter.
constexpr std::size_t kStartBytes = kKnownBytesMin;
// Makes letters lower case and other bytes something; equal texts stay equal.
constexpr std::uint64_t kFold = 0x2020'2020'2020'2020ULL;

std::uint64_t start_of(std::string_view text) {
    std::uint64_t start = 0;
    std::memcpy(&start, text.data(), kStartBytes);
    return start | kFold;
}

std::size_t slot_of(std::uint64_t start) {
    return static_cast<std::size_t>(start * 0x9E3779B97F4A7C15ULL >> 48U);
}

bool is_same_letter(unsigned char a, unsigned char b) {
    return std::tolower(a) == std::tolower(b);
}

}  // namespace

bool begins_with(std::string_view text, std::string_view start, bool any_case) {
    if (!any_case) return text.starts_with(start);
    return text.size() >= start.size() &&
           std::ranges::equal(text.substr(0, start.size()), start, is_same_letter);
}

Finder::Finder(std::vector<Spelling> spellings) : spellings_(std::move(spellings)) {
    for (std::size_t i = 0; i < spellings_.size(); ++i) {
        const auto start = start_of(spellings_[i].text);
        maybe_.set(slot_of(start));
        starts_[start].push_back(i);
    }
}

std::size_t Finder::length_at(std::string_view text) const {
    const auto found = starts_.find(start_of(text));
    if (found == starts_.end()) return 0;
    std::size_t longest = 0;
    for (const auto i : found->second)
        if (begins_with(text, spellings_[i].text, spellings_[i].any_case))
            longest = std::max(longest, spellings_[i].text.size());
    return longest;
}

std::string Finder::replaced(std::string text, std::string_view mark) const {
    std::string out;
    std::size_t passed = 0;
    const std::string_view all = text;
    const char* const bytes = all.data();
    for (std::size_t at = 0; at + kStartBytes <= all.size(); ++at) {
        if (!maybe_[slot_of(start_of({bytes + at, kStartBytes}))]) continue;
        const std::size_t length = length_at(all.substr(at));
        if (length == 0) continue;
        out.append(all.substr(passed, at - passed)).append(mark);
        passed = at + length;
        at = passed - 1;
    }
    if (passed == 0) return text;
    return out.append(all.substr(passed));
}

}  // namespace scan
