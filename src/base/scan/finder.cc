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

// Two bytes, as an index.
std::size_t pair_at(const char* bytes) {
    std::uint16_t pair = 0;
    std::memcpy(&pair, bytes, sizeof pair);
    return pair | (kFold & 0xFFFFU);
}
constexpr std::size_t kPairs = 1U << 16U;
constexpr std::uint8_t kSkipMax = kStartBytes - 1;

bool is_same_letter(unsigned char a, unsigned char b) {
    return std::tolower(a) == std::tolower(b);
}

}  // namespace

bool begins_with(std::string_view text, std::string_view start, bool any_case) {
    if (!any_case) return text.starts_with(start);
    return text.size() >= start.size() &&
           std::ranges::equal(text.substr(0, start.size()), start, is_same_letter);
}

Finder::Finder(std::vector<Spelling> spellings)
    : spellings_(std::move(spellings)), skips_(kPairs, kSkipMax) {
    for (std::size_t i = 0; i < spellings_.size(); ++i) {
        const std::string& text = spellings_[i].text;
        starts_[start_of(text)].push_back(i);
        for (std::uint8_t at = 0; at < kSkipMax; ++at) {
            auto& skip = skips_[pair_at(text.data() + at)];
            skip = std::min<std::uint8_t>(skip, kSkipMax - 1 - at);
        }
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

Finder::Found Finder::next(std::string_view text, std::size_t at) const {
    const char* const bytes = text.data();
    while (at + kStartBytes <= text.size()) {
        const std::size_t skip = skips_[pair_at(bytes + at + kStartBytes - 2)];
        if (skip == 0)
            if (const std::size_t length = length_at(text.substr(at))) return {at, length};
        at += std::max<std::size_t>(skip, 1);
    }
    return {text.size(), 0};
}

bool Finder::finds(std::string_view text) const {
    return next(text, 0).length > 0;
}

std::string Finder::replaced(std::string text, std::string_view mark) const {
    std::string out;
    std::size_t passed = 0;
    const std::string_view all = text;
    for (auto found = next(all, 0); found.length > 0; found = next(all, passed)) {
        out.append(all.substr(passed, found.at - passed)).append(mark);
        passed = found.at + found.length;
    }
    if (passed == 0) return text;
    return out.append(all.substr(passed));
}

}  // namespace scan
