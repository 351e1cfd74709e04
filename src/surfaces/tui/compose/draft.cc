#include "surfaces/tui/compose/draft.h"

#include <algorithm>
#include <iterator>

#include <fmt/format.h>

#include "base/text.h"
#include "surfaces/show/columns.h"

namespace tui {
namespace {

bool is_blank(char c) {
    return c == ' ' || c == '\t' || c == '\n';
}

// Letters, digits and all that is not ASCII; a folded paste is a word of its own.
bool is_word(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           static_cast<unsigned char>(c) >= 0x80;
}

// "1,024"
std::string with_commas(std::size_t number) {
    std::string digits = std::to_string(number);
    for (std::size_t at = digits.size(); at > 3;) digits.insert(at -= 3, 1, ',');
    return digits;
}

}  // namespace

std::string clean(std::string_view text) {
    std::string valid = base::to_utf8(text);
    std::string out;
    out.reserve(valid.size());
    for (std::size_t i = 0; i < valid.size(); ++i) {
        const auto c = static_cast<unsigned char>(valid[i]);
        const auto next = i + 1 < valid.size() ? static_cast<unsigned char>(valid[i + 1]) : 0;
        if (c == '\r') {
            if (next != '\n') out += '\n';
        } else if (c == 0xC2 && next < 0xA0) {
            ++i;  // A control character of two bytes.
        } else if ((c >= 0x20 && c != 0x7F) || c == '\n' || c == '\t') {
            out += valid[i];
        }
    }
    return out;
}

Passage pasted(std::string_view text) {
    std::string safe = clean(text);
    const auto lines =
        static_cast<std::size_t>(std::ranges::count(safe, '\n')) + (safe.ends_with('\n') ? 0 : 1);
    if (lines <= kPasteFoldLines && safe.size() <= kPasteFoldBytes)
        return {.text = std::move(safe)};
    std::string label =
        lines > 1 ? fmt::format("[pasted {} lines]", with_commas(lines))
                  : fmt::format("[pasted {} characters]", with_commas(base::char_count(safe)));
    return {.text = std::string(1, Passage::kFold),
            .pastes = {std::make_shared<const Paste>(std::move(safe), std::move(label))}};
}

std::string Passage::whole() const {
    if (pastes.empty()) return text;
    std::string out;
    out.reserve(whole_bytes());
    auto paste = pastes.begin();
    for (const char c : text) {
        if (c == kFold)
            out += (*paste++)->text;
        else
            out += c;
    }
    return out;
}

std::size_t Passage::whole_bytes() const {
    std::size_t bytes = text.size();
    for (const auto& paste : pastes) bytes += paste->text.size();
    return bytes;
}

const std::string& Draft::label_at(std::size_t at) const {
    return passage_.pastes.at(folds_before(at))->label;
}

void Draft::set(Passage passage, std::size_t cursor) {
    passage_ = std::move(passage);
    cursor_ = std::min(cursor, passage_.text.size());
}

void Draft::insert(const Passage& passage) {
    const auto at = static_cast<std::ptrdiff_t>(folds_before(cursor_));
    passage_.pastes.insert(passage_.pastes.begin() + at, passage.pastes.begin(),
                           passage.pastes.end());
    passage_.text.insert(cursor_, passage.text);
    cursor_ += passage.text.size();
}

Passage Draft::erase(std::size_t from, std::size_t to) {
    const auto first = passage_.pastes.begin() + static_cast<std::ptrdiff_t>(folds_before(from));
    const auto last = passage_.pastes.begin() + static_cast<std::ptrdiff_t>(folds_before(to));
    Passage taken{.text = passage_.text.substr(from, to - from), .pastes = {first, last}};
    passage_.pastes.erase(first, last);
    passage_.text.erase(from, to - from);
    cursor_ = from;
    return taken;
}

std::size_t Draft::left() const {
    return show::last_grapheme(std::string_view(text()).substr(0, cursor_));
}

std::size_t Draft::right() const {
    return cursor_ + show::grapheme_bytes(std::string_view(text()).substr(cursor_));
}

std::size_t Draft::word_left() const {
    std::size_t at = cursor_;
    while (at > 0 && !is_word(text()[at - 1]) && text()[at - 1] != Passage::kFold) --at;
    if (at > 0 && text()[at - 1] == Passage::kFold) return at - 1;
    while (at > 0 && is_word(text()[at - 1])) --at;
    return at;
}

std::size_t Draft::word_right() const {
    std::size_t at = cursor_;
    while (at < text().size() && !is_word(text()[at]) && text()[at] != Passage::kFold) ++at;
    if (at < text().size() && text()[at] == Passage::kFold) return at + 1;
    while (at < text().size() && is_word(text()[at])) ++at;
    return at;
}

std::size_t Draft::blank_left() const {
    std::size_t at = cursor_;
    while (at > 0 && is_blank(text()[at - 1])) --at;
    if (at > 0 && text()[at - 1] == Passage::kFold) return at - 1;
    while (at > 0 && !is_blank(text()[at - 1]) && text()[at - 1] != Passage::kFold) --at;
    return at;
}

std::size_t Draft::line_begin() const {
    const std::size_t newline = cursor_ == 0 ? std::string::npos : text().rfind('\n', cursor_ - 1);
    return newline == std::string::npos ? 0 : newline + 1;
}

std::size_t Draft::line_end() const {
    return std::min(text().find('\n', cursor_), text().size());
}

std::size_t Draft::folds_before(std::size_t at) const {
    if (passage_.pastes.empty()) return 0;
    return static_cast<std::size_t>(
        std::count(passage_.text.begin(), passage_.text.begin() + static_cast<std::ptrdiff_t>(at),
                   Passage::kFold));
}

}  // namespace tui
