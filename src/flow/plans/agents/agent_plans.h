// Runs of plans that agents have made: by RunPlan, or one call each that only the operator may
// allow.
//
// A run of an agent is a task of it from the moment it outlives its call. The record of the task
// moves in the transactions of the run, so that neither knows more than the other; the end of both
// and the message that reports it to the agent are one commit. The ids of call, run and task are
// the same.
#pragma once

#include <functional>
#include <memory>

#include "exec/plan/entry/run_plan_tool.h"
#include "exec/tasks/host.h"
#include "exec/tools/proposals.h"
#include "flow/plans/plans.h"

namespace plans {

struct AgentPlanParts {
    store::Store& store;
    base::Loop& loop;
    base::Clock& clock;
    base::Ids& ids;
    events::Feed& feed;
    tasks::Host& tasks;
    tasks::Rejoin rejoin;
    Plans& plans;
};

class AgentPlans final : public plan::AgentPlans,
                         public tools::Proposals,
                         public RunOwners,
                         public tasks::Executor {
public:
    explicit AgentPlans(AgentPlanParts parts);
    // Waits for what it does in the background. Not while the loop runs.
    ~AgentPlans() override = default;
    AgentPlans(const AgentPlans&) = delete;
    AgentPlans& operator=(const AgentPlans&) = delete;

    std::shared_ptr<tools::Running> start(
        plan::PlanAsk ask, std::move_only_function<void(plan::PlanAnswer)> done) override;
    void knows(const domain::ToolCallId& call, std::move_only_function<void(bool)> done) override;

    base::Result<std::string> propose(const domain::ToolCall& call,
                                      const tools::ExecutionContext& place) override;

    base::Status committing(events::Log& log, const domain::PlanRun& run) override;
    void committed(const domain::PlanRun& run) override;
    base::Lifetime::Watch watch() const override { return lifetime_.watch(); }

    domain::TaskKind kind() const override { return domain::TaskKind::PlanTask; }
    tasks::StopDecision decide_stop(domain::Task task, base::Time now) const override;
    void stop(const domain::Task& task, bool force) override;
    void resume(const domain::Task& task) override;

private:
    class PlanCall;
    // Stores the run of a call, or finds it.
    base::Result<domain::PlanCreated> make(const domain::PlanRequest& request,
                                           const domain::ToolCall& call,
                                           const tools::ExecutionContext& place,
                                           std::optional<domain::PolicySnapshot> policy);
    // Makes a task of a run that is still open. Nothing when it has ended.
    base::Result<std::optional<domain::Task>> promote(const domain::RunId& run);

    // Ends or resumes a run in the background, again and again while the store is in trouble.
    void attempt(const domain::RunId& run, std::function<base::Status()> work,
                 const std::string& failure);

    AgentPlanParts parts_;
    events::Committer committer_;
    base::Lifetime lifetime_;  // Last: it ends first.
};

}  // namespace plans
