#include "base/scan/finder.h"

#include <algorithm>
#include <cctype>
#include <cstring>

namespace scan {
namespace {

// What a spelling is looked up by. None is shorter.
constexpr std::size_t kStartBytes = kKnownBytesMin;

std::uint64_t start_of(std::string_view text) {
    std::uint64_t start = 0;
    std::memcpy(&start, text.data(), kStartBytes);
    return start;
}

std::size_t slot_of(std::uint64_t start) {
    return static_cast<std::size_t>(start * 0x9E3779B97F4A7C15ULL >> 48U);
}

std::string lowered(std::string text) {
    for (char& c : text) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    return text;
}

}  // namespace

Finder::Finder(std::vector<Spelling> spellings) : spellings_(std::move(spellings)) {
    for (std::size_t i = 0; i < spellings_.size(); ++i) {
        auto& spelling = spellings_[i];
        if (spelling.any_case) spelling.text = lowered(std::move(spelling.text));
        auto& table = spelling.any_case ? any_case_ : exact_;
        const auto start = start_of(spelling.text);
        table.maybe.set(slot_of(start));
        table.starts[start].push_back(i);
    }
}

// How long the longest spelling is that `text` has at `at`; 0 without one.
std::size_t Finder::length_at(const Table& table, std::string_view text, std::size_t at) const {
    const auto start = start_of(text.substr(at));
    if (!table.maybe.test(slot_of(start))) return 0;
    const auto found = table.starts.find(start);
    if (found == table.starts.end()) return 0;
    std::size_t longest = 0;
    for (const auto i : found->second)
        if (text.substr(at).starts_with(spellings_[i].text))
            longest = std::max(longest, spellings_[i].text.size());
    return longest;
}

std::string Finder::replaced(std::string text, std::string_view mark) const {
    const std::string low = lowered(text);
    std::string out;
    std::size_t passed = 0;
    for (std::size_t at = 0; at + kStartBytes <= text.size();) {
        const std::size_t length =
            std::max(length_at(exact_, text, at), length_at(any_case_, low, at));
        if (length == 0) {
            ++at;
            continue;
        }
        out.append(text, passed, at - passed).append(mark);
        passed = at += length;
    }
    if (passed == 0) return text;
    return out.append(text, passed);
}

}  // namespace scan
