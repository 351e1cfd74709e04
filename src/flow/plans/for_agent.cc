#include "agent/identity/agent_lock.h"
#include "base/log/log.h"
#include "flow/plans/plans.h"

namespace plans {

using domain::PlanRunStatus;

base::Result<domain::PlanCreated> Plans::create_for(const domain::PlanRequest& request,
                                                    ForAgent agent) {
    auto prepared = TRY(prepare(request));
    for (std::size_t i = 0; prepared.plan && i < prepared.plan->plan.steps.size(); ++i) {
        const auto& name = prepared.plan->plan.steps[i].tool;
        const auto family = parts_.dispatcher.registry().find(name)->spec().family;
        if (!tools::grants(agent.owner.profile, family))
            prepared.faults.push_back(
                {fmt::format("/steps/{}/tool", i),
                 fmt::format("this agent's profile does not include {}", name)});
    }
    if (!prepared.faults.empty()) return domain::PlanCreated{.faults = prepared.faults};
    if (agent.policy) prepared.policy = *agent.policy;
    const auto authority = agent.owner.authority_class;
    if (authority != domain::AuthorityClass::OperatorInstruction &&
        authority != domain::AuthorityClass::RuntimeInstruction)
        prepared.policy.confirmations_required = true;
    agent.planner_version = plan::planner_version("agent " + agent.owner.agent_id.value);
    auto run = TRY(store_new(prepared, std::nullopt, &agent));
    const bool needs = plan::needs_approval(run);
    return domain::PlanCreated{.run = std::move(run), .needs_approval = needs};
}

base::Status Plans::end(const domain::RunId& run, const std::string& reason) {
    {
        const auto lock = TRY(identity::lock_folder(parts_.folder(run), "run " + run.value));
        auto stored = TRY(load_run(parts_.store, run));
        if (!stored.run.is_open()) return {};
        if (stored.run.status == PlanRunStatus::AwaitingApproval) {
            const auto event = TRY(plan::reject(stored.run, "agent", reason, parts_.clock.now()));
            return record_event(parts_, lifetime_.watch(), stored, event);
        }
    }
    TRY(host_.end(run, reason, {}));
    return {};
}

void Plans::begin_if_owned(const domain::PlanRun& run) {
    if (!run.owner || !host_.stays()) return;
    if (const auto begun = host_.execute(run.run_id, {}); !begun)
        base::log_warn(
            "run {} is approved and does not begin: {} Continue with: holon plan resume {}",
            run.run_id, begun.error().message, run.run_id);
}

}  // namespace plans
