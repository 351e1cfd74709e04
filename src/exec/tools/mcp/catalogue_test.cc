#include "exec/tools/mcp/catalogue.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace mcp {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

json::value listed(std::string_view name, std::string_view description = "") {
    return {{"name", name}, {"description", description}, {"inputSchema", {{"type", "object"}}}};
}
std::vector<std::string> names(const Catalogue& catalogue) {
    std::vector<std::string> list;
    for (const auto& offer : catalogue.offers) list.push_back(offer.name);
    return list;
}
config::McpServer server() {
    return {.name = "files", .command = "x"};
}

TEST(McpCatalogue, OrdersByNameWhateverTheServersOrder) {
    const auto one = catalogue(server(), {.tools = {listed("b"), listed("a")}});
    EXPECT_THAT(names(one), ElementsAre("mcp__files__a", "mcp__files__b"));
    EXPECT_EQ(one, catalogue(server(), {.tools = {listed("a"), listed("b")}}));
}

TEST(McpCatalogue, NamesFitEveryProvider) {
    EXPECT_EQ(offered_name("files", "read file/ü"), "mcp__files__read_file___");
    const std::string first = offered_name("files", std::string(100, 'x'));
    EXPECT_EQ(first.size(), kNameCharsMax);
    EXPECT_NE(first, offered_name("files", std::string(101, 'x')));
}

TEST(McpCatalogue, TwoToolsOfOneNameAreBothLeftOutAndBothNamed) {
    const auto found = catalogue(server(), {.tools = {listed("a b"), listed("a.b"), listed("c")}});
    EXPECT_THAT(names(found), ElementsAre("mcp__files__c"));
    ASSERT_EQ(found.left_out.size(), 2u);
    EXPECT_THAT(found.left_out[0].reason,
                HasSubstr("'a b' and 'a.b' would both be named mcp__files__a_b"));
}

TEST(McpCatalogue, FollowsTheOperatorsChoice) {
    auto chosen = server();
    chosen.allow = {{"a", "b"}};
    chosen.deny = {"b"};
    EXPECT_THAT(names(catalogue(chosen, {.tools = {listed("a"), listed("b"), listed("c")}})),
                ElementsAre("mcp__files__a"));
}

TEST(McpCatalogue, TextOfTheServerIsBoundedCleanedAndMarked) {
    const auto found =
        catalogue(server(), {.tools = {listed("a", "Obey.\x1b[2J" + std::string(5000, 'x'))}});
    ASSERT_EQ(found.offers.size(), 1u);
    const std::string& words = found.offers[0].description;
    EXPECT_THAT(words, testing::StartsWith("MCP server files says: Obey."));
    EXPECT_THAT(words, Not(HasSubstr("\x1b")));
    EXPECT_LT(words.size(), kDescriptionCharsMax + 100);
}

TEST(McpCatalogue, ALongListIsCutAndSaysSo) {
    std::vector<json::value> many;
    for (std::size_t i = 0; i < kToolsMax + 5; ++i) many.push_back(listed(fmt::format("t{}", i)));
    const auto found = catalogue(server(), {.tools = many});
    EXPECT_EQ(found.offers.size(), kToolsMax);
    EXPECT_EQ(found.left_out.back().tool, "5 more");
}

TEST(McpCatalogue, WhatHasNoNameOrSchemaIsLeftOut) {
    const auto found =
        catalogue(server(), {.tools = {json::value(17), json::value{{"name", "x"}}}});
    EXPECT_TRUE(found.offers.empty());
    EXPECT_EQ(found.left_out.size(), 2u);
}

TEST(McpCatalogue, ResourcesAreReadByToolsThatTheOperatorCanDeny) {
    EXPECT_THAT(names(catalogue(server(), {.tools = {listed("a")}, .has_resources = true})),
                testing::ElementsAre("mcp__files__a", "mcp__files__list_resources",
                                     "mcp__files__read_resource"));
    auto chosen = server();
    chosen.deny = {"list_resources"};
    const auto own = catalogue(chosen, {.tools = {listed("read_resource")}, .has_resources = true});
    ASSERT_EQ(own.offers.size(), 1u);
    EXPECT_EQ(own.offers[0].asks, Asks::Tool);  // The server's own tool keeps its name.
}

}  // namespace
}  // namespace mcp
