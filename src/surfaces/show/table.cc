#include "surfaces/show/table.h"

#include <algorithm>
#include <numeric>

#include "surfaces/show/columns.h"

namespace show {
namespace {

constexpr std::size_t kGap = 2;
constexpr std::size_t kCellMin = 26;  // Has room for a time.
constexpr std::size_t kLastMin = 16;

std::vector<std::size_t> widths_of(const Rows& rows) {
    std::vector<std::size_t> widths;
    for (const auto& row : rows) {
        widths.resize(std::max(widths.size(), row.size()));
        for (std::size_t i = 0; i < row.size(); ++i)
            widths[i] = std::max(widths[i], columns_of(row[i]));
    }
    return widths;
}

std::size_t total(const std::vector<std::size_t>& widths) {
    return std::accumulate(widths.begin(), widths.end(), std::size_t{0}) +
           (widths.empty() ? 0 : kGap * (widths.size() - 1));
}

// How far a column may be cut.
std::size_t least(const std::vector<std::size_t>& widths, std::size_t column) {
    return std::min(widths[column], column + 1 == widths.size() ? kLastMin : kCellMin);
}

// Takes from the widest columns, the first excepted, until all fit. False when they cannot.
bool narrow(std::vector<std::size_t>& widths, std::size_t columns) {
    std::vector<std::size_t> spare(widths.size());
    for (std::size_t i = 1; i < widths.size(); ++i) spare[i] = widths[i] - least(widths, i);
    while (total(widths) > columns) {
        const auto most = std::ranges::max_element(spare);
        if (most == spare.end() || *most == 0) return false;
        --*most;
        --widths[static_cast<std::size_t>(most - spare.begin())];
    }
    return true;
}

std::string line_of(const std::vector<std::string>& cells, const std::vector<std::size_t>& widths) {
    std::string line;
    for (std::size_t i = 0; i < cells.size(); ++i) {
        const std::string cell = i == 0 ? cells[i] : fitted(cells[i], widths[i]);
        line += i + 1 < cells.size() ? padded(cell, widths[i]) + std::string(kGap, ' ') : cell;
    }
    while (line.ends_with(' ')) line.pop_back();
    return line;
}

std::string stacked(const std::vector<std::string>& cells, std::size_t columns) {
    std::string rest;
    for (std::size_t i = 1; i < cells.size(); ++i)
        if (!cells[i].empty()) rest += (rest.empty() ? "" : " · ") + cells[i];
    if (rest.empty()) return cells.front();
    const std::size_t room = columns > kGap ? columns - kGap : 1;
    auto lines = wrapped(rest, room);
    if (lines.size() > kStackedLines) {
        auto& last = lines[kStackedLines - 1];
        last = fitted(last + " " + lines[kStackedLines], room);
        if (!last.ends_with("…")) last += "…";
        last = fitted(last, room);
        lines.resize(kStackedLines);
    }
    std::string text = cells.front();
    for (const auto& line : lines) text += "\n" + std::string(kGap, ' ') + line;
    return text;
}

}  // namespace

std::string table(const Rows& rows, std::size_t columns) {
    auto widths = widths_of(rows);
    // A cut cell takes its columns one by one, so wide ones are first cut to what could fit at all.
    for (std::size_t i = 1; i < widths.size(); ++i) widths[i] = std::min(widths[i], columns);
    const bool fits = narrow(widths, columns);
    std::string text;
    for (const auto& row : rows) {
        if (row.empty()) continue;
        if (!text.empty()) text += "\n";
        text += fits ? line_of(row, widths) : stacked(row, columns);
    }
    return text;
}

}  // namespace show
