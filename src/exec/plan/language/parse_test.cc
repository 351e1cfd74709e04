#include "exec/plan/language/parse.h"

#include <gmock/gmock.h>

#include "exec/plan/language/yaml.h"

namespace plan {
namespace {

using testing::HasSubstr;

std::string refusal(std::string_view text) {
    const auto parsed = parse_document(text);
    return parsed ? "" : parsed.error().message;
}

TEST(ParseDocument, JsonAndYamlOfOnePlanHaveOneHash) {
    const auto json =
        parse_document(R"({"goal": "x", "steps": [{"id": "a", "n": 1.5}], "v": "1.0"})");
    const auto yaml = parse_document("v: '1.0'\nsteps:\n- n: 1.5\n  id: a\ngoal: x\n");
    ASSERT_TRUE(json && yaml);
    EXPECT_EQ(plan_hash(*json), plan_hash(*yaml));
}

TEST(ParseDocument, RefusesWhatCouldMeanTwoThings) {
    EXPECT_THAT(refusal(R"({"a": {"b": 1, "b": 2}})"), HasSubstr("'b' is there twice"));
    EXPECT_THAT(refusal("a:\n  b: 1\n  b: 2\n"), HasSubstr("line 3: 'b' is there twice"));
    EXPECT_THAT(refusal("a: 1\n---\nb: 2\n"), HasSubstr("more than one document"));
    EXPECT_THAT(refusal("? [a, b]\n: c\n"), HasSubstr("a key must be plain text"));
    EXPECT_THAT(refusal("a: !!binary x"), HasSubstr("tags"));
}

TEST(ParseDocument, RefusesBombs) {
    EXPECT_THAT(refusal("a: &x [1, 1]\nb: [*x, *x]"), HasSubstr("aliases"));
    EXPECT_THAT(refusal(std::string(200, '[')), testing::Not(testing::IsEmpty()));
    std::string deep;
    for (int i = 0; i < 200; ++i) deep += std::string(static_cast<std::size_t>(i), ' ') + "a:\n";
    EXPECT_THAT(refusal(deep), HasSubstr("nested more than"));
    EXPECT_THAT(refusal(std::string(kPlanBytesMax + 1, ' ')), HasSubstr("at most"));
    EXPECT_THAT(refusal("a: \xff\xfe"), HasSubstr("UTF-8"));
    EXPECT_THAT(refusal(""), HasSubstr("empty"));
}

TEST(ParseYaml, PlainScalarsHaveTheTypesThatPeopleSee) {
    const auto good = parse_yaml(
        "[1, -2, +3, 1.5, 1e3, .5, true, False, null, ~, '1', \"true\", 1.0.0, 12abc, nan, 0x10]");
    ASSERT_TRUE(good) << good.error().message;
    EXPECT_EQ(
        base::json_text(*good),
        R"([1,-2,3,1.5,1000.0,0.5,true,false,null,null,"1","true","1.0.0","12abc","nan","0x10"])");
}

// contract: RUN-08
TEST(Decode, ReportsEveryFaultAtOnceWithItsPlace) {
    const auto faults = decode(base::parse_json(R"({
        "version": 1, "goal": "", "riskLevel": "write", "extra": true,
        "steps": [{"id": "a b", "args": [], "retry": {"maxAttempts": 0}, "timeoutMs": 1.5}]})")
                                   .value());
    ASSERT_FALSE(faults);
    std::vector<std::string> paths;
    for (const auto& fault : faults.error()) paths.push_back(fault.path);
    EXPECT_THAT(paths,
                testing::UnorderedElementsAre("/version", "/goal", "/riskLevel", "/extra",
                                              "/steps/0/id", "/steps/0/tool", "/steps/0/args",
                                              "/steps/0/retry/maxAttempts", "/steps/0/timeoutMs"));
}

TEST(Decode, AWholePlanComesThrough) {
    const auto plan = decode(base::parse_json(R"({
        "version": "1.2.3", "goal": "g", "assumptions": ["x"], "riskLevel": "writes",
        "contextRequests": [{"kind": "selection", "options": {"a": 1}}],
        "defaults": {"onError": "skip", "retry": {"maxAttempts": 2}},
        "steps": [{"id": "a-1", "tool": "t", "args": {"x": 1}, "preview": "p", "dependsOn": ["b"],
                   "foreach": {"from": "$vars.x", "itemName": "i", "indexName": "n", "concurrency": 3},
                   "captureAs": "c", "onError": "retry", "retry": {"maxAttempts": 3, "backoffMs": 0},
                   "timeoutMs": 5, "tags": ["t1"]}],
        "outputs": {"showCommandRuns": false}, "uiHints": {"title": "T"}})")
                                 .value());
    ASSERT_TRUE(plan) << plan.error().front().path << plan.error().front().message;
    const Plan expected{.version = "1.2.3",
                        .goal = "g",
                        .assumptions = {"x"},
                        .risk_level = domain::RiskLevel::Writes,
                        .context_requests = {{ContextKind::Selection, {{"a", 1}}}},
                        .on_error_default = OnError::Skip,
                        .retry_default = Retry{2, kBackoffMsDefault},
                        .steps = {{.id = "a-1",
                                   .tool = "t",
                                   .args = {{"x", 1}},
                                   .preview = "p",
                                   .depends_on = {"b"},
                                   .foreach = Foreach{"$vars.x", "i", "n", 3},
                                   .capture_as = "c",
                                   .on_error = OnError::Retry,
                                   .retry = Retry{3, 0},
                                   .timeout_ms = 5,
                                   .tags = {"t1"}}},
                        .outputs = {.show_command_runs = false},
                        .title = "T"};
    EXPECT_EQ(*plan, expected);
}

}  // namespace
}  // namespace plan
