#include "exec/plan/run/approval.h"

#include <gmock/gmock.h>

#include "exec/plan/language/parse.h"
#include "exec/plan/record/chain.h"

namespace plan {
namespace {

using base::ErrorCode;
using domain::PlanRunStatus;
using testing::IsEmpty;
using testing::SizeIs;

class ApprovalTest : public testing::Test {
protected:
    domain::PlanRun create(domain::RiskLevel risk, bool confirmations_required = true) {
        auto plan = std::make_shared<Checked>();
        plan->plan.goal = "Tidy";
        plan->plan.steps.resize(2);
        plan->document = document;
        plan->hash = plan_hash(document);
        plan->risk = risk;
        NewRun made{.run_id = {"r1"}, .plan = plan, .vault = "/v"};
        made.policy.confirmations_required = confirmations_required;
        auto created = create_run(made, now);
        events = created.events;
        return created.run;
    }
    base::Result<RunEvent> approve(domain::PlanRun& run,
                                   std::chrono::milliseconds lifetime = std::chrono::hours(1)) {
        return plan::approve(
            run, document, {.confirmation_id = "c1", .approver = "ada", .lifetime = lifetime}, now);
    }
    std::optional<ErrorCode> refusal(const domain::PlanRun& run) const {
        const auto checked = check_approval(run, document, now);
        return checked ? std::nullopt : std::optional(checked.error().code);
    }

    const json::value document{json::object{{"version", "1.0"}, {"goal", "Tidy"}}};
    base::Time now{base::from_micros(1'000'000)};
    std::vector<RunEvent> events;
};

TEST_F(ApprovalTest, OnlyPlansThatChangeSomethingNeedOneAndAPolicyCanDoWithout) {
    EXPECT_FALSE(needs_approval(create(domain::RiskLevel::ReadOnly)));
    EXPECT_THAT(events, IsEmpty());
    EXPECT_FALSE(needs_approval(create(domain::RiskLevel::Writes, false)));
    EXPECT_TRUE(needs_approval(create(domain::RiskLevel::Writes)));
    ASSERT_THAT(events, SizeIs(1));
    EXPECT_EQ(events[0].type, EventType::RunConfirmationRequested);
}

TEST_F(ApprovalTest, ANewRunWaitsAndIsBoundToItsPlanAndPolicy) {
    const auto run = create(domain::RiskLevel::Writes);
    EXPECT_EQ(run.status, PlanRunStatus::AwaitingApproval);
    EXPECT_EQ(run.counts.steps, 2);
    EXPECT_EQ(run.plan_hash, plan_hash(document));
    EXPECT_EQ(run.policy_hash, policy_hash(run.policy));
    EXPECT_EQ(run.last_hash, first_link(run.run_id, run.plan_hash, run.policy_hash));
    EXPECT_EQ(refusal(run), ErrorCode::Refused);
}

TEST_F(ApprovalTest, AnApprovalHoldsUntilItExpires) {
    auto run = create(domain::RiskLevel::Writes);
    ASSERT_TRUE(approve(run));
    EXPECT_EQ(run.approval->approver, "ada");
    EXPECT_EQ(refusal(run), std::nullopt);
    now += std::chrono::hours(1);
    EXPECT_EQ(refusal(run), std::nullopt);
    now += std::chrono::milliseconds(1);
    EXPECT_EQ(refusal(run), ErrorCode::Refused);
}

TEST_F(ApprovalTest, ALifetimeIsHeldToItsBounds) {
    auto run = create(domain::RiskLevel::Writes);
    ASSERT_TRUE(approve(run, std::chrono::hours(24 * 365)));
    EXPECT_EQ(run.approval->expires_at, now + kApprovalLifetimeMax);
    ASSERT_TRUE(approve(run, std::chrono::milliseconds(-5)));
    EXPECT_EQ(run.approval->expires_at, now + std::chrono::milliseconds(1));
}

TEST_F(ApprovalTest, AnotherPlanOrPolicyIsNotApproved) {
    auto run = create(domain::RiskLevel::Writes);
    ASSERT_TRUE(approve(run));
    auto other_policy = run;
    other_policy.policy.confirmations_required = false;
    EXPECT_EQ(refusal(other_policy), ErrorCode::Corrupt);
    auto other_plan = run;
    other_plan.plan_hash = "sha256:0";
    EXPECT_EQ(refusal(other_plan), ErrorCode::Corrupt);
    EXPECT_EQ(approve(other_plan).error().code, ErrorCode::Corrupt);
    auto borrowed = run;
    borrowed.approval->plan_hash = "sha256:0";
    EXPECT_EQ(refusal(borrowed), ErrorCode::Refused);
}

TEST_F(ApprovalTest, ARejectedRunHasEndedAndIsNotApproved) {
    auto run = create(domain::RiskLevel::Writes);
    const auto event = reject(run, "ada", "not today", now);
    ASSERT_TRUE(event);
    EXPECT_EQ(event->type, EventType::RunCancelled);
    EXPECT_EQ(run.status, PlanRunStatus::Cancelled);
    EXPECT_EQ(run.cancel_reason, "not today");
    EXPECT_EQ(run.ended_at, now);
    EXPECT_EQ(reject(run, "ada", "again", now).error().code, ErrorCode::Conflict);
    EXPECT_EQ(approve(run).error().code, ErrorCode::Conflict);
}

}  // namespace
}  // namespace plan
