#include "service/views/presentation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace views {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::StartsWith;

domain::Event event(std::string kind, json::value data = json::object{}) {
    return {.id = {"e"}, .event_seq = 1, .kind = std::move(kind), .data = std::move(data)};
}

// Every kind that the reference knows of.
const std::vector<std::string>& known_kinds() {
    static const std::vector<std::string> kinds{"message_admitted",
                                                "message_enqueued",
                                                "message_processing_started",
                                                "turn_started",
                                                "turn_context_built",
                                                "provider_round_completed",
                                                "assistant_round_recorded",
                                                "text_only_round_observed",
                                                "tool_executed",
                                                "tool_execution_failed",
                                                "turn_terminal",
                                                "brief_created",
                                                "closure_decided",
                                                "control_applied",
                                                "current_run_aborted",
                                                "wake_hint_triggered",
                                                "callback_delivered",
                                                "timer_created",
                                                "timer_fired",
                                                "work_item_written",
                                                "runtime_error",
                                                "agent_state_changed",
                                                "session_state_changed",
                                                "scheduler_decision",
                                                "task_created",
                                                "task_status_updated",
                                                "workspace_attached",
                                                "worktree_created_for_task",
                                                "operator_notification_requested",
                                                "skill_installed",
                                                "a_kind_of_tomorrow"};
    return kinds;
}

// contract: EVENT-02, EVENT-09, EVENT-10
TEST(Presentation, HasTheseMembersAndNoOthers) {
    const auto with_body = base::to_json(present(event("runtime_error", {{"error", "no"}})));
    std::vector<std::string> keys;
    for (const auto& member : with_body.as_object()) keys.emplace_back(member.key());
    EXPECT_THAT(keys, ElementsAre("visibility", "category", "title", "body", "summary",
                                  "source_event_kind"));
}

// contract: EVENT-03, EVENT-04, EVENT-05, EVENT-07, EVENT-08
TEST(Presentation, FitsAColumnAndALineForEveryKind) {
    const json::value hostile{{"summary", "two\nlines \x1b[31m" + std::string(500, 'x')},
                              {"text", "a\r\nb"},
                              {"text_preview", "p\nq"},
                              {"cmd_preview", "ls\n-l"},
                              {"exec_command_cmd", "ls\n-l"}};
    for (const auto& kind : known_kinds()) {
        const auto shown = present(event(kind, hostile));
        EXPECT_EQ(shown.source_event_kind, kind);
        EXPECT_GE(level_of(shown.visibility), 1);
        EXPECT_LE(level_of(shown.visibility), 5);
        EXPECT_EQ(shown.category, category_of(kind));
        EXPECT_LE(shown.title.size(), kTitleChars) << kind;
        EXPECT_FALSE(shown.summary.empty()) << kind;
        EXPECT_EQ(shown.summary.find_first_of("\n\r\x1b"), std::string::npos) << kind;
    }
    EXPECT_EQ(base::typed::type_of<Category>().names.size(), 12U);
}

TEST(Presentation, PutsEachKindInItsCategory) {
    EXPECT_EQ(category_of("operator_notification_requested"), Category::OperatorNotification);
    EXPECT_EQ(category_of("message_enqueued"), Category::Message);
    EXPECT_EQ(category_of("work_item_written"), Category::WorkItem);
    EXPECT_EQ(category_of("task_result_received"), Category::Task);
    EXPECT_EQ(category_of("timer_fired"), Category::Waiting);
    EXPECT_EQ(category_of("task_worktree_something_new"), Category::Workspace);
    EXPECT_EQ(category_of("control_applied"), Category::Runtime);
    EXPECT_EQ(category_of("provider_round_completed"), Category::AssistantProgress);
    EXPECT_EQ(category_of("tool_executed"), Category::Tool);
    EXPECT_EQ(category_of("session_state_changed"), Category::StateSync);
    EXPECT_EQ(category_of("a_kind_of_tomorrow"), Category::Trace);
}

// contract: EVENT-06
TEST(Presentation, HasABodyOnlyWhereThereIsDetail) {
    EXPECT_EQ(present(event("brief_created", {{"kind", "result"}, {"text", "a\nb"}})).body, "a\nb");
    const auto bare = base::to_json(present(event("timer_fired")));
    EXPECT_FALSE(bare.as_object().contains("body"));
}

// contract: EVENT-28
TEST(Presentation, OrdersVisibilityFromTheOperatorToDiagnosis) {
    std::vector<std::string_view> names;
    for (auto v : {Visibility::Trace, Visibility::TurnResult, Visibility::ActionRequired,
                   Visibility::Progress, Visibility::WorkDone})
        names.push_back(base::enum_name(v));
    std::ranges::sort(names, {}, [](std::string_view name) {
        return level_of(*base::enum_from<Visibility>(name));
    });
    EXPECT_THAT(names,
                ElementsAre("action_required", "work_done", "turn_result", "progress", "trace"));
}

// contract: EVENT-29, EVENT-30, EVENT-31
TEST(Presentation, RaisesABriefByWhatTheAgentWaitsForAndHasDone) {
    const auto brief = [](std::string_view visibility) {
        json::object data{{"kind", "result"}, {"text", "x"}};
        if (!visibility.empty()) data["visibility"] = visibility;
        return present(event("brief_created", std::move(data))).visibility;
    };
    EXPECT_EQ(brief("action_required"), Visibility::ActionRequired);
    EXPECT_EQ(brief("work_done"), Visibility::WorkDone);
    EXPECT_EQ(brief("turn_result"), Visibility::TurnResult);
    EXPECT_EQ(brief(""), Visibility::TurnResult);  // Of an older program.
    EXPECT_EQ(present(event("work_item_written",
                            {{"action", "completed"}, {"record", {{"state", "completed"}}}}))
                  .visibility,
              Visibility::WorkDone);
    EXPECT_EQ(present(event("brief_created", {{"kind", "failure"}, {"text", "x"}})).visibility,
              Visibility::TurnResult);
    EXPECT_EQ(present(event("turn_terminal", {{"kind", "aborted"}})).visibility,
              Visibility::TurnResult);
}

// contract: EVENT-32
TEST(Presentation, TreatsAPreviewAsProgress) {
    EXPECT_EQ(present(event("assistant_round_recorded", {{"text_preview", "so far"}})).visibility,
              Visibility::Progress);
}

// contract: EVENT-33, EVENT-38
TEST(Presentation, KeepsToolsAtTrace) {
    for (const auto* kind :
         {"tool_executed", "tool_execution_failed", "process_execution_requested",
          "scheduler_decision", "turn_context_built"})
        EXPECT_EQ(present(event(kind)).visibility, Visibility::Trace) << kind;
}

// contract: EVENT-35, EVENT-36, EVENT-37
TEST(Presentation, DescribesTheResultOfARound) {
    EXPECT_EQ(
        present(event("provider_round_completed", {{"text_preview", "reading\nfiles"}})).summary,
        "Assistant progress: reading files");
    EXPECT_EQ(present(event("provider_round_completed",
                            {{"round", 2}, {"tool_names", {"exec_command", "apply_patch"}}}))
                  .summary,
              "Model requested tools: exec_command, apply_patch");
    EXPECT_EQ(present(event("provider_round_completed", {{"round", 2}})).summary,
              "Provider round 2 completed");
}

std::vector<std::string> shown(const std::vector<domain::Event>& events, DisplayMode mode) {
    std::vector<std::string> kinds;
    for (const auto& one : events)
        if (is_shown(one, present(one), mode)) kinds.push_back(one.kind);
    return kinds;
}

const std::vector<domain::Event>& turn_with_tools() {
    static const std::vector<domain::Event> events{
        event("message_admitted"),
        event("turn_started"),
        event("scheduler_decision"),
        event("turn_context_built"),
        event("provider_round_completed", {{"round", 1}}),
        event("assistant_round_recorded", {{"has_text", true}, {"text_preview", "looking"}}),
        event("tool_executed", {{"tool_name", "exec_command"}}),
        event("agent_state_changed"),
        event("session_state_changed"),
        event("lineage_selected"),
        event("brief_created", {{"kind", "result"}, {"text", "done"}}),
        event("turn_terminal", {{"kind", "completed"}}),
    };
    return events;
}

// contract: EVENT-24, EVENT-25, EVENT-26, EVENT-39
TEST(DisplayModes, ShowResultsThenActivityThenDetail) {
    EXPECT_THAT(shown(turn_with_tools(), DisplayMode::Info), ElementsAre("brief_created"));
    EXPECT_THAT(shown(turn_with_tools(), DisplayMode::Verbose),
                ElementsAre("assistant_round_recorded", "tool_executed", "brief_created"));
    EXPECT_THAT(shown(turn_with_tools(), DisplayMode::Debug),
                ElementsAre("turn_context_built", "provider_round_completed",
                            "assistant_round_recorded", "tool_executed", "brief_created"));
}

// contract: EVENT-34
TEST(DisplayModes, NeverShowStateSyncInTheConversation) {
    for (const auto mode : {DisplayMode::Info, DisplayMode::Verbose, DisplayMode::Debug})
        for (const auto* kind : {"agent_state_changed", "session_state_changed", "state_changed"})
            EXPECT_THAT(shown({event(kind)}, mode), IsEmpty()) << kind;
}

// contract: EVENT-27
TEST(DisplayModes, AreThreeAndTraceIsNone) {
    EXPECT_EQ(base::typed::type_of<DisplayMode>().names.size(), 3U);
    EXPECT_EQ(parse_display_mode("3"), DisplayMode::Info);
    EXPECT_EQ(parse_display_mode("VERBOSE"), DisplayMode::Verbose);
    EXPECT_EQ(parse_display_mode("5"), DisplayMode::Debug);
    EXPECT_EQ(parse_display_mode("trace"), std::nullopt);
    EXPECT_EQ(parse_display_mode("9"), std::nullopt);
}

TEST(DisplayModes, LetTwoSurfacesDeliverDifferentPartsOfTheSameEvents) {
    std::vector<std::string> pager, log;
    for (const auto& one : turn_with_tools()) {
        const auto presented = present(one);
        if (presented.visibility <= Visibility::TurnResult) pager.push_back(one.kind);
        if (presented.category == Category::Tool) log.push_back(one.kind);
    }
    EXPECT_THAT(pager, ElementsAre("brief_created"));
    EXPECT_THAT(log, ElementsAre("tool_executed"));
}

TEST(Activity, BelongsToOneTurnAndEndsWithIt) {
    std::string activity;
    activity =
        activity_after(activity, event("process_execution_requested", {{"cmd_preview", "make"}}));
    EXPECT_EQ(activity, "Running make");
    activity = activity_after(activity, event("task_created"));
    EXPECT_EQ(activity, "Running make");
    EXPECT_EQ(activity_after(activity, event("turn_terminal", {{"kind", "completed"}})), "");
    EXPECT_EQ(activity_after(activity, event("message_processing_started")), "");
}

}  // namespace
}  // namespace views
