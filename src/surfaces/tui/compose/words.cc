#include "surfaces/tui/compose/words.h"

#include <algorithm>

namespace tui {
namespace {

char lower_case(char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

}  // namespace

std::size_t find_words(std::string_view text, std::string_view words, std::size_t from) {
    if (words.empty() || from >= text.size()) return text.npos;
    const auto found = std::ranges::search(text.substr(from), words, {}, lower_case, lower_case);
    return found.empty() ? text.npos : static_cast<std::size_t>(found.data() - text.data());
}

std::vector<std::size_t> lines_with(const std::vector<show::Line>& lines, std::string_view words) {
    std::vector<std::size_t> found;
    for (std::size_t i = 0; i < lines.size(); ++i)
        if (find_words(show::text_of(lines[i]), words, 0) != words.npos) found.push_back(i);
    return found;
}

}  // namespace tui
