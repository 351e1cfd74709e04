#include "config/sections/plans.h"

#include <gmock/gmock.h>

#include "config/file.h"

namespace config {
namespace {

using testing::HasSubstr;

base::Result<ConfigFile> read(std::string_view text) {
    auto file =
        TRY(base::from_json<ConfigFile>(base::parse_json(text).value(), base::Unknown::Reject));
    TRY(check(file));
    return file;
}

TEST(PlanSettings, SetMembersOverrideTheDefaultsAndOthersAreKept) {
    const auto file = read(R"({"plan": {
        "allow_delete": true,
        "commands": {"build": {"argv": ["make", "{target}"], "timeout_ms": 5}},
        "policy": {"confirmations_required": false, "max_risk_level": "writes",
                   "allowed_roots": ["/srv/notes"], "max_calls": 7},
        "retention": {"max_runs": 3}}})")
                          .value();
    const Plans plans = plans_of(*file.plan);
    EXPECT_TRUE(plans.allow_delete);
    EXPECT_EQ(plans.commands.at("build"), (PlanCommand{{"make", "{target}"}, std::nullopt, 5}));
    EXPECT_EQ(plans.retention, (PlanRetention{.max_runs = 3}));
    const domain::PolicySnapshot usual{
        .confirmations_required = true,
        .sandbox = {.enabled = true, .allowed_roots = {"/v"}, .deny_patterns = {"://"}},
        .limits = {.max_concurrency = 4, .max_calls = 100}};
    domain::PolicySnapshot expected = usual;
    expected.confirmations_required = false;
    expected.max_risk_level = domain::RiskLevel::Writes;
    expected.sandbox.allowed_roots = {"/srv/notes"};
    expected.limits.max_calls = 7;
    EXPECT_EQ(with(plans.policy, usual), expected);
    EXPECT_EQ(with({}, usual), usual);
}

TEST(PlanSettings, WhatCannotWorkIsRefusedWithItsPlace) {
    const std::pair<const char*, const char*> table[] = {
        {R"({"commands": {"a": {"argv": []}}})", "/plan/commands/a/argv: must name the program"},
        {R"({"commands": {"a": {"argv": ["{x}"]}}})", "is no parameter"},
        {R"({"commands": {"a b": {"argv": ["x"]}}})", "named with letters"},
        {R"({"commands": {"a": {"argv": ["x"], "timeout_ms": 0}}})", "/plan/commands/a/timeout_ms"},
        {R"({"commands": {"a": {"argv": ["x"], "shell": true}}})", "shell"},
        {R"({"policy": {"max_risk_level": "all"}})", "read-only, writes, commands"},
        {R"({"policy": {"allowed_roots": ["notes"]}})", "absolute"},
        {R"({"policy": {"max_calls": -1}})", "/plan/policy/max_calls"},
        {R"({"policy": {"sandbox": false}})", "sandbox"},
        {R"({"retention": {"max_bytes": 0}})", "/plan/retention/max_bytes"}};
    for (const auto& [plan, says] : table) {
        const auto file = read(fmt::format(R"({{"plan": {}}})", plan));
        ASSERT_FALSE(file) << plan;
        EXPECT_THAT(file.error().message, HasSubstr(says)) << plan;
    }
}

}  // namespace
}  // namespace config
