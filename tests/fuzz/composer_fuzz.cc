// Any bytes are keys: the draft stays valid text, and what is drawn stays within its window.
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/text.h"
#include "surfaces/show/line.h"
#include "surfaces/tui/compose/composer.h"

namespace {

constexpr std::size_t kColumnsLeast = 8;

constexpr std::array kNames{tui::KeyName::Enter,     tui::KeyName::Tab,  tui::KeyName::Escape,
                            tui::KeyName::Backspace, tui::KeyName::Left, tui::KeyName::Delete,
                            tui::KeyName::Right,     tui::KeyName::Up,   tui::KeyName::Down,
                            tui::KeyName::Home,      tui::KeyName::End,  tui::KeyName::PageUp};

// A byte below 0x80 is typed, the others are keys: with a letter behind them, or a paste.
tui::Key next_key(std::string_view& bytes) {
    const auto first = static_cast<unsigned char>(bytes.front());
    bytes.remove_prefix(1);
    const auto take = [&](std::size_t count) {
        const std::string taken(bytes.substr(0, count));
        bytes.remove_prefix(taken.size());
        return taken;
    };
    if (first < 0x80) return {.text = std::string(1, static_cast<char>(first))};
    if (first < 0xA0) return {.text = take(1), .ctrl = (first & 1U) != 0, .alt = (first & 1U) == 0};
    if (first < 0xB0) return {.text = take(first & 7U)};
    if (first < 0xC0)
        return {.name = tui::KeyName::Paste, .text = take(std::size_t{first & 15U} * 8)};
    return {.name = kNames.at((first & 15U) % kNames.size()),
            .ctrl = (first & 16U) != 0,
            .alt = (first & 32U) != 0};
}

void check_lines(const std::vector<show::Line>& lines, std::size_t columns) {
    for (const auto& line : lines) {
        const std::string text = show::text_of(line);
        CHECK(show::columns_of(line) <= columns, "a line fits");
        CHECK(base::is_utf8(text) && text == base::printable(text), "a line is safe");
    }
}

void check_composer(const tui::Composer& composer, std::size_t columns) {
    const auto view = composer.view(columns);
    CHECK(view.menu.size() <= tui::kMenuRowsMax, "the menu is small");
    CHECK(!view.draft.empty() && view.draft.size() <= tui::kComposerRowsMax, "the draft is seen");
    check_lines(view.menu, columns);
    check_lines(view.draft, columns);
    CHECK(view.cursor_row < view.draft.size() && view.cursor_column < columns,
          "the cursor is in the draft");
    CHECK(composer.text().size() <= tui::kDraftBytesMax, "the draft is bounded");
    CHECK(base::is_utf8(composer.text()), "the draft is valid");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    std::string_view bytes(reinterpret_cast<const char*>(data), size);
    if (bytes.empty()) return 0;
    const std::size_t columns = kColumnsLeast + static_cast<unsigned char>(bytes.front()) % 120;
    bytes.remove_prefix(1);
    const auto offer = [](const std::string& typed) {
        return std::vector<tui::Offer>{{typed + "x", "note"}, {"src/" + typed, ""}};
    };
    tui::Composer composer(
        {.arguments = [&](const std::string&, const std::string& typed) { return offer(typed); },
         .files = offer});
    while (!bytes.empty()) {
        const auto composed = composer.on_key(next_key(bytes));
        check_composer(composer, columns);
        const bool sends = composed.what == tui::Composed::What::Send ||
                           composed.what == tui::Composed::What::Command;
        CHECK(!sends || !composed.text.empty(), "something is sent");
        if (sends) composer.taken();
    }
    return 0;
}
