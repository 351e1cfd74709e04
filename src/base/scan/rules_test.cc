// Every rule against the texts it must and must not find, in its own file.
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

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
        parse_rules(R"([{"id":"x","description":"d","pattern":"a","entrpy":1}])").error().message,
        HasSubstr("entrpy"));
}

}  // namespace
}  // namespace scan
