// A draft in rows of a width. Every byte of the text is in exactly one row, newlines excepted, so
// that the cursor has one place.
#pragma once

#include <cstddef>
#include <vector>

#include "surfaces/show/line.h"
#include "surfaces/tui/compose/draft.h"

namespace tui {

struct DraftRow {
    std::size_t begin{0};  // Bytes of the draft's text.
    std::size_t end{0};
    friend bool operator==(const DraftRow&, const DraftRow&) = default;
};

inline constexpr std::size_t kDraftColumnsMin = 4;

inline constexpr std::size_t kLinesAround = 16;  // More than are drawn at once.

// The rows of the lines around the cursor, at least one: its first and last are those of the draft
// where the cursor is fewer than kLinesAround lines away from them. Rows are broken behind a blank
// where there is one. A row has at most `columns` - 1 cells, or as many with the blank at its end:
// the cursor has room behind it.
std::vector<DraftRow> draft_rows(const Draft& draft, std::size_t columns);
// The row that this byte is in: the later one where two meet.
std::size_t row_of(const std::vector<DraftRow>& rows, std::size_t at);
// Cells of the row before this byte.
std::size_t cells_before(const Draft& draft, const DraftRow& row, std::size_t at,
                         std::size_t columns);
// The byte of the row that is nearest to this many cells, not behind them.
std::size_t byte_at(const Draft& draft, const DraftRow& row, std::size_t cells,
                    std::size_t columns);
show::Line row_line(const Draft& draft, const DraftRow& row, std::size_t columns);

}  // namespace tui
