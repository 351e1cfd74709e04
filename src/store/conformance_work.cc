// The promises about work items: what is listed, what can run, what is due.
#include <gmock/gmock.h>

#include "store/conformance.h"

namespace store {

using base::ErrorCode;
using base::from_micros;
using domain::WorkReadiness;
using testing::ElementsAre;
using testing::IsEmpty;
using namespace conformance;

namespace {

domain::WorkItem item(const std::string& id, std::int64_t updated, const std::string& agent = "ada",
                      WorkReadiness readiness = WorkReadiness::Runnable) {
    domain::WorkItem made{.id = {id},
                          .agent_id = {agent},
                          .workspace_id = "agent_home",
                          .objective = "do " + id,
                          .created_at = from_micros(1),
                          .updated_at = from_micros(updated)};
    if (readiness == WorkReadiness::Completed) made.state = domain::WorkItemState::Completed;
    if (readiness == WorkReadiness::WaitingForOperator)
        made.plan_status = domain::PlanStatus::NeedsInput;
    if (readiness == WorkReadiness::Blocked) made.blocked_by = "the build";
    return made;
}

domain::WorkItem waiting_until(const std::string& id, std::int64_t recheck_at) {
    auto made = item(id, 5, "ada", WorkReadiness::Blocked);
    made.recheck_at = from_micros(recheck_at);
    return made;
}

}  // namespace

TEST_P(StoreConformance, AWorkItemIsKeptWholeAndReplaced) {
    auto full = item("w1", 7);
    full.revision = 3;
    full.plan_status = domain::PlanStatus::Ready;
    full.plan = "old prose";
    full.plan_artifact = domain::PlanArtifact{.owner_agent_id = {"ada"},
                                              .workspace_id = "agent_home:ada",
                                              .relative_path = "work-items/w1/plan.md",
                                              .path = "/h/work-items/w1/plan.md",
                                              .hash = "sha256:00",
                                              .bytes = 4,
                                              .preview = "plan"};
    full.todo_list = {{"look", domain::TodoState::Completed}, {"fix", domain::TodoState::Pending}};
    full.blocked_by = "CI";
    full.recheck_at = from_micros(9);
    full.recheck_consumed_at = from_micros(10);
    full.result_summary = "done";
    full.turns_without_progress = 2;
    full.progress_digest = "ab";
    full.trust = domain::TrustLevel::UntrustedExternal;
    write([&](Tx& tx) -> Status {
        EXPECT_EQ(TRY(tx.work_item({"w1"})), std::nullopt);
        TRY(tx.put_work_item(item("w1", 6)));
        return tx.put_work_item(full);
    });
    reopen();
    read([&](Tx& tx) -> Status {
        EXPECT_EQ(TRY(tx.work_item({"w1"})), full);
        EXPECT_THAT(ids(TRY(tx.work_items({"ada"}, {}))), ElementsAre("w1"));
        EXPECT_THAT(TRY(tx.work_items({"bob"}, {})), IsEmpty());
        return {};
    });
}

TEST_P(StoreConformance, WorkItemsAreListedNewestChangeFirstInPages) {
    write([](Tx& tx) -> Status {
        TRY(tx.put_work_item(item("a", 1)));
        TRY(tx.put_work_item(item("b", 3, "ada", WorkReadiness::Completed)));
        TRY(tx.put_work_item(item("c", 3)));
        TRY(tx.put_work_item(item("d", 2, "ada", WorkReadiness::Blocked)));
        TRY(tx.put_work_item(item("e", 4, "ada", WorkReadiness::WaitingForOperator)));
        return tx.put_work_item(item("x", 9, "bob"));
    });
    read([](Tx& tx) -> Status {
        EXPECT_THAT(ids(TRY(tx.work_items({"ada"}, {}))), ElementsAre("e", "c", "b", "d", "a"));
        EXPECT_THAT(ids(TRY(tx.work_items({"ada"}, {.open_only = true}))),
                    ElementsAre("e", "c", "d", "a"));
        EXPECT_THAT(ids(TRY(tx.work_items({"ada"}, {.limit = 2}))), ElementsAre("e", "c"));
        WorkPage next{.before_updated_at = from_micros(3), .before_id = {"c"}, .limit = 2};
        EXPECT_THAT(ids(TRY(tx.work_items({"ada"}, next))), ElementsAre("b", "d"));
        next.open_only = true;
        EXPECT_THAT(ids(TRY(tx.work_items({"ada"}, next))), ElementsAre("d", "a"));
        for (const auto& [readiness, id] :
             {std::pair(WorkReadiness::Completed, "b"), std::pair(WorkReadiness::Blocked, "d"),
              std::pair(WorkReadiness::WaitingForOperator, "e")})
            EXPECT_THAT(ids(TRY(tx.work_items({"ada"}, {.readiness = readiness}))),
                        ElementsAre(id));
        EXPECT_EQ(TRY(tx.work_counts({"ada"})), (WorkCounts{2, 1, 1, 1}));
        EXPECT_EQ(TRY(tx.work_counts({"nobody"})), WorkCounts{});
        return {};
    });
}

TEST_P(StoreConformance, RunnableWorkComesOldestChangeFirst) {
    write([](Tx& tx) -> Status {
        TRY(tx.put_work_item(item("a", 5)));
        TRY(tx.put_work_item(item("b", 2)));
        TRY(tx.put_work_item(item("c", 1, "ada", WorkReadiness::Blocked)));
        TRY(tx.put_work_item(item("d", 9, "eve")));
        TRY(tx.put_work_item(item("e", 9, "bob", WorkReadiness::Completed)));
        EXPECT_THAT(ids(TRY(tx.runnable_work({"ada"}, {}, 9))), ElementsAre("b", "a"));
        EXPECT_THAT(ids(TRY(tx.runnable_work({"ada"}, from_micros(2), 9))), ElementsAre("a"));
        EXPECT_THAT(ids(TRY(tx.runnable_work({"ada"}, {}, 1))), ElementsAre("b"));
        EXPECT_THAT(TRY(tx.agents_with_runnable_work({}, 9)),
                    ElementsAre(AgentId{"ada"}, AgentId{"eve"}));
        EXPECT_THAT(TRY(tx.agents_with_runnable_work({"ada"}, 9)), ElementsAre(AgentId{"eve"}));
        EXPECT_THAT(TRY(tx.agents_with_runnable_work({}, 1)), ElementsAre(AgentId{"ada"}));
        return {};
    });
}

TEST_P(StoreConformance, ARecheckIsDueUntilItIsConsumed) {
    write([](Tx& tx) -> Status {
        TRY(tx.put_work_item(waiting_until("late", 30)));
        TRY(tx.put_work_item(waiting_until("b", 20)));
        TRY(tx.put_work_item(waiting_until("a", 10)));
        auto done = waiting_until("consumed", 10);
        done.recheck_consumed_at = from_micros(11);
        TRY(tx.put_work_item(done));
        auto completed = waiting_until("completed", 10);
        completed.state = domain::WorkItemState::Completed;
        TRY(tx.put_work_item(completed));
        EXPECT_THAT(ids(TRY(tx.due_rechecks({"ada"}, from_micros(20), 9))), ElementsAre("a", "b"));
        EXPECT_THAT(ids(TRY(tx.due_rechecks({"ada"}, from_micros(20), 1))), ElementsAre("a"));
        EXPECT_THAT(TRY(tx.due_rechecks({"ada"}, from_micros(9), 9)), IsEmpty());
        return {};
    });
}

TEST_P(StoreConformance, TheOpenWaitsOfAWorkItemAreFound) {
    write([](Tx& tx) -> Status {
        const domain::Wait bound{
            .id = {"b"}, .agent_id = {"ada"}, .work_item_id = domain::WorkItemId{"w"}};
        TRY(tx.put_wait({.id = {"a"}, .agent_id = {"ada"}}));
        TRY(tx.put_wait(bound));
        auto other = bound;
        other.id = {"c"};
        TRY(tx.put_wait(other));
        other.status = domain::WaitStatus::Cancelled;
        TRY(tx.put_wait(other));
        EXPECT_THAT(ids(TRY(tx.open_waits_of({"w"}))), ElementsAre("b"));
        EXPECT_THAT(TRY(tx.open_waits_of({"none"})), IsEmpty());
        EXPECT_THAT(ids(TRY(tx.open_waits({"ada"}))), ElementsAre("a", "b"));
        return {};
    });
}

TEST_P(StoreConformance, EveryWriteOfAWorkItemRaisesTheVersion) {
    write([](Tx& tx) -> Status {
        EXPECT_EQ(TRY(tx.work_version({"ada"})), 0);
        TRY(tx.put_work_item(item("a", 1)));
        TRY(tx.put_work_item(item("a", 2)));
        EXPECT_EQ(TRY(tx.work_version({"ada"})), 2);
        EXPECT_EQ(TRY(tx.work_version({"bob"})), 0);
        return {};
    });
}

TEST_P(StoreConformance, TheNewestDeliverySummaryWithTextIsFound) {
    const auto summary = [](const std::string& id, const std::string& text) {
        return domain::DeliverySummary{.id = id,
                                       .agent_id = {"ada"},
                                       .work_item_id = {"w"},
                                       .created_at = from_micros(3),
                                       .text = text,
                                       .source_turn_index = 2,
                                       .evidence = json::object{{"source", "test"}}};
    };
    write([&](Tx& tx) -> Status {
        EXPECT_EQ(TRY(tx.delivery_summary({"w"})), std::nullopt);
        TRY(tx.append_delivery_summary(summary("d1", "first")));
        TRY(tx.append_delivery_summary(summary("d2", "second")));
        return tx.append_delivery_summary(summary("d3", ""));
    });
    read([&](Tx& tx) -> Status {
        EXPECT_EQ(TRY(tx.delivery_summary({"w"})), summary("d2", "second"));
        return {};
    });
}

TEST_P(StoreConformance, AnErasedAgentLeavesNoWorkItems) {
    write([](Tx& tx) -> Status {
        TRY(tx.put_work_item(item("a", 1)));
        TRY(tx.append_delivery_summary(
            {.id = "d", .agent_id = {"ada"}, .work_item_id = {"a"}, .text = "x"}));
        TRY(tx.erase_agent({"ada"}));
        EXPECT_EQ(TRY(tx.work_item({"a"})), std::nullopt);
        EXPECT_EQ(TRY(tx.delivery_summary({"a"})), std::nullopt);
        return {};
    });
}

}  // namespace store
