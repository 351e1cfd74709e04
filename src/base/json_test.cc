#include "base/json.h"

#include <limits>

#include <gmock/gmock.h>

namespace base {
namespace {

json::value parsed(std::string_view text) {
    auto value = parse_json(text);
    EXPECT_TRUE(value) << text;
    return value.value_or(nullptr);
}

std::string nested(std::size_t depth) {
    return std::string(depth, '[') + std::string(depth, ']');
}

TEST(Json, ParsesUpToTheDepthLimit) {
    EXPECT_TRUE(parse_json(nested(kJsonDepthMax)));
    const auto deeper = parse_json(nested(kJsonDepthMax + 1));
    ASSERT_FALSE(deeper);
    EXPECT_EQ(deeper.error().code, ErrorCode::InvalidInput);
    EXPECT_FALSE(parse_json(std::string(1'000'000, '[')));
}

TEST(Json, RefusesWhatIsNotOneDocument) {
    for (const std::string_view text :
         {"", "{", "{} x", "[1,]", "\"\xff\"", "'a'", "nul", "// c\n1", "NaN", "\"\\ud800\""})
        EXPECT_FALSE(parse_json(text)) << text;
    EXPECT_EQ(json_text(parsed(" 1 ")), "1");
}

TEST(Json, KeepsTheOrderOfMembersInPlainText) {
    EXPECT_EQ(json_text(parsed(R"({"b": 1, "a": [true, null, {"d": "x\n", "c": {}}]})")),
              R"({"b":1,"a":[true,null,{"d":"x\n","c":{}}]})");
}

TEST(Json, SortsMembersAtEveryLevelInCanonicalText) {
    const std::string_view text = R"({"b":{"d":1,"c":[{"z":1,"y":2}]},"a":"é","B":0})";
    EXPECT_EQ(canonical_json(parsed(text)), R"({"B":0,"a":"é","b":{"c":[{"y":2,"z":1}],"d":1}})");
    EXPECT_EQ(canonical_json(parsed(R"({"a":"é","B":0,"b":{"c":[{"y":2,"z":1}],"d":1}})")),
              canonical_json(parsed(text)));
}

TEST(Json, IndentsPrettyTextByTwo) {
    EXPECT_EQ(
        pretty_json(parsed(R"({"b":[1,{"c":2}],"a":{},"d":[]})")),
        "{\n  \"a\": {},\n  \"b\": [\n    1,\n    {\n      \"c\": 2\n    }\n  ],\n  \"d\": []\n}");
}

TEST(Json, WritesNumbersThatPeopleExpect) {
    EXPECT_EQ(json_text(1.0), "1.0");
    EXPECT_EQ(json_text(-0.5), "-0.5");
    EXPECT_EQ(json_text(0.1), "0.1");
    EXPECT_EQ(json_text(1e300), "1e+300");
    EXPECT_EQ(json_text(std::numeric_limits<double>::infinity()), "null");
    EXPECT_EQ(json_text(std::numeric_limits<double>::quiet_NaN()), "null");
    EXPECT_EQ(json_text(std::numeric_limits<std::int64_t>::min()), "-9223372036854775808");
    EXPECT_EQ(json_text(std::numeric_limits<std::uint64_t>::max()), "18446744073709551615");
}

TEST(Json, EscapesKeysAndStrings) {
    const json::value value{{"a\"\n", "\x01\\"}};
    EXPECT_EQ(json_text(value), R"({"a\"\n":"\u0001\\"})");
    EXPECT_EQ(parsed(json_text(value)), value);
}

TEST(Json, WritesWhatTheLibraryWritesButForDoubles) {
    const auto value = parsed(
        R"({"b":[1,-2,18446744073709551615,true,false,null,[],{}],"":{"é":"\u0007\"\\","a":[[]]}})");
    EXPECT_EQ(json_text(value), json::serialize(value));
    std::string behind = "x";
    append_json(behind, value);
    append_json(behind, value.as_object());
    EXPECT_EQ(behind, "x" + json_text(value) + json_text(value));
}

TEST(Json, EscapesATextAsTheLibraryDoes) {
    for (int byte = 0; byte < 128; ++byte)
        for (std::size_t before = 0; before < 9; ++before) {
            const std::string text = std::string(before, 'a') + static_cast<char>(byte) + "äb";
            std::string out = "behind ";
            append_json_string(out, text);
            EXPECT_EQ(out, "behind " + json::serialize(json::string_view(text)))
                << byte << " at " << before;
        }
}

TEST(Json, FindsMembersOrFallsBack) {
    const auto value = parsed(R"({"s":"x","i":-3,"u":18446744073709551615,"b":true,"d":1.5})");
    EXPECT_EQ(*find(value, "s"), "x");
    EXPECT_EQ(find(value, "none"), nullptr);
    const json::value number(1);
    EXPECT_EQ(find(number, "s"), nullptr);
    EXPECT_EQ(string_at(value, "s"), "x");
    EXPECT_EQ(string_at(value, "i", "else"), "else");
    EXPECT_EQ(int_at(value, "i"), -3);
    EXPECT_EQ(int_at(value, "u", 7), 7);
    EXPECT_EQ(int_at(value, "d", 7), 7);
    EXPECT_EQ(int_at(json::value{{"u", std::uint64_t{5}}}, "u"), 5);
    EXPECT_TRUE(bool_at(value, "b"));
    EXPECT_TRUE(bool_at(value, "i", true));
}

}  // namespace
}  // namespace base
