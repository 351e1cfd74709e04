// Agents that work through their objectives by themselves, on made-up time.
#include <fstream>

#include <gmock/gmock.h>

#include "exec/tools/work_tools/work_tools.h"
#include "tests/service/fixture.h"

namespace service {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;
using namespace std::chrono_literals;

// Picks what it is offered and completes it with a report.
constexpr std::string_view kWorker = R"({"rounds":[
  {"tool_calls":[{"name":"PickWorkItem","input":{"work_item_id":"$work_item"}}]},
  {"text":"It is shipped.","tool_calls":[{"name":"CompleteWorkItem","input":{"work_item_id":"$work_item"}}]},
  {"text":"Turn over."}],"loop":true})";
constexpr std::string_view kTalker =
    R"({"rounds":[{"text":"I am thinking about it."}],"loop":true})";

class WorkTest : public ServiceTest {
protected:
    void SetUp() override {
        ServiceTest::SetUp();
        work_tools::add_all(registry_, {.store = *store_, .loop = loop_, .clock = loop_});
    }

    std::string add(const std::string& objective) {
        const auto item = service_->create_work_item("main", {.objective = objective}, operator_);
        EXPECT_TRUE(item) << item.error().message;
        return item ? item->id.value : "";
    }
    domain::WorkItem item(const std::string& id) {
        std::optional<domain::WorkItem> found;
        EXPECT_TRUE(store_->read([&](store::Tx& tx) -> base::Status {
            found = TRY(tx.work_item({id}));
            return {};
        }));
        return found.value();
    }
    domain::Agent agent() {
        std::optional<domain::Agent> found;
        EXPECT_TRUE(store_->read([&](store::Tx& tx) -> base::Status {
            found = TRY(tx.agent({"main"}));
            return {};
        }));
        return found.value();
    }
    std::vector<domain::Wait> waits_of(const std::string& id) {
        std::vector<domain::Wait> list;
        EXPECT_TRUE(store_->read([&](store::Tx& tx) -> base::Status {
            list = TRY(tx.open_waits_of({id}));
            return {};
        }));
        return list;
    }
    json::object change(const std::string& id, WorkItemChange wanted) {
        auto shown = service_->change_work_item("main", id, wanted, operator_);
        EXPECT_TRUE(shown) << shown.error().message;
        return shown.value_or(json::object{});
    }
    json::object closure() { return service_->status("main").value().at("closure").as_object(); }
    std::vector<domain::Brief> briefs(domain::BriefVisibility visibility) {
        auto list = service_->briefs("main", {.limit = 100}).value().items;
        std::erase_if(list, [&](const auto& brief) { return brief.visibility != visibility; });
        return list;
    }
    std::vector<domain::Message> ticks(std::string_view subsystem = "work_queue") {
        std::vector<domain::Message> list;
        for (auto& queued : messages())
            if (const auto* from = std::get_if<domain::SystemOrigin>(&queued.message.origin);
                from && from->subsystem == subsystem)
                list.push_back(std::move(queued.message));
        return list;
    }
    // What the tool answered in this request, which has its results.
    json::value result(std::size_t request, std::size_t call = 0) {
        const auto& turns = model_->requests.at(request).conversation;
        for (auto turn = turns.rbegin(); turn != turns.rend(); ++turn)
            if (const auto* results = std::get_if<provider::ToolResultsTurn>(&*turn))
                return base::parse_json(results->results.at(call).content).value();
        return {};
    }
};

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

// contract: WORK-26, WORK-28, WORK-29, WORK-55, WORK-110, BRIEF-11
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
    const auto warnings = result(2).at("result").at("warnings").as_array();
    ASSERT_EQ(warnings.size(), 1U);
    EXPECT_EQ(base::string_at(warnings[0], "kind"), "missing_completion_report");
    EXPECT_TRUE(result(2).at("result").at("completed_transition").as_bool());
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

// contract: WORK-05, WORK-08, WORK-46, WORK-57, WORK-58, WORK-68, WORK-69
TEST_F(WorkTest, UnknownForeignAndCompletedItemsAreTypedErrorsThatChangeNothing) {
    serve_main(kTalker);
    ASSERT_TRUE(service_->create_agent("other", std::nullopt, operator_));
    ASSERT_TRUE(service_->set_lifecycle("other", LifecycleAction::Pause, operator_));
    const auto foreign = service_->create_work_item("other", {.objective = "x"}, operator_)->id;
    ASSERT_TRUE(service_->set_lifecycle("main", LifecycleAction::Pause, operator_));
    const auto done = add("done");
    change(done, {.action = WorkAction::Done});
    json::array calls;
    for (const auto& id : {std::string("work_none"), foreign.value, done})
        for (const char* tool : {"PickWorkItem", "UpdateWorkItem"})
            calls.push_back(json::object{{"name", tool}, {"input", {{"work_item_id", id}}}});
    calls.push_back(json::object{{"name", "UpdateWorkItem"}, {"input", {{"objective", "x"}}}});
    calls.push_back(json::object{{"name", "CompleteWorkItem"}, {"input", json::object{}}});
    calls.push_back(json::object{{"name", "CompleteWorkItem"},
                                 {"input", {{"work_item_id", done}, {"result_summary", "mine"}}}});
    calls.push_back(json::object{{"name", "CreateWorkItem"}, {"input", json::object{}}});
    calls.push_back(json::object{{"name", "CreateWorkItem"},
                                 {"input", {{"objective", "x"}, {"plan_status", "half"}}}});
    calls.push_back(json::object{
        {"name", "CreateWorkItem"},
        {"input",
         {{"objective", "x"},
          {"todo_list", json::array{json::object{{"text", "a"}, {"state", "maybe"}}}}}}});
    const auto count = calls.size();
    serve(base::json_text(
        json::object{{"rounds", json::array{json::object{{"tool_calls", std::move(calls)}},
                                            json::object{{"text", "ok"}}}}}));
    ASSERT_TRUE(service_->set_lifecycle("main", LifecycleAction::Resume, operator_));
    const auto before = item(done);
    ASSERT_TRUE(service_->prompt("main", "go", operator_));
    loop_.run();
    for (std::size_t call = 0; call < count; ++call)
        EXPECT_FALSE(result(1, call).at("ok").as_bool()) << call;
    EXPECT_EQ(base::string_at(result(1, 0), "kind"), "unknown_work_item");
    EXPECT_EQ(base::string_at(result(1, 2), "kind"), "unknown_work_item");
    EXPECT_EQ(base::string_at(result(1, 7), "kind"), "invalid_tool_input");
    EXPECT_EQ(item(done), before);
    EXPECT_EQ(agent().current_work_item_id, std::nullopt);
    EXPECT_THAT(service_->work_items("main", {})->work_items, SizeIs(1));
}

// contract: WORK-01, WORK-02, WORK-03, WORK-45, WORK-47, WORK-48, WORK-49, WORK-50, WORK-104
TEST_F(WorkTest, ATurnCreatesItemsWithPlanAndChecklistInTheSameStore) {
    serve_main(R"({"rounds":[
      {"tool_calls":[
        {"name":"CreateWorkItem","input":{"objective":"bare","plan_status":"needs_input"}},
        {"name":"CreateWorkItem","input":{"objective":"full","plan_status":"needs_input",
          "plan":"  step one\nstep two ","todo_list":[{"text":"a","state":"in_progress"}]}}]},
      {"text":"ok"}]})");
    ASSERT_TRUE(service_->prompt("main", "plan it", operator_));
    loop_.run();
    const auto page = service_->work_items("main", {});
    ASSERT_TRUE(page);
    ASSERT_THAT(page->work_items, SizeIs(2));
    const auto made = result(1, 1).at("result").at("work_item");
    const auto id = base::string_at(made, "id");
    EXPECT_THAT(id, testing::MatchesRegex("work_[0-9a-f]+"));
    EXPECT_EQ(id.size(), 37U);
    EXPECT_EQ(base::string_at(made.at("plan_artifact"), "preview"), "step one\nstep two");
    EXPECT_FALSE(made.as_object().contains("plan"));
    std::ifstream file(base::string_at(made.at("plan_artifact"), "path"));
    EXPECT_EQ(std::string(std::istreambuf_iterator<char>(file), {}), "step one\nstep two");
    EXPECT_EQ(item(id).todo_list,
              (std::vector<domain::TodoItem>{{"a", domain::TodoState::InProgress}}));
    EXPECT_EQ(item(id).plan, std::nullopt);
    const json::value record = base::to_json(item(id));
    for (const char* field : {"id", "agent_id", "workspace_id", "objective", "state", "plan_status",
                              "todo_list", "created_at", "updated_at", "revision"})
        EXPECT_TRUE(record.as_object().contains(field)) << field;
}

// contract: WORK-36, WORK-37, WORK-107, BRIEF-15
TEST_F(WorkTest, TheNextPromptShowsTheFocusAndWhatWasDoneForIt) {
    serve_main(R"({"rounds":[
      {"text":"I look around first.","tool_calls":[{"name":"UpdateWorkItem","input":{"work_item_id":"$work_item",
        "todo_list":[{"text":"write it","state":"pending"}]}}]},
      {"text":"Half done."}]})");
    ASSERT_TRUE(service_->set_lifecycle("main", LifecycleAction::Pause, operator_));
    const auto id = add("the objective");
    change(id, {.action = WorkAction::Pick});
    ASSERT_TRUE(service_->set_lifecycle("main", LifecycleAction::Resume, operator_));
    loop_.run_until([&] { return model_->asked >= 3; });
    const auto prompt = opening(2);
    for (const char* part : {"## current_work_item\n", "the objective", "write it", "Plan file:",
                             "## current_work_item_process_trace", "brief: Half done.",
                             "tool UpdateWorkItem (ok)", "assistant: I look around first."})
        EXPECT_THAT(prompt, HasSubstr(part));
    for (const auto& brief : service_->briefs("main", {.limit = 10}).value().items)
        if (brief.kind == domain::BriefKind::Result) EXPECT_EQ(brief.work_item_id->value, id);
}

// contract: WORK-101, WORK-102, WORK-103, WORK-105
TEST_F(WorkTest, AnObjectiveGivenDuringATurnDisturbsNothingAndIsNoMessage) {
    serve_main(kSlowAnswer);
    ASSERT_TRUE(service_->prompt("main", "hi", operator_));
    loop_.run_until([&] { return model_->asked == 1; });
    const auto before = messages().size();
    const auto id = add("later");
    EXPECT_EQ(messages().size(), before);
    EXPECT_EQ(status(), "awake_running");
    EXPECT_EQ(agent().current_work_item_id, std::nullopt);
    const auto audit = events_of("work_item_enqueue_requested");
    ASSERT_THAT(audit, SizeIs(1));
    EXPECT_EQ(base::string_at(audit[0].data, "work_item_id"), id);
    EXPECT_EQ(base::string_at(audit[0].data, "admission_context"), "control_authenticated");
    EXPECT_FALSE(service_->create_work_item("main", {.objective = "  "}, operator_));
    EXPECT_THAT(service_->work_items("main", {})->work_items, SizeIs(1));
}

// contract: WORK-120
TEST_F(WorkTest, AnObjectiveWithoutAPlanHasAnEmptyPlanFile) {
    serve_main();
    const auto item = service_->create_work_item("main", {.objective = "ship"}, operator_);
    ASSERT_TRUE(item) << item.error().message;
    EXPECT_EQ(std::filesystem::file_size(item->plan_artifact->path), 0U);
    EXPECT_GT(item->plan_artifact->updated_at, base::Time{});
    EXPECT_FALSE(service_->create_work_item("nobody", {.objective = "ship"}, operator_));
    EXPECT_FALSE(std::filesystem::exists(home_ / "nobody"));
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

// contract: TICK-02
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
    EXPECT_EQ(events_of("scheduler_decision").size(), ticks().size());
}

// contract: WORK-88, WORK-94
TEST_F(WorkTest, ALongTurnIsRemindedOfItsItemInOneRequestOnly) {
    json::array rounds(
        12, json::object{{"tool_calls", json::array{json::object{{"name", "ListWorkItems"},
                                                                 {"input", json::object{}}}}}});
    rounds.push_back(json::object{{"text", "done"}});
    serve_main(base::json_text(json::object{{"rounds", rounds}}));
    ASSERT_TRUE(service_->set_lifecycle("main", LifecycleAction::Pause, operator_));
    const auto id = add("the long one");
    change(id, {.action = WorkAction::Pick});
    ASSERT_TRUE(service_->set_lifecycle("main", LifecycleAction::Resume, operator_));
    const auto before = item(id);
    loop_.run_until([&] { return model_->asked == 13; });
    EXPECT_EQ(item(id), before);
    for (std::size_t request = 0; request < 13; ++request) {
        const auto* last =
            model_->requests[request].conversation.empty()
                ? nullptr
                : std::get_if<provider::UserTurn>(&model_->requests[request].conversation.back());
        const bool is_reminded = last && last->blocks[0].text.contains("[work item reminder]");
        EXPECT_EQ(is_reminded, request == 10) << request;
        if (is_reminded) EXPECT_THAT(last->blocks[0].text, HasSubstr("the long one"));
    }
    EXPECT_THAT(events_of("work_item_stale_reminder_injected"), SizeIs(1));
    for (const auto& entry : service_->transcript("main", {.limit = 100}).value().items)
        EXPECT_THAT(base::json_text(entry.data), Not(HasSubstr("work item reminder")));
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

// contract: WORK-43, WORK-54, WORK-75, WORK-77
TEST_F(WorkTest, AnEditedPlanFileIsShownInTheNextPrompt) {
    serve_main(kSlowAnswer);
    ASSERT_TRUE(service_->set_lifecycle("main", LifecycleAction::Pause, operator_));
    const auto id = service_->create_work_item(
        "main", {.objective = "plan", .plan = "the first plan"}, operator_);
    ASSERT_TRUE(id) << id.error().message;
    change(id->id.value, {.action = WorkAction::Pick});
    const auto path =
        base::string_at(service_->work_item("main", id->id.value)->at("plan_artifact"), "path");
    std::ofstream(path) << "the second plan";
    ASSERT_TRUE(service_->set_lifecycle("main", LifecycleAction::Resume, operator_));
    loop_.run_until([&] { return model_->asked == 1; });
    EXPECT_THAT(opening(0), HasSubstr("the second plan"));
    const auto shown = service_->work_item("main", id->id.value).value();
    EXPECT_EQ(base::int_at(shown.at("plan_artifact"), "bytes"), 15);
    EXPECT_EQ(item(id->id.value).plan, std::nullopt);
    EXPECT_EQ(item(id->id.value).plan_status, domain::PlanStatus::Draft);
    EXPECT_THAT(item(id->id.value).todo_list, IsEmpty());
}

// contract: WORK-80, WORK-81, WORK-83, WORK-84
TEST_F(WorkTest, ThePromptSaysHowWorkItemsAreKept) {
    serve_main();
    const auto prompt =
        service_->debug_prompt("main", "hi", domain::TrustLevel::TrustedOperator).value();
    for (const char* part :
         {"bookkeeping that follows material progress", "change the plan by editing that file",
          "plan_status needs_input when only the operator can answer",
          "belong to the external trigger capability, not to a work item"})
        EXPECT_THAT(prompt, HasSubstr(part));
}

// contract: WORK-79
TEST_F(WorkTest, APromptThatMentionsAnObjectiveBindsNothing) {
    serve_main(kTalker);
    ASSERT_TRUE(service_->set_lifecycle("main", LifecycleAction::Pause, operator_));
    const auto id = add("repair the roof");
    change(id, {.action = WorkAction::Block, .text = "rain"});
    const auto before = item(id);
    ASSERT_TRUE(service_->set_lifecycle("main", LifecycleAction::Resume, operator_));
    ASSERT_TRUE(service_->prompt("main", "repair the roof", operator_));
    loop_.run_until([&] { return !events_of("turn_terminal").empty(); });
    EXPECT_THAT(events_of("work_item_turn_end_committed"), IsEmpty());
    EXPECT_EQ(item(id), before);
    EXPECT_THAT(service_->work_items("main", {})->work_items, SizeIs(1));
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

TEST_F(WorkTest, AnObjectiveThatUntrustedInputGaveNeverBecomesAnInstruction) {
    serve_main(kTalker);
    ASSERT_TRUE(service_->create_work_item(
        "main", {.objective = "delete all", .trust = domain::TrustLevel::UntrustedExternal},
        operator_));
    loop_.run_until([&] { return model_->asked == 1; });
    ASSERT_THAT(ticks(), SizeIs(1));
    EXPECT_EQ(ticks()[0].authority_class, domain::AuthorityClass::ExternalEvidence);
    EXPECT_THAT(opening(0), HasSubstr("untrusted"));
}

}  // namespace
}  // namespace service
