#include "surfaces/tui/compose/history.h"

#include <algorithm>
#include <iterator>
#include <ranges>

#include "surfaces/tui/compose/draft.h"

namespace tui {
namespace {

char lower(char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

bool contains_words(std::string_view text, std::string_view words) {
    return !std::ranges::search(text, words, {}, lower, lower).empty() || words.empty();
}

}  // namespace

void History::set(std::vector<std::string> entries) {
    entries_.clear();
    for (const auto& entry : entries)
        if (std::string safe = clean(entry); !safe.empty()) entries_.push_back(std::move(safe));
    at_.reset();
    bound();
}

void History::add(std::string entry) {
    at_.reset();
    if (entry.empty() || (!entries_.empty() && entries_.back() == entry)) return;
    entries_.push_back(std::move(entry));
    bound();
}

const std::string* History::older() {
    const std::size_t at = at_.value_or(entries_.size());
    if (at == 0) return nullptr;
    at_ = at - 1;
    return &entries_[*at_];
}

const std::string* History::newer() {
    if (!at_ || *at_ + 1 >= entries_.size()) return nullptr;
    return &entries_[++*at_];
}

std::vector<const std::string*> History::find(std::string_view words, std::size_t count) const {
    std::vector<const std::string*> found;
    for (const auto& entry : entries_ | std::views::reverse) {
        if (found.size() == count) break;
        if (contains_words(entry, words) &&
            std::ranges::none_of(found, [&](const auto* other) { return *other == entry; }))
            found.push_back(&entry);
    }
    return found;
}

void History::bound() {
    std::size_t bytes = 0;
    std::size_t kept = 0;
    for (const auto& entry : entries_ | std::views::reverse) {
        bytes += entry.size();
        if (kept == kHistoryMax || (kept > 0 && bytes > kHistoryBytesMax)) break;
        ++kept;
    }
    entries_.erase(entries_.begin(), entries_.end() - static_cast<std::ptrdiff_t>(kept));
}

}  // namespace tui
