#include "surfaces/tui/screen/presenter.h"

#include <algorithm>

#include <fmt/format.h>

namespace tui {
namespace {

constexpr std::string_view kBegin = "\x1b[?2026h";
constexpr std::string_view kEnd = "\x1b[?2026l";
// The whole line: of one whose end alone was erased, some terminals count the erased cells as part
// of it when they wrap it after a resize, and the viewport would be higher than is known here.
constexpr std::string_view kEraseLine = "\x1b[2K";
constexpr std::string_view kEraseBelow = "\x1b[J";
constexpr std::string_view kReset = "\x1b[0m";
constexpr std::size_t kScrolledMin = 2;  // Fewer rows are as cheap to draw again.

std::size_t common_cells(const std::vector<ScreenCell>& a, const std::vector<ScreenCell>& b) {
    std::size_t count = 0;
    while (count < a.size() && count < b.size() && a[count] == b[count] && a[count].is_simple)
        ++count;
    return count;
}

}  // namespace

Presenter::Presenter(bool colours, std::size_t columns, std::size_t rows)
    : colours_(colours), columns_(columns), rows_max_(rows) {}

void Presenter::move_to(std::string& out, std::size_t row) {
    if (row < row_) out += fmt::format("\x1b[{}A", row_ - row);
    if (row > row_) out += fmt::format("\x1b[{}B", row - row_);
    row_ = row;
}

void Presenter::move_to_column(std::string& out, std::size_t column) {
    if (column == 0)
        out += '\r';
    else
        out += fmt::format("\x1b[{}G", column + 1);
    column_ = column;
}

void Presenter::put(std::string& out, const std::vector<ScreenCell>& cells,
                    std::size_t from) const {
    auto face = show::Face::Plain;
    for (std::size_t i = from; i < cells.size(); ++i) {
        if (cells[i].face != face) {
            if (!sgr_of(face, colours_).empty()) out += kReset;
            face = cells[i].face;
            out += sgr_of(face, colours_);
        }
        out += cells[i].text;
    }
    if (!sgr_of(face, colours_).empty()) out += kReset;
}

// From the first column.
void Presenter::put_row(std::string& out, const Row& row) const {
    out += kEraseLine;
    put(out, row.cells, 0);
}

void Presenter::put_difference(std::string& out, std::size_t index, const Row& row) {
    const auto& before = drawn_[index].cells;
    const std::size_t same = common_cells(before, row.cells);
    if (same == before.size() && same == row.cells.size()) return;
    move_to(out, index);
    const std::size_t width = width_of(row.cells);
    const bool is_certain =
        std::ranges::all_of(before, [](const ScreenCell& cell) { return cell.is_simple; });
    column_ = width;
    if (width < width_of(before) || (!is_certain && width < columns_)) {
        out += '\r';
        put_row(out, row);
        return;
    }
    const std::vector<ScreenCell> kept(row.cells.begin(),
                                       row.cells.begin() + static_cast<std::ptrdiff_t>(same));
    move_to_column(out, width_of(kept));
    put(out, row.cells, same);
    column_ = width;
}

// Text that streams in moves the rows above it up by one. The terminal moves them itself when a
// line is taken out above and one is put in below.
bool Presenter::scroll_rows(std::string& out, const std::vector<Row>& rows) {
    if (rows.size() != drawn_.size()) return false;
    std::size_t top = 0;
    while (top < rows.size() && rows[top] == drawn_[top]) ++top;
    std::size_t end = top;
    while (end + 1 < rows.size() && rows[end] == drawn_[end + 1] && rows[end] != drawn_[end]) ++end;
    if (end - top < kScrolledMin) return false;
    move_to(out, top);
    move_to_column(out, 0);
    out += "\x1b[M";
    move_to(out, end);
    out += "\x1b[L";
    drawn_.erase(drawn_.begin() + static_cast<std::ptrdiff_t>(top));
    drawn_.insert(drawn_.begin() + static_cast<std::ptrdiff_t>(end), Row{});
    return true;
}

void Presenter::draw_changes(std::string& out, const std::vector<Row>& rows) {
    scroll_rows(out, rows);
    for (std::size_t i = 0; i < rows.size(); ++i) {
        if (i < drawn_.size()) {
            put_difference(out, i, rows[i]);
            continue;
        }
        if (i > 0) {
            move_to(out, i - 1);
            out += "\r\n";
        }
        row_ = i;
        put_row(out, rows[i]);
        column_ = width_of(rows[i].cells);
    }
}

void Presenter::draw_all(std::string& out, const std::vector<show::Line>& finished,
                         const std::vector<Row>& rows) {
    if (is_stale_) {
        if (rows_above_ > 0) out += fmt::format("\x1b[{}A", rows_above_);
        out += '\r';
        if (!drawn_.empty()) out += kEraseBelow;
    } else {
        move_to(out, 0);
        out += '\r';
    }
    for (const auto& line : finished) {
        put_row(out, Row{cells_of(line, columns_)});
        out += "\r\n";
    }
    for (std::size_t i = 0; i < rows.size(); ++i) {
        if (i > 0) out += "\r\n";
        put_row(out, rows[i]);
    }
    row_ = rows.empty() ? 0 : rows.size() - 1;
    column_ = rows.empty() ? 0 : width_of(rows.back().cells);
}

std::string Presenter::draw(const std::vector<show::Line>& finished, const Frame& frame) {
    std::vector<Row> rows;
    // The viewport does not shrink while it is shown: what is below it would be left empty, and the
    // composer would jump. Finished lines use the room up.
    const std::size_t before = is_stale_ ? 0 : std::min(drawn_.size(), rows_max_);
    const std::size_t needed = frame.lines.size() + finished.size();
    const std::size_t padding = before > needed ? before - needed : 0;
    rows.resize(padding);
    for (const auto& line : frame.lines) rows.push_back(Row{cells_of(line, columns_)});
    if (rows.empty()) rows.emplace_back();
    std::string changes;
    if (is_stale_ || !finished.empty())
        draw_all(changes, finished, rows);
    else
        draw_changes(changes, rows);
    drawn_ = std::move(rows);
    is_stale_ = false;
    rows_above_ = 0;
    const std::size_t cursor_row = std::min(padding + frame.cursor_row, drawn_.size() - 1);
    const std::size_t cursor_column =
        std::min(frame.cursor_column, columns_ > 0 ? columns_ - 1 : 0);
    if (changes.empty() && cursor_row == row_ && cursor_column == column_) return "";
    move_to(changes, cursor_row);
    move_to_column(changes, cursor_column);
    return std::string(kBegin) + changes + std::string(kEnd);
}

void Presenter::resize(std::size_t columns, std::size_t rows) {
    if (columns == columns_ && rows == rows_max_) return;
    columns_ = columns;
    rows_max_ = rows;
    redraw();
}

void Presenter::redraw() {
    is_stale_ = true;
    rows_above_ = 0;
    if (drawn_.empty() || columns_ == 0) return;
    // As the terminal has wrapped it.
    rows_above_ = column_ / columns_;
    for (std::size_t i = 0; i < row_ && i < drawn_.size(); ++i) {
        const std::size_t width = width_of(drawn_[i].cells);
        rows_above_ += std::max<std::size_t>(1, (width + columns_ - 1) / columns_);
    }
}

std::string Presenter::leave() {
    if (drawn_.empty()) return "";
    std::string out;
    if (is_stale_) {
        if (rows_above_ > 0) out += fmt::format("\x1b[{}A", rows_above_);
    } else {
        move_to(out, 0);
    }
    out += '\r';
    out += kEraseBelow;
    forget();
    return out;
}

void Presenter::forget() {
    drawn_.clear();
    row_ = column_ = rows_above_ = 0;
    is_stale_ = true;
}

}  // namespace tui
