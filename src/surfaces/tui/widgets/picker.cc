#include "surfaces/tui/widgets/picker.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "base/text.h"
#include "surfaces/show/columns.h"
#include "surfaces/tui/compose/draft.h"
#include "surfaces/tui/compose/words.h"

namespace tui {
namespace {

constexpr auto kWholeList = std::numeric_limits<std::ptrdiff_t>::max() / 2;
constexpr std::string_view kDivider = " │ ";
constexpr std::size_t kDividerColumns = 3;
constexpr std::size_t kListColumnsMax = 48;
constexpr std::size_t kListRowsMin = 3;  // Above the detail.
constexpr std::size_t kDepthMax = 8;

// All words of the filter, in any order.
bool passes(const Row& row, std::string_view filter) {
    const std::string text = show::text_of(row.line) + " " + row.id;
    while (!(filter = base::trim(filter)).empty()) {
        const std::size_t end = std::min(filter.find(' '), filter.size());
        if (find_words(text, filter.substr(0, end), 0) == std::string::npos) return false;
        filter.remove_prefix(end);
    }
    return true;
}

show::Line row_of_list(const Row& row, bool is_selected, std::size_t columns) {
    const std::size_t depth = std::min(static_cast<std::size_t>(std::max(row.depth, 0)), kDepthMax);
    show::Line line{{is_selected ? "> " : "  "}, {std::string(2 * depth, ' ')}};
    line.insert(line.end(), row.line.begin(), row.line.end());
    line = show::fitted(line, columns);
    if (!is_selected) return line;
    // The bar is as long as the list is wide, and of one face: colours on it could not be read.
    return {{show::padded(show::text_of(line), columns), show::Face::Selected}};
}

}  // namespace

void Picker::set_rows(std::vector<Row> rows) {
    const auto kept = selected();
    const std::size_t at = selected_;
    rows_ = std::move(rows);
    match();
    selected_ = std::min(at, shown_.empty() ? 0 : shown_.size() - 1);
    for (std::size_t i = 0; kept && i < shown_.size(); ++i)
        if (rows_[shown_[i]].id == *kept) selected_ = i;
}

void Picker::set_detail(std::vector<show::Line> detail) {
    detail_ = std::move(detail);
}

void Picker::allow_filter(bool allows) {
    allows_filter_ = allows;
    if (!allows) set_filter("");
}

bool Picker::on_key(const Key& key, std::size_t rows) {
    const auto half = static_cast<std::ptrdiff_t>(std::max<std::size_t>(rows / 2, 1));
    switch (key.name) {
        case KeyName::Up:
            return move(-1);
        case KeyName::Down:
            return move(1);
        case KeyName::PageUp:
            return scroll(-half);
        case KeyName::PageDown:
            return scroll(half);
        case KeyName::Home:
            return scroll(-kWholeList);
        case KeyName::End:
            return scroll(kWholeList);
        case KeyName::Escape:
            if (filter_.empty()) return false;
            set_filter("");
            return true;
        case KeyName::Backspace:
            if (filter_.empty()) return false;
            set_filter(filter_.substr(0, show::last_grapheme(filter_)));
            return true;
        case KeyName::Character:
        case KeyName::Paste:
            return on_character(key);
        case KeyName::Enter:
        case KeyName::Tab:
        case KeyName::Delete:
        case KeyName::Left:
        case KeyName::Right:
        case KeyName::FocusIn:
        case KeyName::FocusOut:
            return false;
    }
    return false;
}

bool Picker::on_character(const Key& key) {
    if (key.ctrl && key.text == "p") return move(-1);
    if (key.ctrl && key.text == "n") return move(1);
    if (key.ctrl || key.alt) return false;
    if (!allows_filter_) {
        if (key.text == "k") return move(-1);
        return key.text == "j" && move(1);
    }
    std::string typed = clean(key.text);
    std::erase(typed, '\n');
    if (filter_.size() + typed.size() <= kFilterBytesMax) set_filter(filter_ + typed);
    return true;
}

bool Picker::move(std::ptrdiff_t by) {
    if (shown_.empty()) return true;
    const auto last = static_cast<std::ptrdiff_t>(shown_.size()) - 1;
    const auto to =
        std::clamp(static_cast<std::ptrdiff_t>(selected_) + by, std::ptrdiff_t{0}, last);
    if (static_cast<std::size_t>(to) != selected_) detail_top_ = 0;
    selected_ = static_cast<std::size_t>(to);
    return true;
}

bool Picker::scroll(std::ptrdiff_t by) {
    if (detail_.empty()) return move(by);
    const auto last =
        static_cast<std::ptrdiff_t>(detail_.size() - std::min(detail_.size(), detail_rows_));
    const auto from = std::min(static_cast<std::ptrdiff_t>(detail_top_), last);
    detail_top_ = static_cast<std::size_t>(std::clamp(from + by, std::ptrdiff_t{0}, last));
    return true;
}

void Picker::set_filter(std::string filter) {
    const auto kept = selected();
    filter_ = std::move(filter);
    match();
    selected_ = 0;
    for (std::size_t i = 0; kept && i < shown_.size(); ++i)
        if (rows_[shown_[i]].id == *kept) selected_ = i;
}

void Picker::match() {
    shown_.clear();
    for (std::size_t i = 0; i < rows_.size(); ++i)
        if (passes(rows_[i], filter_)) shown_.push_back(i);
}

std::optional<std::string> Picker::selected() const {
    if (selected_ >= shown_.size()) return std::nullopt;
    return rows_[shown_[selected_]].id;
}

std::size_t Picker::filter_rows() const {
    return filter_.empty() ? 0 : 1;
}

std::vector<show::Line> Picker::list(std::size_t columns, std::size_t rows) const {
    std::vector<show::Line> lines;
    std::size_t selected_line = 0;
    std::string group;
    for (std::size_t i = 0; i < shown_.size(); ++i) {
        const Row& row = rows_[shown_[i]];
        if (row.group != group && !row.group.empty())
            lines.push_back(
                show::fitted({{base::printable(row.group), show::Face::Bold}}, columns));
        group = row.group;
        if (i == selected_) selected_line = lines.size();
        lines.push_back(row_of_list(row, i == selected_, columns));
    }
    if (shown_.empty())
        lines.push_back(show::fitted(
            {{rows_.empty() ? "nothing here" : "nothing matches; Esc clears the filter",
              show::Face::Dim}},
            columns));
    // The selection stays in sight, in the middle of a long list.
    const std::size_t last = lines.size() - std::min(lines.size(), rows);
    const std::size_t top = std::min(selected_line - std::min(selected_line, rows / 2), last);
    lines.erase(lines.begin(), lines.begin() + static_cast<std::ptrdiff_t>(top));
    lines.resize(rows);
    return lines;
}

std::vector<show::Line> Picker::detail(std::size_t columns, std::size_t rows) const {
    detail_rows_ = rows;
    const std::size_t last = detail_.size() - std::min(detail_.size(), rows);
    const std::size_t top = std::min(detail_top_, last);
    std::vector<show::Line> lines;
    for (std::size_t i = top; i < std::min(top + rows, detail_.size()); ++i)
        lines.push_back(show::fitted(detail_[i], columns));
    lines.resize(rows);
    return lines;
}

std::vector<show::Line> Picker::view(std::size_t columns, std::size_t rows) const {
    std::vector<show::Line> view;
    if (filter_rows() > 0 && rows > 0) {
        view.push_back(show::fitted(
            {{"filter: ", show::Face::Dim}, {base::printable(filter_), show::Face::Bold}},
            columns));
        --rows;
    }
    if (detail_.empty()) {
        for (auto& line : list(columns, rows)) view.push_back(std::move(line));
    } else if (columns >= kDetailBesideColumns) {
        const std::size_t left = std::min(columns * 2 / 5, kListColumnsMax);
        const auto lines = list(left, rows);
        const auto details = detail(columns - left - kDividerColumns, rows);
        for (std::size_t i = 0; i < rows; ++i) {
            show::Line line = show::padded(lines[i], left);
            line.push_back({std::string(kDivider), show::Face::Dim});
            line.insert(line.end(), details[i].begin(), details[i].end());
            view.push_back(std::move(line));
        }
    } else {
        const std::size_t above =
            std::min(rows, std::max(kListRowsMin, std::min(rows / 2, shown_.size() + 1)));
        for (auto& line : list(columns, above)) view.push_back(std::move(line));
        if (rows > above) {
            std::string rule;
            for (std::size_t i = 0; i < columns; ++i) rule += "─";
            view.push_back({{std::move(rule), show::Face::Dim}});
            for (auto& line : detail(columns, rows - above - 1)) view.push_back(std::move(line));
        }
    }
    return view;
}

}  // namespace tui
