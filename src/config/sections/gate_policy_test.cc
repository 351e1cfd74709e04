#include "config/sections/gate_policy.h"

#include <gtest/gtest.h>

namespace config {
namespace {

using enum domain::GatePolicy;

TEST(GateSettings, TheMostSpecificWordCounts) {
    const GateSettings settings{
        .general = {.policy = Report, .families = GateFamilies{.web = Enforce}},
        .agents = {{"ada", {.policy = Off, .families = GateFamilies{.web = Report}}},
                   {"bob", {.families = GateFamilies{.core_agent = Enforce}}}}};
    EXPECT_EQ(settings.policy("ada", "web"), Report);
    EXPECT_EQ(settings.policy("ada", "core_agent"), Off);
    EXPECT_EQ(settings.policy("bob", "core_agent"), Enforce);
    EXPECT_EQ(settings.policy("bob", "web"), Enforce);
    EXPECT_EQ(settings.policy("bob", "local_environment"), Report);
    EXPECT_EQ(settings.policy("eve", "telepathy"), Report);
    EXPECT_FALSE(settings.is_off());
}

TEST(GateSettings, WhatIsNotSetIsUpToTheGate) {
    EXPECT_FALSE(GateSettings().is_off());
    EXPECT_EQ(GateSettings().policy("ada", "web", Enforce), Enforce);
    EXPECT_EQ(GateSettings().policy("ada", "web"), Off);
    const GateSettings off{.general = {.policy = Off}};
    EXPECT_TRUE(off.is_off());
    EXPECT_EQ(off.policy("ada", "web", Enforce), Off);
}

}  // namespace
}  // namespace config
