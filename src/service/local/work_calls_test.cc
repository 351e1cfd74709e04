// What calls and operators write into work items, and what the model reads of them.
#include <fstream>

#include "tests/service/work_fixture.h"

namespace service {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;

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
    const auto confirmed = receipt(1, 1);  // "Created work item ID: full", and more lines.
    ASSERT_THAT(confirmed, testing::StartsWith("Created work item work_"));
    const std::string id = confirmed.substr(18, confirmed.find(':') - 18);
    EXPECT_THAT(id, testing::MatchesRegex("work_[0-9a-f]+"));
    EXPECT_EQ(id.size(), 37U);
    const json::value made = service_->work_item("main", id).value();
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

TEST_F(WorkTest, AnIdMayBeShortenedAsLongAsItMeansOneItem) {
    serve_main(kTalker);
    ASSERT_TRUE(service_->set_lifecycle("main", LifecycleAction::Pause, operator_));
    const auto id = add("one");
    const auto show = [&](const std::string& name) { return service_->work_item("main", name); };
    ASSERT_TRUE(show(id.substr(0, 12)));
    EXPECT_EQ(base::string_at(*show(id.substr(0, 12)), "id"), id);
    EXPECT_EQ(show(id.substr(0, 8)).error().code, base::ErrorCode::NotFound);
    EXPECT_EQ(show("work_zzzz").error().code, base::ErrorCode::NotFound);
    change(id.substr(0, 12), {.action = WorkAction::Block, .text = "a review"});
    EXPECT_EQ(item(id).blocked_by, "a review");
    // A second one that begins alike, and one of another agent that does.
    ASSERT_TRUE(service_->create_agent("other", std::nullopt, operator_));
    ASSERT_TRUE(store_->write(store::Durability::Process, [&](store::Tx& tx) -> base::Status {
        TRY(tx.put_work_item({.id = {id.substr(0, 20) + "-2"}, .agent_id = {"other"}}));
        return tx.put_work_item({.id = {id.substr(0, 16) + "-1"}, .agent_id = {"main"}});
    }));
    EXPECT_EQ(show(id.substr(0, 16)).error().code, base::ErrorCode::Conflict);
    EXPECT_TRUE(show(id.substr(0, 20)));
    EXPECT_TRUE(show(id));
}

// contract: WORK-82
TEST_F(WorkTest, ABlockingLookAtATaskLeavesNoDependencyOnTheItem) {
    registry_.add(builtin::task_output(tasks_.host, loop_));
    serve_main(R"({"rounds":[
        {"tool_calls":[{"name":"TaskOutput","input":{"task_id":"t","block":true,"timeout_ms":50}}]},
        {"text":"It still runs.","delay_ms":1000}],"loop":true})");
    ASSERT_TRUE(service_->set_lifecycle("main", LifecycleAction::Pause, operator_));
    const auto id = add("look at a task");
    change(id, {.action = WorkAction::Pick});
    ASSERT_TRUE(store_->write(store::Durability::Process, [&](store::Tx& tx) {
        return tx.put_task({.id = {"t"},
                            .agent_id = {"main"},
                            .status = domain::TaskStatus::Running,
                            .work_item_id = domain::WorkItemId{id}});
    }));
    const auto before = item(id);
    const auto waits = waits_of(id);
    ASSERT_TRUE(service_->set_lifecycle("main", LifecycleAction::Resume, operator_));
    ASSERT_TRUE(loop_.run_until([&] { return model_->requests.size() == 2; }));
    const auto looked = events_of("tool_executed");
    ASSERT_THAT(looked, SizeIs(1));
    EXPECT_EQ(base::string_at(looked[0].data, "tool_name"), "TaskOutput");
    EXPECT_EQ(item(id), before);
    EXPECT_EQ(waits_of(id), waits);
}

TEST_F(WorkTest, ThePlanIsRecordedAsItIsWhenTheTurnEndsAndCountsAsProgress) {
    serve_main(kSlowAnswer);
    const auto id = add("plan");
    change(id, {.action = WorkAction::Pick});
    ASSERT_TRUE(loop_.run_until([&] { return model_->asked == 1; }));
    const auto before = item(id).plan_artifact.value();
    std::ofstream(before.path) << "written during the turn";
    ASSERT_TRUE(
        loop_.run_until([&] { return !events_of("work_item_turn_end_committed").empty(); }));
    const auto committed = events_of("work_item_turn_end_committed").at(0).data;
    EXPECT_TRUE(base::bool_at(committed, "plan_artifact_changed"));
    EXPECT_TRUE(base::bool_at(committed, "wrote_new_snapshot"));
    EXPECT_EQ(item(id).plan_artifact->preview, "written during the turn");
    EXPECT_NE(item(id).plan_artifact->hash, before.hash);
    EXPECT_EQ(item(id).turns_without_progress, 0);
    // The next turn changes nothing.
    ASSERT_TRUE(
        loop_.run_until([&] { return events_of("work_item_turn_end_committed").size() == 2; }));
    EXPECT_FALSE(base::bool_at(events_of("work_item_turn_end_committed").at(1).data,
                               "plan_artifact_changed"));
    EXPECT_EQ(item(id).turns_without_progress, 1);
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
