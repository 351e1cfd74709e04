#include "exec/plan/run/approval.h"

#include <algorithm>

#include "exec/plan/language/parse.h"
#include "exec/plan/record/chain.h"

namespace plan {
namespace {

using base::ErrorCode;
using base::fail;
using domain::PlanRunStatus;

base::Status check_plan(const domain::PlanRun& run, const json::value& document) {
    if (plan_hash(document) == run.plan_hash) return {};
    return fail(ErrorCode::Corrupt,
                "the plan of run {} is not the one it was made for; make a new run", run.run_id);
}

template <class... Args>
std::unexpected<base::Error> waits(fmt::format_string<Args...> text, Args&&... args) {
    auto error = fail(ErrorCode::Refused, text, std::forward<Args>(args)...);
    error.error().kind = domain::kWaitsForApproval;
    return error;
}

}  // namespace

bool needs_approval(const domain::PlanRun& run) {
    return run.policy.confirmations_required && run.risk_level != domain::RiskLevel::ReadOnly;
}

Created create_run(const NewRun& made, base::Time now) {
    const auto& plan = made.plan->plan;
    Created created;
    auto& run = created.run;
    run = {.run_id = made.run_id,
           .status = PlanRunStatus::AwaitingApproval,
           .goal = plan.goal,
           .title = plan.title,
           .plan_hash = made.plan->hash,
           .policy_hash = policy_hash(made.policy),
           .risk_level = made.plan->risk,
           .vault = made.vault,
           .policy = made.policy,
           .context = made.context,
           .params = made.params,
           .action = made.action,
           .reverts = made.reverts,
           .created_at = now,
           .executor_version = HOLON_VERSION,
           .tool_registry_version = made.tool_registry_version,
           .planner_version = made.planner_version,
           .owner = made.owner};
    run.counts.steps = static_cast<std::int64_t>(plan.steps.size());
    run.last_hash = first_link(run.run_id, run.plan_hash, run.policy_hash);
    if (needs_approval(run))
        created.events.push_back({.type = EventType::RunConfirmationRequested,
                                  .timestamp = now,
                                  .message = "Waits for approval: " + run.goal,
                                  .payload = {{"planHash", run.plan_hash},
                                              {"policyHash", run.policy_hash},
                                              {"inputsHash", inputs_hash(run)},
                                              {"identityHash", identity_hash(run)},
                                              {"riskLevel", risk_name(run.risk_level)}}});
    return created;
}

base::Result<RunEvent> approve(domain::PlanRun& run, const json::value& document,
                               const Approve& approve, base::Time now) {
    if (run.status == PlanRunStatus::Succeeded ||
        (run.status == PlanRunStatus::Cancelled && run.pass == 0))
        return fail(ErrorCode::Conflict, "run {} has ended; make a new one", run.run_id);
    TRY(check_plan(run, document));
    const auto lifetime = std::clamp<std::chrono::milliseconds>(
        approve.lifetime, std::chrono::milliseconds(1), kApprovalLifetimeMax);
    run.approval = domain::PlanApproval{.confirmation_id = approve.confirmation_id,
                                        .approver = approve.approver,
                                        .approved_at = now,
                                        .expires_at = now + lifetime,
                                        .plan_hash = run.plan_hash,
                                        .policy_hash = run.policy_hash,
                                        .inputs_hash = inputs_hash(run)};
    return RunEvent{.type = EventType::RunConfirmed,
                    .timestamp = now,
                    .message = "Approved by " + approve.approver,
                    .payload = approval_json(*run.approval)};
}

base::Result<RunEvent> reject(domain::PlanRun& run, const std::string& by,
                              const std::string& reason, base::Time now) {
    if (run.status != PlanRunStatus::AwaitingApproval)
        return fail(ErrorCode::Conflict, "run {} has begun; cancel it instead", run.run_id);
    run.status = PlanRunStatus::Cancelled;
    run.cancel_reason = reason;
    run.ended_at = now;
    return RunEvent{.type = EventType::RunCancelled,
                    .timestamp = now,
                    .level = EventLevel::Warn,
                    .message = fmt::format("Not run: {}", reason),
                    .payload = {{"by", by}, {"status", "cancelled"}, {"cancelReason", reason}}};
}

base::Status check_approval(const domain::PlanRun& run, const json::value& document,
                            base::Time now) {
    TRY(check_plan(run, document));
    if (policy_hash(run.policy) != run.policy_hash)
        return fail(ErrorCode::Corrupt, "the policy of run {} was changed", run.run_id);
    if (!needs_approval(run)) return {};
    if (!run.approval)
        return waits("run {} waits for approval: holon plan approve {}", run.run_id, run.run_id);
    if (run.approval->plan_hash != run.plan_hash || run.approval->policy_hash != run.policy_hash)
        return waits("the approval of run {} is of another plan or policy; approve it again",
                     run.run_id);
    if (run.approval->inputs_hash && *run.approval->inputs_hash != inputs_hash(run))
        return waits(
            "the approval of run {} is of another vault, context or parameters; approve it again",
            run.run_id);
    if (now > run.approval->expires_at)
        return waits("the approval of run {} expired at {}: holon plan approve {}", run.run_id,
                     base::to_text(run.approval->expires_at), run.run_id);
    return {};
}

}  // namespace plan
