// Items that wait: reminders, deliveries, and the calls that end a wait.
#include "tests/service/work_fixture.h"

namespace service {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;
using namespace std::chrono_literals;

// contract: WORK-21, WORK-22, WORK-23, WORK-24
TEST_F(WorkTest, ADueRecheckRemindsOnceAcrossARestartAndLeavesTheItemBlocked) {
    serve_main(kTalker);
    const auto id = add("wait");
    change(id, {.action = WorkAction::Block, .text = "CI", .recheck_after_ms = 60'000});
    const auto begun = loop_.now();
    loop_.run();
    EXPECT_GE(loop_.now(), begun + 60s);
    const auto reminders = ticks("work_item_recheck");
    ASSERT_THAT(reminders, SizeIs(1));
    EXPECT_EQ(reminders[0].priority, domain::Priority::Background);
    EXPECT_EQ(reminders[0].kind, domain::MessageKind::SystemTick);
    EXPECT_EQ(model_->requests.size(), 1U);
    EXPECT_EQ(item(id).blocked_by, "CI");
    EXPECT_TRUE(item(id).recheck_consumed_at);
    serve(kTalker);
    loop_.run();
    EXPECT_THAT(ticks("work_item_recheck"), SizeIs(1));
}

TEST_F(WorkTest, SeveralDueRechecksAreOneReminder) {
    serve_main(kTalker);
    ASSERT_TRUE(service_->set_lifecycle("main", LifecycleAction::Pause, operator_));
    for (const char* name : {"a", "b", "c"})
        change(add(name), {.action = WorkAction::Block, .text = "CI", .recheck_after_ms = 60'000});
    ASSERT_TRUE(service_->set_lifecycle("main", LifecycleAction::Resume, operator_));
    loop_.run();
    const auto reminders = ticks("work_item_recheck");
    ASSERT_THAT(reminders, SizeIs(1));
    EXPECT_EQ(reminders[0].metadata->at("work_item_recheck").at("count").to_number<int>(), 3);
}

// contract: TRIG-23, TRIG-33, TRIG-34, TRIG-35, TRIG-36, TRIG-37, TRIG-42, TRIG-43
// contract: WORK-73, WORK-78, TRIG-06, TRIG-22, TRIG-38
TEST_F(WorkTest, ADeliveryIsNotedOnTheWaitWhichOnlyACallEnds) {
    serve_main(kTalker);
    const auto id = add("review");
    change(id, {.action = WorkAction::Block, .text = "the review"});
    const auto other = add("other");
    change(other, {.action = WorkAction::Block, .text = "a merge"});
    loop_.run();
    auto waits = waits_of(id);
    ASSERT_THAT(waits, SizeIs(1));
    EXPECT_EQ(waits[0].kind, domain::WaitKind::External);
    EXPECT_EQ(waits[0].waiting_for, "the review");
    const auto url = base::string_at(service_->external_trigger("main", false, operator_).value(),
                                     "trigger_url");
    const auto deliver = [&] {
        return service_->callback({.token = url.substr(url.rfind('/') + 1),
                                   .mode = "wake",
                                   .body = domain::TextBody{"approved"}});
    };
    const auto asked = model_->requests.size();
    for (int n = 0; n < 2; ++n) {
        ASSERT_TRUE(deliver());
        loop_.run();
    }
    EXPECT_EQ(model_->requests.size(), asked + 2);
    EXPECT_THAT(opening(asked), HasSubstr("triggered_blocked"));
    waits = waits_of(id);
    ASSERT_THAT(waits, SizeIs(1));
    EXPECT_EQ(waits[0].status, domain::WaitStatus::Active);
    EXPECT_EQ(waits[0].trigger_count, 2);
    EXPECT_EQ(item(id).blocked_by, "the review");
    EXPECT_EQ(item(id).state, domain::WorkItemState::Open);
    EXPECT_TRUE(service_->status("main")->at("active_waiting_intents").as_array().empty());
    change(id, {.action = WorkAction::Done});
    EXPECT_THAT(waits_of(id), IsEmpty());
    EXPECT_THAT(waits_of(other), SizeIs(1));
    EXPECT_EQ(
        base::string_at(service_->external_trigger("main", false, operator_).value(), "status"),
        "active");
    EXPECT_TRUE(deliver());
}

// contract: TRIG-31
TEST_F(WorkTest, ADeliveryIsOnRecordWithTheOnlyItemThatWaitsForOne) {
    serve_main(kTalker);
    const auto id = add("review");
    change(id, {.action = WorkAction::Block, .text = "the review"});
    loop_.run();
    const auto url = base::string_at(service_->external_trigger("main", false, operator_).value(),
                                     "trigger_url");
    const auto deliver = [&] {
        ASSERT_TRUE(service_->callback({.token = url.substr(url.rfind('/') + 1), .mode = "wake"}));
        loop_.run();
    };
    deliver();
    change(add("other"), {.action = WorkAction::Block, .text = "a merge"});
    deliver();
    const auto records = events_of("callback_delivered");
    ASSERT_THAT(records, SizeIs(2));
    EXPECT_EQ(base::string_at(records[0].data, "work_item_id"), id);
    EXPECT_EQ(base::string_at(records[0].data, "waiting_intent_id"), waits_of(id)[0].id.value);
    // Of two, nobody can say which it is about.
    EXPECT_TRUE(records[1].data.at("work_item_id").is_null());
    EXPECT_TRUE(records[1].data.at("waiting_intent_id").is_null());
}

// contract: WORK-20, WORK-62, WORK-67, WORK-80
TEST_F(WorkTest, TheAgentOpensAndEndsItsOwnWaits) {
    serve_main(kTalker);
    ASSERT_TRUE(service_->set_lifecycle("main", LifecycleAction::Pause, operator_));
    const auto id = add("mine");
    const auto scenario = [&](json::object input) {
        input["work_item_id"] = id;
        return base::json_text(json::object{
            {"rounds", json::array{json::object{{"tool_calls", json::array{json::object{
                                                                   {"name", "UpdateWorkItem"},
                                                                   {"input", std::move(input)}}}}},
                                   json::object{{"text", "ok"}}}}});
    };
    const auto play = [&](json::object input) {
        serve(scenario(std::move(input)));
        ASSERT_TRUE(service_->set_lifecycle("main", LifecycleAction::Resume, operator_));
        ASSERT_TRUE(service_->prompt("main", "go", operator_));
        loop_.run_until([&] { return model_->asked == 2 && status() != "awake_running"; });
        ASSERT_TRUE(service_->set_lifecycle("main", LifecycleAction::Pause, operator_));
    };
    play({{"blocked_by", "the build"}});
    EXPECT_EQ(item(id).blocked_by, "the build");
    ASSERT_THAT(waits_of(id), SizeIs(1));
    EXPECT_EQ(waits_of(id)[0].kind, domain::WaitKind::External);
    EXPECT_EQ(base::string_at(closure(), "waiting_reason"), "awaiting_external_change");
    play({{"blocked_by", nullptr}, {"plan_status", "needs_input"}});
    EXPECT_EQ(item(id).blocked_by, std::nullopt);
    EXPECT_EQ(item(id).recheck_at, std::nullopt);
    ASSERT_THAT(waits_of(id), SizeIs(1));
    EXPECT_EQ(waits_of(id)[0].kind, domain::WaitKind::Operator);
    EXPECT_EQ(base::string_at(closure(), "waiting_reason"), "awaiting_operator_input");
    // The operator's prompt itself ended nothing: the call does.
    EXPECT_EQ(waits_of(id)[0].status, domain::WaitStatus::Active);
    play({{"plan_status", "ready"}});
    EXPECT_THAT(waits_of(id), IsEmpty());
    EXPECT_EQ(base::string_at(closure(), "outcome"), "continuable");
}

}  // namespace
}  // namespace service
