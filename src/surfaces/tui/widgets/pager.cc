#include "surfaces/tui/widgets/pager.h"

#include <algorithm>
#include <limits>
#include <utility>

#include <fmt/format.h>

#include "base/text.h"
#include "surfaces/show/columns.h"
#include "surfaces/tui/compose/draft.h"
#include "surfaces/tui/compose/words.h"

namespace tui {
namespace {

constexpr auto kFar = std::numeric_limits<std::ptrdiff_t>::max() / 2;

// The line with the words marked wherever they are.
show::Line marked(const show::Line& line, const std::string& words) {
    const std::string text = show::text_of(line);
    std::vector<bool> is_hit(text.size(), false);
    bool has_hit = false;
    for (std::size_t at = find_words(text, words, 0); at != std::string::npos;
         at = find_words(text, words, at + words.size())) {
        has_hit = true;
        for (std::size_t i = at; i < at + words.size(); ++i) is_hit[i] = true;
    }
    if (!has_hit) return line;
    show::Line out;
    std::size_t at = 0;
    for (const auto& span : line)
        for (const char c : span.text) {
            const auto face = is_hit[at++] ? show::Face::Selected : span.face;
            if (out.empty() || out.back().face != face) out.push_back({.text = "", .face = face});
            out.back().text += c;
        }
    return out;
}

}  // namespace

void Pager::set_lines(std::vector<show::Line> lines) {
    lines_ = std::move(lines);
    if (!search_) return;
    search_->hits = lines_with(lines_, search_->words);
    if (search_->hits.empty()) search_->at.reset();
    if (search_->at) search_->at = std::min(*search_->at, search_->hits.size() - 1);
}

void Pager::follow_end(bool follows) {
    follows_ = follows;
    is_at_end_ = follows;
}

bool Pager::on_key(const Key& key, std::size_t rows) {
    if (search_ && search_->is_typed) return on_search_key(key, rows);
    const auto page = static_cast<std::ptrdiff_t>(std::max<std::size_t>(text_rows(rows), 2)) - 1;
    switch (key.name) {
        case KeyName::Up:
            scroll(-1, rows);
            return true;
        case KeyName::Down:
            scroll(1, rows);
            return true;
        case KeyName::PageUp:
            scroll(-page, rows);
            return true;
        case KeyName::PageDown:
            scroll(page, rows);
            return true;
        case KeyName::Home:
            scroll(-kFar, rows);
            return true;
        case KeyName::End:
            scroll(kFar, rows);
            return true;
        case KeyName::Escape:
            return std::exchange(search_, std::nullopt).has_value();
        case KeyName::Character:
            return on_character(key, rows);
        case KeyName::Paste:
        case KeyName::Enter:
        case KeyName::Tab:
        case KeyName::Backspace:
        case KeyName::Delete:
        case KeyName::Left:
        case KeyName::Right:
        case KeyName::FocusIn:
        case KeyName::FocusOut:
            return false;
    }
    return false;
}

bool Pager::on_character(const Key& key, std::size_t rows) {
    if (key.ctrl || key.alt || key.text.size() != 1) return false;
    const auto page = static_cast<std::ptrdiff_t>(std::max<std::size_t>(text_rows(rows), 2)) - 1;
    switch (key.text.front()) {
        case 'k':
            scroll(-1, rows);
            return true;
        case 'j':
            scroll(1, rows);
            return true;
        case 'b':
            scroll(-page, rows);
            return true;
        case ' ':
            scroll(page, rows);
            return true;
        case 'g':
            scroll(-kFar, rows);
            return true;
        case 'G':
            scroll(kFar, rows);
            return true;
        case '/':
            search_ = Search{.is_typed = true};
            return true;
        case 'n':
        case 'N': {
            if (!search_ || search_->hits.empty()) return search_.has_value();
            const std::size_t count = search_->hits.size();
            const std::size_t step = key.text == "n" ? 1 : count - 1;
            go_to_hit((search_->at.value_or(0) + step) % count, rows);
            return true;
        }
        case 'y':
            copy(rows);
            return true;
        default:
            return false;
    }
}

bool Pager::on_search_key(const Key& key, std::size_t rows) {
    auto& words = search_->words;
    if (key.name == KeyName::Escape) {
        search_.reset();
    } else if (key.name == KeyName::Enter) {
        search_->is_typed = false;
        if (words.empty()) search_.reset();
    } else if (key.name == KeyName::Backspace) {
        if (words.empty()) {
            search_.reset();
            return true;
        }
        words.resize(show::last_grapheme(words));
        search(rows);
    } else if ((key.name == KeyName::Character && !key.ctrl && !key.alt) ||
               key.name == KeyName::Paste) {
        const std::string text = clean(key.text);
        const std::string_view line = std::string_view(text).substr(0, text.find('\n'));
        if (words.size() + line.size() <= kPagerSearchBytesMax) words += line;
        search(rows);
    }
    return true;
}

// Finds the words from the first line in view on.
void Pager::search(std::size_t rows) {
    search_->hits = lines_with(lines_, search_->words);
    search_->at.reset();
    if (search_->hits.empty()) return;
    const auto next = std::ranges::lower_bound(search_->hits, top(rows));
    go_to_hit(
        next == search_->hits.end() ? 0 : static_cast<std::size_t>(next - search_->hits.begin()),
        rows);
}

void Pager::go_to_hit(std::size_t hit, std::size_t rows) {
    search_->at = hit;
    const std::size_t line = search_->hits[hit];
    const std::size_t first = top(rows);
    if (line >= first && line < first + text_rows(rows)) return;
    is_at_end_ = false;
    top_ = line - std::min(line, text_rows(rows) / 2);
}

void Pager::scroll(std::ptrdiff_t by, std::size_t rows) {
    const std::size_t count = text_rows(rows);
    const auto last = static_cast<std::ptrdiff_t>(lines_.size() - std::min(lines_.size(), count));
    const auto from = static_cast<std::ptrdiff_t>(top(rows));
    const auto to = std::clamp(from + by, std::ptrdiff_t{0}, last);
    top_ = static_cast<std::size_t>(to);
    is_at_end_ = follows_ && to == last;
}

void Pager::copy(std::size_t rows) {
    std::size_t from = top(rows);
    std::size_t to = std::min(from + text_rows(rows), lines_.size());
    if (search_ && search_->at) {
        from = search_->hits[*search_->at];
        to = from + 1;
    }
    std::string text;
    for (std::size_t i = from; i < to; ++i) text += show::text_of(lines_[i]) + "\n";
    copied_ = std::move(text);
}

std::optional<std::string> Pager::take_copied() {
    return std::exchange(copied_, std::nullopt);
}

std::size_t Pager::text_rows(std::size_t rows) const {
    return rows - std::min<std::size_t>(rows, search_ ? 1 : 0);
}

std::size_t Pager::top(std::size_t rows) const {
    const std::size_t last = lines_.size() - std::min(lines_.size(), text_rows(rows));
    return is_at_end_ ? last : std::min(top_, last);
}

std::vector<show::Line> Pager::view(std::size_t columns, std::size_t rows) const {
    std::vector<show::Line> view;
    const std::size_t first = top(rows);
    for (std::size_t i = first; i < std::min(first + text_rows(rows), lines_.size()); ++i) {
        const bool is_marked = search_ && !search_->words.empty();
        view.push_back(
            show::fitted(is_marked ? marked(lines_[i], search_->words) : lines_[i], columns));
    }
    view.resize(text_rows(rows));
    if (!search_ || rows == 0) return view;
    const std::string where =
        search_->words.empty() ? ""
        : search_->at          ? fmt::format("  {} of {}", *search_->at + 1, search_->hits.size())
                               : "  not found";
    view.push_back(show::fitted(
        {{"/" + base::printable(search_->words), show::Face::Bold}, {where, show::Face::Dim}},
        columns));
    return view;
}

}  // namespace tui
