#include "surfaces/show/markdown/markdown_table.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <string>

#include "surfaces/show/columns.h"

namespace show {
namespace {

constexpr std::string_view kBetween = " │ ";
constexpr std::string_view kCrossing = "─┼─";
constexpr std::size_t kBetweenColumns = 3;
constexpr std::size_t kNarrowest = 8;  // A cell is not wrapped to less.

using Widths = std::vector<std::size_t>;

std::size_t longest_line(const Line& cell) {
    std::size_t longest = 0;
    for (const auto& line : wrapped(cell, kUnbounded))
        longest = std::max(longest, columns_of(line));
    return longest;
}

// The width of each column; empty when the table does not fit.
std::optional<Widths> widths_within(const MarkdownTable& table, std::size_t columns) {
    Widths widths(table.aligns.size(), 1);
    if (widths.empty() || widths.size() > columns / (1 + kBetweenColumns) + 1) return std::nullopt;
    for (const auto& row : table.rows)
        for (std::size_t i = 0; i < std::min(row.size(), widths.size()); ++i)
            widths[i] = std::max(widths[i], std::min(longest_line(row[i]), columns));
    const std::size_t between = kBetweenColumns * (widths.size() - 1);
    if (between >= columns) return std::nullopt;
    std::size_t total = std::accumulate(widths.begin(), widths.end(), between);
    for (; total > columns; --total) {
        const auto widest = std::ranges::max_element(widths);
        if (*widest <= kNarrowest) return std::nullopt;
        --*widest;
    }
    return widths;
}

Line aligned(Line line, std::size_t columns, Align align) {
    const std::size_t used = columns_of(line);
    const std::size_t free = columns > used ? columns - used : 0;
    const std::size_t before = align == Align::Left ? 0 : align == Align::Right ? free : free / 2;
    if (before > 0) line.insert(line.begin(), Span{std::string(before, ' ')});
    return padded(std::move(line), columns);
}

void append(Line& line, const Line& more) {
    line.insert(line.end(), more.begin(), more.end());
}

void add_row(std::vector<Line>& lines, const std::vector<Line>& row, const MarkdownTable& table,
             const Widths& widths) {
    std::vector<std::vector<Line>> cells(widths.size());
    std::size_t height = 1;
    for (std::size_t i = 0; i < std::min(row.size(), widths.size()); ++i) {
        cells[i] = wrapped(row[i], widths[i]);
        height = std::max(height, cells[i].size());
    }
    for (std::size_t k = 0; k < height; ++k) {
        Line line;
        for (std::size_t i = 0; i < widths.size(); ++i) {
            if (i > 0) line.push_back({std::string(kBetween), Face::Dim});
            // No blanks at the end: they would be copied, too.
            const bool is_last = i + 1 == widths.size() && table.aligns[i] == Align::Left;
            Line cell = k < cells[i].size() ? std::move(cells[i][k]) : Line{};
            append(line, is_last ? cell : aligned(std::move(cell), widths[i], table.aligns[i]));
        }
        lines.push_back(std::move(line));
    }
}

Line rule(const Widths& widths) {
    std::string text;
    for (std::size_t i = 0; i < widths.size(); ++i) {
        if (i > 0) text += kCrossing;
        for (std::size_t k = 0; k < widths[i]; ++k) text += "─";
    }
    return {{text, Face::Dim}};
}

// "Name: value", one below the other.
std::vector<Line> stacked_rows(const MarkdownTable& table, std::size_t columns) {
    std::vector<Line> lines;
    const auto& heading = table.rows.front();
    for (std::size_t r = table.rows.size() > 1 ? 1 : 0; r < table.rows.size(); ++r) {
        if (!lines.empty()) lines.emplace_back();
        for (std::size_t i = 0; i < table.rows[r].size(); ++i) {
            const Line& cell = table.rows[r][i];
            if (text_of(cell).empty()) continue;
            Line line;
            if (r > 0 && i < heading.size() && !text_of(heading[i]).empty()) {
                line = heading[i];
                line.push_back({": "});
            }
            append(line, cell);
            for (auto& part : wrapped(line, columns)) lines.push_back(std::move(part));
        }
    }
    return lines;
}

}  // namespace

std::vector<Line> table_lines(const MarkdownTable& table, std::size_t columns) {
    if (table.rows.empty()) return {};
    const auto widths = widths_within(table, columns);
    if (!widths) return stacked_rows(table, columns);
    std::vector<Line> lines;
    for (std::size_t r = 0; r < table.rows.size(); ++r) {
        add_row(lines, table.rows[r], table, *widths);
        if (r == 0) lines.push_back(rule(*widths));
    }
    return lines;
}

}  // namespace show
