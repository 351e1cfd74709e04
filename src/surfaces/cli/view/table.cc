#include "surfaces/cli/view/table.h"

#include <algorithm>
#include <numeric>

#include "surfaces/cli/view/columns.h"

namespace cli {
namespace {

constexpr std::size_t kGap = 2;
constexpr std::size_t kCellMin = 6;  // A narrower cell says nothing.

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

// Takes from the widest columns, the first excepted, until all fit. False when they cannot.
bool narrow(std::vector<std::size_t>& widths, std::size_t columns) {
    while (total(widths) > columns) {
        if (widths.size() < 2) return false;
        const auto widest = std::max_element(widths.begin() + 1, widths.end());
        if (*widest <= kCellMin) return false;
        --*widest;
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
    return cells.front() + (rest.empty() ? "" : "\n" + fitted("  " + rest, columns));
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

}  // namespace cli
