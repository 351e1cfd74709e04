#include "exec/plan/entry/planner.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/text.h"
#include "exec/plan/language/parse.h"
#include "exec/plan/language/schema.h"
#include "exec/tools/fake_tool_for_test.h"
#include "exec/tools/schema_check.h"

namespace plan {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

json::object good() {
    return {{"version", "1.0"},
            {"goal", "Say it"},
            {"riskLevel", "writes"},
            {"steps", json::array{json::object{
                          {"id", "say"}, {"tool", "Echo"}, {"args", {{"text", "hi"}}}}}}};
}

provider::Reply says(std::string text) {
    return {.blocks = {domain::TextBlock{std::move(text)}}};
}

class PlannerTest : public testing::Test {
protected:
    PlannerTest() {
        registry.add(std::make_unique<tools::FakeTool>("Echo"));
        auto turn = std::make_unique<tools::FakeTool>("Rest");
        turn->spec_to_change().category = "agent";
        registry.add(std::move(turn));
    }
    std::string faults_of(std::string text) {
        const auto read = read_answer(says(std::move(text)), registry);
        return read ? "" : faults_text(read.error());
    }
    tools::Registry registry;
};

// Every member that a plan can have, so that schema and decoder are held against each other.
TEST(PlanSchema, SaysWhatTheDecoderTakesAndNothingElse) {
    const json::object step{
        {"id", "a"},
        {"tool", "t"},
        {"args", {{"any", {{"thing", 1}}}}},
        {"preview", "p"},
        {"dependsOn", json::array{"b"}},
        {"foreach",
         {{"from", "$steps.b.x"}, {"itemName", "i"}, {"indexName", "n"}, {"concurrency", 2}}},
        {"captureAs", "c"},
        {"onError", "retry"},
        {"retry", {{"maxAttempts", 2}, {"backoffMs", 5}}},
        {"timeoutMs", 5},
        {"tags", json::array{"x"}}};
    const json::object whole{
        {"version", "1.0"},
        {"goal", "g"},
        {"assumptions", json::array{"a"}},
        {"riskLevel", "read-only"},
        {"contextRequests", json::array{{{"kind", "vaultFileList"}, {"options", json::object()}}}},
        {"defaults", {{"onError", "skip"}, {"retry", {{"maxAttempts", 1}}}}},
        {"steps", json::array{step}},
        {"outputs",
         {{"showCreatedFiles", true}, {"showModifiedFiles", true}, {"showCommandRuns", false}}},
        {"uiHints", {{"title", "t"}, {"summary", "s"}}}};
    const auto schema = plan_schema();
    EXPECT_TRUE(decode(whole).has_value());
    EXPECT_THAT(tools::check_schema(schema, whole), IsEmpty());
    EXPECT_EQ(schema.at("properties").get_object().size(), whole.size());
    EXPECT_EQ(schema.at("properties").at("steps").at("items").at("properties").get_object().size(),
              step.size());
    EXPECT_EQ(base::json_text(schema.at("required")), R"(["version","goal","riskLevel","steps"])");
    json::object policy = whole;
    policy["policy"] = json::object{{"confirmationsRequired", false}};
    EXPECT_FALSE(decode(policy).has_value());
    EXPECT_FALSE(tools::check_schema(schema, policy).empty());
    json::object risky = whole;
    risky["riskLevel"] = "none";
    EXPECT_FALSE(tools::check_schema(schema, risky).empty());
}

TEST_F(PlannerTest, TheQuestionHoldsFormToolsVaultAndGoalAndOffersNoTools) {
    const auto request = planner_request({.goal = "Tidy up \"Ideas\"",
                                          .model_ref = "a/b",
                                          .vault_names = {"no\nline.md"},
                                          .vault_is_cut = true},
                                         registry, "r1");
    const std::string system = provider::join_blocks(request.frame.system_blocks);
    EXPECT_THAT(system, HasSubstr("riskLevel"));
    EXPECT_THAT(system, HasSubstr("\"name\":\"Echo\""));
    EXPECT_THAT(system, Not(HasSubstr("\"name\":\"Rest\""))) << "it works only in a turn";
    const std::string context = provider::join_blocks(request.frame.context_blocks);
    EXPECT_THAT(context, HasSubstr("Tidy up \"Ideas\""));
    EXPECT_THAT(context, HasSubstr(R"("no\nline.md")")) << "a name is never a line of its own";
    EXPECT_THAT(context, HasSubstr("not all of them"));
    EXPECT_TRUE(request.tools.empty());
}

TEST_F(PlannerTest, APlanIsFoundBareFencedAndBetweenWords) {
    const std::string text = base::json_text(good());
    for (const auto& answer :
         {text, "  " + text + "\n", "```json\n" + text + "\n```",
          "Sure!\n```\n" + text + "\n```\nOk", "Here it is: " + text + " Good luck."})
        EXPECT_EQ(faults_of(answer), "") << answer;
    EXPECT_THAT(faults_of("I cannot do that."), HasSubstr("no JSON object"));
    EXPECT_THAT(faults_of("version: 1.0\ngoal: yaml"), HasSubstr("no JSON object"));
    EXPECT_THAT(faults_of("{\"version\": "), Not(IsEmpty()));
    EXPECT_THAT(faults_of("} {"), Not(IsEmpty()));
}

TEST_F(PlannerTest, NothingBesideThePlanIsTaken) {
    auto plan = good();
    plan["policy"] = json::object{{"confirmationsRequired", false}};
    EXPECT_THAT(faults_of(base::json_text(plan)), HasSubstr("/policy: is not a known field"));
    plan = good();
    plan["steps"].at(0).get_object()["confirmationId"] = "x";
    EXPECT_THAT(faults_of(base::json_text(plan)), HasSubstr("confirmationId"));
    plan = good();
    plan["riskLevel"] = "read-only";
    EXPECT_THAT(faults_of(base::json_text(plan)), HasSubstr("/riskLevel"));
    EXPECT_THAT(faults_of(std::string(kAnswerBytesMax + 1, '{')), HasSubstr("are the most"));
}

TEST_F(PlannerTest, FaultsGoBackBoundedBehindTheAnswer) {
    auto request = planner_request({.goal = "x", .model_ref = "a/b"}, registry, "r1");
    std::vector<Fault> faults(100, {"/steps/0", std::string(1000, 'x')});
    return_faults(request, says(std::string(100'000, 'y')), faults);
    ASSERT_EQ(request.conversation.size(), 2u);
    const auto& said = std::get<provider::AssistantTurn>(request.conversation[0]);
    EXPECT_LE(std::get<domain::TextBlock>(said.blocks.at(0)).text.size(), kAnswerEchoCharsMax + 4);
    const auto& told = std::get<provider::UserTurn>(request.conversation[1]).blocks.at(0).text;
    EXPECT_THAT(told, HasSubstr("100 faults"));
    EXPECT_LE(told.size(), kFaultsTextCharsMax + 400);
    // A reply of tool calls only has no text; the conversation still takes turns.
    return_faults(request, {.blocks = {domain::ToolUseBlock{"1", "Echo", json::object()}}}, faults);
    EXPECT_EQ(request.conversation.size(), 4u);
}

}  // namespace
}  // namespace plan
