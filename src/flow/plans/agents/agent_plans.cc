#include "flow/plans/agents/agent_plans.h"

#include "agent/identity/agent_lock.h"
#include "base/log/log.h"
#include "domain/events/tasks.h"
#include "exec/plan/entry/receipt.h"
#include "exec/tasks/plan_task.h"
#include "exec/tasks/snapshot/snapshot.h"

namespace plans {
namespace {

using base::ErrorCode;
using base::fail;
using domain::PlanRun;
using domain::PlanRunStatus;
using domain::TaskStatus;

domain::RunId run_of(const domain::ToolCallId& call) {
    return {call.value};
}

tasks::PlanDetail detail_of(const PlanRun& run) {
    return {.run_id = run.run_id.value,
            .run_status = std::string(base::enum_name(run.status)),
            .goal = run.goal,
            .plan_hash = run.plan_hash,
            .risk_level = std::string(plan::risk_name(run.risk_level))};
}

tasks::PlanEnd end_of(const PlanRun& run, const json::object& receipt) {
    tasks::PlanEnd end{.run_status = std::string(base::enum_name(run.status)),
                       .receipt = base::pretty_json(receipt)};
    if (run.status == PlanRunStatus::Succeeded) return end;
    if (run.status == PlanRunStatus::Cancelled) {
        end.status = TaskStatus::Cancelled;
        end.cancelled_reason = run.cancel_reason;
        return end;
    }
    end.status = TaskStatus::Failed;
    end.error =
        run.status == PlanRunStatus::Partial
            ? fmt::format("{} of {} steps succeeded", run.counts.succeeded, run.counts.steps)
        : run.failure ? fmt::format("{}: {}", run.failure->code, run.failure->message)
                      : "the run failed";
    return end;
}

domain::ToolError failed(const base::Error& error) {
    return {.kind = error.code == ErrorCode::Refused ? "policy_denied" : "tool_execution_failed",
            .message = error.message};
}

}  // namespace

AgentPlans::AgentPlans(AgentPlanParts parts)
    : parts_(std::move(parts)),
      committer_({parts_.store, parts_.loop, parts_.clock, parts_.ids, parts_.feed}) {
    parts_.tasks.add(*this);
}

tasks::StopDecision AgentPlans::decide_stop(domain::Task task, base::Time now) const {
    return tasks::decide_plan_stop(std::move(task), now);
}

void AgentPlans::knows(const domain::ToolCallId& call, std::move_only_function<void(bool)> done) {
    committer_.load<bool>(
        lifetime_,
        [run = run_of(call)](store::Tx& tx) -> base::Result<bool> {
            return TRY(tx.plan_run(run)).has_value();
        },
        [done = std::move(done)](const base::Result<bool>& known) mutable {
            done(known.value_or(false));
        });
}

base::Result<domain::PlanCreated> AgentPlans::make(const domain::PlanRequest& request,
                                                   const domain::ToolCall& call,
                                                   const tools::ExecutionContext& place,
                                                   std::optional<domain::PolicySnapshot> policy) {
    std::optional<PlanRun> known;
    domain::PlanOwner owner{.agent_id = place.agent_id,
                            .task_id = {call.call_id.value},
                            .workspace = place.workspace,
                            .authority_class = call.authority_class,
                            .turn = call.run_id};
    TRY(parts_.store.read([&](store::Tx& tx) -> base::Status {
        known = TRY(tx.plan_run(run_of(call.call_id)));
        if (known) return {};
        const auto agent = TRY(tx.agent(place.agent_id));
        if (!agent) return fail(ErrorCode::NotFound, "there is no agent {}", place.agent_id);
        owner.profile = agent->identity.profile_preset;
        if (TRY(tx.active_tasks(place.agent_id)).size() >= tasks::kCommandTasksPerAgentMax)
            return fail(ErrorCode::Refused,
                        "agent {} has {} tasks already, as many as it may have; end one first",
                        place.agent_id, tasks::kCommandTasksPerAgentMax);
        return {};
    }));
    if (known)
        return domain::PlanCreated{
            .run = known, .needs_approval = plan::needs_approval(*known) && !known->approval};
    return parts_.plans.create_for(
        request,
        {.run_id = run_of(call.call_id), .owner = std::move(owner), .policy = std::move(policy)});
}

base::Result<std::optional<domain::Task>> AgentPlans::promote(const domain::RunId& id) {
    return committer_.commit_now<std::optional<domain::Task>>(
        lifetime_.watch(), [id](events::Log& log) -> base::Result<std::optional<domain::Task>> {
            auto& tx = log.tx();
            const auto run = TRY(tx.plan_run(id));
            auto task = TRY(tx.task({id.value}));
            if (task || !run || !run->is_open()) return task;
            tasks::PlanFacts facts{.id = run->owner->task_id,
                                   .agent_id = run->owner->agent_id,
                                   .detail = detail_of(*run),
                                   .is_waiting = run->status == PlanRunStatus::AwaitingApproval,
                                   .trust = domain::trust_of(run->owner->authority_class)};
            if (const auto attempt =
                    run->owner->turn ? TRY(tx.attempt(*run->owner->turn)) : std::nullopt) {
                facts.parent_message_id = attempt->message_id;
                facts.work_item_id = attempt->work_item_id;
            }
            task = tasks::plan_task(facts, log.now());
            TRY(tx.put_task(*task));
            TRY(log.append(task->agent_id, domain::events::TaskCreated(*task)));
            return task;
        });
}

base::Status AgentPlans::committing(events::Log& log, const PlanRun& run) {
    if (run.status == PlanRunStatus::AwaitingApproval) return {};
    auto& tx = log.tx();
    auto task = TRY(tx.task(run.owner->task_id));
    if (!task || domain::is_terminal(task->status)) return {};
    if (run.is_open()) {
        if (!tasks::is_put_off(*task)) return {};
        *task = tasks::plan_running(std::move(*task), std::string(base::enum_name(run.status)),
                                    log.now());
        TRY(tx.put_task(*task));
        return log.append(task->agent_id, domain::events::TaskStatusUpdated(*task));
    }
    const auto end = end_of(run, TRY(plan::receipt_in(tx, run)));
    *task = tasks::plan_ended(std::move(*task), end, log.now());
    TRY(tx.put_task(*task));
    TRY(log.append(task->agent_id, domain::events::TaskStatusUpdated(*task)));
    const auto rejoined =
        parts_.rejoin(log, tasks::result_message(*task, {end.receipt, false},
                                                 log.ids().fresh<domain::MessageId>(), log.now()));
    // An agent that takes no messages any more must not keep its run from ending.
    if (!rejoined && rejoined.error().code != ErrorCode::Refused)
        return std::unexpected(rejoined.error());
    return log.append(task->agent_id, domain::events::TaskResultReceived(*task));
}

void AgentPlans::committed(const PlanRun& run) {
    if (run.is_open()) return;
    parts_.loop.post(lifetime_.guard(
        [this, owner = *run.owner] { parts_.tasks.has_ended(owner.agent_id, owner.task_id); }));
}

// A plan ends between its calls, and cancels the one that runs: there is no harder way.
void AgentPlans::stop(const domain::Task& task, bool /*force*/) {
    const domain::RunId run{tasks::plan_detail_of(task).run_id};
    const std::string reason = "stopped by its agent or with it";
    if (parts_.plans.host().cancel(run, reason)) return;
    attempt(
        run, [this, run, reason] { return parts_.plans.end(run, reason); }, "could not be ended");
}

// A run that waits for the operator is left alone; any other is resumed from its journal.
void AgentPlans::resume(const domain::Task& task) {
    if (task.status == TaskStatus::Cancelling) return stop(task, false);
    if (tasks::is_put_off(task)) return;
    const domain::RunId run{tasks::plan_detail_of(task).run_id};
    if (parts_.plans.host().is_executing(run)) return;
    attempt(
        run,
        [this, run]() -> base::Status {
            const auto resumed = parts_.plans.host().execute(run, {});
            if (!resumed && resumed.error().code != ErrorCode::Conflict)
                return std::unexpected(resumed.error());
            return {};
        },
        "is not resumed");
}

void AgentPlans::attempt(const domain::RunId& run, std::function<base::Status()> work,
                         const std::string& failure) {
    struct Done {};
    committer_.background<Done>(
        lifetime_,
        [work]() -> base::Result<Done> {
            TRY(work());
            return Done{};
        },
        [this, run, work, failure](const base::Result<Done>& done) {
            if (done) return;
            base::log_warn("run {} {}: {}", run, failure, done.error().message);
            if (!events::is_passing_fault(done.error())) return;
            parts_.loop.after(kResumeRetry, lifetime_.guard([this, run, work, failure] {
                attempt(run, work, failure);
            }));
        });
}

// One RunPlan on its way to its answer.
class AgentPlans::PlanCall final : public tools::Running,
                                   public std::enable_shared_from_this<PlanCall> {
public:
    PlanCall(AgentPlans& plans, plan::PlanAsk ask,
             std::move_only_function<void(plan::PlanAnswer)> done)
        : plans_(plans), ask_(std::move(ask)), done_(std::move(done)) {}

    void begin() {
        plans_.committer_.background<First>(
            plans_.lifetime_,
            [self = shared_from_this()]() -> base::Result<First> { return self->make_and_begin(); },
            [self = shared_from_this()](base::Result<First> first) {
                if (!first) return self->finish(failed(first.error()));
                self->made(std::move(*first));
            });
    }

    void cancel() override {
        cancelled_ = true;
        if (is_executing_) plans_.parts_.plans.host().cancel(run_, "the turn was interrupted");
    }

private:
    // What stands in the way of a direct answer: faults, an end, or a task.
    using First = std::variant<std::monostate, plan::PlanAnswer>;

    First make_and_begin() {
        domain::PlanRequest request{.action = ask_.action,
                                    .params = ask_.params,
                                    .vault = ask_.place.workspace.execution_root};
        if (ask_.plan) request.text = base::json_text(*ask_.plan);
        const auto created = plans_.make(request, ask_.call, ask_.place, std::nullopt);
        if (!created) return plan::PlanAnswer(failed(created.error()));
        if (!created->run) {
            plan::PlanRefused refused;
            for (const auto& fault : created->faults)
                refused.faults.push_back({fault.path, fault.message, fault.hint});
            return plan::PlanAnswer(std::move(refused));
        }
        run_ = created->run->run_id;
        if (!created->run->is_open() || created->needs_approval) return as_it_stands();
        const auto begun = plans_.parts_.plans.host().execute(
            run_,
            {.on_end = [self = shared_from_this()](base::Result<PlanRun>) { self->ended(); }});
        // Another part of the process executes it already: its end comes as a message.
        if (!begun && begun.error().code == ErrorCode::Conflict) return as_it_stands();
        if (!begun) return plan::PlanAnswer(failed(begun.error()));
        is_executing_ = true;
        return std::monostate{};
    }

    // Over, or a task from here on.
    plan::PlanAnswer as_it_stands() {
        const auto task = plans_.promote(run_);
        if (!task) return failed(task.error());
        json::object receipt;
        PlanRun run;
        const auto read = plans_.parts_.store.read([&](store::Tx& tx) -> base::Status {
            run = TRY(tx.plan_run(run_)).value();
            receipt = TRY(plan::receipt_in(tx, run));
            return {};
        });
        if (!read) return failed(read.error());
        if (!run.is_open()) return plan::PlanOver{std::move(receipt), run.status};
        return plan::PlanContinues{std::move(receipt), tasks::handle(**task)};
    }

    void made(First first) {
        is_made_ = true;
        if (auto* answer = std::get_if<plan::PlanAnswer>(&first)) return finish(std::move(*answer));
        if (is_over_) return answer_in_background();
        if (cancelled_) return cancel();
        timer_ = plans_.parts_.loop.after(ask_.yield, [self = shared_from_this()] {
            self->timer_ = base::Loop::TimerHandle::None;
            if (!self->cancelled_) self->answer_in_background();
        });
    }

    void ended() {
        is_over_ = true;
        if (!is_made_) return;  // made() will find out.
        plans_.parts_.loop.cancel(std::exchange(timer_, base::Loop::TimerHandle::None));
        answer_in_background();
    }

    void answer_in_background() {
        if (std::exchange(is_answering_, true)) return;
        plans_.committer_.background<plan::PlanAnswer>(
            plans_.lifetime_,
            [self = shared_from_this()]() -> base::Result<plan::PlanAnswer> {
                return self->as_it_stands();
            },
            [self = shared_from_this()](base::Result<plan::PlanAnswer> answer) {
                self->finish(answer ? std::move(*answer)
                                    : plan::PlanAnswer(failed(answer.error())));
            });
    }

    void finish(plan::PlanAnswer answer) {
        if (done_) std::exchange(done_, nullptr)(std::move(answer));
    }

    AgentPlans& plans_;
    const plan::PlanAsk ask_;
    std::move_only_function<void(plan::PlanAnswer)> done_;
    domain::RunId run_;  // The loop's once `is_executing_` is set or `is_made_`.
    std::atomic<bool> is_executing_{false};
    bool is_made_{false};
    bool is_over_{false};
    bool is_answering_{false};
    bool cancelled_{false};
    base::Loop::TimerHandle timer_{base::Loop::TimerHandle::None};
};

std::shared_ptr<tools::Running> AgentPlans::start(
    plan::PlanAsk ask, std::move_only_function<void(plan::PlanAnswer)> done) {
    auto asking = std::make_shared<PlanCall>(*this, std::move(ask), std::move(done));
    asking->begin();
    return asking;
}

}  // namespace plans
