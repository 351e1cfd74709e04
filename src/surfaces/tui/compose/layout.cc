#include "surfaces/tui/compose/layout.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "base/text.h"
#include "surfaces/show/columns.h"

namespace tui {
namespace {

constexpr std::string_view kTabShown = "    ";

struct Cell {
    std::size_t bytes{0};  // Of the draft's text.
    std::string shown;
    std::size_t columns{0};
};

// From the begin of the line that is kLinesAround before the cursor's to the end of the one that is
// as many behind it: a row of a long draft costs no more than one of a short draft.
std::pair<std::size_t, std::size_t> lines_around(const Draft& draft) {
    const std::string& text = draft.text();
    std::size_t first = draft.line_begin();
    for (std::size_t i = 0; i < kLinesAround && first > 0; ++i) {
        const std::size_t newline = first < 2 ? std::string::npos : text.rfind('\n', first - 2);
        first = newline == std::string::npos ? 0 : newline + 1;
    }
    std::size_t last = draft.line_end();
    for (std::size_t i = 0; i < kLinesAround && last < text.size(); ++i)
        last = std::min(text.find('\n', last + 1), text.size());
    return {first, last};
}

// What is drawn of the character at this byte, never more than `columns` - 1 cells.
Cell cell_at(const Draft& draft, std::size_t at, std::size_t columns) {
    const std::string_view rest = std::string_view(draft.text()).substr(at);
    if (rest.front() == '\t')
        return {1, std::string(kTabShown.substr(0, columns - 1)),
                std::min(kTabShown.size(), columns - 1)};
    if (rest.front() == Passage::kFold) {
        std::string label = show::fitted(draft.label_at(at), columns - 1);
        const std::size_t taken = show::columns_of(label);
        return {1, std::move(label), taken};
    }
    const std::size_t bytes = show::grapheme_bytes(rest);
    if (bytes == 1) return {1, std::string(1, rest.front()), 1};
    std::string shown = base::printable(rest.substr(0, bytes));
    std::size_t taken = show::columns_of(shown);
    if (taken >= columns) {
        shown = show::fitted(shown, columns - 1);
        taken = show::columns_of(shown);
    }
    return {bytes, std::move(shown), taken};
}

}  // namespace

std::vector<DraftRow> draft_rows(const Draft& draft, std::size_t columns) {
    columns = std::max(columns, kDraftColumnsMin);
    const auto [first, last] = lines_around(draft);
    const std::string_view text = std::string_view(draft.text()).substr(0, last);
    std::vector<DraftRow> rows;
    std::size_t begin = first;
    std::size_t used = 0;
    std::optional<std::size_t> blank_end;  // Where this row can be broken,
    std::size_t used_at_blank = 0;         // and its cells up to there.
    const auto end_row = [&](std::size_t end, std::size_t next) {
        rows.push_back({begin, end});
        begin = next;
        used = 0;
        blank_end.reset();
    };
    for (std::size_t at = first; at < text.size();) {
        if (text[at] == '\n') {
            end_row(at, at + 1);
            ++at;
            continue;
        }
        const Cell cell = cell_at(draft, at, columns);
        const bool is_blank = text[at] == ' ';
        if (used + cell.columns > columns - (is_blank ? 0 : 1)) {
            const std::size_t kept = used - (blank_end ? used_at_blank : used);
            const std::size_t end = blank_end.value_or(at);
            end_row(end, end);
            used = kept;
            continue;  // It may be too much for the rest of a broken row, too.
        }
        used += cell.columns;
        at += cell.bytes;
        if (is_blank) {
            blank_end = at;
            used_at_blank = used;
        }
    }
    rows.push_back({begin, text.size()});
    return rows;
}

std::size_t row_of(const std::vector<DraftRow>& rows, std::size_t at) {
    const auto after = std::ranges::upper_bound(rows, at, {}, &DraftRow::begin);
    return after == rows.begin() ? 0 : static_cast<std::size_t>(after - rows.begin()) - 1;
}

std::size_t cells_before(const Draft& draft, const DraftRow& row, std::size_t at,
                         std::size_t columns) {
    columns = std::max(columns, kDraftColumnsMin);
    std::size_t cells = 0;
    for (std::size_t i = row.begin; i < std::min(at, row.end);) {
        const Cell cell = cell_at(draft, i, columns);
        cells += cell.columns;
        i += cell.bytes;
    }
    return cells;
}

std::size_t byte_at(const Draft& draft, const DraftRow& row, std::size_t cells,
                    std::size_t columns) {
    columns = std::max(columns, kDraftColumnsMin);
    std::size_t at = row.begin;
    std::size_t before = row.begin;
    for (std::size_t used = 0; at < row.end;) {
        const Cell cell = cell_at(draft, at, columns);
        if (used + cell.columns > cells) break;
        used += cell.columns;
        before = at;
        at += cell.bytes;
    }
    // The end of a broken row is the begin of the next one, where the cursor would be drawn.
    const bool is_broken = row.end < draft.text().size() && draft.text()[row.end] != '\n';
    return at == row.end && is_broken ? before : at;
}

show::Line row_line(const Draft& draft, const DraftRow& row, std::size_t columns) {
    columns = std::max(columns, kDraftColumnsMin);
    show::Line line;
    for (std::size_t at = row.begin; at < row.end;) {
        Cell cell = cell_at(draft, at, columns);
        const auto face =
            draft.text()[at] == Passage::kFold ? show::Face::Accent : show::Face::Plain;
        if (line.empty() || line.back().face != face) line.push_back({.text = "", .face = face});
        line.back().text += cell.shown;
        at += cell.bytes;
    }
    return line;
}

}  // namespace tui
