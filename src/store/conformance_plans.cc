// The promises about runs of plans, their journals and the actions kept from them.
#include <gmock/gmock.h>

#include "store/conformance.h"

namespace store {

using base::ErrorCode;
using base::from_micros;
using domain::PlanRecordKind;
using domain::PlanRunStatus;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

namespace {

domain::PlanRun run(const std::string& id, std::int64_t created,
                    PlanRunStatus status = PlanRunStatus::Running) {
    domain::PlanRun run{.run_id = {id}, .status = status, .goal = "tidy up"};
    run.created_at = from_micros(created);
    run.policy.sandbox.allowed_roots = {"/vault"};
    run.approval = domain::PlanApproval{.confirmation_id = "c", .approver = "ada"};
    run.context = {{"note", "a.md"}};
    run.params = {{"names", json::array{"x", "y"}}};
    return run;
}

std::vector<std::string> names(const std::vector<domain::PlanRun>& runs) {
    std::vector<std::string> list;
    for (const auto& one : runs) list.push_back(one.run_id.value);
    return list;
}

}  // namespace

TEST_P(StoreConformance, APlanRunComesBackWholeWithThePlanItRuns) {
    auto one = run("p1", 5);
    using namespace std::string_literals;
    const std::string plan = "{\"goal\":\"łódź\0nul\"}"s;
    write([&](Tx& tx) -> Status {
        TRY(tx.add_plan_run(one, plan));
        EXPECT_EQ(tx.add_plan_run(one, "{}").error().code, ErrorCode::Conflict);
        one.status = PlanRunStatus::Failed;
        one.failure = domain::PlanFailure{"a", "TIMEOUT", "too late"};
        EXPECT_EQ(tx.put_plan_run(run("p9", 1)).error().code, ErrorCode::NotFound);
        auto progress = one;  // What it was given stays, also when it is left out here.
        progress.context.clear();
        progress.params.clear();
        return tx.put_plan_run(progress);
    });
    reopen();
    read([&](Tx& tx) -> Status {
        EXPECT_EQ(TRY(tx.plan_run({"p1"})), one);
        EXPECT_EQ(TRY(tx.plan_document({"p1"})), plan);
        EXPECT_EQ(TRY(tx.plan_run({"p2"})), std::nullopt);
        EXPECT_EQ(TRY(tx.plan_document({"p2"})), std::nullopt);
        return {};
    });
}

TEST_P(StoreConformance, PlanRunsAreFoundByTheRunTheyTakeBack) {
    const auto reverting = [](const std::string& id, std::int64_t created, const char* reverts) {
        auto one = run(id, created, PlanRunStatus::Succeeded);
        one.reverts = domain::RunId{reverts};
        return one;
    };
    write([&](Tx& tx) -> Status {
        TRY(tx.add_plan_run(run("p1", 10, PlanRunStatus::Succeeded), ""));
        TRY(tx.add_plan_run(reverting("p3", 30, "p1"), ""));
        TRY(tx.add_plan_run(reverting("p2", 20, "p1"), ""));
        TRY(tx.add_plan_run(reverting("p4", 40, "p3"), ""));
        TRY(tx.add_plan_run(reverting("p5", 50, "p1"), ""));
        TRY(tx.put_plan_run(reverting("p2", 20, "p1")));
        return tx.drop_plan_run({"p5"});
    });
    reopen();
    read([&](Tx& tx) -> Status {
        EXPECT_THAT(names(TRY(tx.plan_runs_reverting({"p1"}))), ElementsAre("p2", "p3"));
        EXPECT_THAT(names(TRY(tx.plan_runs_reverting({"p3"}))), ElementsAre("p4"));
        EXPECT_THAT(TRY(tx.plan_runs_reverting({"p4"})), IsEmpty());
        return {};
    });
}

TEST_P(StoreConformance, PlanRunsAreFoundByTheBeginningOfTheirIds) {
    write([](Tx& tx) -> Status {
        for (const char* id : {"a1", "b1", "b2", "b3", "c1"}) TRY(tx.add_plan_run(run(id, 1), ""));
        return tx.drop_plan_run({"b1"});
    });
    read([](Tx& tx) -> Status {
        EXPECT_THAT(TRY(tx.plan_run_ids("b", 9)), ElementsAre(RunId{"b2"}, RunId{"b3"}));
        EXPECT_THAT(TRY(tx.plan_run_ids("b", 1)), ElementsAre(RunId{"b2"}));
        EXPECT_THAT(TRY(tx.plan_run_ids("b4", 9)), IsEmpty());
        EXPECT_THAT(TRY(tx.plan_run_ids("c1", 9)), ElementsAre(RunId{"c1"}));
        return {};
    });
}

TEST_P(StoreConformance, PlanRunsAreListedNewestFirstAndOpenOnesOldestFirst) {
    write([](Tx& tx) -> Status {
        TRY(tx.add_plan_run(run("p1", 10), ""));
        TRY(tx.add_plan_run(run("p2", 30, PlanRunStatus::AwaitingApproval), ""));
        TRY(tx.add_plan_run(run("p3", 20, PlanRunStatus::Succeeded), ""));
        TRY(tx.add_plan_run(run("p4", 40), ""));
        return tx.put_plan_run(run("p4", 40, PlanRunStatus::Cancelled));
    });
    read([](Tx& tx) -> Status {
        EXPECT_THAT(names(TRY(tx.plan_runs(9, {}))), ElementsAre("p4", "p2", "p3", "p1"));
        EXPECT_THAT(names(TRY(tx.plan_runs(1, {}))), ElementsAre("p4"));
        EXPECT_THAT(names(TRY(tx.plan_runs(2, {"p2"}))), ElementsAre("p3", "p1"));
        EXPECT_THAT(names(TRY(tx.plan_runs(2, {"p1"}))), IsEmpty());
        EXPECT_EQ(tx.plan_runs(2, {"p9"}).error().kind, "cursor_not_found");
        EXPECT_THAT(names(TRY(tx.plan_runs(-1, {}))), IsEmpty());
        EXPECT_THAT(names(TRY(tx.open_plan_runs(9))), ElementsAre("p1", "p2"));
        return {};
    });
}

TEST_P(StoreConformance, ADroppedPlanRunIsGoneAtOnceAndItsRowsBitByBit) {
    write([](Tx& tx) -> Status {
        for (const auto* id : {"p1", "p2"}) {
            TRY(tx.add_plan_run(run(id, 10, PlanRunStatus::Succeeded), "{}"));
            for (std::int64_t seq = 1; seq <= 5; ++seq)
                TRY(tx.append_plan_records({id}, {{seq, PlanRecordKind::Event, "{}"}}));
        }
        TRY(tx.add_plan_run(run("p3", 5), "{}"));
        EXPECT_THAT(names(TRY(tx.ended_plan_runs(9))), ElementsAre("p1", "p2"));
        EXPECT_THAT(names(TRY(tx.ended_plan_runs(1))), ElementsAre("p1"));
        EXPECT_EQ(TRY(tx.plan_run_count()), 3);
        TRY(tx.drop_plan_run({"p9"}));
        return tx.drop_plan_run({"p1"});
    });
    reopen();
    read([](Tx& tx) -> Status {
        EXPECT_EQ(TRY(tx.plan_run({"p1"})), std::nullopt);
        EXPECT_THAT(names(TRY(tx.plan_runs(9, {}))), ElementsAre("p2", "p3"));
        EXPECT_THAT(names(TRY(tx.ended_plan_runs(9))), ElementsAre("p2"));
        return {};
    });
    write([](Tx& tx) -> Status {
        EXPECT_EQ(tx.put_plan_run(run("p1", 10)).error().code, ErrorCode::NotFound);
        EXPECT_TRUE(TRY(tx.erase_dropped_plan_rows(3)));
        EXPECT_EQ(TRY(tx.plan_records({"p1"}, 0, 9)).size(), 2u);
        EXPECT_TRUE(TRY(tx.erase_dropped_plan_rows(3)));
        EXPECT_FALSE(TRY(tx.erase_dropped_plan_rows(3)));
        EXPECT_THAT(TRY(tx.plan_records({"p1"}, 0, 9)), IsEmpty());
        EXPECT_EQ(TRY(tx.plan_document({"p1"})), std::nullopt);
        EXPECT_EQ(TRY(tx.plan_run_count()), 2);
        EXPECT_EQ(TRY(tx.plan_records({"p2"}, 0, 9)).size(), 5u);
        return {};
    });
}

TEST_P(StoreConformance, TheJournalOfAPlanRunKeepsItsOrderAndItsBytes) {
    const std::vector<domain::PlanRecord> first{{1, PlanRecordKind::Event, R"({"seq":1})"},
                                                {2, PlanRecordKind::Call, R"({"b":1,"a":"ł"})"}};
    write([&](Tx& tx) -> Status {
        TRY(tx.append_plan_records({"p1"}, first));
        TRY(tx.append_plan_records({"p2"}, {{1, PlanRecordKind::Event, "{}"}}));
        return tx.append_plan_records({"p1"}, {{3, PlanRecordKind::Result, "{}"}});
    });
    reopen();
    read([&](Tx& tx) -> Status {
        EXPECT_THAT(TRY(tx.plan_records({"p1"}, 0, 2)), first);
        EXPECT_THAT(TRY(tx.plan_records({"p1"}, 2, 9)),
                    ElementsAre(domain::PlanRecord{3, PlanRecordKind::Result, "{}"}));
        EXPECT_THAT(TRY(tx.plan_records({"p9"}, 0, 9)), IsEmpty());
        return {};
    });
}

TEST_P(StoreConformance, ARecordThatAnotherProcessWroteFirstUndoesTheWholeCommit) {
    write([](Tx& tx) -> Status {
        TRY(tx.add_plan_run(run("p1", 1), ""));
        return tx.append_plan_records({"p1"}, {{1, PlanRecordKind::Event, "{}"}});
    });
    const Status late = store_->write(Durability::Process, [](Tx& tx) -> Status {
        TRY(tx.put_plan_run(run("p1", 1, PlanRunStatus::Cancelled)));
        return tx.append_plan_records({"p1"}, {{1, PlanRecordKind::Call, "{}"}});
    });
    EXPECT_EQ(late.error().code, ErrorCode::Conflict);
    EXPECT_THAT(late.error().message, HasSubstr("another process"));
    read([](Tx& tx) -> Status {
        EXPECT_EQ(TRY(tx.plan_run({"p1"}))->status, PlanRunStatus::Running);
        EXPECT_EQ(TRY(tx.plan_records({"p1"}, 0, 9)).at(0).kind, PlanRecordKind::Event);
        return {};
    });
}

TEST_P(StoreConformance, APlanRemembersWhoWroteItUntilManyOthersCame) {
    write([](Tx& tx) -> Status {
        TRY(tx.put_plan_origin({"first", "holon 1 with a/b", from_micros(1)}));
        TRY(tx.put_plan_origin({"kept", "holon 1 with a/b", from_micros(2)}));
        return tx.put_plan_origin({"kept", "holon 2 with c/d", from_micros(3)});
    });
    reopen();
    read([&](Tx& tx) -> Status {
        EXPECT_EQ(TRY(tx.plan_origin("kept")),
                  (domain::PlanOrigin{"kept", "holon 2 with c/d", from_micros(3)}));
        EXPECT_EQ(TRY(tx.plan_origin("never")), std::nullopt);
        return {};
    });
    write([](Tx& tx) -> Status {
        for (std::int64_t i = 0; i + 1 < kPlanOriginsMax; ++i)
            TRY(tx.put_plan_origin({fmt::format("h{}", i), "v", from_micros(10 + i)}));
        EXPECT_EQ(TRY(tx.plan_origin("first")), std::nullopt);
        EXPECT_NE(TRY(tx.plan_origin("kept")), std::nullopt);
        return {};
    });
}

TEST_P(StoreConformance, PlanActionsAreReplacedListedByNameAndErased) {
    domain::PlanAction action{.name = "weekly", .plan = json::object{{"goal", "x"}}};
    write([&](Tx& tx) -> Status {
        TRY(tx.put_plan_action(action));
        TRY(tx.put_plan_action({.name = "daily", .plan = nullptr}));
        TRY(tx.put_plan_action({.name = "old", .plan = nullptr}));
        TRY(tx.erase_plan_action("old"));
        TRY(tx.erase_plan_action("never was"));
        action.params = {"folder"};
        return tx.put_plan_action(action);
    });
    read([&](Tx& tx) -> Status {
        EXPECT_EQ(TRY(tx.plan_action("weekly")), action);
        EXPECT_EQ(TRY(tx.plan_action("old")), std::nullopt);
        std::vector<std::string> list;
        for (const auto& one : TRY(tx.plan_actions(9))) list.push_back(one.name);
        EXPECT_THAT(list, ElementsAre("daily", "weekly"));
        return {};
    });
}

}  // namespace store
