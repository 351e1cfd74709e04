#include "provider/wire/schema_emission.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/typed.h"

namespace provider {
namespace {

using testing::HasSubstr;

enum class Shell { Bash, Zsh };
BOOST_DESCRIBE_ENUM(Shell, Bash, Zsh)

struct Step {
    std::string cmd;
    std::optional<std::int64_t> limit{};
};
BOOST_DESCRIBE_STRUCT(Step, (), (cmd, limit))

struct Arguments {
    std::string path;
    std::optional<Shell> shell{};
    std::optional<Step> setup{};
    std::vector<Step> steps{};
};
BOOST_DESCRIBE_STRUCT(Arguments, (), (path, shell, setup, steps))

json::object parsed(std::string_view text) {
    return base::parse_json(text).value().as_object();
}

std::string emitted(std::string_view source, SchemaMode mode) {
    return base::json_text(emit_schema(parsed(source), mode).value());
}

template <class Visit>
void walk(const json::value& value, const Visit& visit) {
    if (const auto* object = value.if_object()) {
        visit(*object);
        for (const auto& member : *object) walk(member.value(), visit);
    } else if (const auto* array = value.if_array()) {
        for (const auto& entry : *array) walk(entry, visit);
    }
}

bool describes_object(const json::object& schema) {
    const auto* type = schema.if_contains("type");
    return type && (*type == "object" || (type->is_array() && type->get_array().at(0) == "object"));
}

// contract: SCHEMA-02
TEST(SchemaEmission, TheSourceLeavesOptionalFieldsOutOfRequired) {
    const json::object source = base::schema_of<Arguments>();
    EXPECT_EQ(base::json_text(source.at("required")), R"(["path","steps"])");
}

struct ArgumentsAndMore : Arguments {
    std::optional<std::string> note{};
};
BOOST_DESCRIBE_STRUCT(ArgumentsAndMore, (Arguments), (note))

TEST(SchemaEmission, AFieldMoreInTheTypeIsAPropertyMoreInWhatIsPublished) {
    const auto published = [](json::object source) {
        const ToolDeclaration tool{"Run", "Runs.", std::move(source)};
        return declare_function(tool, SchemaMode::Relaxed).value().at("function").at("parameters");
    };
    json::value before = published(base::schema_of<Arguments>());
    const json::value after = published(base::schema_of<ArgumentsAndMore>());
    EXPECT_NE(before, after);
    before.at("properties").as_object()["note"] = after.at("properties").at("note");
    EXPECT_EQ(before, after);
}

// contract: SCHEMA-04
TEST(SchemaEmission, EmittingLeavesTheDeclarationAsItWas) {
    const ToolDeclaration tool{"Run", "Runs.", base::schema_of<Arguments>()};
    const ToolDeclaration before = tool;
    const auto relaxed = declare_function(tool, SchemaMode::Relaxed);
    const auto strict = declare_function(tool, SchemaMode::Strict);
    ASSERT_TRUE(relaxed.has_value() && strict.has_value());
    EXPECT_NE(*relaxed, *strict);
    EXPECT_EQ(tool, before);
}

// contract: SCHEMA-06
TEST(SchemaEmission, RelaxedIsNotStrict) {
    const ToolDeclaration tool{"Run", "Runs.", parsed(R"({"type":"object"})")};
    EXPECT_EQ(base::json_text(declare_function(tool, SchemaMode::Relaxed).value()),
              R"({"type":"function","function":{"name":"Run","description":"Runs.",)"
              R"("parameters":{"type":"object","properties":{},"additionalProperties":false},)"
              R"("strict":false}})");
}

struct Row {
    std::string_view name, source, relaxed;
};

// An object below the root of which nothing is said takes anything; closed, it would take nothing.
// contract: SCHEMA-07
TEST(SchemaEmission, RelaxedClosesEveryObjectThatNamesItsProperties) {
    const std::vector<Row> rows{
        {"empty", "{}", R"({"type":"object","properties":{},"additionalProperties":false})"},
        {"root combinations go", R"({"type":"object","properties":{"a":{"type":"string"}},
            "allOf":[],"anyOf":[{"required":["a"]}],"oneOf":[],"enum":[1],"not":{}})",
         R"({"type":"object","properties":{"a":{"type":"string"}},"additionalProperties":false})"},
        {"open objects close", R"({"type":"object","additionalProperties":true})",
         R"({"type":"object","additionalProperties":false,"properties":{}})"},
        {"nested, and combinations below the root stay",
         R"({"type":"object","properties":{"a":{"type":"array","items":{"type":"object",
            "properties":{}}},"b":{"anyOf":[{"type":"object","properties":{}},{"type":"null"}]},
            "c":{"oneOf":[{"properties":{}}]}}})",
         R"({"type":"object","properties":{"a":{"type":"array","items":{"type":"object",)"
         R"("properties":{},"additionalProperties":false}},"b":{"anyOf":[{"type":"object",)"
         R"("properties":{},"additionalProperties":false},{"type":"null"}]},"c":{"oneOf":)"
         R"([{"properties":{},"additionalProperties":false}]}},"additionalProperties":false})"},
        {"a free-form object stays one",
         R"({"type":"object","properties":{"a":{"type":"object"},
            "b":{"type":"object","additionalProperties":true},
            "c":{"type":"object","additionalProperties":false}}})",
         R"({"type":"object","properties":{"a":{"type":"object","additionalProperties":true},)"
         R"("b":{"type":"object","additionalProperties":true},)"
         R"("c":{"type":"object","additionalProperties":false,"properties":{}}},)"
         R"("additionalProperties":false})"},
        {"an array has items, and what is no schema goes",
         R"({"$schema":"x","type":"object","properties":{"a":{"type":"array"},
            "b":{"type":"array","items":[{"type":"string"}]},"c":{"type":"file"},"d":true,
            "e":false,"f":{"type":["string","any"],"required":true}}})",
         R"({"type":"object","properties":{"a":{"type":"array","items":{}},)"
         R"("b":{"type":"array","items":{}},"c":{},"d":{},"f":{"type":["string"]}},)"
         R"("additionalProperties":false})"},
        {"a map stays a map",
         R"({"type":"object","properties":{"env":{"type":"object",
            "additionalProperties":{"type":"string"}}}})",
         R"({"type":"object","properties":{"env":{"type":"object","additionalProperties":)"
         R"({"type":"string"},"properties":{}}},"additionalProperties":false})"},
        {"optional fields stay optional, defaults stay",
         R"({"type":"object","properties":{"a":{"type":"integer","default":3}},"required":[]})",
         R"({"type":"object","properties":{"a":{"type":"integer","default":3}},"required":[],)"
         R"("additionalProperties":false})"},
    };
    for (const auto& row : rows)
        EXPECT_EQ(emitted(row.source, SchemaMode::Relaxed), row.relaxed) << row.name;
}

// As MCP servers publish them.
TEST(SchemaEmission, TheBranchesOfTheRootBecomeItsProperties) {
    const std::string_view source = R"({"$defs":{"by_id":{"type":"object","properties":
        {"id":{"type":"string"}},"required":["id"]}},
        "anyOf":[{"$ref":"#/$defs/by_id"},{"properties":{"name":{"type":"string"}}}]})";
    for (const auto mode : {SchemaMode::Relaxed, SchemaMode::Open}) {
        const auto schema = emit_schema(parsed(source), mode).value();
        EXPECT_EQ(schema.at("type"), "object");
        EXPECT_FALSE(schema.contains("anyOf"));
        EXPECT_EQ(schema.at("properties"),
                  json::value(parsed(R"({"id":{"type":"string"},"name":{"type":"string"}})")));
    }
}

TEST(SchemaEmission, TheMessagesApiGetsObjectsAsTheyAre) {
    const json::object source = parsed(R"({"type":"object","properties":{"a":{"type":"object"},
        "b":{"anyOf":[{"type":"object","properties":{"c":{"type":"array","items":{}}}}]}}})");
    EXPECT_EQ(emit_schema(source, SchemaMode::Open).value(), source);
}

TEST(SchemaEmission, WhatCannotBeExpressedFailsAndIsNotOffered) {
    for (const std::string_view source :
         {R"({"type":"string"})", R"({"type":"object","properties":3})",
          R"({"type":"object","properties":{"a":7}})",
          R"({"type":"object","properties":{"a":{"$ref":"#/$defs/none"}}})",
          R"({"type":"object","properties":{"a":{"$ref":"https://example.com/schema.json"}}})"})
        for (const auto mode : {SchemaMode::Relaxed, SchemaMode::Open}) {
            EXPECT_FALSE(emit_schema(parsed(source), mode).has_value()) << source;
            EXPECT_FALSE(offered_schema({"Odd", "", parsed(source)}, mode).has_value()) << source;
        }
}

// contract: SCHEMA-09
// contract: SCHEMA-10
// contract: SCHEMA-13
TEST(SchemaEmission, StrictClosesAndRequiresAtEveryDepth) {
    const auto strict = emit_schema(base::schema_of<Arguments>(), SchemaMode::Strict);
    ASSERT_TRUE(strict.has_value()) << strict.error().message;
    int objects = 0;
    walk(*strict, [&](const json::object& schema) {
        if (!describes_object(schema)) return;
        ++objects;
        EXPECT_EQ(schema.at("additionalProperties"), json::value(false));
        std::set<std::string> names, required;
        for (const auto& member : schema.at("properties").as_object()) names.emplace(member.key());
        for (const auto& entry : schema.at("required").as_array())
            required.emplace(entry.as_string());
        EXPECT_EQ(names, required);
    });
    EXPECT_EQ(objects, 3);
}

// contract: SCHEMA-11
TEST(SchemaEmission, StrictMakesOptionalFieldsNullable) {
    const std::vector<std::pair<std::string_view, std::string_view>> rows{
        {R"({"type":"string"})", R"({"type":["string","null"]})"},
        {R"({"type":["string","integer"]})", R"({"type":["string","integer","null"]})"},
        {R"({"type":["string","null"]})", R"({"type":["string","null"]})"},
        {R"({"type":"integer","default":1})", R"({"type":["integer","null"]})"},
        {R"({"anyOf":[{"type":"string"}]})", R"({"anyOf":[{"type":"string"},{"type":"null"}]})"},
        {R"({"anyOf":[{"type":"null"}]})", R"({"anyOf":[{"type":"null"}]})"},
        {R"({"const":"a"})", R"({"anyOf":[{"const":"a"},{"type":"null"}]})"},
        {R"({"type":"object","properties":{}})",
         R"({"type":["object","null"],"properties":{},"additionalProperties":false,)"
         R"("required":[]})"},
    };
    for (const auto& [source, expected] : rows) {
        const json::object root{{"type", "object"},
                                {"properties", json::object{{"a", parsed(source)}}}};
        const auto strict = emit_schema(root, SchemaMode::Strict);
        ASSERT_TRUE(strict.has_value()) << strict.error().message;
        EXPECT_EQ(base::json_text(strict->at("properties").at("a")), expected);
    }
}

// contract: SCHEMA-12
TEST(SchemaEmission, StrictAddsNullToAnOptionalEnum) {
    const auto strict = emit_schema(base::schema_of<Arguments>(), SchemaMode::Strict);
    ASSERT_TRUE(strict.has_value());
    EXPECT_EQ(base::json_text(strict->at("properties").at("shell")),
              R"({"type":["string","null"],"enum":["bash","zsh",null]})");
}

TEST(SchemaEmission, StrictRefusesWhatHasNoStrictForm) {
    const std::vector<std::pair<std::string_view, std::string_view>> rows{
        {R"({"type":"object","properties":{"env":{"type":"object",
            "additionalProperties":{"type":"string"}}}})",
         "/properties/env: a map has no strict form"},
        {R"({"type":"object","properties":{"any":{}}})",
         "/properties/any: free JSON has no strict form"},
        {R"({"type":"object","properties":{"list":{"type":"array","items":{"type":"object"}}}})",
         "/properties/list/items: free JSON has no strict form"},
    };
    for (const auto& [source, message] : rows) {
        const auto strict = declare_function({"Run", "", parsed(source)}, SchemaMode::Strict);
        ASSERT_FALSE(strict.has_value()) << source;
        EXPECT_THAT(strict.error().message, HasSubstr("tool Run: " + std::string(message)));
    }
}

}  // namespace
}  // namespace provider
