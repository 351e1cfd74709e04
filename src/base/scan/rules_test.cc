// Every rule against the texts it must and must not find, in its own file.
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/scan/engine/engine.h"
#include "base/scan/scanner.h"

namespace scan {
namespace {

using testing::HasSubstr;

const Scanner& all_rules() {
    static const auto scanner = [] {
        auto made = Scanner::make({.rules = {secret_rules().begin(), secret_rules().end()},
                                   .prepared = prepared_secret_rules()});
        EXPECT_TRUE(made) << made.error().message;
        return *made;
    }();
    return *scanner;
}

// Of what a rule that yields would find, another may have the word.
bool finds(const std::string& text, const Rule& rule) {
    const auto found = all_rules().scan(text);
    if (rule.yields && !found.empty()) return true;
    return std::ranges::any_of(found,
                               [&](const Finding& finding) { return finding.rule == rule.id; });
}

TEST(Rules, AreMoreThanTwoHundredAndEachHasItsOwnName) {
    std::set<std::string> ids;
    for (const auto& rule : secret_rules()) {
        EXPECT_TRUE(ids.insert(rule.id).second) << rule.id;
        EXPECT_FALSE(rule.description.empty()) << rule.id;
        EXPECT_GE(rule.good.size(), 1U) << rule.id;
        EXPECT_GE(rule.bad.size(), 1U) << rule.id;
    }
    EXPECT_GE(ids.size(), 200U);
}

// contract: GATE-10
TEST(Rules, FindTheirGoodExamplesAndLeaveTheirBadOnes) {
    for (const auto& rule : secret_rules()) {
        for (const auto& text : rule.good)
            EXPECT_TRUE(finds(example(text), rule)) << rule.id << " misses " << text;
        for (const auto& text : rule.bad)
            EXPECT_FALSE(finds(example(text), rule)) << rule.id << " finds " << text;
    }
}

TEST(Rules, FindTheirExamplesInsideOtherText) {
    for (const auto& rule : secret_rules()) {
        if (rule.until) continue;  // Text behind these belongs to them.
        for (const auto& text : rule.good) {
            EXPECT_TRUE(finds("the log says \"" + example(text) + "\", then ends", rule))
                << rule.id << " misses " << text;
            EXPECT_TRUE(finds(example(text) + "\nnext line", rule))
                << rule.id << " misses " << text;
        }
    }
}

// The first lines of listings end in such words as well; a rule must say what follows.
// contract: GATE-10
TEST(Rules, FindATokenThatLineEndsCutIntoParts) {
    const std::string token = "gh" + std::string("p_PkH0DCuGCOFpwK1k89WROTsqYkK2GSRpMm7W");
    for (const std::string between : {"\n", "\r\n", "\n    "})
        for (std::size_t cut = 8; cut + 4 <= token.size(); ++cut) {
            const std::string in_parts = token.substr(0, cut) + between + token.substr(cut);
            const std::string text = "token: " + in_parts + "\nand more";
            const auto found = all_rules().scan(text);
            ASSERT_EQ(found.size(), 1U) << text;
            EXPECT_EQ(text.substr(found[0].begin, found[0].end - found[0].begin), in_parts);
        }
    for (const std::string text :
         {"ghp_\nPkH0DCuGCOFpwK1k89WROTsqYkK2GSRpMm7", "test_a1\n3f2b9c8e7d6a5f4e3d2c1b0a9f8e7d6c",
          "sk-PkH0DCuGCO\n\nFpwK1k89WROTsqYkK2GSRpMm7W", "key-1\nk8sWROTsqYkK2GSRpMm7WUtq8"})
        EXPECT_TRUE(all_rules().scan(text).empty()) << text;
}

// A pattern and what of it is searched for first say the same.
TEST(Rules, MeanTheSameWithoutTheirCores) {
    std::vector<Rule> with, without;
    std::string texts;
    for (const auto& rule : secret_rules()) {
        if (!rule.core) continue;
        with.push_back(rule);
        without.push_back(rule);
        without.back().core.reset();
        const auto engine = build_engine({sought(without.back())}, Platform::Native);
        ASSERT_TRUE(engine);
        EXPECT_LT(engine->widths[0], kCoreReach) << rule.id;
        for (const auto* examples : {&rule.good, &rule.bad})
            for (const auto& text : *examples)
                for (const std::string around : {" ", "\n", "/", "x", ".", "\"", "-"})
                    texts += around + example(text) + around;
    }
    ASSERT_FALSE(with.empty());
    const auto fast = Scanner::make({.rules = with}).value();
    const auto plain = Scanner::make({.rules = without}).value();
    EXPECT_FALSE(plain->scan(texts).empty());
    for (std::size_t cut = 0; cut < 200; ++cut)
        EXPECT_EQ(fast->scan(texts.substr(cut)), plain->scan(texts.substr(cut)));
}

TEST(Rules, ThatCannotBeUsedAreRefusedByName) {
    const auto refused = [](std::string pattern) {
        Rule rule{.id = "mine", .description = "d", .pattern = std::move(pattern)};
        const auto made = Scanner::make({.rules = {rule}});
        return made ? std::string() : made.error().message;
    };
    EXPECT_THAT(refused("a(?=b)"), HasSubstr("rule mine"));
    EXPECT_THAT(refused("a+"), HasSubstr("bound its repeats"));
    EXPECT_THAT(refused("a{0,3}"), HasSubstr("between 1 and"));
    EXPECT_THAT(refused("(unclosed"), HasSubstr("rule mine"));
    EXPECT_EQ(refused("ab{1,3}"), "");
}

TEST(Rules, OfANewFileAreCheckedWhenTheyAreRead) {
    EXPECT_THAT(parse_rules(R"([{"id":"x","description":"d"}])").error().message,
                HasSubstr("rule x needs either a pattern"));
    EXPECT_THAT(
        parse_rules(R"([{"id":"x","description":"d","pattern":"a","check":"no"}])").error().message,
        HasSubstr("a check 'no'"));
    EXPECT_THAT(
        parse_rules(R"([{"id":"x","description":"d","keywords":["k"],"value":"v","core":"a"}])")
            .error()
            .message,
        HasSubstr("only with a pattern"));
    EXPECT_THAT(
        parse_rules(R"([{"id":"x","description":"d","pattern":"a","entrpy":1}])").error().message,
        HasSubstr("entrpy"));
}

}  // namespace
}  // namespace scan
