#include "surfaces/show/markdown/markdown.h"

#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/text.h"
#include "surfaces/show/columns.h"
#include "surfaces/show/markdown/blocks.h"

namespace show {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::vector<std::string> drawn(std::string_view text, std::size_t columns = 40) {
    std::vector<std::string> texts;
    for (const auto& line : markdown(text, columns)) texts.push_back(text_of(line));
    return texts;
}

TEST(Markdown, EmphasisAndCodeHaveTheirFaces) {
    EXPECT_THAT(markdown("a **b** *c* `d` ~~e~~ \\*f", 40), ElementsAre(Line{{"a "},
                                                                             {"b", Face::Bold},
                                                                             {" "},
                                                                             {"c", Face::Italic},
                                                                             {" "},
                                                                             {"d", Face::Code},
                                                                             {" "},
                                                                             {"~e~", Face::Dim},
                                                                             {" *f"}}));
    EXPECT_THAT(markdown("## Title `x`", 40),
                ElementsAre(Line{{"## Title ", Face::Heading}, {"x", Face::Code}}));
}

TEST(Markdown, ParagraphsAreWrappedAndKeepTheirLines) {
    EXPECT_THAT(drawn("one two three four\nfive\n\n\n\nsix", 10),
                ElementsAre("one two", "three four", "five", "", "six"));
    const std::string words = "words that an editor has wrapped at some column of its own,";
    EXPECT_THAT(drawn(words + " say\nseventy", 200), ElementsAre(words + " say seventy"));
    EXPECT_THAT(drawn("漢字漢字漢字 x", 8), ElementsAre("漢字漢字", "漢字 x"));
    EXPECT_THAT(drawn(""), ElementsAre());
    EXPECT_THAT(drawn("\n \n"), ElementsAre());
    EXPECT_THAT(drawn("a\r\n\r\nb\r\n"), ElementsAre("a", "", "b"));
}

TEST(Markdown, ListsAreIndentedAndNumbered) {
    EXPECT_THAT(
        drawn("text:\n- one two three\n  - deep\n- [x] done\n- [ ] open", 12),
        ElementsAre("text:", "• one two", "  three", "  • deep", "• [x] done", "• [ ] open"));
    EXPECT_THAT(drawn("9. a\n10. b\n\n    more\n\n11. c"),
                ElementsAre("9. a", "", "10. b", "", "    more", "", "11. c"));
    EXPECT_THAT(drawn("-\n- x"), ElementsAre("• ", "• x"));
    EXPECT_THAT(drawn("- a\n\n  ```\n  code\n\n  more\n  ```\n- b"),
                ElementsAre("• a", "", "    code", "  ", "    more", "", "• b"));
}

TEST(Markdown, QuotesCodeAndRules) {
    EXPECT_THAT(drawn("> quoted text\n>\n> more", 10),
                ElementsAre("│ quoted", "│ text", "│ ", "│ more"));
    EXPECT_THAT(markdown("```cpp\nint *a;\n\n\tb <tag> &amp;\n```\nafter", 40),
                ElementsAre(Line{{"  int *a;", Face::Code}}, Line{},
                            Line{{"      b <tag> &amp;", Face::Code}}, Line{}, Line{{"after"}}));
    EXPECT_THAT(drawn("    0123456789", 8), ElementsAre("01234567", "89")) << "code is never cut";
    EXPECT_THAT(drawn("a\n\n***\n\nb", 8), ElementsAre("a", "", "────────", "", "b"));
}

TEST(Markdown, LinksHaveTextAndAddress) {
    EXPECT_THAT(markdown("see [the docs](https://a.b/c?d=1&amp;e)", 60),
                ElementsAre(Line{{"see the docs"}, {" (https://a.b/c?d=1&e)", Face::Link}}));
    EXPECT_THAT(markdown("https://a.b and <m@n.o>", 60),
                ElementsAre(Line{{"https://a.b", Face::Link}, {" and "}, {"m@n.o", Face::Link}}));
    EXPECT_THAT(drawn("![alt](x.png)"), ElementsAre("image: alt (x.png)"));
    EXPECT_THAT(drawn("[1]: https://a.b"), ElementsAre("[1]: https://a.b")) << "not lost";
}

TEST(Markdown, TablesFitOrBecomeRows) {
    constexpr std::string_view kTable =
        "| Name | Count |\n|:--|--:|\n| 漢字 | 1 |\n| **b** | 1234 |\n";
    EXPECT_THAT(drawn(kTable),
                ElementsAre("Name │ Count", "─────┼──────", "漢字 │     1", "b    │  1234"));
    EXPECT_THAT(drawn("|a long heading|b|\n|---|---|\n|some words that wrap|x|", 18),
                ElementsAre("a long heading │ b", "───────────────┼──", "some words     │ x",
                            "that wrap      │ "));
    EXPECT_THAT(
        drawn("|first|second|third|\n|---|---|---|\n|one one one|two two two|three|\n|4|5||", 20),
        ElementsAre("first: one one one", "second: two two two", "third: three", "", "first: 4",
                    "second: 5"));
}

TEST(Markdown, NothingInItControlsTheTerminal) {
    for (const auto* text : {"\x1b[2J", "a &#27;[2J &#x9b;2J &#0; &#1114112;", "[x](a\x1b]0;b\x07)",
                             "```\n\x1b[2J\r\n```", "|\x1b|\n|---|\n|\x9b|", "<b>\x1b</b>",
                             "\xc2\x9b\xe2\x80\xae", "\xff\xfe"}) {
        for (const auto& line : drawn(text, 20)) {
            EXPECT_TRUE(base::is_utf8(line)) << text;
            EXPECT_EQ(line, base::printable(line)) << text;
        }
    }
    EXPECT_THAT(drawn("a &#27;[2J"), ElementsAre("a \\x1b[2J"));
    EXPECT_THAT(drawn("<script>x</script>"), ElementsAre("<script>x</script>"));
}

// What is nested without end or repeated without end costs a bounded time, and is still shown.
TEST(Markdown, HostileTextsAreShownInBoundedTime) {
    const auto repeated = [](std::string_view part) {
        std::string text;
        while (text.size() < 30'000) text += part;
        return text;
    };
    for (const auto* part :
         {"> ", "- ", "1. ", "[", "![", "*a_ ", "` `` ", "<", "[a](", "|-", "&#1;", "[a]: b\n",
          "http://a.b ", "- a\n\n  ", "a|b\n---|---\n", "\\"}) {
        const auto lines = markdown(repeated(part), 40);
        EXPECT_FALSE(lines.empty()) << part;
        for (const auto& line : lines) ASSERT_LE(columns_of(line), 40U) << part;
    }
    std::string deep;
    for (int i = 0; i < 200; ++i)
        deep += std::string(static_cast<std::size_t>(2 * i), ' ') + "- x\n";
    for (const auto& line : markdown(deep, 20)) EXPECT_LE(columns_of(line), 20U);
    std::string wide = repeated("|").substr(0, 5'000) + "\n";
    wide += repeated("|---").substr(0, 20'000) + "\n" + repeated("|\n").substr(0, 2'000);
    EXPECT_EQ(drawn(wide, 20).front(), std::string(20, '|')) << "too many cells: as it is";
    EXPECT_EQ(drawn(repeated("**x** ") + repeated(" "), 8).front(), "**x**") << "as it is";
}

TEST(FinishedBlocks, AreThoseThatNothingChanges) {
    EXPECT_EQ(finished_blocks(""), 0U);
    EXPECT_EQ(finished_blocks("a paragraph"), 0U);
    EXPECT_EQ(finished_blocks("a paragraph\n"), 0U);
    EXPECT_EQ(finished_blocks("a\n\n"), 3U);
    EXPECT_EQ(finished_blocks("a\n\nb"), 3U);
    EXPECT_EQ(finished_blocks("- a\n\n"), 0U) << "the item may have another paragraph";
    EXPECT_EQ(finished_blocks("- a\n\n "), 0U);
    EXPECT_EQ(finished_blocks("- a\n\nb"), 5U);
    EXPECT_EQ(finished_blocks("```\na\n\nb\n"), 0U) << "open code";
    EXPECT_EQ(finished_blocks("```\na\n\nb\n```\n"), 13U);
    EXPECT_EQ(finished_blocks("a\n```"), 0U) << "it could still be ```x`";
    EXPECT_EQ(finished_blocks("a\n```\n"), 2U);
}

// Pieces that meet in all orders: what is finished stays as it was drawn, and what is drawn fits.
TEST(Markdown, IsDrawnTheSameWhileItIsWritten) {
    const std::vector<std::string> pieces = {"\n",
                                             "\n\n",
                                             " ",
                                             "    ",
                                             "- ",
                                             "1. ",
                                             "> ",
                                             "# ",
                                             "```",
                                             "```\n",
                                             "~~~\n",
                                             "|a|b|",
                                             "\n|---|---|\n",
                                             "**",
                                             "*",
                                             "`",
                                             "[x](y)",
                                             "word ",
                                             "漢字",
                                             "e\u0301",
                                             "\t",
                                             "\r\n",
                                             "---\n",
                                             "===\n",
                                             "\\",
                                             "&amp;",
                                             "\x1b[m",
                                             "[a]: b\n",
                                             "👨\u200D👩\u200D👧",
                                             "~~"};
    for (unsigned seed = 0; seed < 200; ++seed) {
        std::mt19937 random(seed);
        std::string text;
        const std::size_t count = random() % 40;
        for (std::size_t i = 0; i < count; ++i) text += pieces[random() % pieces.size()];
        const std::size_t columns = 10 + random() % 60;
        const auto whole = markdown(text, columns);
        for (const auto& line : whole) {
            ASSERT_LE(columns_of(line), columns) << "seed " << seed;
            ASSERT_TRUE(base::is_utf8(text_of(line))) << "seed " << seed;
        }
        std::size_t finished = 0;
        for (std::size_t bytes = 0; bytes <= text.size(); ++bytes) {
            const std::size_t now = finished_blocks(std::string_view(text).substr(0, bytes));
            ASSERT_GE(now, finished) << "seed " << seed;
            if (now == finished) continue;
            finished = now;
            const auto part = markdown(std::string_view(text).substr(0, finished), columns);
            ASSERT_LE(part.size(), whole.size()) << "seed " << seed;
            ASSERT_TRUE(std::equal(part.begin(), part.end(), whole.begin())) << "seed " << seed;
        }
        std::string joined;
        for (const auto block : markdown_blocks(text)) joined += block;
        ASSERT_EQ(joined, text);
    }
}

}  // namespace
}  // namespace show
