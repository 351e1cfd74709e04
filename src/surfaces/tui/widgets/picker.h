// A list to choose from, with a filter, and the detail of the chosen row beside or below it. Pure.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "surfaces/show/line.h"
#include "surfaces/tui/keys.h"

namespace tui {

inline constexpr std::size_t kFilterBytesMax = 200;
inline constexpr std::size_t kDetailBesideColumns =
    80;  // From here on the detail is beside the list.

struct Row {
    std::string id;  // Stays selected when the rows change.
    show::Line line;
    std::string group;  // A heading is drawn where it changes; empty: none.
    int depth{0};       // Indented, as children under their parents.
};

// Keys: arrows select, PageUp/PageDown and Home/End scroll the detail, or the list when there is
// none. Without a filter j and k select, too; with one they are typed.
class Picker {
public:
    void set_rows(std::vector<Row> rows);
    void set_detail(std::vector<show::Line> detail);  // Of the selected row.
    // Characters filter the rows instead of being left to the caller.
    void allow_filter(bool allows);
    // False: not for it (Enter, Escape without a filter, other keys).
    bool on_key(const Key& key, std::size_t rows);
    std::optional<std::string> selected() const;
    std::vector<show::Line> view(std::size_t columns, std::size_t rows) const;  // Exactly `rows`.

private:
    bool on_character(const Key& key);
    bool move(std::ptrdiff_t by);
    bool scroll(std::ptrdiff_t by);
    void set_filter(std::string filter);
    void match();
    std::vector<show::Line> list(std::size_t columns, std::size_t rows) const;
    std::vector<show::Line> detail(std::size_t columns, std::size_t rows) const;
    std::size_t filter_rows() const;

    std::vector<Row> rows_;
    std::vector<std::size_t> shown_;  // Of rows_: those that the filter lets through.
    std::size_t selected_{0};         // Of shown_.
    std::vector<show::Line> detail_;
    std::size_t detail_top_{0};
    mutable std::size_t detail_rows_{1};  // As last drawn: scrolling ends where its last line is.
    bool allows_filter_{false};
    std::string filter_;
};

}  // namespace tui
