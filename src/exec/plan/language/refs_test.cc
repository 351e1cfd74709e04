#include "exec/plan/language/refs.h"

#include <gmock/gmock.h>

namespace plan {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr std::string_view kItem = "item";

Scope scope() {
    static const json::value read =
        base::parse_json(
            R"({"n":3,"name":"note","rows":[{"t":"x"},{"t":"y"}],"none":null,"o":{"a":1}})")
            .value();
    static const json::value item = base::parse_json(R"({"title":"T","n":7})").value();
    return {.step = [](const std::string& id) { return id == "read" ? &read : nullptr; },
            .var = [](const std::string& name) { return name == "v" ? &read : nullptr; },
            .names = {"item", "index"},
            .item = &item,
            .index = 4};
}

std::string resolved(std::string_view json) {
    const auto value = resolve(base::parse_json(json).value(), scope());
    return value ? base::json_text(*value) : "unresolved: " + value.error().message;
}

// contract: REFS-01
TEST(Refs, EverySourceIsFound) {
    EXPECT_EQ(resolved(R"("$steps.read.n")"), "3");
    EXPECT_EQ(resolved(R"("$vars.v.name")"), R"("note")");
    EXPECT_EQ(resolved(R"("{item.title}")"), R"("T")");
    EXPECT_EQ(resolved(R"("{index}")"), "4");
    EXPECT_EQ(resolved(R"("$steps.read.rows[1].t")"), R"("y")");
    EXPECT_EQ(resolved(R"("$steps.read.rows.0.t")"), R"("x")");
    EXPECT_EQ(resolved(R"("{$steps.read.name}.md")"), R"("note.md")");
}

// contract: REFS-04
TEST(Refs, OnlyAValueThatIsOneReferenceKeepsItsType) {
    EXPECT_EQ(resolved(R"("$steps.read.rows")"), R"([{"t":"x"},{"t":"y"}])");
    EXPECT_EQ(resolved(R"("$steps.read.none")"), "null");
    EXPECT_EQ(resolved(R"("$steps.read.o ")"), R"("{\"a\":1} ")");
    EXPECT_EQ(resolved(R"("n: {item.n}, $steps.read.n.")"), R"("n: 7, 3.")");
    EXPECT_EQ(resolved(R"({"a":["{index}", {"b":"i{index}"}]})"), R"({"a":[4,{"b":"i4"}]})");
}

TEST(Refs, WhatIsNoReferenceStaysAsItIs) {
    for (const char* text : {"", "$", "$5", "{}", "{other}", "{item", "{item.}", "$steps",
                             "$steps.", "{$nope}", "$vars.", "{item.a", "{ item }", "\\u00e9 {x}"})
        EXPECT_EQ(resolved(fmt::format("\"{}\"", text)),
                  base::json_text(base::parse_json(fmt::format("\"{}\"", text)).value()))
            << text;
    EXPECT_EQ(resolved("[1,2.5,true,null]"), "[1,2.5,true,null]");
}

TEST(Refs, DoubledSignsStandForThemselves) {
    EXPECT_EQ(resolved(R"("$$steps.read.n")"), R"("$steps.read.n")");
    EXPECT_EQ(resolved(R"("{{item.n}} {item.n}")"), R"("{item.n} 7")");
    EXPECT_EQ(resolved(R"("$$ is two")"), R"("$$ is two")");
}

// contract: REFS-02
TEST(Refs, WhatHasNoValueIsNamedWithThePlaceWhereItEnds) {
    EXPECT_EQ(resolved(R"("$steps.gone.n")"), "unresolved: $steps.gone.n has no value");
    EXPECT_EQ(resolved(R"("a $steps.read.o.b.c")"),
              "unresolved: $steps.read.o.b.c has no value: there is no 'b' in read.o");
    EXPECT_EQ(resolved(R"("$steps.read.rows[9]")"),
              "unresolved: $steps.read.rows[9] has no value: there is no '9' in read.rows");
    EXPECT_EQ(resolved(R"("{item.nope}")"),
              "unresolved: {item.nope} has no value: there is no 'nope' in item");
}

TEST(Refs, AreFoundAtEveryDepthWithTheirPlaces) {
    const auto value =
        base::parse_json(R"({"a/b":["x","$steps.one.n"],"c":"{item} and $vars.two"})").value();
    std::vector<std::string> found;
    for (const auto& ref : find_refs(value, {std::string(kItem), ""}, "/args"))
        found.push_back(ref.pointer + " " + ref.ref.text);
    EXPECT_THAT(found,
                ElementsAre("/args/a~1b/1 $steps.one.n", "/args/c {item}", "/args/c $vars.two"));
    EXPECT_THAT(find_refs("{item}", {}, ""), IsEmpty());
}

}  // namespace
}  // namespace plan
