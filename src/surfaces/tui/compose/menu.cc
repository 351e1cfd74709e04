#include "surfaces/tui/compose/menu.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/text.h"
#include "surfaces/show/columns.h"
#include "surfaces/tui/compose/commands.h"

namespace tui {
namespace {

constexpr std::size_t kNameColumnsMax = 40;
constexpr std::size_t kMentionBytesMax = 1024;

// The first word of a one-line draft that begins with a single "/"; empty otherwise.
std::string_view command_word(std::string_view text) {
    if (!text.starts_with('/') || text.starts_with("//") || text.find('\n') != text.npos ||
        text.find(Passage::kFold) != text.npos)
        return {};
    return text.substr(0, text.find_first_of(" \t"));
}

std::optional<Menu> some(Menu menu) {
    if (menu.offers.empty()) return std::nullopt;
    if (menu.offers.size() > kOffersMax) menu.offers.resize(kOffersMax);
    return menu;
}

std::optional<Menu> command_menu(std::string_view word, const ComposerParts& parts) {
    Menu menu{.kind = Menu::Kind::Commands, .begin = 0, .end = word.size()};
    for (const auto& spec : commands()) {
        if (!spec.word.starts_with(word)) continue;
        Offer offer{.text = std::string(spec.word),
                    .note = spec.usage.empty() ? std::string(spec.help)
                                               : fmt::format("{}  {}", spec.usage, spec.help)};
        // The whole word comes first: it is what Enter runs.
        menu.offers.insert(spec.word == word ? menu.offers.begin() : menu.offers.end(),
                           std::move(offer));
    }
    if (parts.prompts)
        for (auto& offer : parts.prompts(std::string(word)))
            menu.offers.insert(offer.text == word ? menu.offers.begin() : menu.offers.end(),
                               std::move(offer));
    return some(std::move(menu));
}

std::optional<Menu> argument_menu(std::string_view text, std::string_view word,
                                  std::span<const std::string_view> choices,
                                  const ComposerParts& parts) {
    const std::size_t begin = std::min(text.find_first_not_of(" \t", word.size()), text.size());
    const std::string typed(text.substr(begin));
    Menu menu{.kind = Menu::Kind::Arguments, .begin = begin, .end = text.size()};
    for (const auto choice : choices)
        if (choice.starts_with(typed) && choice != typed)
            menu.offers.push_back({.text = std::string(choice), .note = ""});
    if (parts.arguments)
        for (auto& offer : parts.arguments(std::string(word), typed))
            if (std::ranges::find(menu.offers, offer.text, &Offer::text) == menu.offers.end())
                menu.offers.push_back(std::move(offer));
    return some(std::move(menu));
}

// Where the "@" is whose word the cursor is in or behind; npos when there is none.
std::size_t mention_begin(const Draft& draft) {
    const std::string_view before = std::string_view(draft.text()).substr(0, draft.cursor());
    const std::size_t blank = before.find_last_of(std::string_view(" \t\n\x01"));
    const std::size_t begin = blank == before.npos ? 0 : blank + 1;
    const bool is_mention =
        begin < before.size() && before[begin] == '@' && before.size() - begin < kMentionBytesMax;
    return is_mention ? begin : before.npos;
}

std::optional<Menu> file_menu(const Draft& draft, const ComposerParts& parts) {
    const std::size_t begin = mention_begin(draft);
    if (begin == std::string::npos || !parts.files) return std::nullopt;
    Menu menu{.kind = Menu::Kind::Files, .begin = begin + 1, .end = draft.cursor()};
    menu.offers = parts.files(draft.text().substr(menu.begin, menu.end - menu.begin));
    return some(std::move(menu));
}

std::string one_line(std::string_view text) {
    return base::printable(base::to_utf8(text));
}

}  // namespace

std::optional<Menu> menu_for(const Draft& draft, const ComposerParts& parts) {
    const std::string_view text = draft.text();
    const std::string_view word = command_word(text);
    if (word.empty() || draft.cursor() < text.size()) return file_menu(draft, parts);
    if (word.size() == text.size()) return command_menu(word, parts);
    const CommandSpec* const spec = find_command(word);
    if (spec != nullptr) return argument_menu(text, word, spec->choices, parts);
    return is_prompt_word(word) ? argument_menu(text, word, {}, parts) : file_menu(draft, parts);
}

std::string usage_hint(const Draft& draft) {
    const std::string_view word = command_word(draft.text());
    const CommandSpec* const spec = find_command(word);
    if (spec == nullptr || word.size() == draft.text().size()) return "";
    return spec->usage.empty() ? std::string(spec->help)
                               : fmt::format("{} {}  {}", spec->word, spec->usage, spec->help);
}

std::vector<show::Line> menu_lines(const Menu& menu, std::size_t columns, std::size_t rows) {
    std::size_t name_columns = 0;
    for (const auto& offer : menu.offers)
        name_columns = std::max(name_columns, show::columns_of(one_line(offer.text)));
    name_columns = std::min({name_columns, kNameColumnsMax, columns});
    const std::size_t count = std::min(rows, menu.offers.size());
    const std::size_t top = menu.selected < count ? 0 : menu.selected + 1 - count;
    std::vector<show::Line> lines;
    for (std::size_t i = top; i < top + count; ++i) {
        const auto& offer = menu.offers[i];
        const bool is_selected = i == menu.selected;
        const std::size_t room = offer.note.empty() ? columns : name_columns;
        std::string name = show::padded(show::fitted(one_line(offer.text), room), name_columns);
        const std::size_t left = columns - std::min(columns, show::columns_of(name));
        lines.push_back(
            {{std::move(name), is_selected ? show::Face::Selected : show::Face::Accent}});
        if (!offer.note.empty())
            lines.back().push_back({show::fitted("  " + one_line(offer.note), left),
                                    is_selected ? show::Face::Selected : show::Face::Dim});
    }
    return lines;
}

}  // namespace tui
