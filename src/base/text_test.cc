#include "base/text.h"

#include <gmock/gmock.h>

namespace base {
namespace {

using testing::ElementsAre;
using namespace std::string_view_literals;

#define MARK "\xEF\xBF\xBD"

TEST(Text, CountsOneAndMany) {
    EXPECT_EQ(counted(1, "agent"), "1 agent");
    EXPECT_EQ(counted(0, "agent"), "0 agents");
    EXPECT_EQ(counted(2, "tool call"), "2 tool calls");
}

TEST(Text, KnowsValidUtf8) {
    for (const auto text :
         {""sv, "a\0b"sv, "é"sv, "€"sv, "😀"sv, "\u007f\u0080\u07ff\u0800\uffff"sv, "\U0010ffff"sv})
        EXPECT_TRUE(is_utf8(text)) << text;
    for (const auto bytes : {"\x80"sv, "\xc3"sv, "\xc0\x80"sv, "\xc1\xbf"sv, "\xe0\x9f\xbf"sv,
                             "\xed\xa0\x80"sv, "\xf0\x8f\xbf\xbf"sv, "\xf4\x90\x80\x80"sv,
                             "\xf5\x80\x80\x80"sv, "\xff"sv, "\xe2\x82"sv, "ok\xe2\x28\xa1"sv})
        EXPECT_FALSE(is_utf8(bytes)) << bytes.size();
}

TEST(Text, FindsWhatIsNotUtf8BehindAnyLengthOfAscii) {
    for (std::size_t before = 0; before < 20; ++before)
        for (std::size_t after = 0; after < 20; ++after) {
            const std::string start(before, 'a'), end(after, 'z');
            EXPECT_TRUE(is_utf8(start + "é" + end)) << before << " " << after;
            EXPECT_FALSE(is_utf8(start + "\xc3" + end)) << before << " " << after;
            EXPECT_FALSE(is_utf8(start + "\x80" + end)) << before << " " << after;
        }
}

TEST(Text, ReplacesInvalidPartsOnly) {
    EXPECT_EQ(to_utf8("é€😀"), "é€😀");
    EXPECT_EQ(to_utf8("a\xff"
                      "b"),
              "a" MARK "b");
    EXPECT_EQ(to_utf8("a\xe2\x82"), "a" MARK);
    EXPECT_EQ(to_utf8("\xe2\x82"
                      "é"),
              MARK "é");
    EXPECT_EQ(to_utf8("\xc3("), MARK "(");
    EXPECT_EQ(to_utf8("\xff\xfe"), MARK MARK);
}

TEST(Text, MakesAnyBytesValid) {
    for (int first = 0; first < 256; ++first)
        for (int second = 0; second < 256; ++second) {
            const char bytes[] = {static_cast<char>(first), static_cast<char>(second), 'x'};
            EXPECT_TRUE(is_utf8(to_utf8({bytes, 3})));
            EXPECT_TRUE(is_utf8(to_utf8({bytes, 2})));
        }
}

TEST(Text, CountsAndCutsCharacters) {
    EXPECT_EQ(char_count("aé€😀"), 4U);
    EXPECT_EQ(first_chars("aé€😀", 0), "");
    EXPECT_EQ(first_chars("aé€😀", 2), "aé");
    EXPECT_EQ(first_chars("aé€😀", 4), "aé€😀");
    EXPECT_EQ(first_chars("aé", 9), "aé");
    EXPECT_EQ(last_chars("aé€😀", 0), "");
    EXPECT_EQ(last_chars("aé€😀", 2), "€😀");
    EXPECT_EQ(last_chars("aé", 9), "aé");
}

TEST(Text, MarksWhereItWasShortened) {
    EXPECT_EQ(ellipsize("ééé", 3), "ééé");
    EXPECT_EQ(ellipsize("éééé", 3), "éé…");
    EXPECT_EQ(ellipsize("ab", 1), "…");
    EXPECT_EQ(ellipsize("ab", 0), "");
}

TEST(Text, TrimsSplitsAndCollapses) {
    EXPECT_EQ(trim(" \t\r\n a b \v\f"), "a b");
    EXPECT_EQ(trim(" \n "), "");
    EXPECT_THAT(split_lines(""), ElementsAre());
    EXPECT_THAT(split_lines("a\n\nb"), ElementsAre("a", "", "b"));
    EXPECT_THAT(split_lines("a\n"), ElementsAre("a"));
    EXPECT_THAT(split_lines("\n"), ElementsAre(""));
    EXPECT_EQ(collapse_whitespace("  a \n\t b  "), "a b");
}

TEST(Text, ShowsControlCharacters) {
    EXPECT_EQ(printable("a\n\t\r\x1b[2J\x7f\0é"sv), "a\\n\\t\\r\\x1b[2J\\x7f\\x00é");
    EXPECT_EQ(printable("\u009b2J\u00a0"), "\\x9b2J\u00a0");
    EXPECT_EQ(printable("a\n\tb\r\n", true), "a\n\tb\\r\n");
    EXPECT_EQ(printable("a\u202ecod\u2069\u2028—\u200d"), "a\\u202ecod\\u2069\\u2028—\u200d")
        << "marks that turn text around or end a line";
}

TEST(Text, SuggestsOnlyWhatIsNear) {
    const std::vector<std::string> names{"read_file", "write_file", "list"};
    EXPECT_EQ(nearest("read_flie", names), "read_file");
    EXPECT_EQ(nearest("lst", names), "list");
    EXPECT_EQ(nearest("xyz", names), "");
    EXPECT_EQ(nearest("", names), "");
    EXPECT_EQ(nearest("x", std::vector<std::string>{"y"}), "");
    EXPECT_EQ(nearest(std::string(1'000'000, 'x'), names), "");
}

TEST(Text, EstimatesTokensFromCharacters) {
    EXPECT_EQ(estimate_tokens(""), 1U);
    EXPECT_EQ(estimate_tokens("éééé"), 1U);
    EXPECT_EQ(estimate_tokens("ééééé"), 2U);
}

}  // namespace
}  // namespace base
