// Keys in any order: the draft stays valid text, and what is drawn stays within its window.
#include <random>

#include <gtest/gtest.h>

#include "base/text.h"
#include "surfaces/tui/compose/composer.h"

namespace tui {
namespace {

Key random_key(std::mt19937& random) {
    static const std::vector<std::string> kTexts = {"a",
                                                    "Z",
                                                    " ",
                                                    "/",
                                                    "@",
                                                    "\\",
                                                    "-",
                                                    "agent",
                                                    "漢",
                                                    "e\u0301",
                                                    "👨\u200D👩\u200D👧",
                                                    "🇩🇪",
                                                    "\t",
                                                    "\u202e",
                                                    "\xff",
                                                    "\x1b",
                                                    "\x01"};
    static const std::string kLetters = "abdefghjklnpruwy_cs";
    const auto pick = [&](const auto& from) { return from[random() % from.size()]; };
    switch (random() % 6) {
        case 0:
            return {.text = std::string(1, pick(kLetters)), .ctrl = true};
        case 1:
            return {.text = std::string(1, pick(kLetters)), .alt = true};
        case 2: {
            std::string text;
            for (std::size_t i = random() % 30; i > 0; --i) text += pick(kTexts) + "\r\n";
            return {.name = KeyName::Paste, .text = text};
        }
        case 3:
            return {.name = static_cast<KeyName>(random() %
                                                 (static_cast<unsigned>(KeyName::FocusOut) + 1)),
                    .ctrl = random() % 4 == 0,
                    .alt = random() % 4 == 0,
                    .shift = random() % 4 == 0};
        default:
            return {.text = pick(kTexts)};
    }
}

void expect_safe(const std::vector<show::Line>& lines, std::size_t columns) {
    for (const auto& line : lines) {
        const std::string text = show::text_of(line);
        EXPECT_LE(show::columns_of(line), columns);
        EXPECT_TRUE(base::is_utf8(text));
        EXPECT_EQ(text, base::printable(text));
    }
}

TEST(Composer, AnyKeysLeaveAValidDraftInItsWindow) {
    for (unsigned seed = 0; seed < 15; ++seed) {
        SCOPED_TRACE(seed);
        std::mt19937 random(seed);
        Composer composer({.arguments = nullptr, .files = [](const std::string& typed) {
                               return std::vector<Offer>{{typed + "x", "a file"}, {"b", ""}};
                           }});
        for (int i = 0; i < 120 && !testing::Test::HasFailure(); ++i) {
            const auto composed = composer.on_key(random_key(random));
            const std::size_t columns = 8 + random() % 100;
            const auto view = composer.view(columns);
            EXPECT_LE(view.menu.size(), kMenuRowsMax);
            EXPECT_LE(view.draft.size(), kComposerRowsMax);
            EXPECT_LT(view.cursor_row, view.draft.size());
            EXPECT_LT(view.cursor_column, columns);
            expect_safe(view.menu, columns);
            expect_safe(view.draft, columns);
            const std::string text = composer.text();
            EXPECT_TRUE(base::is_utf8(text));
            EXPECT_EQ(text.find_first_of("\r\x1b\x01"), std::string::npos);
            EXPECT_EQ(composer.is_empty(), text.empty());
            const bool sends =
                composed.what == Composed::What::Send || composed.what == Composed::What::Command;
            if (!sends) continue;
            EXPECT_FALSE(composed.text.empty());
            composer.taken();
            EXPECT_EQ(composer.history().back(), text);
        }
    }
}

}  // namespace
}  // namespace tui
