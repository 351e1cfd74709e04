#include "agent/work/views.h"

#include <gmock/gmock.h>

namespace work {
namespace {

using testing::UnorderedElementsAre;

domain::WorkItem item() {
    return {.id = {"work_1"}, .agent_id = {"main"}, .workspace_id = "ws", .objective = "ship"};
}

std::vector<std::string> members(const json::object& object) {
    std::vector<std::string> list;
    for (const auto& member : object) list.emplace_back(member.key());
    return list;
}

domain::DeliverySummary summary(const std::string& text) {
    return {.id = "d-1", .work_item_id = {"work_1"}, .text = text, .source_turn_index = 4};
}

// contract: WORK-50, WORK-76
TEST(WorkView, ShowsTheseMembersAndNeverTheInlinePlanOrTheRawSummary) {
    auto bare = item();
    bare.plan = "old prose";
    EXPECT_THAT(members(view({.item = bare})),
                UnorderedElementsAre("id", "agent_id", "workspace_id", "objective", "state",
                                     "focus", "readiness", "is_current", "is_runnable",
                                     "plan_status", "created_at", "updated_at"));
    auto full = item();
    full.todo_list = {{"a", domain::TodoState::Pending}};
    full.blocked_by = "CI";
    full.recheck_at = full.recheck_consumed_at = base::Time{};
    full.result_summary = "raw";
    const domain::Wait wait{.id = {"x"},
                            .kind = domain::WaitKind::External,
                            .work_item_id = domain::WorkItemId{"work_1"}};
    const auto shown =
        view({.item = full, .waits = {wait}, .plan_artifact = domain::PlanArtifact{}});
    EXPECT_THAT(members(shown),
                UnorderedElementsAre("id", "agent_id", "workspace_id", "objective", "state",
                                     "focus", "readiness", "is_current", "is_runnable",
                                     "plan_status", "plan_artifact", "todo_list", "blocked_by",
                                     "recheck_at", "recheck_consumed_at", "active_wait_conditions",
                                     "created_at", "updated_at"));
    EXPECT_FALSE(view({.item = full, .with_todos = false}).contains("todo_list"));
}

// contract: WORK-51
TEST(WorkView, APlanArtifactHasTheseMembers) {
    const auto shown = view({.item = item(), .plan_artifact = domain::PlanArtifact{}});
    EXPECT_THAT(members(shown.at("plan_artifact").as_object()),
                testing::IsSupersetOf(
                    {"path", "hash", "bytes", "updated_at", "preview", "preview_complete"}));
}

// contract: WORK-55, WORK-56
TEST(WorkView, ACompletedItemHasThePromotedReportElseAnOlderDeliverySummary) {
    auto done = item();
    EXPECT_EQ(completion_report(done, summary("x")), std::nullopt);  // It is open.
    done.state = domain::WorkItemState::Completed;
    EXPECT_EQ(completion_report(done, std::nullopt), std::nullopt);
    const auto older = completion_report(done, summary("old report")).value();
    EXPECT_EQ(base::string_at(older, "text"), "old report");
    EXPECT_EQ(base::string_at(older, "source"), "delivery_summary");
    EXPECT_EQ(base::int_at(older, "source_turn_index"), 4);
    done.result_summary = "promoted";
    const auto own = completion_report(done, summary("another")).value();
    EXPECT_EQ(own, (json::object{{"text", "promoted"}, {"source", "work_item_result_summary"}}));
    EXPECT_EQ(base::string_at(completion_report(done, summary("promoted")).value(),
                              "delivery_summary_id"),
              "d-1");
}

}  // namespace
}  // namespace work
