#include "exec/tools/schema_check.h"

#include "base/typed.h"

#include <gmock/gmock.h>

namespace tools {

static std::ostream& operator<<(std::ostream& out, const SchemaFault& fault) {
    return out << fault.pointer << ": " << fault.message;
}

namespace {

using Faults = std::vector<SchemaFault>;

Faults check(std::string_view schema, std::string_view value) {
    return check_schema(base::parse_json(schema).value().as_object(),
                        base::parse_json(value).value());
}

TEST(SchemaCheck, KnowsEachKeyword) {
    struct Case {
        std::string_view schema, good, bad;
        SchemaFault fault;
    };
    const std::vector<Case> cases{
        {R"({"type":"object"})", "{}", "[]", {"", "expected object, got []"}},
        {R"({"type":"array"})", "[]", "{}", {"", "expected array, got {}"}},
        {R"({"type":"string"})", R"("a")", "1", {"", "expected string, got 1"}},
        {R"({"type":"string"})",
         R"("a")",
         R"(["--key","s3cret"])",
         {"", "expected string, got an array"}},
        {R"({"type":"string"})",
         R"("a")",
         R"({"key":"s3cret"})",
         {"", "expected string, got an object"}},
        {R"({"type":"boolean"})", "false", "0", {"", "expected boolean, got 0"}},
        {R"({"type":"null"})", "null", "0", {"", "expected null, got 0"}},
        {R"({"type":"number"})", "1.5", R"("1")", {"", R"(expected number, got "1")"}},
        {R"({"type":"integer"})", "-3", "1.5", {"", "expected integer, got 1.5"}},
        {R"({"type":"integer"})",
         "9223372036854775807",
         "9223372036854775808",
         {"", "expected integer, got 9223372036854775808"}},
        {R"({"type":["string","null"]})", "null", "1", {"", "expected string or null, got 1"}},
        {R"({"enum":["a",1]})", "1", R"("b")", {"", R"(expected one of ["a",1], got "b")"}},
        {R"({"const":"a"})", R"("a")", R"("b")", {"", R"(expected "a", got "b")"}},
        {R"({"properties":{"a":{"type":"string"}}})",
         R"({"a":"x"})",
         R"({"a":1})",
         {"/a", "expected string, got 1"}},
        {R"({"required":["a"]})", R"({"a":null})", R"({"b":1})", {"/a", "is required"}},
        {R"({"properties":{"a":{}},"additionalProperties":false})",
         R"({"a":1})",
         R"({"zzzz":1})",
         {"/zzzz", "is not a known field"}},
        {R"({"additionalProperties":{"type":"integer"}})",
         R"({"x":1})",
         R"({"x":"1"})",
         {"/x", R"(expected integer, got "1")"}},
        {R"({"items":{"type":"integer"}})",
         "[1,2]",
         R"([1,"2"])",
         {"/1", R"(expected integer, got "2")"}},
        {R"({"minItems":1})", "[1]", "[]", {"", "needs at least 1 items, got 0"}},
        {R"({"maxItems":1})", "[1]", "[1,2]", {"", "takes at most 1 items, got 2"}},
        {R"({"minLength":2})", R"("äö")", R"("ä")", {"", "needs at least 2 characters"}},
        {R"({"maxLength":2})", R"("äö")", R"("äöü")", {"", "takes at most 2 characters, got 3"}},
        {R"({"minimum":1})", "1", "0", {"", "must be at least 1"}},
        {R"({"maximum":1.5})", "1.5", "2", {"", "must be at most 1.5"}},
        {R"({"anyOf":[{"type":"string"},{"minimum":5}]})",
         "5",
         "4",
         {"", "fits none of the allowed forms"}},
    };
    for (const auto& [schema, good, bad, fault] : cases) {
        EXPECT_EQ(check(schema, good), Faults{}) << schema << " " << good;
        EXPECT_EQ(check(schema, bad), Faults{fault}) << schema << " " << bad;
    }
}

TEST(SchemaCheck, IgnoresWhatItDoesNotUnderstand) {
    for (const std::string_view schema :
         {R"({"pattern":"^b"})", R"({"type":7})", R"({"type":"tuple"})", R"({"minLength":-1})",
          R"({"minLength":"2"})", R"({"maxLength":1.5})", R"({"enum":"a"})", R"({"anyOf":[]})"})
        EXPECT_EQ(check(schema, R"("a")"), Faults{}) << schema;
    EXPECT_EQ(check(R"({"minItems":-1,"maxItems":2.5,"items":[{"type":"string"}]})", "[1,2]"),
              Faults{});
    EXPECT_EQ(check(R"({"properties":[],"required":"a"})", R"({"b":1})"), Faults{});
}

TEST(SchemaCheck, NamesTheNearestFieldForAnUnknownOne) {
    const std::string_view schema =
        R"({"properties":{"workdir":{},"cmd":{}},"additionalProperties":false})";
    EXPECT_EQ(check(schema, R"({"work_dir":"x"})"),
              (Faults{{"/work_dir", "is not a known field; did you mean 'workdir'?"}}));
}

TEST(SchemaCheck, TakesNullForAbsentWhereAFieldIsOptional) {
    const std::string_view schema =
        R"({"properties":{"a":{"type":"string"},"b":{"type":"integer"}},"required":["a"]})";
    EXPECT_EQ(check(schema, R"({"a":"x","b":null})"), Faults{});
    EXPECT_EQ(check(schema, R"({"a":null,"b":1})"), (Faults{{"/a", "expected string, got null"}}));
}

TEST(SchemaCheck, PointsIntoNestedValues) {
    const std::string_view schema = R"({"properties":{"items":{"items":{"required":["cmd"],)"
                                    R"("properties":{"cmd":{"type":"string"}}}}}})";
    EXPECT_EQ(
        check(schema, R"({"items":[{"cmd":"ls"},{"cmd":7},{}]})"),
        (Faults{{"/items/1/cmd", "expected string, got 7"}, {"/items/2/cmd", "is required"}}));
}

TEST(SchemaCheck, EscapesAndShortensNamesFromOutside) {
    const std::string_view schema = R"({"additionalProperties":false})";
    EXPECT_EQ(check(schema, R"({"a/b~c\u001b":1})"),
              (Faults{{R"(/a~1b~0c\x1b)", "is not a known field"}}));
    const auto faults = check(schema, R"({")" + std::string(10'000, 'k') + R"(":1})");
    ASSERT_EQ(faults.size(), 1u);
    EXPECT_LT(faults.front().pointer.size(), 100u);
}

TEST(SchemaCheck, StopsListingFaults) {
    std::string many = "[0";
    for (int i = 0; i < 100; ++i) many += ",0";
    EXPECT_EQ(check(R"({"items":{"type":"string"}})", many + "]").size(), kSchemaFaultsMax);
}

}  // namespace
}  // namespace tools
