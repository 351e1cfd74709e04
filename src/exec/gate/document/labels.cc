#include "exec/gate/document/labels.h"

#include <algorithm>
#include <cctype>

#include "base/json.h"
#include "base/text.h"

namespace gate {
namespace {

constexpr std::size_t kLabelCharsMax = 60;

bool is_mark(char c) {
    return c == '*' || c == '_' || c == '`';
}

bool is_label_char(char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == ' ' || c == '/' || c == '(' ||
           c == ')' || c == '-' || c == '_' || c == '.';
}

char lower(char c) {
    return static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
}

bool is_letter_byte(char c) {
    return std::isalpha(static_cast<unsigned char>(c)) != 0;
}

// Without "- ", "* ", "> " or "1. ".
std::string_view without_bullet(std::string_view line) {
    line = base::trim(line);
    for (const std::string_view bullet : {"- ", "* ", "+ ", "> "})
        if (line.starts_with(bullet)) return base::trim(line.substr(2));
    const std::size_t digits = std::min(line.find_first_not_of("0123456789"), line.size());
    if (digits > 0 && digits <= 2 && line.substr(digits).starts_with(". "))
        return base::trim(line.substr(digits + 2));
    return line;
}

}  // namespace

std::optional<LabelledLine> labelled_line(std::string_view line) {
    line = without_bullet(line);
    const auto marks = line.substr(
        0, static_cast<std::size_t>(std::ranges::find_if_not(line, is_mark) - line.begin()));
    line.remove_prefix(marks.size());
    const auto colon = line.substr(0, kLabelCharsMax).find(':');
    if (colon == line.npos || colon == 0) return std::nullopt;
    auto label = line.substr(0, colon);
    auto value = line.substr(colon + 1);
    if (label.ends_with(marks))
        label.remove_suffix(marks.size());
    else if (value.starts_with(marks))
        value.remove_prefix(marks.size());
    else
        return std::nullopt;  // The marks are of something else.
    label = base::trim(label);
    if (label.empty() || !std::ranges::all_of(label, is_label_char)) return std::nullopt;
    return LabelledLine{label, base::trim(value)};
}

std::optional<std::string_view> labelled(std::string_view line, std::string_view label) {
    const auto found = labelled_line(line);
    if (!found || !std::ranges::equal(found->label, label, {}, lower, lower)) return std::nullopt;
    return found->value;
}

std::string unquoted(std::string_view value) {
    if (value.starts_with('"'))
        if (const auto parsed = base::parse_json(value); parsed && parsed->is_string())
            return std::string(parsed->get_string());
    if (value.size() > 2 && value.starts_with('`') && value.ends_with('`') &&
        value.substr(1, value.size() - 2).find('`') == value.npos)
        value = value.substr(1, value.size() - 2);
    return std::string(value);
}

bool has_word(std::string_view text, std::string_view word) {
    for (auto at = text.begin();;) {
        const auto found =
            std::ranges::search(std::ranges::subrange(at, text.end()), word, {}, lower, lower);
        if (found.empty()) return false;
        const bool starts = found.begin() == text.begin() || !is_letter_byte(found.begin()[-1]);
        const bool ends = found.end() == text.end() || !is_letter_byte(*found.end());
        if (starts && ends) return true;
        at = found.begin() + 1;
    }
}

}  // namespace gate
