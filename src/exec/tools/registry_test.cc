#include "exec/tools/registry.h"

#include "exec/tools/fake_tool_for_test.h"

#include <gmock/gmock.h>

namespace tools {
namespace {

using domain::ProfilePreset;

std::vector<std::string> names(const std::vector<const ToolSpec*>& specs) {
    std::vector<std::string> list;
    for (const auto* spec : specs) list.push_back(spec->name);
    return list;
}

void add_one_of_each_family(Registry& registry) {
    registry.add(std::make_unique<FakeTool>("Zebra", Family::CoreAgent));
    registry.add(std::make_unique<FakeTool>("Local", Family::LocalEnvironment));
    registry.add(std::make_unique<FakeTool>("Web", Family::Web));
    registry.add(std::make_unique<FakeTool>("Spawn", Family::AgentCreation));
    registry.add(std::make_unique<FakeTool>("Expand", Family::AuthorityExpanding));
    registry.add(std::make_unique<FakeTool>("Notify", Family::OperatorNotification));
}

TEST(Registry, KeepsTheOrderInWhichToolsWereAdded) {
    Registry registry;
    add_one_of_each_family(registry);
    EXPECT_EQ(names(registry.all()),
              (std::vector<std::string>{"Zebra", "Local", "Web", "Spawn", "Expand", "Notify"}));
}

TEST(Registry, FindsAToolByItsExactName) {
    Registry registry;
    add_one_of_each_family(registry);
    ASSERT_NE(registry.find("Web"), nullptr);
    EXPECT_EQ(registry.find("Web")->spec().name, "Web");
    EXPECT_EQ(registry.find("web"), nullptr);
    EXPECT_EQ(registry.find(""), nullptr);
}

TEST(Registry, RefusesTwoToolsOfOneName) {
    Registry registry;
    registry.add(std::make_unique<FakeTool>("Echo"));
    EXPECT_THROW(registry.add(std::make_unique<FakeTool>("Echo")), base::Bug);
}

TEST(Registry, AGroupKeepsItsPlaceAndWhatItReplacesStaysUsable) {
    const auto group = [](std::vector<std::string> tools) {
        std::vector<std::unique_ptr<Tool>> list;
        for (auto& name : tools) list.push_back(std::make_unique<FakeTool>(std::move(name)));
        return list;
    };
    Registry registry;
    registry.add(std::make_unique<FakeTool>("Echo"));
    registry.replace("one", {});
    registry.replace("two", group({"b"}));
    registry.add(std::make_unique<FakeTool>("Last"));
    const std::string version = registry.version();
    registry.replace("one", group({"a", "Echo"}));  // A name of ours is not taken over.
    EXPECT_EQ(names(registry.all()), (std::vector<std::string>{"Echo", "a", "b", "Last"}));
    EXPECT_NE(registry.version(), version);
    const Tool* const old = registry.find("b");
    registry.replace("two", group({"c"}));
    EXPECT_EQ(names(registry.all()), (std::vector<std::string>{"Echo", "a", "c", "Last"}));
    EXPECT_EQ(old->spec().name, "b");
}

TEST(Registry, ExposesWhatTheProfileGrants) {
    Registry registry;
    add_one_of_each_family(registry);
    EXPECT_EQ(names(registry.exposed(ProfilePreset::PublicNamed)),
              (std::vector<std::string>{"Zebra", "Local", "Web", "Spawn", "Expand", "Notify"}));
    EXPECT_EQ(names(registry.exposed(ProfilePreset::PrivateChild)),
              (std::vector<std::string>{"Zebra", "Local", "Web", "Spawn", "Notify"}));
}

TEST(Registry, DoesNotOfferModelsWhatOnlyPlansName) {
    Registry registry;
    auto tool = std::make_unique<FakeTool>("vault.readFile");
    tool->spec_to_change().plans_only = true;
    registry.add(std::move(tool));
    EXPECT_TRUE(registry.exposed(ProfilePreset::PublicNamed).empty());
    EXPECT_NE(registry.find("vault.readFile"), nullptr);
}

TEST(Registry, ChangesItsVersionWithWhatToolsPromiseAndWithNothingElse) {
    const auto version_with = [](auto change) {
        Registry registry;
        auto tool = std::make_unique<FakeTool>("Echo");
        change(tool->spec_to_change());
        registry.add(std::move(tool));
        return registry.version();
    };
    const std::string plain = version_with([](ToolSpec&) {});
    EXPECT_EQ(plain.size(), 16u);
    EXPECT_EQ(version_with([](ToolSpec& spec) { spec.description = "Other words."; }), plain);
    EXPECT_NE(version_with([](ToolSpec& spec) { spec.name = "Ekko"; }), plain);
    EXPECT_NE(version_with([](ToolSpec& spec) { spec.risk = domain::RiskLevel::ReadOnly; }), plain);
    EXPECT_NE(version_with([](ToolSpec& spec) {
                  spec.input_schema["properties"].as_object()["more"] = json::object{};
              }),
              plain);
}

}  // namespace
}  // namespace tools
