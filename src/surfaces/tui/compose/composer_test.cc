#include "surfaces/tui/compose/composer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/text.h"
#include "surfaces/show/columns.h"
#include "surfaces/tui/compose/commands.h"

namespace tui {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using What = Composed::What;

Key character(std::string text) {
    return {.text = std::move(text)};
}
Key ctrl(std::string letter) {
    return {.text = std::move(letter), .ctrl = true};
}
Key alt(std::string letter) {
    return {.text = std::move(letter), .alt = true};
}
Key key(KeyName name) {
    return {.name = name};
}
Key paste(std::string text) {
    return {.name = KeyName::Paste, .text = std::move(text)};
}

class ComposerTest : public testing::Test {
protected:
    Composed press(const Key& pressed, int times = 1) {
        Composed composed;
        for (int i = 0; i < times; ++i) composed = composer.on_key(pressed);
        return composed;
    }
    Composed press(KeyName name, int times = 1) { return press(key(name), times); }
    void type(std::string_view text) {
        for (; !text.empty(); text.remove_prefix(show::grapheme_bytes(text)))
            press(character(std::string(text.substr(0, show::grapheme_bytes(text)))));
    }
    Composed send() {
        auto composed = press(KeyName::Enter);
        composer.taken();
        return composed;
    }
    // The draft with a bar where the cursor is.
    std::string marked() {
        Composer copy = composer;
        copy.on_key(character("|"));
        return copy.text();
    }
    std::vector<std::string> drawn(std::size_t columns = 40) const {
        return texts(composer.view(columns).draft);
    }
    std::vector<std::string> menu(std::size_t columns = 60) const {
        return texts(composer.view(columns).menu);
    }
    static std::vector<std::string> texts(const std::vector<show::Line>& lines) {
        std::vector<std::string> texts;
        for (const auto& line : lines) {
            std::string text;
            for (const auto& span : line) text += span.text;
            texts.push_back(text);
        }
        return texts;
    }

    Composer composer{{
        .arguments =
            [](const std::string& command, const std::string& typed) {
                std::vector<Offer> offers;
                for (const auto* name : {"switch main", "switch maybe"})
                    if (command == "/agent" && std::string_view(name).starts_with(typed))
                        offers.push_back({name, "an agent"});
                return offers;
            },
        .files =
            [](const std::string& typed) {
                std::vector<Offer> offers;
                for (const auto* name : {"src/", "src/main.cc", "README.md"})
                    if (std::string_view(name).contains(typed)) offers.push_back({name, ""});
                return offers;
            },
    }};
};

TEST_F(ComposerTest, WhatIsTypedIsSentWithEnter) {
    EXPECT_TRUE(composer.is_empty());
    type("hello, 漢字");
    EXPECT_EQ(press(KeyName::Enter), (Composed{What::Send, "hello, 漢字"}));
    EXPECT_EQ(composer.text(), "hello, 漢字") << "kept until it was sent";
    composer.taken();
    EXPECT_TRUE(composer.is_empty());
    EXPECT_THAT(composer.history(), ElementsAre("hello, 漢字"));
    EXPECT_EQ(press(KeyName::Enter).what, What::Unused);
    type("  ");
    EXPECT_EQ(press(KeyName::Enter).what, What::Unused);
}

TEST_F(ComposerTest, ANewLineHasFourKeys) {
    type("a");
    press({.name = KeyName::Enter, .shift = true});
    type("b");
    press({.name = KeyName::Enter, .alt = true});
    type("c");
    press(ctrl("j"));
    type("d\\");
    press(KeyName::Enter);
    type("e");
    EXPECT_EQ(composer.text(), "a\nb\nc\nd\ne");
    EXPECT_THAT(drawn(), ElementsAre("> a", "  b", "  c", "  d", "  e"));
    press(ctrl("_"), 2);
    EXPECT_EQ(composer.text(), "a\nb\nc\nd\\") << "the backslash comes back, too";
}

TEST_F(ComposerTest, TheCursorMovesByWhatAPersonSees) {
    type("ae\u0301漢👨\u200D👩\u200D👧");
    press(KeyName::Left);
    EXPECT_EQ(marked(), "ae\u0301漢|👨\u200D👩\u200D👧");
    press(KeyName::Left, 2);
    EXPECT_EQ(marked(), "a|e\u0301漢👨\u200D👩\u200D👧");
    EXPECT_EQ(composer.view(40).cursor_column, 3U);
    press(KeyName::Delete);
    EXPECT_EQ(marked(), "a|漢👨\u200D👩\u200D👧");
    press(KeyName::Right);
    EXPECT_EQ(composer.view(40).cursor_column, 5U) << "two cells";
    press(KeyName::Right, 5);
    press(KeyName::Backspace);
    EXPECT_EQ(marked(), "a漢|");
    press(ctrl("h"));
    press(KeyName::Left, 3);
    press(ctrl("d"));
    EXPECT_EQ(marked(), "|");
    EXPECT_EQ(press(ctrl("d")).what, What::Unused);
}

TEST_F(ComposerTest, WordsAndLinesHaveTheirKeys) {
    composer.set_draft("one two-three\nfour five");
    press({.name = KeyName::Left, .ctrl = true});
    EXPECT_EQ(marked(), "one two-three\nfour |five");
    press(alt("b"), 2);
    EXPECT_EQ(marked(), "one two-|three\nfour five");
    press({.name = KeyName::Right, .alt = true});
    EXPECT_EQ(marked(), "one two-three|\nfour five");
    press(ctrl("a"));
    EXPECT_EQ(marked(), "|one two-three\nfour five");
    press(alt("f"));
    EXPECT_EQ(marked(), "one| two-three\nfour five");
    press(KeyName::End);
    EXPECT_EQ(marked(), "one two-three|\nfour five");
    press(KeyName::Home);
    press({.name = KeyName::End, .ctrl = true});
    EXPECT_EQ(marked(), "one two-three\nfour five|");
    press(ctrl("b"));
    press(ctrl("e"));
    EXPECT_EQ(marked(), "one two-three\nfour five|");
}

TEST_F(ComposerTest, WhatIsKilledComesBack) {
    composer.set_draft("one two\nthree four");
    press(KeyName::Up);
    press(KeyName::Home);
    press(alt("f"));
    press(ctrl("k"));
    EXPECT_EQ(marked(), "one|\nthree four") << "to the end of the line, not below it";
    press(ctrl("k"));
    EXPECT_EQ(marked(), "one|three four");
    press(ctrl("y"));
    EXPECT_EQ(marked(), "one two\n|three four") << "killed in a row, yanked in one";
    press(alt("d"));
    EXPECT_EQ(marked(), "one two\n| four");
    press(ctrl("u"));
    press(KeyName::End);
    press(ctrl("u"));
    EXPECT_EQ(marked(), "one two\n|");
    press(KeyName::Left);
    press(ctrl("w"));
    EXPECT_EQ(marked(), "one |\n");
    press(ctrl("w"));
    EXPECT_EQ(marked(), "|\n");
    press(ctrl("y"));
    EXPECT_EQ(marked(), "one two|\n");
    press({.name = KeyName::Backspace, .alt = true});
    EXPECT_EQ(marked(), "one |\n");
}

TEST_F(ComposerTest, UndoGoesBackByWords) {
    type("one two three");
    press(ctrl("_"));
    EXPECT_EQ(composer.text(), "one two");
    press(ctrl("_"), 5);
    EXPECT_EQ(composer.text(), "");
    press(paste("x"));
    press(ctrl("w"));
    press(ctrl("_"));
    EXPECT_EQ(composer.text(), "x");
}

TEST_F(ComposerTest, UpAndDownMoveInTheDraftFirst) {
    composer.set_history({"old", "new"});
    composer.set_draft("abcdef\nx\nabcdef");
    press(KeyName::Left);
    press(KeyName::Up);
    EXPECT_EQ(marked(), "abcdef\nx|\nabcdef");
    press(KeyName::Up);
    EXPECT_EQ(marked(), "abcde|f\nx\nabcdef") << "the column is kept";
    press(KeyName::Up);
    EXPECT_EQ(composer.text(), "new");
    press(ctrl("p"));
    EXPECT_EQ(composer.text(), "old");
    press(KeyName::Up);
    EXPECT_EQ(composer.text(), "old");
    press(ctrl("n"), 2);
    EXPECT_EQ(composer.text(), "abcdef\nx\nabcdef") << "the draft is kept";
    EXPECT_EQ(press(KeyName::Down).what, What::Unused);
}

TEST_F(ComposerTest, UpAndDownMoveByTheRowsThatAreSeen) {
    composer.view(13);
    composer.set_draft("0123456789abcdefghijklmno");
    EXPECT_THAT(drawn(13), ElementsAre("> 0123456789", "  abcdefghij", "  klmno"));
    press(KeyName::Up);
    EXPECT_EQ(marked(), "0123456789abcde|fghijklmno");
    press(KeyName::End);
    press(KeyName::Home);
    press(KeyName::Down);
    EXPECT_EQ(marked(), "0123456789|abcdefghijklmno");
    EXPECT_EQ(composer.view(13).cursor_row, 1U);
}

TEST_F(ComposerTest, ADraftThatWaitsWhileAnotherIsSentComesBack) {
    composer.set_history({"old"});
    type("half a thou");
    press(KeyName::Up);
    EXPECT_EQ(send(), (Composed{What::Send, "old"}));
    EXPECT_EQ(composer.text(), "half a thou");
    press(KeyName::Up);
    type("er");
    press(KeyName::Up);
    EXPECT_EQ(composer.text(), "half a thou") << "the draft of before is in the history";
}

TEST_F(ComposerTest, TheHistoryIsBoundedAndHasNothingTwiceInARow) {
    composer.set_history(std::vector<std::string>(kHistoryMax + 5, "x\ry\x1b"));
    EXPECT_EQ(composer.history().size(), kHistoryMax);
    EXPECT_EQ(composer.history().front(), "x\ny");
    type("same");
    send();
    type("same");
    send();
    EXPECT_EQ(composer.history().size(), kHistoryMax);
    EXPECT_EQ(composer.history()[kHistoryMax - 2], "x\ny");
    composer.set_history(std::vector<std::string>(6, std::string(kHistoryBytesMax / 4, 'x')));
    EXPECT_EQ(composer.history().size(), 4U);
}

TEST_F(ComposerTest, TheHistoryIsSearched) {
    composer.set_history({"fix the Test", "write docs", "test again"});
    type("draft");
    press(ctrl("r"));
    EXPECT_TRUE(composer.has_menu());
    type("test");
    EXPECT_THAT(menu(), ElementsAre("history: test", "test again  ", "fix the Test"));
    press(ctrl("r"));
    press(KeyName::Enter);
    EXPECT_EQ(composer.text(), "fix the Test") << "it is not sent yet";
    EXPECT_FALSE(composer.has_menu());
    press(ctrl("_"));
    EXPECT_EQ(composer.text(), "draft");
    press(ctrl("r"));
    type("nowhere");
    EXPECT_THAT(menu(), ElementsAre("history: nowhere (nothing found)"));
    press(KeyName::Backspace, 7);
    EXPECT_EQ(menu().size(), 4U);
    press(KeyName::Escape);
    EXPECT_FALSE(composer.has_menu());
    EXPECT_EQ(composer.text(), "draft");
}

TEST_F(ComposerTest, ALongPasteIsOnePiece) {
    std::string lines;
    for (int i = 0; i < 1024; ++i) lines += "line\r\n";
    std::string kept;
    for (int i = 0; i < 1024; ++i) kept += "line\n";
    type("see ");
    press(paste(lines));
    type(" above");
    EXPECT_THAT(drawn(), ElementsAre("> see [pasted 1,024 lines] above"));
    EXPECT_EQ(composer.text(), "see " + kept + " above");
    EXPECT_EQ(press(KeyName::Enter).text, "see " + kept + " above");
    press(KeyName::Left, 7);
    EXPECT_EQ(composer.view(40).cursor_column, 6U);
    press(KeyName::Delete);
    EXPECT_EQ(composer.text(), "see  above");
    press(ctrl("_"));
    press(ctrl("e"));
    press(ctrl("w"), 2);
    EXPECT_EQ(composer.text(), "see ");
    press(ctrl("y"));
    EXPECT_EQ(composer.text(), "see " + kept + " above");
    press(paste(std::string(1001, 'x')));
    EXPECT_THAT(drawn(80),
                ElementsAre("> see [pasted 1,024 lines] above[pasted 1,001 characters]"));
}

TEST_F(ComposerTest, AShortPasteIsText) {
    press(paste("a\rb\r\nc\td\x1b[31m\x01\xc2\x9bx\xff"));
    EXPECT_EQ(composer.text(), "a\nb\nc\td[31mx\uFFFD");
    EXPECT_THAT(drawn(), ElementsAre("> a", "  b", "  c    d[31mx\uFFFD"));
}

TEST_F(ComposerTest, AMegabyteIsPastedAndDrawnAndTooMuchIsRefused) {
    std::string megabyte;
    while (megabyte.size() < 1024 * 1024) megabyte += "漢字 and words\n";
    press(paste(megabyte));
    type("x");
    EXPECT_EQ(composer.text(), megabyte + "x");
    EXPECT_EQ(drawn().size(), 1U);
    press(paste(megabyte));
    press(paste(megabyte));
    EXPECT_THAT(press(paste(megabyte)).text, HasSubstr("@"));
    EXPECT_LE(composer.text().size(), kDraftBytesMax);
    composer.set_draft(megabyte);
    for (int i = 0; i < 20; ++i) {
        press(KeyName::Up);
        EXPECT_EQ(drawn().size(), kComposerRowsMax);
    }
}

TEST_F(ComposerTest, ATallDraftScrollsWithItsCursor) {
    std::string text = "0";
    for (int i = 1; i < 30; ++i) text += "\n" + std::to_string(i);
    composer.set_draft(text);
    auto view = composer.view(40);
    EXPECT_EQ(view.draft.size(), kComposerRowsMax);
    EXPECT_EQ(texts(view.draft).back(), "  29");
    EXPECT_EQ(view.cursor_row, kComposerRowsMax - 1);
    press(KeyName::Up, 29);
    view = composer.view(40);
    EXPECT_EQ(texts(view.draft).front(), "> 0");
    EXPECT_EQ(view.cursor_row, 0U);
}

TEST_F(ComposerTest, RowsAreBrokenAtBlanks) {
    type("one two three four");
    EXPECT_THAT(drawn(12), ElementsAre("> one two ", "  three ", "  four"));
    EXPECT_EQ(composer.view(12).cursor_row, 2U);
    EXPECT_EQ(composer.view(12).cursor_column, 6U);
}

TEST_F(ComposerTest, EscapeClosesTheMenuThenClearsWhenPressedTwice) {
    EXPECT_EQ(press(KeyName::Escape).what, What::Unused);
    type("/ab");
    EXPECT_TRUE(composer.has_menu());
    press(KeyName::Escape);
    EXPECT_FALSE(composer.has_menu());
    EXPECT_THAT(press(KeyName::Escape).text, HasSubstr("Esc again"));
    EXPECT_EQ(composer.text(), "/ab");
    type("x");
    press(KeyName::Escape);
    EXPECT_EQ(composer.text(), "/abx") << "not twice in a row";
    press(KeyName::Escape);
    EXPECT_TRUE(composer.is_empty());
    EXPECT_THAT(composer.history(), ElementsAre("/abx"));
    press(KeyName::Up);
    EXPECT_EQ(composer.text(), "/abx");
}

TEST_F(ComposerTest, TheMenuOpensForCommandsOnly) {
    type("/");
    EXPECT_TRUE(composer.has_menu());
    EXPECT_EQ(menu().size(), kMenuRowsMax);
    type("display");
    EXPECT_THAT(menu(), ElementsAre(AllOf(HasSubstr("/display"), HasSubstr("<info|verbose"))));
    for (const auto* text : {"//display", "/nothing", "a /display", "/display\n"}) {
        press(ctrl("u"));
        composer.set_draft("");
        type(text);
        EXPECT_FALSE(composer.has_menu()) << text;
    }
}

TEST_F(ComposerTest, TheSelectionOfAMenuStaysInSight) {
    type("/");
    for (std::size_t i = 0; i < commands().size(); ++i) {
        const auto lines = composer.view(60).menu;
        EXPECT_EQ(lines.size(), kMenuRowsMax);
        std::size_t selected = 0;
        for (const auto& line : lines) {
            if (line.front().face != show::Face::Selected) continue;
            ++selected;
            EXPECT_THAT(line.front().text, HasSubstr(std::string(commands()[i].word)));
        }
        EXPECT_EQ(selected, 1U);
        press(KeyName::Down);
    }
    press(KeyName::Up);
    press(KeyName::Tab);
    EXPECT_EQ(composer.text(), commands().back().word);
}

TEST_F(ComposerTest, TheWholeWordWinsOverALongerOne) {
    type("/agent");
    EXPECT_EQ(press(KeyName::Enter), (Composed{What::Command, "/agent"}));
    press(KeyName::Down);
    EXPECT_EQ(press(KeyName::Enter), (Composed{What::Command, "/agents"}));
}

TEST_F(ComposerTest, ACommandWithEffectsNeedsItsWholeWord) {
    type("/ab");
    EXPECT_EQ(press(KeyName::Enter).what, What::Nothing);
    EXPECT_EQ(composer.text(), "/abort") << "completed, not run";
    EXPECT_EQ(press(KeyName::Enter), (Composed{What::Command, "/abort"}));
    composer.taken();
    type("/ab");
    press(KeyName::Down);
    EXPECT_EQ(press(KeyName::Enter), (Composed{What::Command, "/abort"}))
        << "chosen, and the only one";
    composer.taken();
    type("/ab");
    press(KeyName::Tab);
    EXPECT_EQ(press(KeyName::Enter), (Composed{What::Command, "/abort"}));
    composer.taken();
    type("/");
    const auto undo = std::ranges::find(commands(), "/undo", &CommandSpec::word);
    press(KeyName::Down, static_cast<int>(undo - commands().begin()));
    EXPECT_EQ(press(KeyName::Enter).what, What::Nothing) << "one of many";
    EXPECT_EQ(composer.text(), "/undo");
}

TEST_F(ComposerTest, ACommandThatOnlyShowsRunsByItsPrefix) {
    type("/trans");
    EXPECT_EQ(press(KeyName::Enter), (Composed{What::Command, "/transcript"}));
    composer.taken();
    type("/disp");
    EXPECT_EQ(press(KeyName::Enter).what, What::Nothing) << "it needs an argument";
    EXPECT_EQ(composer.text(), "/display ");
    press(KeyName::Down);
    EXPECT_EQ(press(KeyName::Enter), (Composed{What::Command, "/display verbose"}));
    composer.taken();
    type("/sk");
    EXPECT_EQ(press(KeyName::Enter).what, What::Nothing) << "several";
    EXPECT_EQ(composer.text(), "/skills");
}

TEST_F(ComposerTest, ArgumentsAreCompleted) {
    type("/agent ");
    EXPECT_THAT(menu(), testing::Contains(testing::StartsWith("create")));
    type("switch ma");
    EXPECT_THAT(menu(), ElementsAre("switch main   an agent", "switch maybe  an agent"));
    press(KeyName::Down);
    EXPECT_EQ(press(KeyName::Enter).what, What::Nothing);
    EXPECT_EQ(composer.text(), "/agent switch maybe");
    EXPECT_EQ(press(KeyName::Enter), (Composed{What::Command, "/agent switch maybe"}));
    composer.set_draft("");
    type("/agent stop x");
    EXPECT_FALSE(composer.has_menu());
    EXPECT_THAT(menu(), ElementsAre(HasSubstr("/agent <switch|create|start|stop>")));
}

TEST_F(ComposerTest, ASlashCanBeSent) {
    type("//help");
    EXPECT_EQ(send(), (Composed{What::Send, "/help"}));
    type("/tmp/x is broken");
    EXPECT_EQ(send(), (Composed{What::Send, "/tmp/x is broken"}));
    composer.set_draft("/help\nme");
    EXPECT_EQ(send(), (Composed{What::Command, "/help\nme"})) << "read_command() refuses it";
}

TEST_F(ComposerTest, FilesAreMentioned) {
    type("see @s");
    EXPECT_THAT(menu(), ElementsAre("src/       ", "src/main.cc"));
    press(KeyName::Tab);
    EXPECT_EQ(composer.text(), "see @src/");
    EXPECT_TRUE(composer.has_menu());
    press(KeyName::Down);
    EXPECT_EQ(press(KeyName::Enter).what, What::Nothing) << "another was chosen";
    EXPECT_EQ(marked(), "see @src/main.cc |");
    EXPECT_FALSE(composer.has_menu());
    press(KeyName::Left);
    EXPECT_TRUE(composer.has_menu());
    EXPECT_EQ(press(KeyName::Enter).what, What::Send) << "written out";
    composer.set_draft("");
    type("me@src");
    EXPECT_FALSE(composer.has_menu()) << "no mention inside of a word";
}

TEST_F(ComposerTest, OtherKeysAreLeftToTheCaller) {
    type("draft");
    for (const auto name : {KeyName::PageUp, KeyName::PageDown, KeyName::Tab, KeyName::FocusIn})
        EXPECT_EQ(press(name).what, What::Unused);
    EXPECT_EQ(press(ctrl("c")).what, What::Unused);
    EXPECT_EQ(press(ctrl("l")).what, What::Unused);
    EXPECT_EQ(press(alt("x")).what, What::Unused);
    EXPECT_EQ(composer.text(), "draft");
    EXPECT_EQ(press(ctrl("g")), (Composed{What::Editor, "draft"}));
}

TEST_F(ComposerTest, AnEmptyDraftShowsThePlaceholder) {
    composer.placeholder = "ask for something that is too long for this";
    EXPECT_THAT(drawn(20), ElementsAre("> ask for something…"));
    EXPECT_EQ(composer.view(20).cursor_column, 2U);
}

}  // namespace
}  // namespace tui
