// Turns as operators see them: prompts, runs, budgets and briefs.
#include <gmock/gmock.h>

#include "service/views/presentation.h"
#include "tests/service/fixture.h"

namespace service {
namespace {

using testing::HasSubstr;

TEST_F(ServiceTest, APromptIsQueuedAndAnswered) {
    auto& service = serve_main();
    const auto id = service.prompt("main", "hi", operator_);
    ASSERT_TRUE(id);
    EXPECT_EQ(pending(), 1);
    loop_.run();
    EXPECT_EQ(model_->requests.size(), 1U);
    const auto message = messages().at(0);
    EXPECT_EQ(message.message.id.value, *id);
    EXPECT_EQ(message.message.priority, domain::Priority::Interject);
    EXPECT_EQ(message.message.delivery_surface, domain::DeliverySurface::HttpControlPrompt);
    EXPECT_EQ(message.entry.status, domain::QueueStatus::Processed);
    EXPECT_EQ(service.briefs("main", {.limit = 1}).value().items.at(0).text, "hello");
}

TEST_F(ServiceTest, ABudgetOfATurnEndsItWithABriefThatSaysWhich) {
    constexpr std::string_view kForever =
        R"({"rounds":[{"usage":{"input_tokens":60,"output_tokens":50},"tool_calls":[{"name":"NoSuchTool","input":{}}]}],"loop":true})";
    struct Row {
        scheduler::Limits limits;
        std::string text;
        std::size_t requests;
    };
    for (const auto& row : std::vector<Row>{{{.turn_rounds = 2}, "limit of 2 model rounds", 2},
                                            {{.turn_tokens = 300}, "limit of 300 tokens", 3}}) {
        auto& service = serve(kForever, row.limits);
        ASSERT_TRUE(service.create_agent("main", std::nullopt, operator_));
        ASSERT_TRUE(service.prompt("main", "go", operator_));
        loop_.run();
        EXPECT_EQ(model_->requests.size(), row.requests);
        const auto brief = service.briefs("main", {.limit = 1}).value().items.at(0);
        EXPECT_EQ(brief.kind, domain::BriefKind::Failure);
        EXPECT_THAT(brief.text, HasSubstr(row.text));
        EXPECT_EQ(pending(), 0);
    }
}

TEST_F(ServiceTest, ATurnThatTakesTooLongIsEndedWhileItWaits) {
    auto& service =
        serve(R"({"rounds":[{"text":"late","delay_ms":5000}]})", {.turn_wall_ms = 1000});
    ASSERT_TRUE(service.create_agent("main", std::nullopt, operator_));
    ASSERT_TRUE(service.prompt("main", "go", operator_));
    const auto begun = loop_.now();
    loop_.run_until([&] { return !events_of("turn_terminal").empty(); });
    EXPECT_EQ(loop_.now() - begun, std::chrono::seconds(1));
    const auto brief = service.briefs("main", {.limit = 1}).value().items.at(0);
    EXPECT_THAT(brief.text, HasSubstr("limit of 1000 ms"));
    EXPECT_EQ(base::string_at(events_of("turn_terminal").at(0).data, "reason"),
              domain::kReasonTimeLimit);
}

TEST_F(ServiceTest, AnAgentThatHasUsedUpItsBudgetIsPausedAndItsInputKept) {
    auto& service = serve(kOneAnswer, {.agent_rounds = 1});
    ASSERT_TRUE(service.create_agent("main", std::nullopt, operator_));
    ASSERT_TRUE(service.prompt("main", "one", operator_));
    ASSERT_TRUE(service.prompt("main", "two", operator_));
    loop_.run();
    EXPECT_EQ(model_->requests.size(), 1U);
    EXPECT_EQ(status(), "paused");
    EXPECT_EQ(pending(), 1);
    const auto brief = service.briefs("main", {.limit = 1}).value().items.at(0);
    EXPECT_THAT(brief.text, HasSubstr("runtime.max_agent_rounds"));
    EXPECT_EQ(brief.visibility, domain::BriefVisibility::ActionRequired);
}

// contract: BRIEF-12
TEST_F(ServiceTest, ABriefThatEndsATurnIsATurnResult) {
    for (const auto& [scenario, kind] : std::vector<std::pair<std::string_view, domain::BriefKind>>{
             {kOneAnswer, domain::BriefKind::Result},
             {R"({"rounds":[{"fault":{"kind":"auth_error","message":"no key"}}]})",
              domain::BriefKind::Failure}}) {
        auto& service = serve_main(scenario);
        ASSERT_TRUE(service.prompt("main", "one", operator_));
        loop_.run();
        const auto briefs = service.briefs("main", {.limit = 2}).value().items;
        EXPECT_EQ(briefs.at(1).kind, kind);
        EXPECT_EQ(briefs.at(1).visibility, domain::BriefVisibility::TurnResult);
        EXPECT_EQ(briefs.at(0).kind, domain::BriefKind::Ack);
        EXPECT_FALSE(briefs.at(0).visibility);
    }
}

// contract: BRIEF-10, EVENT-29
TEST_F(ServiceTest, ABriefOfAnAgentThatAwaitsItsOperatorAsksForAction) {
    auto& service = serve_main();
    ASSERT_TRUE(service.enqueue("main", {.body = domain::TextBody{"news"}}));
    ASSERT_TRUE(store_->write(store::Durability::Disk, [&](store::Tx& tx) {
        return tx.put_wait({.id = {"w"},
                            .agent_id = {"main"},
                            .kind = domain::WaitKind::Operator,
                            .waiting_for = "a decision"});
    }));
    loop_.run();
    EXPECT_EQ(service.briefs("main", {.limit = 1}).value().items.at(0).visibility,
              domain::BriefVisibility::ActionRequired);
    EXPECT_EQ(views::present(events_of("brief_created").back()).visibility,
              views::Visibility::ActionRequired);
}

TEST_F(ServiceTest, ARunUsesTheSameSchedulerAndLeavesOtherAgentsAlone) {
    auto& service = open();
    ASSERT_TRUE(service.create_agent("other", std::nullopt, operator_));
    ASSERT_TRUE(service.prompt("other", "not now", operator_));
    loop_.run();
    model_->requests.clear();
    const auto response = run({.text = "hi", .agent = "main", .create_agent = true});
    ASSERT_TRUE(response) << response.error().message;
    EXPECT_EQ(response->final_status, FinalStatus::Completed);
    EXPECT_EQ(response->final_text, "hello");
    EXPECT_EQ(response->message_count, 1);
    EXPECT_EQ(model_->requests.size(), 1U);
    EXPECT_TRUE(run({.text = "again", .agent = "main"}));
}

}  // namespace
}  // namespace service
