// A long text in a window: scrolled, searched, copied from. Pure.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "surfaces/show/line.h"
#include "surfaces/tui/keys.h"

namespace tui {

class Pager {
public:
    // `lines` for the width they were made for; the caller makes them again when it changes.
    void set_lines(std::vector<show::Line> lines);
    void follow_end(bool follows);  // Stays at the end while lines are added.
    bool on_key(const Key& key,
                std::size_t rows);  // False: the key is not for it (Escape when no search is open).
    std::vector<show::Line> view(std::size_t columns, std::size_t rows) const;  // Exactly `rows`.
    std::optional<std::string>
    take_copied();  // After `y`: the text to put into the clipboard, once.

private:
    // The implementer's.
};

}  // namespace tui
