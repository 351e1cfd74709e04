#include "surfaces/tui/compose/history.h"

#include <algorithm>
#include <iterator>
#include <ranges>

#include "surfaces/tui/compose/draft.h"
#include "surfaces/tui/compose/words.h"

namespace tui {
void History::set(const std::vector<std::string>& entries) {
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

std::vector<std::size_t> History::find(std::string_view words, std::size_t count) const {
    std::vector<std::size_t> found;
    for (std::size_t i = entries_.size(); i-- > 0 && found.size() < count;) {
        const std::string& entry = entries_[i];
        if ((words.empty() || find_words(entry, words, 0) != words.npos) &&
            std::ranges::none_of(found,
                                 [&](std::size_t other) { return entries_[other] == entry; }))
            found.push_back(i);
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
