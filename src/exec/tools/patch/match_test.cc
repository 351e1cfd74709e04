#include "exec/tools/patch/match.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/text.h"
#include "exec/tools/patch/parse/parse.h"

namespace patch {
namespace {

// Applies the hunks of a unified diff to `file`.
Outcome<std::string> changed(std::string_view file, std::string_view hunks) {
    const auto text = fmt::format("--- a/x\n+++ b/x\n{}", hunks);
    const auto parsed = parse_unified(text);
    if (!parsed) return Failure(parsed.error());
    return apply_hunks(file, parsed->files.at(0).hunks, "x");
}

std::string numbered(std::size_t count) {
    std::string lines;
    for (std::size_t i = 1; i <= count; ++i) lines += fmt::format("line {}\n", i);
    return lines;
}

TEST(Match, ChangesTheLinesThatTheHunksName) {
    struct Case {
        std::string_view name;
        std::string_view file;
        std::string_view hunks;
        std::string_view result;
    };
    const Case cases[] = {
        {"replaces", "a\nb\nc\n", "@@ -2 +2 @@\n-b\n+B\n", "a\nB\nc\n"},
        {"adds before", "a\n", "@@ -1 +1,2 @@\n+x\n a\n", "x\na\n"},
        {"adds behind", "a\n", "@@ -1 +1,2 @@\n a\n+x\n", "a\nx\n"},
        {"removes all", "a\nb\n", "@@ -1,2 +0,0 @@\n-a\n-b\n", ""},
        {"finds the block far from its number", "a\nb\nc\n", "@@ -900 +900 @@\n-b\n+B\n",
         "a\nB\nc\n"},
        {"inserts behind line N for a count of 0", "a\nb\nc\n", "@@ -2,0 +3 @@\n+x\n",
         "a\nb\nx\nc\n"},
        {"inserts at the top for line 0", "a\n", "@@ -0,0 +1 @@\n+x\n", "x\na\n"},
        {"inserts at the end", "a\nb\n", "@@ -2,0 +3 @@\n+x\n", "a\nb\nx\n"},
        {"inserts into an empty file", "", "@@ -1,0 +1 @@\n+x\n", "x\n"},
        {"applies hunks in any order", "a\nb\nc\n", "@@ -3 +3 @@\n-c\n+C\n@@ -1 +1 @@\n-a\n+A\n",
         "A\nb\nC\n"},
        {"lets hunks share context", "a\nb\nc\n",
         "@@ -1,2 +1,2 @@\n-a\n+A\n b\n@@ -2,2 +2,2 @@\n b\n-c\n+C\n", "A\nb\nC\n"},
        {"keeps bytes that are not text", "\xff\xfe\nb\n", "@@ -2 +2 @@\n-b\n+B\n",
         "\xff\xfe\nB\n"},
    };
    for (const auto& [name, file, hunks, result] : cases) {
        const auto outcome = changed(file, hunks);
        ASSERT_TRUE(outcome) << name << ": " << outcome.error().message;
        EXPECT_EQ(*outcome, result) << name;
    }
}

TEST(Match, KeepsTheLineEndingsOfTheFile) {
    struct Case {
        std::string_view name;
        std::string_view file;
        std::string_view hunks;
        std::string_view result;
    };
    const Case cases[] = {
        {"plain patch, CRLF file", "a\r\nb\r\nc\r\n", "@@ -1,2 +1,3 @@\n a\n-b\n+B\n+BB\n",
         "a\r\nB\r\nBB\r\nc\r\n"},
        {"insertion without context", "a\r\nb\r\n", "@@ -1,0 +2 @@\n+x\n", "a\r\nx\r\nb\r\n"},
        {"insertion at the top", "a\r\n", "@@ -0,0 +1 @@\n+x\n", "x\r\na\r\n"},
        {"mixed file takes the neighbour's", "a\r\nb\nc\n", "@@ -2,2 +2,3 @@\n b\n+x\n c\n",
         "a\r\nb\nx\nc\n"},
        {"diff that shows the CRs", "a\r\nb\r\n", "@@ -1,2 +1,2 @@\n a\r\n-b\r\n+B\r\n",
         "a\r\nB\r\n"},
        {"diff that converts to LF", "a\r\n", "@@ -1 +1 @@\n-a\r\n+a\n", "a\n"},
        {"diff that converts to CRLF", "a\n", "@@ -1 +1 @@\n-a\n+a\r\n", "a\r\n"},
        {"CR lines against an LF file", "a\nb\n", "@@ -1,2 +1,2 @@\n a\r\n-b\r\n+B\r\n", "a\nB\n"},
        {"CRLF without a final newline", "a\r\nb", "@@ -2 +2,2 @@\n b\n+c\n", "a\r\nb\r\nc"},
    };
    for (const auto& [name, file, hunks, result] : cases) {
        const auto outcome = changed(file, hunks);
        ASSERT_TRUE(outcome) << name << ": " << outcome.error().message;
        EXPECT_EQ(*outcome, result) << name;
    }
}

TEST(Match, KeepsTheFinalNewlineUnlessThePatchSaysOtherwise) {
    struct Case {
        std::string_view name;
        std::string_view file;
        std::string_view hunks;
        std::string_view result;
    };
    const Case cases[] = {
        {"missing, last line replaced", "a\nb", "@@ -2 +2 @@\n-b\n+B\n", "a\nB"},
        {"missing, other line replaced", "a\nb", "@@ -1 +1 @@\n-a\n+A\n", "A\nb"},
        {"missing, line added behind", "a\nb", "@@ -2 +2,2 @@\n b\n+c\n", "a\nb\nc"},
        {"missing, last line removed", "a\nb", "@@ -1,2 +1 @@\n a\n-b\n", "a"},
        {"the patch adds it", "a", "@@ -1 +1 @@\n-a\n\\ No newline at end of file\n+a\n", "a\n"},
        {"the patch removes it", "a\n", "@@ -1 +1 @@\n-a\n+a\n\\ No newline at end of file\n", "a"},
        {"both sides lack it", "a",
         "@@ -1 +1 @@\n-a\n\\ No newline at end of file\n+b\n\\ No newline at end of file\n", "b"},
        {"the last line is removed, the one before is unchanged", "a\nb",
         "@@ -1,2 +1 @@\n a\n-b\n\\ No newline at end of file\n", "a\n"},
        {"the marker holds at the end only", "b\nx\nb\n",
         "@@ -1 +1 @@\n-b\n+c\n\\ No newline at end of file\n", "b\nx\nc"},
    };
    for (const auto& [name, file, hunks, result] : cases) {
        const auto outcome = changed(file, hunks);
        ASSERT_TRUE(outcome) << name << ": " << outcome.error().message;
        EXPECT_EQ(*outcome, result) << name;
    }
}

TEST(Match, PrefersTheOnePlaceNearTheLineNumber) {
    std::string file = "x\n" + numbered(100) + "x\n";
    const auto outcome = changed(file, "@@ -102 +102 @@\n-x\n+y\n");
    ASSERT_TRUE(outcome);
    EXPECT_EQ(*outcome, "x\n" + numbered(100) + "y\n");
}

TEST(Match, RefusesSeveralPlacesAndListsThem) {
    const auto outcome = changed("x\na\nx\nb\n", "@@ -1 +1 @@\n-x\n+y\n");
    ASSERT_FALSE(outcome);
    EXPECT_EQ(outcome.error().kind, "ambiguous_context");
    const json::value expected = {{"path", "x"},
                                  {"expected_lines", "x"},
                                  {"candidate_count", 2},
                                  {"reported_count", 2},
                                  {"truncated", false},
                                  {"candidates",
                                   {{{"line_number", 1},
                                     {"distance_from_hint", 0},
                                     {"preview", {"x", "a", "x"}},
                                     {"preview_range", {{"start", 1}, {"end", 3}}}},
                                    {{"line_number", 3},
                                     {"distance_from_hint", 2},
                                     {"preview", {"x", "a", "x", "b"}},
                                     {"preview_range", {{"start", 1}, {"end", 4}}}}}}};
    EXPECT_EQ(base::canonical_json(*outcome.error().details), base::canonical_json(expected));
}

TEST(Match, ReportsNoMoreThanTenPlaces) {
    std::string file;
    for (int i = 0; i < 30; ++i) file += "x\n";
    const auto outcome = changed(file, "@@ -1 +1 @@\n-x\n+y\n");
    ASSERT_FALSE(outcome);
    const auto& details = *outcome.error().details;
    EXPECT_EQ(base::int_at(details, "candidate_count"), 30);
    EXPECT_EQ(base::int_at(details, "reported_count"), 10);
    EXPECT_TRUE(base::bool_at(details, "truncated"));
    EXPECT_EQ(base::find(details, "candidates")->as_array().size(), 10U);
}

TEST(Match, ShowsWhatIsThereWhenTheContextIsNot) {
    const auto outcome = changed(numbered(30), "@@ -10,2 +10,2 @@\n-line ten\n+10\n line 11\n");
    ASSERT_FALSE(outcome);
    EXPECT_EQ(outcome.error().kind, "context_not_found");
    const auto& details = *outcome.error().details;
    EXPECT_EQ(base::string_at(details, "expected_lines"), "line ten\nline 11");
    EXPECT_EQ(base::json_text(*base::find(details, "nearby_range")), R"({"start":5,"end":15})");
    EXPECT_EQ(base::json_text(base::find(details, "nearby_lines")->at(0)),
              R"({"line_number":5,"text":"line 5"})");
    EXPECT_EQ(base::find(details, "suspected_issue"), nullptr);
    EXPECT_THAT(*outcome.error().recovery_hint, testing::HasSubstr("10: line 10"));
}

TEST(Match, ShowsThePlaceThatHasTheFirstLine) {
    const auto outcome = changed(numbered(90), "@@ -1,2 +1,2 @@\n line 60\n-gone\n+new\n");
    ASSERT_FALSE(outcome);
    EXPECT_EQ(base::json_text(*base::find(*outcome.error().details, "nearby_range")),
              R"({"start":55,"end":65})");
}

TEST(Match, SuspectsAListItemWhoseDashWasTakenForTheDiffs) {
    const auto outcome = changed("# List\n- milk\n- eggs\n", "@@ -2 +2 @@\n- milk\n+ bread\n");
    ASSERT_FALSE(outcome);
    EXPECT_EQ(base::string_at(*outcome.error().details, "suspected_issue"),
              "markdown_list_diff_prefix");
}

TEST(Match, FindsNothingInLinesThatAnEarlierHunkRemoved) {
    const auto outcome = changed("a\nb\n", "@@ -1 +1 @@\n-a\n+A\n@@ -1 +1 @@\n-a\n+AA\n");
    ASSERT_FALSE(outcome);
    EXPECT_EQ(outcome.error().kind, "context_not_found");
}

TEST(Match, RefusesAnInsertionBehindTheEnd) {
    const auto outcome = changed("a\nb\n", "@@ -7,0 +8 @@\n+x\n");
    ASSERT_FALSE(outcome);
    EXPECT_EQ(outcome.error().kind, "context_not_found");
}

TEST(Match, ComparesSpacesExactly) {
    const auto outcome = changed("a  b\n", "@@ -1 +1 @@\n-a b\n+c\n");
    ASSERT_FALSE(outcome);
    EXPECT_EQ(outcome.error().kind, "context_not_found");
}

TEST(Match, ShowsBytesThatAreNotTextAsValidUtf8) {
    const auto outcome = changed("\xff\xfe\n", "@@ -1 +1 @@\n-a\n+b\n");
    ASSERT_FALSE(outcome);
    EXPECT_TRUE(base::is_utf8(json::serialize(*outcome.error().details)));
    EXPECT_TRUE(base::is_utf8(*outcome.error().recovery_hint));
}

TEST(Match, GivesUpOnAPairThatTakesTooLong) {
    const std::string file(1000, '\n');
    Hunk hunk{.lines = std::vector<Line>(100)};
    hunk.lines.push_back({LineKind::Remove, "end"});
    const std::vector<Hunk> hunks{hunk};
    EXPECT_EQ(apply_hunks(file, hunks, "x").error().kind, "context_not_found");
    const auto outcome = apply_hunks(file, hunks, "x", 10'000);
    ASSERT_FALSE(outcome);
    EXPECT_EQ(base::string_at(*outcome.error().details, "rule"), "patch_too_large");
}

TEST(NewContent, IsTheAddedLinesWithTheNewlineThePatchAsksFor) {
    const Line a{LineKind::Add, "a"};
    const Line b{LineKind::Add, "b"};
    EXPECT_EQ(new_content(std::vector<Hunk>{}), "");
    EXPECT_EQ(new_content(std::vector<Hunk>{{.lines = {a, b}}}), "a\nb\n");
    EXPECT_EQ(new_content(std::vector<Hunk>{{.final_newline = false, .lines = {a, b}}}), "a\nb");
}

}  // namespace
}  // namespace patch
