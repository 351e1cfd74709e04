// The record of a plan's run as a task of the agent that had it made. Pure; the run itself, and
// what it does, are not known here.
#pragma once

#include "exec/tasks/decide.h"

namespace tasks {

// The `detail` of a plan task. Members that command tasks have, too, mean the same.
struct PlanDetail {
    std::string run_id;
    std::string run_status;  // As the run has it.
    std::string goal;
    std::string plan_hash;
    std::string risk_level;
    std::string wait_policy{kBackground};
    bool terminal_reentry{true};
    std::optional<std::string> output_summary{};  // The receipt of the run, once it has ended.
    std::optional<bool> output_truncated{};
    bool terminal_snapshot_ready{false};
    std::optional<std::string> error{};
    std::optional<bool> cancel_requested{};
    std::optional<bool> force_stop_requested{};
    std::optional<std::string> status_before_stop{};
    std::optional<std::string> cancelled_reason{};
    friend bool operator==(const PlanDetail&, const PlanDetail&) = default;
};
BOOST_DESCRIBE_STRUCT(PlanDetail, (),
                      (run_id, run_status, goal, plan_hash, risk_level, wait_policy,
                       terminal_reentry, output_summary, output_truncated, terminal_snapshot_ready,
                       error, cancel_requested, force_stop_requested, status_before_stop,
                       cancelled_reason))
PlanDetail plan_detail_of(const domain::Task& task);

// A run, and on whose behalf.
struct PlanFacts {
    domain::TaskId id;
    domain::AgentId agent_id;
    PlanDetail detail{};
    bool is_waiting{false};  // For the operator; else it is running.
    std::optional<domain::MessageId> parent_message_id{};
    std::optional<domain::WorkItemId> work_item_id{};
    domain::TrustLevel trust{domain::TrustLevel::UntrustedExternal};
};
domain::Task plan_task(const PlanFacts& facts, base::Time now);

// A task that nothing is done for until somebody else decides: no run of its agent waits for it.
bool is_put_off(const domain::Task& task);

// The run has begun.
domain::Task plan_running(domain::Task task, std::string run_status, base::Time now);

struct PlanEnd {
    domain::TaskStatus status{domain::TaskStatus::Completed};
    std::string run_status;
    std::string receipt;
    std::optional<std::string> error{};
    std::optional<std::string> cancelled_reason{};
};
domain::Task plan_ended(domain::Task task, const PlanEnd& end, base::Time now);

// As decide_stop() for commands.
StopDecision decide_plan_stop(domain::Task task, base::Time now);

}  // namespace tasks
