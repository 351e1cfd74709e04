#include "base/scan/engine/engine.h"

#include <algorithm>

#include <gtest/gtest.h>

#include "base/scan/engine/matcher.h"
#include "base/scan/rule.h"

namespace scan {
namespace {

const std::vector<Sought> kSought{{.name = "one", .expression = "key=([a-z]{3,8})"},
                                  {.name = "two", .expression = "[0-9]{4}x", .ending = "[0-9]x"}};

std::vector<std::string> found_by(std::string_view prepared) {
    const auto matcher = Matcher::compile(kSought, prepared).value();
    std::vector<std::string> values;
    matcher.find("key=abc 1x 1234x", [&](const Match& match) { values.emplace_back(match.value); });
    std::ranges::sort(values);
    return values;
}

TEST(Engine, ThatWasPreparedFindsWhatABuiltOneFinds) {
    const auto prepared = Matcher::prepare(kSought).value();
    ASSERT_TRUE(load_engine(prepared, kSought));
    EXPECT_EQ(found_by(prepared), found_by({}));
    EXPECT_EQ(found_by(prepared), (std::vector<std::string>{"1234x", "abc"}));
    const auto built = build_engine(kSought, Platform::Native).value();
    EXPECT_EQ(load_engine(prepared, kSought)->widths, built.widths);
}

TEST(Engine, IsBuiltWhenThePreparedOneIsOfOtherExpressionsOrCut) {
    const auto prepare = [](Sought second) {
        return Matcher::prepare({kSought[0], std::move(second)}).value();
    };
    const auto other = prepare({.name = "two", .expression = "another"});
    const auto other_ending = prepare({.name = "two", .expression = "[0-9]{4}x", .ending = "x"});
    const auto whole = Matcher::prepare(kSought).value();
    const auto cut = whole.substr(0, whole.size() - 1);
    for (const auto& bytes : {other, other_ending, cut, std::string("short")}) {
        EXPECT_FALSE(load_engine(bytes, kSought));
        EXPECT_EQ(found_by(bytes), (std::vector<std::string>{"1234x", "abc"}));
    }
}

TEST(Engine, OfTheSecretRulesIsTheOneThatCameWithTheProgram) {
    std::vector<Sought> all;
    for (const auto& rule : secret_rules()) all.push_back(sought(rule));
    EXPECT_TRUE(load_engine(prepared_secret_rules(), all));
}

}  // namespace
}  // namespace scan
