#include "flow/turn/remind.h"

#include <gmock/gmock.h>

#include "flow/turn/decide/test_facts.h"
#include "store/sql/sqlite/sqlite_store.h"

namespace turn::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class RemindTest : public testing::Test {
protected:
    Step reminded(Step step, std::optional<std::int64_t> room = std::nullopt) {
        const auto status =
            store_->write(store::Durability::Process, [&](store::Tx& tx) -> base::Status {
                TRY(tx.put_work_item(
                    {.id = {"w"}, .agent_id = {"main"}, .objective = "the objective"}));
                return remind(tx, step, {}, room);
            });
        EXPECT_TRUE(status);
        return step;
    }
    static Step stale() {
        Step step{.attempt = thinking(11).attempt, .agent = thinking().agent};
        step.agent.current_work_item_id = domain::WorkItemId{"w"};
        step.attempt.rounds_without_work_update = 10;
        step.effects = {AskModel{11}};
        return step;
    }

    std::unique_ptr<store::Store> store_ = sqlite::open_inline({.file = ":memory:"}).value();
};

TEST_F(RemindTest, AddsTheStateOfTheFocusToTheNextRequest) {
    const auto step = reminded(stale());
    EXPECT_THAT(step.reminder, HasSubstr("the objective"));
    EXPECT_THAT(kinds(step), ElementsAre("work_item_stale_reminder_injected"));
    EXPECT_EQ(step.attempt.rounds_since_reminder, 1);
    EXPECT_THAT(step.transcript, IsEmpty());
}

// contract: WORK-93
TEST_F(RemindTest, IsLeftOutWhenThePromptHasNoRoomAndTriedAgain) {
    const auto step = reminded(stale(), 5);
    EXPECT_EQ(step.reminder, "");
    EXPECT_THAT(kinds(step), ElementsAre("work_item_stale_reminder_skipped"));
    EXPECT_EQ(step.attempt.rounds_since_reminder, 0);
    EXPECT_NE(reminded(stale(), 5'000).reminder, "");
}

TEST_F(RemindTest, NeedsAnOpenFocusAndARound) {
    auto without = stale();
    without.agent.current_work_item_id.reset();
    EXPECT_EQ(reminded(without).reminder, "");
    auto closing = stale();
    closing.effects.clear();
    EXPECT_EQ(reminded(closing).reminder, "");
    auto recent = stale();
    recent.attempt.rounds_without_work_update = 9;
    EXPECT_EQ(reminded(recent).reminder, "");
}

TEST(RoundContext, HasTheRoundsTextAndHowManyCallsCompleteAnItem) {
    const auto facts =
        after(thinking(), reply(1,
                                {text("It works."), use("a", "CompleteWorkItem"),
                                 use("b", "CompleteWorkItem"), use("c", "UpdateWorkItem")},
                                "tool_use"));
    EXPECT_EQ(round_context(facts, input().spec_of),
              (json::object{{"has_report", true}, {"completions", 2}}));
    const auto unknown = [](const std::string&) { return nullptr; };
    EXPECT_EQ(round_context(facts, unknown),
              (json::object{{"has_report", true}, {"completions", 0}}));
}

}  // namespace
}  // namespace turn::test
