#include "surfaces/tui/compose/composer.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "base/text.h"
#include "surfaces/show/columns.h"
#include "surfaces/tui/compose/commands.h"
#include "surfaces/tui/compose/layout.h"

namespace tui {
namespace {

static_assert(kLinesAround > kComposerRowsMax);

constexpr std::string_view kPrompt = "> ";
constexpr std::size_t kColumnsMin = kPrompt.size() + kDraftColumnsMin;
constexpr std::size_t kEntryShownChars = 400;  // Of an entry of the history, in a menu.

const Composed kNothing{};
const Composed kUnused{.what = Composed::What::Unused};

bool is_blank_text(std::string_view text) {
    return base::trim(text).empty();
}

// The arrow that a key stands for.
Key as_arrow(const Key& key) {
    if (key.name != KeyName::Character || !key.ctrl) return key;
    if (key.text == "p") return {.name = KeyName::Up};
    if (key.text == "n") return {.name = KeyName::Down};
    return key;
}

std::size_t draft_columns(std::size_t columns) {
    return std::max(columns, kColumnsMin) - kPrompt.size();
}

}  // namespace

Composer::Composer(ComposerParts parts) : parts_(std::move(parts)) {}

Composed Composer::on_key(const Key& pressed) {
    const Key key = as_arrow(pressed);
    if (key.name == KeyName::FocusIn || key.name == KeyName::FocusOut) return kUnused;
    const bool again = std::exchange(is_escaped_, false);
    if (key.name != KeyName::Up && key.name != KeyName::Down) goal_.reset();
    if (key.name != KeyName::Character) is_typing_ = false;
    if (!key.ctrl && !key.alt) is_killing_ = false;

    if (search_) return on_search_key(key);
    if (menu_)
        if (auto done = on_menu_key(key)) return *std::move(done);
    const bool by_word = key.ctrl || key.alt;
    switch (key.name) {
        case KeyName::Character:
            return on_character(key);
        case KeyName::Paste:
            return insert(pasted(key.text));
        case KeyName::Enter:
            return on_enter(key);
        case KeyName::Escape:
            return on_escape(again);
        case KeyName::Backspace:
            return by_word ? kill(draft_.word_left(), draft_.cursor(), Kill::Before)
                           : remove(draft_.left(), draft_.cursor());
        case KeyName::Delete:
            return by_word ? kill(draft_.cursor(), draft_.word_right(), Kill::Behind)
                           : remove(draft_.cursor(), draft_.right());
        case KeyName::Left:
            return move(by_word ? draft_.word_left() : draft_.left());
        case KeyName::Right:
            return move(by_word ? draft_.word_right() : draft_.right());
        case KeyName::Home:
            return move(key.ctrl ? 0 : draft_.line_begin());
        case KeyName::End:
            return move(key.ctrl ? draft_.text().size() : draft_.line_end());
        case KeyName::Up:
            return move_row(true);
        case KeyName::Down:
            return move_row(false);
        case KeyName::Tab:
        case KeyName::PageUp:
        case KeyName::PageDown:
        case KeyName::FocusIn:
        case KeyName::FocusOut:
            return kUnused;
    }
    return kUnused;
}

Composed Composer::on_character(const Key& key) {
    if (key.ctrl) return on_control(key.text.size() == 1 ? key.text.front() : '\0');
    if (key.alt) return on_alt(key.text);
    Passage typed{.text = clean(key.text)};
    if (typed.text.empty()) return kNothing;
    // A blank begins a new step, so that undo goes back by words.
    if (!is_typing_ || typed.text == " ") remember();
    is_typing_ = true;
    return insert(typed);
}

Composed Composer::on_control(char letter) {
    is_typing_ = false;
    const std::size_t cursor = draft_.cursor();
    switch (letter) {
        case 'a':
            return move(draft_.line_begin());
        case 'e':
            return move(draft_.line_end());
        case 'b':
            return move(draft_.left());
        case 'f':
            return move(draft_.right());
        case 'h':
            return remove(draft_.left(), cursor);
        case 'd':
            return is_empty() ? kUnused : remove(cursor, draft_.right());
        case 'j':
            return insert({.text = "\n"});
        case 'u':
            return kill(draft_.line_begin(), cursor, Kill::Before);
        case 'w':
            return kill(draft_.blank_left(), cursor, Kill::Before);
        case 'k': {
            const std::size_t end = draft_.line_end();  // Behind it, the newline goes.
            return kill(cursor, end > cursor ? end : draft_.right(), Kill::Behind);
        }
        case 'y':
            return insert(killed_);
        case '_':
        case '/':
            return undo();
        case 'r':
            menu_.reset();
            search_.emplace();
            find();
            return kNothing;
        case 'g':
            return {.what = Composed::What::Editor, .text = text()};
        default:
            return kUnused;
    }
}

Composed Composer::on_alt(const std::string& text) {
    is_typing_ = false;
    if (text == "b") return move(draft_.word_left());
    if (text == "f") return move(draft_.word_right());
    if (text == "d") return kill(draft_.cursor(), draft_.word_right(), Kill::Behind);
    return kUnused;
}

Composed Composer::on_enter(const Key& key) {
    if (key.shift || key.alt || key.ctrl) return insert({.text = "\n"});
    const std::size_t cursor = draft_.cursor();
    if (cursor > 0 && cursor == draft_.line_end() && draft_.text()[cursor - 1] == '\\') {
        remember();
        draft_.erase(cursor - 1, cursor);
        draft_.insert({.text = "\n"});
        changed();
        return kNothing;
    }
    return submit();
}

Composed Composer::on_escape(bool again) {
    if (is_empty()) return kUnused;
    if (!again) {
        is_escaped_ = true;
        return {.text = "Esc again clears the draft; it stays in the history"};
    }
    keep_stash();
    if (!is_blank_text(text())) history_.add(text());
    remember();
    clear();
    changed();
    return kNothing;
}

std::optional<Composed> Composer::on_menu_key(const Key& key) {
    const std::size_t count = menu_->offers.size();
    switch (key.name) {
        case KeyName::Up:
        case KeyName::Down:
            menu_->selected = (menu_->selected + (key.name == KeyName::Up ? count - 1 : 1)) % count;
            menu_->is_chosen = true;
            return kNothing;
        case KeyName::Tab:
            complete();
            return kNothing;
        case KeyName::Escape:
            menu_.reset();
            return kNothing;
        case KeyName::Enter:
            if (key.shift || key.alt || key.ctrl) return std::nullopt;
            return on_menu_enter();
        default:
            return std::nullopt;
    }
}

// A command that changes something must be written out, so that no slip of a finger runs it: what
// is typed only in part is completed first, and runs with the next Enter.
Composed Composer::on_menu_enter() {
    const Menu menu = *menu_;
    const Offer& offer = menu.offers[menu.selected];
    const std::string typed = draft_.text().substr(menu.begin, menu.end - menu.begin);
    const bool is_single = menu.offers.size() == 1;
    switch (menu.kind) {
        case Menu::Kind::Commands: {
            const bool is_whole = find_command(typed) != nullptr ||
                                  (is_prompt_word(typed) && menu.offers.front().text == typed);
            if (is_whole && (!menu.is_chosen || offer.text == typed)) return submit();
            const CommandSpec* const spec = find_command(offer.text);
            const bool runs =
                spec != nullptr && spec->arguments_min == 0 &&
                (spec->has_effects ? menu.is_chosen && is_single : menu.is_chosen || is_single);
            complete();
            return runs ? submit() : kNothing;
        }
        case Menu::Kind::Arguments: {
            if (!menu.is_chosen || offer.text == typed) return submit();
            const CommandSpec* const spec =
                find_command(base::trim(std::string_view(draft_.text()).substr(0, menu.begin)));
            complete();
            const bool is_whole = !offer.text.ends_with(' ');
            return spec != nullptr && !spec->has_effects && is_whole ? submit() : kNothing;
        }
        case Menu::Kind::Files:
            if (!menu.is_chosen &&
                std::ranges::find(menu.offers, typed, &Offer::text) != menu.offers.end())
                return submit();
            complete();
            return kNothing;
    }
    return kNothing;
}

Composed Composer::on_search_key(const Key& key) {
    auto& search = *search_;
    const std::size_t count = search.found.size();
    const bool is_control = key.name == KeyName::Character && (key.ctrl || key.alt);
    if (key.name == KeyName::Down || (is_control && key.ctrl && key.text == "r")) {
        if (count > 0) search.selected = (search.selected + 1) % count;
    } else if (key.name == KeyName::Up || (is_control && key.ctrl && key.text == "s")) {
        if (count > 0) search.selected = (search.selected + count - 1) % count;
    } else if (key.name == KeyName::Backspace || (is_control && key.ctrl && key.text == "h")) {
        search.words.resize(show::last_grapheme(search.words));
        find();
    } else if (key.name == KeyName::Escape || (is_control && key.ctrl && key.text == "g")) {
        search_.reset();
    } else if ((key.name == KeyName::Character && !is_control) || key.name == KeyName::Paste) {
        const std::string words = clean(key.text);
        const std::string_view line = std::string_view(words).substr(0, words.find('\n'));
        if (search.words.size() + line.size() <= kSearchBytesMax) search.words += line;
        find();
    } else if (is_control) {
        return kUnused;
    } else {  // Any other key takes what is selected.
        if (count > 0) {
            remember();
            const std::string entry = history_.entries()[search.found[search.selected]];
            draft_.set({.text = entry}, entry.size());
            changed();
            menu_.reset();
        }
        search_.reset();
    }
    return kNothing;
}

Composed Composer::submit() {
    std::string whole = text();
    if (is_blank_text(whole)) return kUnused;
    if (whole.starts_with("//")) return {.what = Composed::What::Send, .text = whole.substr(1)};
    const std::string_view word = std::string_view(whole).substr(0, whole.find_first_of(" \t\n"));
    const bool is_command = find_command(word) != nullptr || is_prompt_word(word);
    const auto what = is_command ? Composed::What::Command : Composed::What::Send;
    return {.what = what, .text = std::move(whole)};
}

Composed Composer::insert(const Passage& passage) {
    if (passage.text.empty()) return kNothing;
    if (draft_.passage().whole_bytes() + passage.whole_bytes() > kDraftBytesMax)
        return {.text = fmt::format(
                    "the draft would be longer than {} MB; put long text into a file and mention "
                    "it with @",
                    kDraftBytesMax / 1024 / 1024)};
    if (!is_typing_) remember();
    draft_.insert(passage);
    changed();
    return kNothing;
}

Composed Composer::move(std::size_t to) {
    is_typing_ = false;
    is_killing_ = false;
    draft_.move_to(to);
    menu_ = menu_for(draft_, parts_);
    return kNothing;
}

Composed Composer::move_row(bool up) {
    const std::size_t columns = draft_columns(columns_);
    const auto rows = draft_rows(draft_, columns);
    const std::size_t row = row_of(rows, draft_.cursor());
    if (up ? row == 0 : row + 1 == rows.size()) return browse(up);
    const std::size_t cells =
        goal_.value_or(cells_before(draft_, rows[row], draft_.cursor(), columns));
    move(byte_at(draft_, rows[up ? row - 1 : row + 1], cells, columns));
    goal_ = cells;
    return kNothing;
}

Composed Composer::remove(std::size_t from, std::size_t to) {
    if (from == to) return kNothing;
    remember();
    draft_.erase(from, to);
    changed();
    return kNothing;
}

Composed Composer::kill(std::size_t from, std::size_t to, Kill kill) {
    if (from == to) return kNothing;
    remember();
    Passage taken = draft_.erase(from, to);
    if (is_killing_) {
        Passage& first = kill == Kill::Before ? taken : killed_;
        Passage& second = kill == Kill::Before ? killed_ : taken;
        first.text += second.text;
        first.pastes.insert(first.pastes.end(), second.pastes.begin(), second.pastes.end());
        killed_ = first;
    } else {
        killed_ = std::move(taken);
    }
    changed();
    is_killing_ = true;
    return kNothing;
}

Composed Composer::undo() {
    if (undo_.empty()) return kNothing;
    draft_.set(std::move(undo_.back().passage), undo_.back().cursor);
    undo_.pop_back();
    changed();
    return kNothing;
}

// The draft that is left for the history comes back behind its newest entry.
Composed Composer::browse(bool older) {
    if (!history_.is_browsing()) {
        if (!older) return kUnused;
        if (history_.entries().empty()) return kUnused;
        keep_stash();
        stash_ = draft_.passage();
    }
    const std::string* const entry = older ? history_.older() : history_.newer();
    if (entry == nullptr && older) return kNothing;
    if (entry != nullptr) {
        const std::size_t first_end = std::min(entry->find('\n'), entry->size());
        draft_.set({.text = *entry}, older ? first_end : entry->size());
    } else {
        const std::size_t end = stash_.text.size();
        draft_.set(std::exchange(stash_, {}), end);
        history_.stop();
    }
    menu_.reset();  // Or its arrows would end the browsing.
    return kNothing;
}

void Composer::keep_stash() {
    if (const std::string whole = std::exchange(stash_, {}).whole(); !is_blank_text(whole))
        history_.add(whole);
}

void Composer::complete() {
    const Menu menu = *menu_;
    const Offer& offer = menu.offers[menu.selected];
    std::string text = clean(offer.text);
    if (menu.kind == Menu::Kind::Commands) {
        const CommandSpec* const spec = find_command(text);
        if (spec != nullptr ? !spec->usage.empty() : is_prompt_word(text)) text += ' ';
    }
    if (menu.kind == Menu::Kind::Files && !text.ends_with('/') &&
        !std::string_view(draft_.text()).substr(menu.end).starts_with(' '))
        text += ' ';
    remember();
    draft_.erase(menu.begin, menu.end);
    draft_.insert({.text = text});
    changed();
}

void Composer::find() {
    search_->found = history_.find(search_->words, kMenuRowsMax - 1);
    search_->selected = 0;
}

void Composer::remember() {
    undo_.push_back({draft_.passage(), draft_.cursor()});
    std::size_t bytes = 0;
    std::size_t kept = 0;
    for (auto step = undo_.rbegin(); step != undo_.rend(); ++step, ++kept) {
        bytes += step->passage.text.size();
        if (kept == kUndoMax || (kept > 0 && bytes > kUndoBytesMax)) break;
    }
    undo_.erase(undo_.begin(), undo_.end() - static_cast<std::ptrdiff_t>(kept));
}

void Composer::changed() {
    history_.stop();
    is_killing_ = false;
    menu_ = menu_for(draft_, parts_);
}

void Composer::clear() {
    draft_.set({}, 0);
    menu_.reset();
    search_.reset();
}

ComposerView Composer::view(std::size_t columns) const {
    columns_ = columns;
    const std::size_t width = draft_columns(columns);
    ComposerView view;
    if (search_) {
        Menu found{.kind = Menu::Kind::Arguments, .selected = search_->selected};
        for (const std::size_t i : search_->found)
            found.offers.push_back({.text = base::printable(
                                        base::first_chars(history_.entries()[i], kEntryShownChars)),
                                    .note = ""});
        view.menu = menu_lines(found, columns, kMenuRowsMax - 1);
        view.menu.insert(
            view.menu.begin(),
            {{show::fitted(fmt::format("history: {}{}", base::printable(search_->words),
                                       found.offers.empty() ? " (nothing found)" : ""),
                           columns),
              show::Face::Bold}});
    } else if (menu_) {
        view.menu = menu_lines(*menu_, columns, kMenuRowsMax);
    } else if (const std::string hint = usage_hint(draft_); !hint.empty()) {
        view.menu = {{{show::fitted(hint, columns), show::Face::Dim}}};
    }
    if (is_empty()) {
        view.draft = {{{std::string(kPrompt), show::Face::Accent},
                       {show::fitted(placeholder, width), show::Face::Dim}}};
        view.cursor_column = kPrompt.size();
        return view;
    }
    const auto rows = draft_rows(draft_, width);
    const std::size_t row = row_of(rows, draft_.cursor());
    const std::size_t count = std::min(rows.size(), kComposerRowsMax);
    const std::size_t top =
        std::min(row - std::min(row, kComposerRowsMax / 2), rows.size() - count);
    for (std::size_t i = top; i < top + count; ++i) {
        show::Line line = row_line(draft_, rows[i], width);
        line.insert(line.begin(), rows[i].begin == 0
                                      ? show::Span{std::string(kPrompt), show::Face::Accent}
                                      : show::Span{std::string(kPrompt.size(), ' ')});
        view.draft.push_back(std::move(line));
    }
    view.cursor_row = row - top;
    // Behind a blank that ends a full row there is no cell: the cursor stays on the blank.
    view.cursor_column =
        kPrompt.size() +
        std::min(cells_before(draft_, rows[row], draft_.cursor(), width), width - 1);
    return view;
}

std::string Composer::text() const {
    return draft_.passage().whole();
}

bool Composer::is_empty() const {
    return draft_.text().empty();
}

bool Composer::has_menu() const {
    return menu_.has_value() || search_.has_value();
}

void Composer::set_draft(const std::string& text) {
    keep_stash();
    remember();
    std::string safe = clean(text);
    if (safe.size() > kDraftBytesMax) safe = base::first_chars(safe, kDraftBytesMax / 4);
    const std::size_t end = safe.size();
    draft_.set({.text = std::move(safe)}, end);
    search_.reset();
    changed();
    menu_.reset();
}

void Composer::refresh_menu() {
    if (!search_ && !history_.is_browsing()) menu_ = menu_for(draft_, parts_);
}

void Composer::taken() {
    history_.add(text());
    clear();
    undo_.clear();
    const std::size_t end = stash_.text.size();
    draft_.set(std::exchange(stash_, {}), end);
    changed();
    menu_.reset();
}

void Composer::set_history(const std::vector<std::string>& entries) {
    search_.reset();
    history_.set(entries);
}

const std::vector<std::string>& Composer::history() const {
    return history_.entries();
}

}  // namespace tui
