#include "app/lineage.h"

#include <gtest/gtest.h>

#include "agent/children/ids.h"

namespace app {
namespace {

config::Config with_settings_of(const std::string& agent) {
    config::Config config;
    config.flow.agents.emplace(agent, domain::ExternalCalls::Ask);
    return config;
}

TEST(Lineage, AChildHasTheSettingsOfTheAgentAtTheTop) {
    const Lineage lineage(with_settings_of("top"));
    const auto child = children::child_id({"top"}, "1");
    const auto stranger = children::child_id({"other"}, "1");
    EXPECT_EQ(lineage.settings_of(child), "top");
    EXPECT_EQ(lineage.settings_of(stranger), stranger.value);
    EXPECT_EQ(lineage.settings_of({"top"}), "top");
    EXPECT_EQ(lineage.settings_of({"topmost"}), "topmost");
}

TEST(Lineage, SettingsOfAnyKindCount) {
    config::Config config;
    config.gate.agents.emplace("a", config::GateSection{});
    config.sandboxes.agents.emplace("b", config::Sandbox{});
    const Lineage lineage(config);
    for (const char* top : {"a", "b"})
        EXPECT_EQ(lineage.settings_of(children::child_id({top}, "1")), top);
}

TEST(Lineage, SettingsAreSharedWithinATreeAndAmongThoseThatHaveNone) {
    const Lineage lineage(with_settings_of("top"));
    const auto child = children::child_id({"top"}, "1");
    const auto stranger = children::child_id({"other"}, "1");
    EXPECT_TRUE(lineage.share_settings({"top"}, child));
    EXPECT_TRUE(lineage.share_settings({"other"}, stranger));
    EXPECT_FALSE(lineage.share_settings({"top"}, {"other"}));
    EXPECT_FALSE(lineage.share_settings(child, stranger));
}

}  // namespace
}  // namespace app
