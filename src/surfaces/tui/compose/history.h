// What was sent before: browsed with the arrows, searched with Ctrl+R.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tui {

inline constexpr std::size_t kHistoryMax = 1000;
inline constexpr std::size_t kHistoryBytesMax =
    4 * 1024 * 1024;  // Of all entries; one may be larger.

class History {
public:
    void set(const std::vector<std::string>& entries);
    // Nothing when it is empty or the newest already.
    void add(std::string entry);
    const std::vector<std::string>& entries() const { return entries_; }

    // The entry before or after the one that is shown; null at the ends. Browsing begins at the
    // newest and ends with stop().
    const std::string* older();
    const std::string* newer();
    bool is_browsing() const { return at_.has_value(); }
    void stop() { at_.reset(); }

    // Entries that have these words in them, newest first, each text once, at most `count`. Upper
    // and lower case are the same.
    std::vector<std::size_t> find(std::string_view words, std::size_t count) const;

private:
    void bound();

    std::vector<std::string> entries_;  // Oldest first.
    std::optional<std::size_t> at_;
};

}  // namespace tui
