#include "surfaces/show/columns.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/text.h"
#include "surfaces/show/line.h"
#include "surfaces/show/table.h"
#include "surfaces/show/times.h"

namespace show {
namespace {

using testing::ElementsAre;

TEST(Columns, CountWhatATerminalDraws) {
    EXPECT_EQ(columns_of(""), 0U);
    EXPECT_EQ(columns_of("abc"), 3U);
    EXPECT_EQ(columns_of("漢字"), 4U);
    EXPECT_EQ(columns_of("e\u0301"), 1U) << "a combining accent";
    EXPECT_EQ(columns_of("한글"), 4U);
    EXPECT_EQ(columns_of("😀"), 2U);
    EXPECT_EQ(columns_of("⚠\uFE0F"), 2U) << "the wide form of a narrow character";
    EXPECT_EQ(columns_of("नमस्ते"), 4U) << "vowel signs take no column of their own";
    EXPECT_EQ(columns_of("…⣾→"), 3U);
}

TEST(Columns, ACharacterIsWhatAPersonSees) {
    const std::vector<std::string> characters = {
        "a", "e\u0301", "漢", "\n", "👨\u200D👩\u200D👧", "🇩🇪", "🇫🇷", "👍🏽", "⚠\uFE0F", "b"};
    std::string text;
    for (const auto& character : characters) {
        EXPECT_EQ(last_grapheme(text + character), text.size()) << character;
        text += character;
    }
    for (const auto& character : characters) {
        EXPECT_EQ(text.substr(0, grapheme_bytes(text)), character);
        text.erase(0, character.size());
    }
    EXPECT_EQ(grapheme_bytes(""), 0U);
    EXPECT_EQ(last_grapheme(""), 0U);
    std::string heap = "e";
    for (int i = 0; i < 1000; ++i) heap += "\u0301";
    EXPECT_LE(grapheme_bytes(heap), kGraphemeBytesMax);
    EXPECT_TRUE(base::is_utf8(heap.substr(last_grapheme(heap))));
}

TEST(Lines, AreWrappedCutAndFilledWithTheirFaces) {
    const Line line{{"one "}, {"two three", Face::Bold}};
    EXPECT_EQ(text_of(line), "one two three");
    EXPECT_THAT(wrapped(line, 8),
                ElementsAre(Line{{"one "}, {"two", Face::Bold}}, Line{{"three", Face::Bold}}));
    EXPECT_THAT(wrapped(line, 5, Break::Anywhere),
                ElementsAre(Line{{"one "}, {"t", Face::Bold}}, Line{{"wo th", Face::Bold}},
                            Line{{"ree", Face::Bold}}));
    EXPECT_THAT(wrapped(Line{{"a\n\nb"}}, 5), ElementsAre(Line{{"a"}}, Line{}, Line{{"b"}}));
    EXPECT_THAT(wrapped(Line{{"   abcdef"}}, 5), ElementsAre(Line{{"   ab"}}, Line{{"cdef"}}));
    EXPECT_THAT(wrapped(Line{}, 5), ElementsAre(Line{}));
    EXPECT_EQ(fitted(line, 6), (Line{{"one "}, {"t…", Face::Bold}}));
    EXPECT_EQ(fitted(line, 13), line);
    EXPECT_EQ(padded(Line{{"a", Face::Bold}}, 3), (Line{{"a", Face::Bold}, {"  "}}));
    for (std::size_t columns = 2; columns < 12; ++columns)
        for (const auto& part : wrapped(Line{{"👨\u200D👩\u200D👧 漢字 e\u0301e\u0301"}}, columns))
            EXPECT_LE(columns_of(part), columns);
}

TEST(Columns, ACutTextFitsAndSaysThatItIsCut) {
    EXPECT_EQ(fitted("abc", 3), "abc");
    EXPECT_EQ(fitted("abcd", 3), "ab…");
    EXPECT_EQ(fitted("漢字漢字", 5), "漢字…");
    EXPECT_EQ(fitted("漢字漢字", 4), "漢…");
    EXPECT_EQ(fitted("cafe\u0301", 4), "cafe\u0301");
    EXPECT_EQ(fitted("abc", 0), "");
    EXPECT_EQ(fitted("漢", 1), "…");
    for (std::size_t columns = 0; columns < 12; ++columns)
        EXPECT_LE(columns_of(fitted("a漢b😀c\u0301d字e", columns)), columns);
}

TEST(Columns, LongLinesAreWrappedAtBlanksAndLoseNothing) {
    EXPECT_THAT(wrapped("", 10), ElementsAre(""));
    EXPECT_THAT(wrapped("one two three", 8), ElementsAre("one two", "three"));
    EXPECT_THAT(wrapped("abcdefgh", 3), ElementsAre("abc", "def", "gh"));
    EXPECT_THAT(wrapped("漢字漢字", 5), ElementsAre("漢字", "漢字"));
    EXPECT_THAT(wrapped("    indented text", 10), ElementsAre("    indent", "ed text"));
    EXPECT_THAT(wrapped("漢字", 1), ElementsAre("漢", "字")) << "one at least, however narrow";
}

TEST(Columns, AFoldedTextKeepsItsLinesAndIndentsWhatContinues) {
    EXPECT_EQ(folded("", 10), "");
    EXPECT_EQ(folded("one two three four", 9), "one two\n  three\n  four");
    EXPECT_EQ(folded("one\n  two three four", 12), "one\n  two three\n    four");
    EXPECT_EQ(folded("one two", 3), "one\ntwo") << "too narrow to indent anything";
    const std::string_view text = "a: one two three\n      → four five six seven";
    for (std::size_t columns = 4; columns < 60; ++columns)
        for (const auto line : base::split_lines(folded(text, columns)))
            EXPECT_LE(columns_of(line), columns) << line;
}

TEST(Columns, ATextHangsBehindItsHead) {
    EXPECT_EQ(hanging("now  ", "one two three", 12), "now  one two\n     three");
    EXPECT_EQ(hanging("now  ", "one\ntwo", 40), "now  one\n     two");
    EXPECT_EQ(hanging("just now  ", "one two", 10), "just now  \n  one two") << "a narrow terminal";
    EXPECT_EQ(hanging("now  ", "one\ntwo", kUnbounded), "now  one\ntwo");
}

TEST(Table, FitsTheTerminalAndKeepsWhatIsCopied) {
    const Rows rows{{"id-0123456789", "running", "a long text that says what it is all about"},
                    {"id-2", "漢字漢字", "short"}};
    EXPECT_EQ(table(rows, 1000),
              "id-0123456789  running   a long text that says what it is all about\n"
              "id-2           漢字漢字  short");
    for (const std::size_t columns : {80U, 50U, 40U, 30U, 20U})
        for (const auto line : base::split_lines(table(rows, columns)))
            EXPECT_LE(columns_of(line), columns) << line;
    EXPECT_THAT(table(rows, 40), testing::HasSubstr("id-0123456789"));
    EXPECT_EQ(table(rows, 20),
              "id-0123456789\n  running · a long\n  text that says wh…\nid-2\n  漢字漢字 · short");
    EXPECT_EQ(table({}, 80), "");
}

TEST(Times, AreLocalAndHaveTheirOffset) {
    const auto in_zone = [](const char* zone) {
        setenv("TZ", zone, 1);
        tzset();
    };
    const char* before = std::getenv("TZ");
    const std::string zone = before ? before : "";
    const auto time = base::parse_time("2026-07-01T22:03:59Z").value();
    in_zone("Europe/Berlin");
    EXPECT_EQ(local_time(time), "2026-07-02 00:03:59+02:00");
    EXPECT_EQ(local_clock(time), "00:03:59+02:00");
    EXPECT_EQ(local_day(time), "2026-07-02");
    in_zone("America/St_Johns");
    EXPECT_EQ(local_clock(time), "19:33:59-02:30");
    in_zone("UTC");
    EXPECT_EQ(local_clock(time), "22:03:59+00:00");
    if (before)
        in_zone(zone.c_str());
    else
        unsetenv("TZ");
}

}  // namespace
}  // namespace show
