#include "exec/tools/vault/ignore.h"

#include <gtest/gtest.h>

namespace vault {
namespace {

TEST(Glob, MatchesAsGitDoes) {
    struct Case {
        const char *pattern, *path;
        bool matches;
    };
    const Case cases[] = {
        {"*.md", "a.md", true},
        {"*.md", "x/y/a.md", true},
        {"*.md", "a.mdx", false},
        {"/a.md", "a.md", true},
        {"/a.md", "x/a.md", false},
        {"x/*.md", "x/a.md", true},
        {"x/*.md", "x/y/a.md", false},
        {"x/**/a.md", "x/a.md", true},
        {"x/**/a.md", "x/y/z/a.md", true},
        {"**/a.md", "a.md", true},
        {"**/a.md", "q/a.md", true},
        {"x/**", "x/y/z", true},
        {"x/**", "x", false},
        {"?.md", "a.md", true},
        {"?.md", "ä.md", true},
        {"?.md", "ab.md", false},
        {"[ab].md", "b.md", true},
        {"[!ab].md", "b.md", false},
        {"[!ab].md", "c.md", true},
        {"[ab.md", "[ab.md", true},
        {"a\\*b", "a*b", true},
        {"a\\*b", "axb", false},
        {"a.b", "axb", false},
        {"(x)+", "(x)+", true},
    };
    for (const auto& [pattern, path, matches] : cases)
        EXPECT_EQ(Glob::compile(pattern).value().matches(path), matches) << pattern << " " << path;
    EXPECT_FALSE(Glob::compile(""));
    EXPECT_FALSE(Glob::compile(std::string(kGlobBytesMax + 1, '*')));
}

TEST(IgnoreRules, LetTheLastRuleThatMatchesDecide) {
    const auto rules =
        IgnoreRules::parse("# comment\n*.log\n!keep.log\nbuild/\n\n/top  \n\\#x\r\n");
    EXPECT_EQ(rules.judge("a.log", false), true);
    EXPECT_EQ(rules.judge("d/keep.log", false), false);
    EXPECT_EQ(rules.judge("d/build", true), true);
    EXPECT_EQ(rules.judge("build", false), std::nullopt) << "a file is no folder";
    EXPECT_EQ(rules.judge("top", false), true);
    EXPECT_EQ(rules.judge("d/top", false), std::nullopt);
    EXPECT_EQ(rules.judge("#x", false), true);
    EXPECT_EQ(rules.judge("comment", false), std::nullopt);
}

TEST(IgnoreRules, TakeNoLongerForAHostilePattern) {
    std::string stars;
    for (int i = 0; i < 200; ++i) stars += "*a";
    const auto rules = IgnoreRules::parse(stars + "\n");
    EXPECT_EQ(rules.judge(std::string(20'000, 'b'), false), std::nullopt);
}

}  // namespace
}  // namespace vault
