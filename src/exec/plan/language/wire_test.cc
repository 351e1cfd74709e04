#include "exec/plan/language/wire.h"

#include <gmock/gmock.h>

namespace plan {
namespace {

const base::Time kNow = base::from_micros(1'700'000'000'000'000);

TEST(Wire, AnEventSurvivesTheTripAndLeavesOutWhatItIsNotAbout) {
    const RunEvent about_run{.type = EventType::RunStarted,
                             .timestamp = kNow,
                             .message = "Run started",
                             .payload = {{"pass", 1}}};
    EXPECT_EQ(event_from(event_json({"r1"}, about_run)).value(), about_run);
    EXPECT_FALSE(event_json({"r1"}, about_run).contains("callId"));
    const RunEvent about_call{.type = EventType::StepFailed,
                              .timestamp = kNow,
                              .level = EventLevel::Error,
                              .message = "a: no",
                              .call_id = {"c1"},
                              .step_id = "a",
                              .tool = "Echo"};
    EXPECT_EQ(event_from(event_json({"r1"}, about_call)).value(), about_call);
}

TEST(Wire, ARunSurvivesTheTrip) {
    domain::PlanRun run{.run_id = {"r1"},
                        .status = domain::PlanRunStatus::Partial,
                        .goal = "Tidy",
                        .plan_hash = "sha256:1",
                        .policy_hash = "sha256:2",
                        .risk_level = domain::RiskLevel::Writes,
                        .vault = "/v",
                        .params = {{"snake_name", 1}},
                        .reverts = domain::RunId{"r0"},
                        .created_at = kNow};
    run.policy.limits.max_calls = 3;
    run.approval = domain::PlanApproval{"c1", "ada", kNow, kNow, "sha256:1", "sha256:2"};
    run.failure = domain::PlanFailure{"a", "TIMEOUT", "It took too long."};
    const auto shown = run_json(run);
    EXPECT_EQ(run_from(shown).value(), run);
    EXPECT_EQ(shown.at("planHash"), json::value("sha256:1"));
    EXPECT_EQ(shown.at("params").at("snake_name"), json::value(1)) << "other people's names stay";
}

TEST(Wire, APolicyIsReadStrictlyOverADefault) {
    domain::PolicySnapshot over{.confirmations_required = true};
    over.limits.max_calls = 7;
    const auto policy =
        policy_from(json::object{{"limits", json::object{{"maxConcurrency", 2}}}}, over);
    ASSERT_TRUE(policy) << policy.error().message;
    EXPECT_TRUE(policy->confirmations_required);
    EXPECT_EQ(policy->limits.max_calls, 7);
    EXPECT_EQ(policy->limits.max_concurrency, 2);
    EXPECT_FALSE(policy_from(json::object{{"limit", json::object{}}}, over));
    EXPECT_EQ(policy_from(policy_json(*policy)).value(), *policy);
}

TEST(Wire, NamesChangeTheirSpellingAndValuesDoNot) {
    const json::value ours(json::object{{"plan_hash", "snake_value"}});
    EXPECT_EQ(camel_case(ours), json::value(json::object{{"planHash", "snake_value"}}));
    EXPECT_EQ(snake_case(camel_case(ours)), ours);
}

}  // namespace
}  // namespace plan
