#include "exec/tools/mcp/wire/schema.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/plain_text.h"
#include "exec/tools/schema_check.h"

namespace mcp {
namespace {

using testing::HasSubstr;

json::value of(std::string_view text) {
    return base::parse_json(text).value();
}
json::value usable(std::string_view text) {
    const auto schema = usable_schema(of(text));
    return schema ? json::value(*schema) : json::value(json::string(schema.error().message));
}

TEST(McpSchema, KeepsCheckedKeywordsAndDropsOthers) {
    EXPECT_EQ(usable(R"({"$schema":"x","title":"T","type":"object","required":["a","zz"],
                         "properties":{"a":{"type":"string","pattern":"^x","minLength":1,
                                            "description":"An a."},
                                       "b":{"type":["integer","null"],"default":3,"format":"int32"},
                                       "c":{"oneOf":[{"const":1},{"enum":["x"]}]}, "d":true},
                         "additionalProperties":false,"patternProperties":{"x":{}}})"),
              of(R"({"type":"object","required":["a"],
                     "properties":{"a":{"type":"string","minLength":1,"description":"An a."},
                                   "b":{"type":["integer","null"],"default":3},
                                   "c":{"anyOf":[{"const":1},{"enum":["x"]}]}, "d":{}},
                     "additionalProperties":false})"));
}

TEST(McpSchema, PutsReferencesInPlaceAndCutsThoseThatLeadBack) {
    EXPECT_EQ(usable(R"({"properties":{"a":{"$ref":"#/$defs/A","description":"Mine."},
                                       "b":{"allOf":[{"$ref":"#/definitions/B"}]},
                                       "c":{"$ref":"http://elsewhere/x"}},
                         "$defs":{"A":{"type":"object","properties":{"next":{"$ref":"#/$defs/A"}}}},
                         "definitions":{"B":{"type":"integer"}}})"),
              of(R"({"type":"object",
                     "properties":{"a":{"type":"object","description":"Mine.","properties":{"next":{}}},
                                   "b":{"type":"integer"},"c":{}}})"));
}

TEST(McpSchema, WhatCannotBeUsedIsRefusedWithAReason) {
    EXPECT_THAT(usable("null").as_string().c_str(), HasSubstr("not a JSON object"));
    EXPECT_THAT(usable(R"({"type":"array"})").as_string().c_str(), HasSubstr("describe an object"));
    EXPECT_THAT(usable(R"({"properties":{"a\u0007":{}}})").as_string().c_str(),
                HasSubstr("parameter's name"));
    EXPECT_THAT(usable(R"({"properties":{"a":{"enum":["x\u202e"]}}})").as_string().c_str(),
                HasSubstr("cannot be shown"));
    std::string deep = "{}";
    for (int i = 0; i < 20; ++i) deep = R"({"items":)" + deep + "}";
    EXPECT_THAT(usable(R"({"properties":{"a":)" + deep + "}}").as_string().c_str(),
                HasSubstr("deeper"));
    json::object wide, large;
    for (int i = 0; i < 500; ++i) wide[std::to_string(i)] = json::object{};
    EXPECT_THAT(usable_schema(json::object{{"properties", wide}}).error().message,
                HasSubstr("parts"));
    for (int i = 0; i < 100; ++i)
        large[std::to_string(i)] = json::object{{"description", std::string(250, 'x')}};
    EXPECT_THAT(usable_schema(json::object{{"properties", large}}).error().message,
                HasSubstr("larger"));
}

// A tree of references that doubles at each step would be a bomb if it were followed to its end.
TEST(McpSchema, ReferencesThatMultiplyAreRefused) {
    json::object definitions;
    for (int i = 0; i < 10; ++i) {
        const json::object ref{{"$ref", fmt::format("#/$defs/d{}", i + 1)}};
        definitions[fmt::format("d{}", i)] =
            json::object{{"properties", {{"a", ref}, {"b", ref}, {"c", ref}, {"d", ref}}}};
    }
    EXPECT_FALSE(usable_schema(json::object{{"$ref", "#/$defs/d0"}, {"$defs", definitions}}));
}

TEST(McpSchema, TheResultIsUnderstoodByTheChecker) {
    const auto schema =
        usable_schema(of(R"({"properties":{"n":{"type":"integer"}},"required":["n"]})"));
    EXPECT_TRUE(tools::check_schema(*schema, of(R"({"n":1})")).empty());
    EXPECT_FALSE(tools::check_schema(*schema, of(R"({"n":"x"})")).empty());
}

TEST(McpPlainText, NothingHidesInIt) {
    EXPECT_EQ(base::plain_text("a\x1b[31mb\u200b\u202e\U000E0041c\td\r\ne\x7f\xff", 100),
              "a[31mbc d \ne\uFFFD");
    EXPECT_EQ(base::plain_text("  \x01 ", 10), "");
    EXPECT_EQ(base::plain_text("abcdef", 4), "abc…");
    EXPECT_TRUE(base::is_plain("Grüße 你好", 100));
    EXPECT_FALSE(base::is_plain("a\nb", 100));
}

}  // namespace
}  // namespace mcp
