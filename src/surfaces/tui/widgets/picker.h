// A list to choose from, with a filter, and the detail of the chosen row beside or below it. Pure.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "surfaces/show/line.h"
#include "surfaces/tui/keys.h"

namespace tui {

struct Row {
    std::string id;  // Stays selected when the rows change.
    show::Line line;
    std::string group;  // A heading is drawn where it changes; empty: none.
    int depth{0};       // Indented, as children under their parents.
};

class Picker {
public:
    void set_rows(std::vector<Row> rows);
    void set_detail(std::vector<show::Line> detail);  // Of the selected row.
    void allow_filter(
        bool allows);  // Characters filter the rows instead of being left to the caller.
    bool on_key(
        const Key& key,
        std::size_t rows);  // False: not for it (Enter, Escape without a filter, other keys).
    std::optional<std::string> selected() const;
    std::vector<show::Line> view(std::size_t columns, std::size_t rows) const;  // Exactly `rows`.

private:
    // The implementer's.
};

}  // namespace tui
