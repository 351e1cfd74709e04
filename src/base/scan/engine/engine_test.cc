#include "base/scan/engine/engine.h"

#include <gtest/gtest.h>

#include "base/scan/engine/matcher.h"
#include "base/scan/rule.h"

namespace scan {
namespace {

const std::vector<std::string> kExpressions{"key=([a-z]{3,8})", "[0-9]{4}x"};
const std::vector<std::string> kNames{"one", "two"};

std::vector<std::string> found_by(std::string_view prepared) {
    const auto matcher = Matcher::compile(kExpressions, kNames, prepared).value();
    std::vector<std::string> values;
    matcher.find("key=abc 1234x", [&](const Match& match) { values.emplace_back(match.value); });
    return values;
}

TEST(Engine, ThatWasPreparedFindsWhatABuiltOneFinds) {
    const auto prepared = Matcher::prepare(kExpressions, kNames).value();
    ASSERT_TRUE(load_engine(prepared, kExpressions));
    EXPECT_EQ(found_by(prepared), found_by({}));
    EXPECT_EQ(found_by(prepared), (std::vector<std::string>{"abc", "1234x"}));
    const auto built = build_engine(kExpressions, kNames, Platform::Native).value();
    EXPECT_EQ(load_engine(prepared, kExpressions)->widths, built.widths);
}

TEST(Engine, IsBuiltWhenThePreparedOneIsOfOtherExpressionsOrCut) {
    const auto other = Matcher::prepare({"another", "[0-9]{4}x"}, kNames).value();
    const auto whole = Matcher::prepare(kExpressions, kNames).value();
    const auto cut = whole.substr(0, whole.size() - 1);
    for (const auto& bytes : {other, cut, std::string("short")}) {
        EXPECT_FALSE(load_engine(bytes, kExpressions));
        EXPECT_EQ(found_by(bytes), (std::vector<std::string>{"abc", "1234x"}));
    }
}

TEST(Engine, OfTheSecretRulesIsTheOneThatCameWithTheProgram) {
    std::vector<std::string> expressions;
    for (const auto& rule : secret_rules()) expressions.push_back(expression(rule));
    EXPECT_TRUE(load_engine(prepared_secret_rules(), expressions));
}

}  // namespace
}  // namespace scan
