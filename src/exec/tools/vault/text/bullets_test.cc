#include "exec/tools/vault/text/bullets.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace vault {
namespace {

// One line an item: depth, kind, text.
std::string shape(std::string_view markdown) {
    std::string out;
    for (const auto& item : parse_bullets(markdown).items)
        out += fmt::format("{}{}{} {}\n", item.depth, item.ordered ? "#" : "-",
                           !item.checked   ? ""
                           : *item.checked ? "x"
                                           : "o",
                           item.text);
    return out;
}

TEST(Bullets, KeepTheirNesting) {
    EXPECT_EQ(shape("- a\n  - b\n    - c\n  - d\n- e\n"), "0- a\n1- b\n2- c\n1- d\n0- e\n");
    EXPECT_EQ(shape("* a\n\t+ b\n\t\t- c\n"), "0- a\n1- b\n2- c\n");
    EXPECT_EQ(shape("- a\n - b\n"), "0- a\n0- b\n") << "one space is no child";
    EXPECT_EQ(shape("    - a\n  - b\n- c\n"), "0- a\n0- b\n0- c\n");
}

TEST(Bullets, KnowCheckboxesAndNumbers) {
    EXPECT_EQ(shape("- [ ] open\n- [x] done\n- [X] DONE\n- [-] odd\n- []\n- [ ]\n"),
              "0-o open\n0-x done\n0-x DONE\n0- [-] odd\n0- []\n0-o \n");
    EXPECT_EQ(shape("1. one\n  - sub\n2) two\n10. ten\n1.no\n1234567890. no\n"),
              "0# one\n1- sub\n0# two\n0# ten\n1.no\n1234567890. no\n");
}

TEST(Bullets, TakeTheLinesBelowThemAsTheirText) {
    EXPECT_EQ(shape("- a\n  more\nlazy\n\n  still\n\nnot\n- b\n"),
              "0- a\nmore\nlazy\nstill\n0- b\n");
    EXPECT_EQ(shape("- a\n# Heading\n  - b\n"), "0- a\n0- b\n");
}

TEST(Bullets, PassOverCodeRulesAndEmphasis) {
    EXPECT_EQ(shape("```\n- code\n```\n- real\n~~~\n- code\n```\n- code\n~~~\n"), "0- real\n");
    EXPECT_EQ(shape("---\n***\n* * *\n-no\n**bold**\n+1\n"), "");
    EXPECT_EQ(shape("-\n- \n"), "0- \n0- \n");
}

TEST(Bullets, HaveTheirLinesAndEndAtTheirBound) {
    EXPECT_EQ(parse_bullets("x\r\n\r\n- a\r\n").items,
              (std::vector<Bullet>{{.text = "a", .line = 3}}));
    std::string many;
    for (std::size_t i = 0; i <= kBulletsMax; ++i) many += "- x\n";
    const auto bullets = parse_bullets(many);
    EXPECT_EQ(bullets.items.size(), kBulletsMax);
    EXPECT_TRUE(bullets.truncated);
    std::string deep;
    for (std::size_t i = 0; i < 100; ++i) deep += std::string(2 * i, ' ') + "- x\n";
    EXPECT_EQ(parse_bullets(deep).items.back().depth, kBulletDepthMax);
}

TEST(Bullets, EndTheirLinesAsEverySystemDoes) {
    const auto items = parse_bullets("- one\r\n  more\r\n- [x] two\r\n").items;
    ASSERT_EQ(items.size(), 2u);
    EXPECT_EQ(items[0].text, "one\nmore");
    EXPECT_EQ(items[1].text, "two");
    EXPECT_EQ(items[1].checked, true);
}

TEST(Bullets, AreNotTheListsOfTheFrontMatter) {
    const auto items = parse_bullets("---\ntags:\n  - a\n  - b\n---\n- one\n").items;
    ASSERT_EQ(items.size(), 1u);
    EXPECT_EQ(items[0].text, "one");
    EXPECT_EQ(items[0].line, 6u);
    EXPECT_EQ(parse_bullets("---\n- a\n- b\n").items.size(), 2u) << "a rule, not front matter";
}

}  // namespace
}  // namespace vault
