// Draws the console without owning the screen: finished lines go into the terminal's own
// scrollback, and below them a viewport is kept up to date. Pure: frames in, bytes out.
//
// Each answer is one synchronized update. Nothing is cleared that is not drawn again in it, and a
// line of which only the end changed is sent from there, so that a streamed word costs its letters
// and a few cursor movements.
#pragma once

#include <string>
#include <vector>

#include "surfaces/show/line.h"
#include "surfaces/tui/screen/cells.h"

namespace tui {

// The viewport: lines of at most the terminal's width, fewer than it has rows.
struct Frame {
    std::vector<show::Line> lines{};
    std::size_t cursor_row{0};  // In `lines`.
    std::size_t cursor_column{0};
};

class Presenter {
public:
    Presenter(bool colours, std::size_t columns, std::size_t rows);

    // Prints `finished` above the viewport and brings the viewport to `frame`. Empty when nothing
    // changed.
    std::string draw(const std::vector<show::Line>& finished, const Frame& frame);
    // The terminal has another size: it may have wrapped what was drawn. The next draw() replaces
    // it.
    void resize(std::size_t columns, std::size_t rows);
    // Something else may have written over the viewport: the next draw() sends all of it.
    void redraw();
    // Removes the viewport and leaves the cursor where it began, for the shell.
    std::string leave();
    // Another program has written to the terminal: the viewport begins where the cursor is now.
    void forget();

private:
    struct Row {
        std::vector<ScreenCell> cells;
        friend bool operator==(const Row&, const Row&) = default;
    };

    void move_to(std::string& out, std::size_t row);
    void move_to_column(std::string& out, std::size_t column);
    void put(std::string& out, const std::vector<ScreenCell>& cells, std::size_t from) const;
    void put_row(std::string& out, const Row& row) const;
    void put_difference(std::string& out, std::size_t index, const Row& row);
    bool scroll_rows(std::string& out, const std::vector<Row>& rows);
    void draw_all(std::string& out, const std::vector<show::Line>& finished,
                  const std::vector<Row>& rows);
    void draw_changes(std::string& out, const std::vector<Row>& rows);

    bool colours_;
    std::size_t columns_;
    std::size_t rows_max_;
    std::vector<Row> drawn_;
    std::size_t row_{0};         // Where the cursor is, in `drawn_`,
    std::size_t column_{0};      // and in its row.
    std::size_t rows_above_{0};  // The cursor's row as the terminal wrapped it after a resize.
    bool is_stale_{true};        // Nothing of `drawn_` can be relied on.
};

}  // namespace tui
