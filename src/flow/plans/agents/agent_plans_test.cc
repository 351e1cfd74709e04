// Plans that agents have run: by RunPlan, and single calls that were sent to the operator for
// approval.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "exec/tasks/plan_task.h"
#include "tests/plans/plans_fixture.h"

namespace plans_test {
namespace {

using domain::AuthorityClass;
using domain::PlanRunStatus;
using domain::TaskStatus;
using testing::HasSubstr;
using testing::SizeIs;
using namespace std::chrono_literals;

const domain::AgentId kAgent{"ada"};

json::object try_plan(json::array steps, std::string_view risk = "read-only") {
    return {{"version", "1.0"}, {"goal", "Try"}, {"riskLevel", risk}, {"steps", std::move(steps)}};
}
json::object write_plan() {
    return try_plan({step("w", "test.write", {{"path", "a.md"}, {"content", "x"}})}, "writes");
}
json::object slow_plan() {
    return try_plan({step("s", "test.slow", {{"ms", 60'000}})});
}

class AgentPlansTest : public testing::Test {
protected:
    AgentPlansTest() { begin(); }

    // A process of its own; the last one is gone, with all that it had in memory.
    void begin() {
        life.reset();
        life.emplace(world);
        write([&](store::Tx& tx) -> base::Status {
            if (TRY(tx.agent(kAgent))) return {};
            domain::Agent agent{.agent_id = kAgent};
            agent.identity.agent_id = kAgent;
            return tx.put_agent(agent);
        });
    }
    void write(const std::function<base::Status(store::Tx&)>& work) {
        const auto status = life->store().write(store::Durability::Disk, work);
        CHECK(status.has_value(), status ? "" : status.error().message.c_str());
    }
    domain::ToolCall call(std::string_view id, std::string_view tool, json::value args,
                          AuthorityClass authority = AuthorityClass::OperatorInstruction) {
        domain::ToolCall made{.call_id = {std::string(id)},
                              .run_id = {"turn-1"},
                              .agent_id = kAgent,
                              .tool = std::string(tool),
                              .args = std::move(args),
                              .authority_class = authority};
        made.args_hash = domain::args_hash(made.args);
        made.risk_level = life->registry().find(made.tool)
                              ? life->registry().find(made.tool)->spec().risk
                              : domain::RiskLevel::ReadOnly;
        return made;
    }
    tools::ExecutionContext place() {
        tools::ExecutionContext where{.agent_id = kAgent};
        where.workspace.execution_root = world.vault().string();
        where.workspace.workspace_anchor = world.vault().string();
        where.workspace.cwd = world.vault().string();
        return where;
    }
    // The answer, or nothing while it is on its way after `patience`.
    std::optional<plan::PlanAnswer> ask(
        std::string_view id, json::object plan,
        AuthorityClass authority = AuthorityClass::OperatorInstruction,
        std::chrono::milliseconds patience = 20s) {
        const auto answer = std::make_shared<std::optional<plan::PlanAnswer>>();
        running =
            life->agent_plans().start({.call = call(id, "RunPlan", json::object(), authority),
                                       .place = place(),
                                       .plan = std::move(plan)},
                                      [answer](plan::PlanAnswer one) { *answer = std::move(one); });
        pass(patience);
        return *answer;
    }
    void pass(std::chrono::milliseconds time) {
        const auto until = life->loop().now() + time;
        life->loop().after(time, [] {});
        life->loop().run_until([&] { return life->loop().now() >= until; });
    }
    std::optional<bool> knows(const std::string& id) {
        std::optional<bool> known;
        life->agent_plans().knows({id}, [&](bool answer) { known = answer; });
        life->loop().run_until([&] { return known.has_value(); });
        return known;
    }
    domain::PlanRun run(const std::string& id) { return life->plans().run(id).value(); }
    std::optional<domain::Task> task(const std::string& id) {
        std::optional<domain::Task> found;
        write([&](store::Tx& tx) -> base::Status {
            found = TRY(tx.task({id}));
            return {};
        });
        return found;
    }
    // What the agent received.
    std::vector<domain::Message> received() {
        std::vector<domain::Message> list;
        write([&](store::Tx& tx) -> base::Status {
            list.clear();  // It may be run twice.
            for (const auto& one : TRY(tx.messages(kAgent, {.limit = 99})))
                list.push_back(one.record.message);
            return {};
        });
        return list;
    }

    World world;
    std::optional<Life> life;
    std::shared_ptr<tools::Running> running;
};

TEST_F(AgentPlansTest, APlanThatIsOverInTimeIsAnsweredDirectly) {
    const auto answer = ask("c1", try_plan({step("e", "test.echo", {{"value", "hello"}})}),
                            AuthorityClass::ExternalEvidence);
    ASSERT_TRUE(answer);
    const auto& over = std::get<plan::PlanOver>(*answer);
    EXPECT_EQ(over.status, PlanRunStatus::Succeeded);
    EXPECT_THAT(base::string_at(over.receipt, "output"), HasSubstr("hello"));
    EXPECT_EQ(task("c1"), std::nullopt);
    EXPECT_THAT(received(), SizeIs(0));
    EXPECT_EQ(run("c1").owner->agent_id, kAgent);
    EXPECT_EQ(run("c1").owner->authority_class, AuthorityClass::ExternalEvidence);
    EXPECT_THAT(*run("c1").planner_version, HasSubstr("agent ada"));
}

TEST_F(AgentPlansTest, ALongOneContinuesAsATaskAndItsEndIsReportedOnce) {
    const auto answer = ask("c1", slow_plan());
    ASSERT_TRUE(answer);
    const auto& continues = std::get<plan::PlanContinues>(*answer);
    EXPECT_EQ(base::string_at(continues.task, "task_kind"), "plan_task");
    EXPECT_EQ(task("c1")->status, TaskStatus::Running);
    pass(120s);
    EXPECT_EQ(task("c1")->status, TaskStatus::Completed);
    ASSERT_THAT(received(), SizeIs(1));
    EXPECT_EQ(received()[0].kind, domain::MessageKind::TaskResult);
    EXPECT_THAT(domain::readable(received()[0].body), HasSubstr("\"status\": \"succeeded\""));
    EXPECT_THAT(domain::readable(received()[0].body), HasSubstr("carries no authority"));
}

TEST_F(AgentPlansTest, FaultsAreAllReportedAndNothingIsStored) {
    const auto answer = ask("c1", try_plan({step("a", "test.nothing", {}), step("a", "Rest", {})}));
    ASSERT_TRUE(answer);
    EXPECT_GE(std::get<plan::PlanRefused>(*answer).faults.size(), 2u);
    EXPECT_EQ(knows("c1"), false);
}

TEST_F(AgentPlansTest, WhatWritesWaitsForTheOperatorAndThenBeginsInADaemon) {
    ASSERT_TRUE(life->plans().host().stay());
    const auto answer = ask("c1", write_plan());
    ASSERT_TRUE(answer);
    EXPECT_THAT(base::string_at(std::get<plan::PlanContinues>(*answer).receipt, "next_step"),
                HasSubstr("holon plan approve c1"));
    EXPECT_EQ(task("c1")->status, TaskStatus::Queued);
    EXPECT_TRUE(world.files().empty());
    ASSERT_TRUE(life->plans().approve("c1", "op", 1h));
    pass(10s);
    EXPECT_EQ(run("c1").status, PlanRunStatus::Succeeded);
    EXPECT_EQ(world.files().at("a.md"), "x");
    EXPECT_EQ(task("c1")->status, TaskStatus::Completed);
    ASSERT_THAT(received(), SizeIs(1));
    EXPECT_THAT(domain::readable(received()[0].body), HasSubstr("a.md"));
}

TEST_F(AgentPlansTest, ARejectedPlanIsReportedToItsAgentAndLeavesNoTrace) {
    ask("c1", write_plan());
    ASSERT_TRUE(life->plans().reject("c1", "op", "not today"));
    pass(1s);
    EXPECT_EQ(task("c1")->status, TaskStatus::Cancelled);
    ASSERT_THAT(received(), SizeIs(1));
    EXPECT_THAT(domain::readable(received()[0].body), HasSubstr("not today"));
    EXPECT_TRUE(world.files().empty());
}

TEST_F(AgentPlansTest, StoppingTheTaskEndsTheRunWhetherItWaitsOrExecutes) {
    ask("waits", write_plan());
    ask("goes", slow_plan());
    for (const auto* id : {"waits", "goes"})
        life->tasks().stop(kAgent, {id}, [](const base::Result<tasks::StopReceipt>& receipt) {
            EXPECT_TRUE(receipt.has_value());
        });
    pass(5s);
    for (const auto* id : {"waits", "goes"}) {
        EXPECT_EQ(run(id).status, PlanRunStatus::Cancelled) << id;
        EXPECT_EQ(task(id)->status, TaskStatus::Cancelled) << id;
    }
    EXPECT_THAT(received(), SizeIs(2));
}

TEST_F(AgentPlansTest, CancellingTheCallEndsTheRunAndLeavesNoTask) {
    auto answer = ask("c1", slow_plan(), AuthorityClass::OperatorInstruction, 1s);
    ASSERT_FALSE(answer);
    running->cancel();
    pass(5s);
    EXPECT_EQ(run("c1").status, PlanRunStatus::Cancelled);
    EXPECT_EQ(task("c1"), std::nullopt);
    EXPECT_THAT(received(), SizeIs(0));
}

TEST_F(AgentPlansTest, ACrashLosesNeitherTheRunNorItsEnd) {
    ask("c1", slow_plan());
    begin();
    life->tasks().recover({kAgent});
    pass(300s);
    EXPECT_EQ(run("c1").status, PlanRunStatus::Succeeded);
    EXPECT_EQ(task("c1")->status, TaskStatus::Completed);
    EXPECT_THAT(received(), SizeIs(1));
    begin();
    life->tasks().recover({kAgent});
    pass(300s);
    EXPECT_THAT(received(), SizeIs(1));
}

TEST_F(AgentPlansTest, TheSameCallAfterACrashContinuesTheRunItHadMade) {
    ASSERT_FALSE(ask("c1", slow_plan(), AuthorityClass::OperatorInstruction, 1s));
    begin();
    EXPECT_EQ(knows("c1"), true);
    const auto answer = ask("c1", slow_plan());
    ASSERT_TRUE(answer);
    EXPECT_TRUE(std::holds_alternative<plan::PlanContinues>(*answer));
    pass(300s);
    EXPECT_EQ(run("c1").status, PlanRunStatus::Succeeded);
    EXPECT_THAT(life->plans().runs(9, {}).value(), SizeIs(1));
}

TEST_F(AgentPlansTest, AProposedCallIsOneRunOfExactlyThisCallMadeOnceAfterApproval) {
    const json::object args{{"path", "a.md"},
                            {"content", "pay $$steps.x and $vars.y {{i}} {$steps.z}"}};
    auto asked = call("p1", "test.write", args, AuthorityClass::ExternalEvidence);
    EXPECT_EQ(life->agent_plans().propose(asked, place()).value(), "p1");
    EXPECT_EQ(life->agent_plans().propose(asked, place()).value(), "p1");
    EXPECT_THAT(life->plans().runs(9, {}).value(), SizeIs(1));
    EXPECT_EQ(run("p1").status, PlanRunStatus::AwaitingApproval);
    EXPECT_FALSE(life->plans().execute("p1").has_value()) << "not without approval";
    EXPECT_TRUE(world.files().empty());
    ASSERT_TRUE(life->plans().approve("p1", "op", 1h));
    ASSERT_TRUE(life->plans().execute("p1"));
    EXPECT_EQ(world.files().at("a.md"), base::string_at(args, "content"));
    const auto made = life->plans().show("p1").value();
    EXPECT_EQ(base::string_at(made.at("calls").at(0), "argsHash"), asked.args_hash);
    EXPECT_FALSE(life->plans().execute("p1").has_value()) << "once";
    pass(1s);
    ASSERT_THAT(received(), SizeIs(1));
    const auto recovery = tasks::recovery_of(*task("p1")).value();
    EXPECT_EQ(std::get<tasks::PlanRecovery>(*recovery).trust,
              domain::TrustLevel::UntrustedExternal);
}

TEST_F(AgentPlansTest, CallsThatWaitForTheOperatorAreBounded) {
    for (std::size_t i = 0; i < tasks::kCommandTasksPerAgentMax; ++i)
        ASSERT_TRUE(life->agent_plans().propose(call(fmt::format("p{}", i), "test.write",
                                                     json::object{{"path", "a"}, {"content", "x"}}),
                                                place()));
    EXPECT_THAT(
        life->agent_plans()
            .propose(call("more", "test.write", json::object{{"path", "a"}, {"content", "x"}}),
                     place())
            .error()
            .message,
        HasSubstr("as many as it may have"));
}

}  // namespace
}  // namespace plans_test
