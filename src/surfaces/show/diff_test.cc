#include "surfaces/show/diff.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/text.h"
#include "surfaces/show/columns.h"

namespace show {
namespace {

using testing::ElementsAre;

std::vector<std::string> texts_of(const std::vector<Line>& lines) {
    std::vector<std::string> texts;
    for (const auto& line : lines) texts.push_back(text_of(line));
    return texts;
}

constexpr std::string_view kUnified =
    "--- a/x.cc\n+++ b/x.cc\n@@ -9,3 +9,4 @@ int main\n same\n--- old\n+new\n+more\n last\n"
    "\\ No newline at end of file\n";

TEST(Diff, HasTheNumbersOfItsLines) {
    EXPECT_THAT(diff_lines(kUnified, 80),
                ElementsAre(Line{{"--- a/x.cc", Face::Bold}}, Line{{"+++ b/x.cc", Face::Bold}},
                            Line{{"@@ -9,3 +9,4 @@ int main", Face::Dim}},
                            Line{{" 9 ", Face::Dim}, {" same"}},
                            Line{{"10 ", Face::Dim}, {"--- old", Face::Removed}},
                            Line{{"10 ", Face::Dim}, {"+new", Face::Added}},
                            Line{{"11 ", Face::Dim}, {"+more", Face::Added}},
                            Line{{"12 ", Face::Dim}, {" last"}},
                            Line{{"\\ No newline at end of file", Face::Dim}}));
}

TEST(Diff, OfApplyPatchHasNoNumbers) {
    EXPECT_THAT(
        diff_lines("*** Begin Patch\n*** Update File: a\n@@ f\n same\n--- x\n+y\n*** End Patch",
                   80),
        ElementsAre(Line{{"*** Begin Patch", Face::Bold}}, Line{{"*** Update File: a", Face::Bold}},
                    Line{{"@@ f", Face::Dim}}, Line{{" same"}}, Line{{"--- x", Face::Removed}},
                    Line{{"+y", Face::Added}}, Line{{"*** End Patch", Face::Bold}}));
}

TEST(Diff, IsSideBySideWhereThereIsRoom) {
    const auto lines = texts_of(diff_lines(kUnified, 120));
    ASSERT_EQ(lines.size(), 8U);
    const std::string blanks(48, ' ');
    EXPECT_EQ(lines[3], " 9  same" + std::string(50, ' ') + " │  9  same");
    EXPECT_EQ(lines[4], "10 --- old" + blanks + " │ 10 +new");
    EXPECT_EQ(lines[5], std::string(58, ' ') + " │ 11 +more");
    EXPECT_THAT(texts_of(diff_lines("@@ -0,0 +1,2 @@\n+a\n+b", 120)),
                ElementsAre("@@ -0,0 +1,2 @@", "1 +a", "2 +b"))
        << "one side would be empty";
}

TEST(Diff, LongLinesAreWrappedSoThatNothingIsHidden) {
    EXPECT_THAT(texts_of(diff_lines("@@ -1 +1 @@\n-0123456789\n+漢字漢字漢字", 10)),
                ElementsAre("@@ -1 +1 @", "@", "1 -0123456", "   789", "1 +漢字漢", "   字漢字"));
}

TEST(Diff, AnythingIsSafe) {
    for (const auto* text : {"+\x1b[2J\r\n-\xff\t\n@@ -99999999999999999999,1 +1 @@\n+x",
                             "@@ -1,99999999 +1 @@\n--- a\n+++ b", "@@", "@@ @@", "+", "", "\n\n",
                             "*** ", "--- a", "@@ -1,0 +1,0 @@\n x"})
        for (const std::size_t columns : {8U, 40U, 120U})
            for (const auto& line : diff_lines(text, columns)) {
                EXPECT_LE(columns_of(line), columns) << text;
                EXPECT_TRUE(base::is_utf8(text_of(line)));
                EXPECT_EQ(text_of(line), base::printable(text_of(line)));
            }
}

}  // namespace
}  // namespace show
