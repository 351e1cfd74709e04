// A long text in a window: scrolled, searched, copied from. Pure.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "surfaces/show/line.h"
#include "surfaces/tui/keys.h"

namespace tui {

inline constexpr std::size_t kPagerSearchBytesMax = 200;

// Keys: arrows or j/k, PageUp/PageDown or b and the space bar, Home/End or g/G; `/` searches (upper
// and lower case are the same), n/N go to the next and the previous match, y copies. While a search
// is open its line is the last one of the view.
class Pager {
public:
    // `lines` for the width they were made for; the caller makes them again when it changes.
    void set_lines(std::vector<show::Line> lines);
    void follow_end(bool follows);  // Stays at the end while lines are added.
    // False: the key is not for it (Escape when no search is open).
    bool on_key(const Key& key, std::size_t rows);
    std::vector<show::Line> view(std::size_t columns, std::size_t rows) const;  // Exactly `rows`.
    // After `y`: the text to put into the clipboard, once. The line of the match that a search is
    // at, or the lines in view.
    std::optional<std::string> take_copied();

private:
    struct Search {
        std::string words;
        bool is_typed;                  // Characters go to the words.
        std::vector<std::size_t> hits;  // Lines.
        std::optional<std::size_t> at;  // In `hits`.
    };

    bool on_search_key(const Key& key, std::size_t rows);
    bool on_character(const Key& key, std::size_t rows);
    void scroll(std::ptrdiff_t by, std::size_t rows);
    void search(std::size_t rows);
    void go_to_hit(std::size_t hit, std::size_t rows);
    void copy(std::size_t rows);
    std::size_t text_rows(std::size_t rows) const;
    std::size_t top(std::size_t rows) const;

    std::vector<show::Line> lines_;
    std::size_t top_{0};
    bool follows_{false};
    bool is_at_end_{false};  // Holds on to the end while it follows.
    std::optional<Search> search_;
    std::optional<std::string> copied_;
};

}  // namespace tui
