// What an agent continues with by itself, and when it stops.
#include "tests/service/work_fixture.h"

namespace service {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;
using namespace std::chrono_literals;

// contract: WORK-99, WORK-100, WORK-106, WORK-114, WORK-115, WORK-116, WORK-119, TICK-05, SLEEP-09
TEST_F(WorkTest, SeveralObjectivesAreWorkedThroughWithoutAPromptAndThenTheAgentStops) {
    serve_main(kWorker);
    const std::vector ids{add("first"), add("second"), add("third")};
    EXPECT_TRUE(messages().empty() || ticks().size() == messages().size());
    loop_.run();
    for (const auto& id : ids) {
        EXPECT_EQ(item(id).state, domain::WorkItemState::Completed);
        EXPECT_EQ(item(id).result_summary, "It is shipped.");
    }
    EXPECT_THAT(ticks(), SizeIs(3));
    for (const auto& tick : ticks()) {
        EXPECT_EQ(tick.kind, domain::MessageKind::SystemTick);
        EXPECT_EQ(tick.authority_class, domain::AuthorityClass::RuntimeInstruction);
        ASSERT_TRUE(tick.work_item_id);
    }
    EXPECT_EQ(model_->requests.size(), 9U);
    EXPECT_EQ(agent().current_work_item_id, std::nullopt);
    EXPECT_EQ(base::string_at(closure(), "outcome"), "completed");
    EXPECT_THAT(briefs(domain::BriefVisibility::WorkDone), SizeIs(3));
}

// contract: STATE-03
TEST_F(WorkTest, TheStateOfAnAgentHasItsFocusPlaceMemoryAndContinuation) {
    serve_main(kWorker);
    ASSERT_TRUE(service_->prompt("main", "hello", operator_));
    loop_.run();
    const auto id = add("first");
    ASSERT_TRUE(service_->change_work_item("main", id, {.action = WorkAction::Pick}, operator_));
    const auto state = service_->status("main").value().at("agent").as_object();
    EXPECT_EQ(base::string_at(state, "current_work_item_id"), id);
    for (const char* part : {"active_workspace_entry", "working_memory", "last_continuation"}) {
        ASSERT_TRUE(state.contains(part)) << part;
        EXPECT_TRUE(state.at(part).is_object()) << part;
    }
}

// contract: WORK-26, WORK-28, WORK-29, WORK-55, WORK-110, BRIEF-05, BRIEF-11
TEST_F(WorkTest, TheReportOfTheCompletingRoundIsPromotedToThreePlaces) {
    serve_main(kWorker);
    const auto id = add("ship");
    loop_.run();
    EXPECT_EQ(item(id).result_summary, "It is shipped.");
    std::optional<domain::DeliverySummary> summary;
    ASSERT_TRUE(store_->read([&](store::Tx& tx) -> base::Status {
        summary = TRY(tx.delivery_summary({id}));
        return {};
    }));
    ASSERT_TRUE(summary);
    EXPECT_EQ(summary->text, "It is shipped.");
    EXPECT_EQ(base::string_at(*summary->evidence, "source"), "same_round_complete_work_item");
    const auto done = briefs(domain::BriefVisibility::WorkDone);
    ASSERT_THAT(done, SizeIs(1));
    EXPECT_EQ(done[0].text, "It is shipped.");
    EXPECT_EQ(done[0].work_item_id->value, id);
    const auto shown = service_->work_item("main", id).value();
    EXPECT_EQ(base::string_at(shown.at("completion_report"), "text"), "It is shipped.");
    EXPECT_EQ(base::string_at(shown.at("completion_report"), "source"), "work_item_result_summary");
}

// contract: WORK-27, WORK-30, WORK-31, WORK-32, WORK-41, WORK-70
TEST_F(WorkTest, ACompletionWithoutTextInItsRoundHasNoReport) {
    serve_main(R"({"rounds":[
      {"text":"Before.","tool_calls":[{"name":"PickWorkItem","input":{"work_item_id":"$work_item"}}]},
      {"tool_calls":[{"name":"CompleteWorkItem","input":{"work_item_id":"$work_item"}}]},
      {"text":"After."}],"loop":true})");
    const auto id = add("quiet");
    loop_.run();
    EXPECT_EQ(item(id).state, domain::WorkItemState::Completed);
    EXPECT_EQ(item(id).result_summary, std::nullopt);
    EXPECT_THAT(briefs(domain::BriefVisibility::WorkDone), IsEmpty());
    EXPECT_FALSE(service_->work_item("main", id).value().contains("completion_report"));
    EXPECT_THAT(receipt(2), AllOf(HasSubstr("Work item " + id + " completed\n"),
                                  HasSubstr("\nWarning: This message has no text")));
    ASSERT_TRUE(service_->prompt("main", "and now?", operator_));
    loop_.run();
    EXPECT_THAT(opening(model_->requests.size() - 1), Not(HasSubstr(id)));
}

TEST_F(WorkTest, TwoCompletionsInOneRoundHaveNoReport) {
    serve_main(kTalker);
    ASSERT_TRUE(service_->set_lifecycle("main", LifecycleAction::Pause, operator_));
    const std::vector ids{add("one"), add("two")};
    serve(fmt::format(R"({{"rounds":[{{"text":"Both.","tool_calls":[
        {{"name":"CompleteWorkItem","input":{{"work_item_id":"{}"}}}},
        {{"name":"CompleteWorkItem","input":{{"work_item_id":"{}"}}}}]}},{{"text":"ok"}}]}})",
                      ids[0], ids[1]));
    ASSERT_TRUE(service_->set_lifecycle("main", LifecycleAction::Resume, operator_));
    loop_.run();
    for (const auto& id : ids) {
        EXPECT_EQ(item(id).state, domain::WorkItemState::Completed);
        EXPECT_EQ(item(id).result_summary, std::nullopt);
    }
    EXPECT_THAT(briefs(domain::BriefVisibility::WorkDone), IsEmpty());
}

// contract: CLOSE-03, CLOSE-06, CLOSE-07, CLOSE-08, CLOSE-12, WORK-09
TEST_F(WorkTest, AQueuedItemIsOfferedAndOnlyThePickMovesFocus) {
    serve_main(kTalker);
    ASSERT_TRUE(service_->set_lifecycle("main", LifecycleAction::Pause, operator_));
    const auto id = add("queued");
    EXPECT_EQ(base::string_at(closure(), "outcome"), "continuable");
    const auto signal = closure().at("work_signal");
    EXPECT_EQ(base::string_at(signal, "reactivation_mode"), "activate_queued");
    EXPECT_EQ(base::string_at(signal, "work_item_id"), id);
    EXPECT_FALSE(closure().contains("waiting_reason"));
    ASSERT_TRUE(service_->set_lifecycle("main", LifecycleAction::Resume, operator_));
    loop_.run_until([&] { return model_->asked > 0; });
    EXPECT_EQ(agent().current_work_item_id, std::nullopt);
    EXPECT_THAT(opening(0), AllOf(HasSubstr("queued_runnable:"), HasSubstr(id)));
    EXPECT_EQ(base::string_at(change(id, {.action = WorkAction::Pick}), "focus"), "current");
    EXPECT_EQ(agent().current_work_item_id->value, id);
    EXPECT_EQ(base::string_at(service_->status("main").value().at("agent"), "current_work_item_id"),
              id);
    EXPECT_EQ(item(id).state, domain::WorkItemState::Open);
}

TEST_F(WorkTest, AnItemThatLeadsNowhereIsBlockedWithABriefAndTheAgentStops) {
    serve_main(kTalker);
    const auto id = add("endless");
    loop_.run();
    EXPECT_EQ(model_->requests.size(), 3U);
    EXPECT_THAT(item(id).blocked_by.value(), HasSubstr("no progress in 3 turns in a row"));
    const auto asked = briefs(domain::BriefVisibility::ActionRequired);
    ASSERT_FALSE(asked.empty());
    EXPECT_THAT(asked.back().text, AllOf(HasSubstr("endless"), HasSubstr("no progress")));
    EXPECT_THAT(events_of("work_item_no_progress"), SizeIs(1));
    EXPECT_EQ(base::string_at(closure(), "waiting_reason"), "awaiting_external_change");
    change(id, {.action = WorkAction::Unblock});
    loop_.run();
    EXPECT_EQ(model_->requests.size(), 6U);
}

// contract: WORK-117, WORK-118, WORK-35, WORK-42
TEST_F(WorkTest, BlockedWaitingAndCompletedItemsWakeNobody) {
    serve_main(kTalker);
    ASSERT_TRUE(service_->set_lifecycle("main", LifecycleAction::Pause, operator_));
    const auto blocked = add("blocked");
    change(blocked, {.action = WorkAction::Block, .text = "the review"});
    change(add("done"), {.action = WorkAction::Done});
    ASSERT_TRUE(service_->create_work_item(
        "main", {.objective = "ask", .plan_status = domain::PlanStatus::NeedsInput}, operator_));
    ASSERT_TRUE(service_->set_lifecycle("main", LifecycleAction::Resume, operator_));
    // Until the reminder of the blocked one fires, which is another thing.
    const auto begun = loop_.now();
    loop_.run_until([&] { return loop_.now() > begun + 30min; });
    EXPECT_EQ(model_->requests.size(), 0U);
    EXPECT_THAT(ticks(), IsEmpty());
}

TEST_F(WorkTest, AHintIsHandledBeforeEndlessWorkContinues) {
    serve_main(R"({"rounds":[
      {"tool_calls":[{"name":"CreateWorkItem","input":{"objective":"more","plan_status":"needs_input"}}]},
      {"text":"on and on","delay_ms":1000}],"loop":true})");
    add("endless");
    loop_.run_until([&] { return model_->asked == 2; });
    const auto url = base::string_at(service_->external_trigger("main", false, operator_).value(),
                                     "trigger_url");
    ASSERT_TRUE(service_->callback({.token = url.substr(url.rfind('/') + 1),
                                    .mode = "wake",
                                    .body = domain::TextBody{"look here"}}));
    loop_.run_until([&] { return model_->asked == 4; });
    EXPECT_THAT(opening(2), HasSubstr("look here"));
    EXPECT_THAT(ticks("wake_hint"), SizeIs(1));
}

// contract: WORK-107, WORK-108, WORK-109, WORK-113
TEST_F(WorkTest, TheEndOfATurnConcernsTheItemItWasBegunFor) {
    serve_main(kTalker);
    ASSERT_TRUE(service_->set_lifecycle("main", LifecycleAction::Pause, operator_));
    const auto first = add("first");
    const auto second = add("second");
    change(first, {.action = WorkAction::Pick});
    serve(fmt::format(R"({{"rounds":[{{"tool_calls":[
        {{"name":"PickWorkItem","input":{{"work_item_id":"{}","reason":"urgent"}}}}]}},{{"text":"ok"}}]}})",
                      second));
    ASSERT_TRUE(service_->set_lifecycle("main", LifecycleAction::Resume, operator_));
    ASSERT_TRUE(service_->prompt("main", "switch", operator_));
    loop_.run_until([&] { return !events_of("work_item_turn_end_committed").empty(); });
    const auto committed = events_of("work_item_turn_end_committed");
    EXPECT_EQ(base::string_at(committed[0].data, "work_item_id"), first);
    EXPECT_EQ(committed[0].data.at("closure"),
              events_of("closure_decided").back().data.at("closure"));
    EXPECT_EQ(agent().current_work_item_id->value, second);
}

// contract: PROV-38
TEST_F(WorkTest, AfterAFailedTurnTheItemIsNotContinuedByItself) {
    serve_main(
        R"({"rounds":[{"text":"x","fault":{"kind":"context_length_exceeded","message":"too long","times":1000}}],"loop":true})");
    const auto id = add("too long");
    loop_.run();
    EXPECT_EQ(model_->requests.size(), 1U);
    EXPECT_EQ(base::string_at(closure(), "outcome"), "failed");
    EXPECT_EQ(item(id).blocked_by, std::nullopt);
}

TEST_F(WorkTest, ATimedSleepHoldsWorkBack) {
    serve_main(R"({"rounds":[
      {"tool_calls":[{"name":"Sleep","input":{"reason":"wait","duration_ms":60000}}]}],"loop":true})");
    add("later");
    loop_.run_until([&] { return status() == "asleep"; });
    const auto begun = loop_.now();
    EXPECT_EQ(base::string_at(closure(), "waiting_reason"), "awaiting_timer");
    loop_.run_until([&] { return model_->asked == 2; });
    EXPECT_GE(loop_.now(), begun + 60s);
    EXPECT_THAT(ticks(), SizeIs(1));
}

// contract: TICK-02, SLEEP-13, AUDIT-06, AUDIT-07, AUDIT-08
TEST_F(WorkTest, SleepWithoutAnEndIsOverriddenByRunnableWork) {
    serve_main(
        R"({"rounds":[{"tool_calls":[{"name":"Sleep","input":{"reason":"tired"}}]}],"loop":true})");
    add("still there");
    loop_.run();
    EXPECT_EQ(model_->requests.size(), 3U);  // Then it is blocked for want of progress.
    bool was_overridden = false;
    for (const auto& event : events_of("scheduler_posture_decision"))
        was_overridden |= base::string_at(event.data, "reason") == "sleep_overridden_runnable_work";
    EXPECT_TRUE(was_overridden);
    // The model only said what it wants; each tick is a decision of the scheduler.
    EXPECT_EQ(events_of("system_tick_emitted").size(), ticks().size());
    const auto decisions = events_of("scheduler_decision");
    ASSERT_EQ(decisions.size(), ticks().size());
    for (std::size_t n = 0; n < decisions.size(); ++n) {
        const json::value tick = base::to_json(ticks()[n]);
        EXPECT_EQ(decisions[n].data.at("message_id"), tick.at("id"));
        for (const auto* label : {"origin", "trust", "priority"})
            EXPECT_EQ(decisions[n].data.at(label), tick.at(label)) << label;
    }
}

// contract: WORK-71
TEST_F(WorkTest, ARunningTaskDoesNotHoldUpACompletion) {
    serve_main(kWorker);
    ASSERT_TRUE(service_->set_lifecycle("main", LifecycleAction::Pause, operator_));
    const auto id = add("with a task");
    ASSERT_TRUE(store_->write(store::Durability::Process, [&](store::Tx& tx) -> base::Status {
        return tx.put_task({.id = {"t"},
                            .agent_id = {"main"},
                            .status = domain::TaskStatus::Running,
                            .work_item_id = domain::WorkItemId{id}});
    }));
    ASSERT_TRUE(service_->set_lifecycle("main", LifecycleAction::Resume, operator_));
    loop_.run_until([&] { return item(id).state == domain::WorkItemState::Completed; });
    EXPECT_EQ(item(id).state, domain::WorkItemState::Completed);
    EXPECT_EQ(item(id).blocked_by, std::nullopt);
}

TEST_F(WorkTest, RunnableWorkIsFoundAgainByTheNextProcess) {
    serve_main(kTalker);
    service_.reset();
    open(kWorker);
    const auto id = add("left over");
    EXPECT_EQ(item(id).state, domain::WorkItemState::Open);
    serve(kWorker);
    loop_.run();
    EXPECT_EQ(item(id).state, domain::WorkItemState::Completed);
}

}  // namespace
}  // namespace service
