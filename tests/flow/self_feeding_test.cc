// An agent that queues work for itself stops by itself.
#include <gmock/gmock.h>

#include "flow/admission/follow_up.h"
#include "tests/flow/fixture.h"

namespace scheduler {
namespace {

using testing::HasSubstr;

constexpr std::string_view kSelfFeeding =
    R"({"rounds":[{"tool_calls":[{"name":"Enqueue","input":{"text":"again"}}]},{"text":"ok"}],"loop":true})";
constexpr std::string_view kFanningOut =
    R"({"rounds":[{"tool_calls":[{"name":"Enqueue","input":{"text":"a"}},{"name":"Enqueue","input":{"text":"b"}}]},{"text":"ok"}],"loop":true})";

constexpr std::string_view kDozing =
    R"({"rounds":[{"tool_calls":[{"name":"Sleep","input":{"duration_ms":5}}]}],"loop":true})";
constexpr std::string_view kResting =
    R"({"rounds":[{"tool_calls":[{"name":"Sleep","input":{"duration_ms":60000}}]}],"loop":true})";

class SelfFeedingTest : public FlowTest {
protected:
    std::size_t count(std::string_view kind) {
        const auto list = kinds();
        return static_cast<std::size_t>(std::ranges::count(list, kind));
    }
    std::vector<std::string> failure_briefs() {
        std::vector<std::string> list;
        for (const auto& brief : read<std::vector<store::Numbered<domain::Brief>>>(
                 [&](store::Tx& tx) { return tx.briefs(agent_, {.limit = 1000}); }))
            if (brief.record.kind == domain::BriefKind::Failure) list.push_back(brief.record.text);
        return list;
    }
    void start_limited(std::string_view scenario, config::FollowUpLimits limits) {
        start(scenario);
        auto limited = parts();
        limited.follow_ups = limits;
        scheduler_.emplace(std::move(limited), Options{.model_ref = "scripted/test"});
        scheduler_->on_stuck = [](const auto&, const base::Error& error) {
            ADD_FAILURE() << error.message;
        };
    }
    void send_webhook() {
        send("one", domain::WebhookOrigin{.source = "x"}, domain::MessageKind::WebhookEvent,
             domain::AdmissionContext::PublicUnauthenticated);
    }
};

TEST_F(SelfFeedingTest, AChainOfFollowUpsEndsAtItsDepthAndBothAreTold) {
    start_limited(kSelfFeeding, {.depth = 4, .per_hour = 1000});
    send_webhook();
    run();
    EXPECT_EQ(count("turn_started"), 5u);
    EXPECT_EQ(count("tool_execution_failed"), 1u);
    EXPECT_EQ(base::string_at(last_event("tool_execution_failed"), "error_kind"),
              "follow_up_refused");
    EXPECT_THAT(failure_briefs(), testing::ElementsAre(HasSubstr("runtime.max_follow_up_depth")));
}

TEST_F(SelfFeedingTest, FollowUpsThatMultiplyEndAtTheirRateWithOneBrief) {
    start_limited(kFanningOut, {.depth = 1000, .per_hour = 10});
    send_webhook();
    run();
    EXPECT_EQ(count("turn_started"), 11u);
    EXPECT_EQ(statistics().follow_ups, 10);
    EXPECT_GT(count("tool_execution_failed"), 3u);
    EXPECT_THAT(failure_briefs(),
                testing::ElementsAre(HasSubstr("runtime.max_follow_ups_per_hour")));
}

TEST_F(SelfFeedingTest, IsBoundedUnlessTheOperatorSaysOtherwise) {
    start(kSelfFeeding);
    send_webhook();
    run();
    EXPECT_EQ(count("turn_started"), static_cast<std::size_t>(config::FollowUpLimits{}.depth) + 1);
}

TEST_F(SelfFeedingTest, AnAgentThatWakesItselfAtOnceEndsAtItsRate) {
    start_limited(kDozing, {.depth = 1000, .per_hour = 10});
    scheduler_->start();
    send_webhook();
    scheduler_->wake(agent_);
    loop_.run_until([&] { return count("tool_execution_failed") == 1; });
    EXPECT_EQ(count("turn_started"), 11u);
    EXPECT_EQ(statistics().follow_ups, 10);
    EXPECT_EQ(base::string_at(last_event("tool_execution_failed"), "error_kind"),
              "follow_up_refused");
    EXPECT_THAT(failure_briefs(),
                testing::ElementsAre(HasSubstr("runtime.max_follow_ups_per_hour")));
}

TEST_F(SelfFeedingTest, ARestOfAMinuteIsNoFollowUp) {
    start_limited(kResting, {.depth = 1000, .per_hour = 1});
    scheduler_->start();
    send_webhook();
    scheduler_->wake(agent_);
    loop_.run_until([&] { return count("turn_started") == 5; });
    EXPECT_EQ(statistics().follow_ups, 0);
    EXPECT_EQ(count("tool_execution_failed"), 0u);
}

// A new message of somebody else begins a chain of its own.
TEST_F(SelfFeedingTest, AnOperatorsPromptBeginsANewChain) {
    start_limited(kSelfFeeding, {.depth = 1, .per_hour = 1000});
    send("first");
    run();
    send("second");
    run();
    EXPECT_EQ(count("turn_started"), 4u);
}

}  // namespace
}  // namespace scheduler
