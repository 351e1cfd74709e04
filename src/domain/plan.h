// A plan run as the store keeps it. The plan itself, its calls, results and events are kept in the
// wire form of the plan surface (camelCase), byte for byte as the run's folder has them: their
// hashes are over those bytes.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/typed.h"
#include "domain/agent.h"
#include "domain/ids.h"
#include "domain/tool.h"

namespace domain {

// Running means that the run has begun and not ended, whether or not a process executes it now.
// Partial: it ended after steps failed that were allowed to fail.
enum class PlanRunStatus { AwaitingApproval, Running, Succeeded, Partial, Failed, Cancelled };
BOOST_DESCRIBE_ENUM(PlanRunStatus, AwaitingApproval, Running, Succeeded, Partial, Failed, Cancelled)

// Bound to the exact run, plan, policy and inputs it was given for.
struct PlanApproval {
    std::string confirmation_id;
    std::string approver;
    Time approved_at{};
    Time expires_at{};  // A run does not begin or resume under it after this.
    std::string plan_hash;
    std::string policy_hash;
    std::optional<std::string> inputs_hash{};  // Absent in approvals of earlier programs.
    friend bool operator==(const PlanApproval&, const PlanApproval&) = default;
};
BOOST_DESCRIBE_STRUCT(PlanApproval, (),
                      (confirmation_id, approver, approved_at, expires_at, plan_hash, policy_hash,
                       inputs_hash))

struct PlanFailure {
    std::string step_id;  // Empty when the run itself failed: its time was over.
    std::string code;
    std::string message;
    friend bool operator==(const PlanFailure&, const PlanFailure&) = default;
};
BOOST_DESCRIBE_STRUCT(PlanFailure, (), (step_id, code, message))

struct PlanCounts {
    std::int64_t steps{0};
    std::int64_t succeeded{0};
    std::int64_t failed{0};
    std::int64_t skipped{0};
    std::int64_t calls{0};
    std::int64_t unknown_outcomes{
        0};  // Calls that a crash interrupted and whose end was not observed.
    friend bool operator==(const PlanCounts&, const PlanCounts&) = default;
};
BOOST_DESCRIBE_STRUCT(PlanCounts, (), (steps, succeeded, failed, skipped, calls, unknown_outcomes))

// Which kind of process executed a plan run last: a command, whose user resumes an interrupted run,
// or a daemon, whose next process does.
enum class PlanCarrier { Command, Runtime };
BOOST_DESCRIBE_ENUM(PlanCarrier, Command, Runtime)

// The agent that requested a run, as of its request: every call of the run is judged as a call of
// that agent, with no higher authority.
struct PlanOwner {
    AgentId agent_id;
    TaskId task_id;  // The run's id for the agent.
    ProfilePreset profile{ProfilePreset::PublicNamed};
    WorkspaceEntry workspace{};
    AuthorityClass authority_class{AuthorityClass::ExternalEvidence};
    std::optional<RunId> turn{};  // The attempt that asked.
    friend bool operator==(const PlanOwner&, const PlanOwner&) = default;
};
BOOST_DESCRIBE_STRUCT(PlanOwner, (), (agent_id, task_id, profile, workspace, authority_class, turn))

struct PlanRun {
    RunId run_id;
    PlanRunStatus status{PlanRunStatus::AwaitingApproval};
    std::string goal;
    std::optional<std::string> title{};
    std::string plan_hash;
    std::string policy_hash;
    RiskLevel risk_level{RiskLevel::ReadOnly};
    std::string vault;  // Absolute.
    PolicySnapshot policy{};
    json::object context;  // What the host bound of the plan's contextRequests.
    json::object params;   // Of a saved action.
    std::optional<std::string> action{};
    std::optional<RunId> reverts{};
    std::optional<PlanApproval> approval{};
    Time created_at{};
    std::optional<Time> started_at{};  // Of the current pass.
    std::optional<Time> ended_at{};
    // Counts how often the run was begun: a failed run that is resumed gets fresh tries.
    std::int64_t pass{0};
    std::int64_t last_seq{0};
    std::string last_hash;  // The end of the chain over all records.
    PlanCounts counts{};
    std::optional<PlanFailure> failure{};
    std::optional<std::string> cancel_reason{};
    std::optional<PlanCarrier> carrier{};
    std::string executor_version;
    std::string tool_registry_version;
    std::optional<std::string> planner_version{};  // Who wrote the plan, where that was a model.
    std::optional<PlanOwner> owner{};              // Absent: an operator made it.
    friend bool operator==(const PlanRun&, const PlanRun&) = default;

    bool is_open() const {
        return status == PlanRunStatus::AwaitingApproval || status == PlanRunStatus::Running;
    }
};
BOOST_DESCRIBE_STRUCT(PlanRun, (),
                      (run_id, status, goal, title, plan_hash, policy_hash, risk_level, vault,
                       policy, context, params, action, reverts, approval, created_at, started_at,
                       ended_at, pass, last_seq, last_hash, counts, failure, cancel_reason, carrier,
                       executor_version, tool_registry_version, planner_version, owner))

// What a run was given; it never changes.
struct PlanInputs {
    json::object context;
    json::object params;
    friend bool operator==(const PlanInputs&, const PlanInputs&) = default;
};
BOOST_DESCRIBE_STRUCT(PlanInputs, (), (context, params))

// Kind of the errors that an approval would remove.
inline constexpr std::string_view kWaitsForApproval = "waits_for_approval";

// Who wrote a plan, by its hash: a run of a plan that was changed since has no planner.
struct PlanOrigin {
    std::string plan_hash;
    std::string planner_version;
    Time made_at{};
    friend bool operator==(const PlanOrigin&, const PlanOrigin&) = default;
};
BOOST_DESCRIBE_STRUCT(PlanOrigin, (), (plan_hash, planner_version, made_at))

enum class PlanRecordKind { Call, Result, Event };
BOOST_DESCRIBE_ENUM(PlanRecordKind, Call, Result, Event)

// One line of a run's journal. `line` is JSON that ends with the hash which chains it to the line
// before, whatever its kind.
struct PlanRecord {
    std::int64_t seq{0};  // From 1, without gaps, over all kinds.
    PlanRecordKind kind{PlanRecordKind::Event};
    std::string line;
    friend bool operator==(const PlanRecord&, const PlanRecord&) = default;
};
BOOST_DESCRIBE_STRUCT(PlanRecord, (), (seq, kind, line))

// A plan kept under a name, to be run again without a model.
struct PlanAction {
    std::string name;
    std::string description;
    json::value plan;
    std::string plan_hash;
    std::vector<std::string> params{};  // Names that a run has to give values for.
    // Their JSON Schema types, where the plan's uses of them determine one.
    std::optional<std::map<std::string, std::string>> param_types{};
    std::optional<RunId> saved_from{};
    Time saved_at{};
    friend bool operator==(const PlanAction&, const PlanAction&) = default;
};
BOOST_DESCRIBE_STRUCT(PlanAction, (),
                      (name, description, plan, plan_hash, params, param_types, saved_from,
                       saved_at))

}  // namespace domain
