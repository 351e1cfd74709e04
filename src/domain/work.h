// Objectives that outlive messages: what an agent works on, and what it reported when it was done.
//
// Focus is not part of a work item: it is Agent::current_work_item_id. Readiness is computed from
// the item and its waits (agent/work/decide.h).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/typed.h"
#include "domain/ids.h"
#include "domain/labels.h"

namespace domain {

enum class WorkItemState { Open, Completed };
enum class PlanStatus { Draft, Ready, NeedsInput };
enum class TodoState { Pending, InProgress, Completed };
BOOST_DESCRIBE_ENUM(WorkItemState, Open, Completed)
BOOST_DESCRIBE_ENUM(PlanStatus, Draft, Ready, NeedsInput)
BOOST_DESCRIBE_ENUM(TodoState, Pending, InProgress, Completed)

struct TodoItem {
    std::string text;
    TodoState state{TodoState::Pending};
    friend bool operator==(const TodoItem&, const TodoItem&) = default;
};
BOOST_DESCRIBE_STRUCT(TodoItem, (), (text, state))

// The plan of a work item is a file that the agent and its operator edit. This is what the file was
// when it was read last.
struct PlanArtifact {
    AgentId owner_agent_id;
    std::string workspace_id;
    std::optional<std::string> workspace_alias{};
    std::string relative_path;  // Below the agent's home.
    std::string path;           // Absolute.
    std::string hash;           // "sha256:" and hex digits, over the bytes.
    std::int64_t bytes{0};
    Time updated_at{};  // Of the file.
    std::string preview;
    bool preview_complete{true};
    friend bool operator==(const PlanArtifact&, const PlanArtifact&) = default;
};
BOOST_DESCRIBE_STRUCT(PlanArtifact, (),
                      (owner_agent_id, workspace_id, workspace_alias, relative_path, path, hash,
                       bytes, updated_at, preview, preview_complete))

// One objective of one agent.
struct WorkItem {
    WorkItemId id;
    AgentId agent_id;
    std::string workspace_id;
    std::int64_t revision{1};  // Raised by every write.
    std::string objective;
    WorkItemState state{WorkItemState::Open};
    PlanStatus plan_status{PlanStatus::Draft};
    std::optional<std::string> plan{};  // Only older records have it; the plan is a file now.
    std::optional<PlanArtifact> plan_artifact{};
    std::vector<TodoItem> todo_list{};
    std::optional<std::string> blocked_by{};
    std::optional<Time> recheck_at{};  // A reminder to check the blocker; fires once.
    std::optional<Time> recheck_consumed_at{};
    std::optional<std::string> result_summary{};
    // Turns in a row that were started for the item and left it where it was.
    std::int64_t turns_without_progress{0};
    // What the last turn that made progress did, so that a turn that only repeats it is recognised.
    std::optional<std::string> progress_digest{};
    // Of its text, where that is weaker than the operator's own word.
    std::optional<TrustLevel> trust{};
    Time created_at{};
    Time updated_at{};
    friend bool operator==(const WorkItem&, const WorkItem&) = default;
};
BOOST_DESCRIBE_STRUCT(WorkItem, (),
                      (id, agent_id, workspace_id, revision, objective, state, plan_status, plan,
                       plan_artifact, todo_list, blocked_by, recheck_at, recheck_consumed_at,
                       result_summary, turns_without_progress, progress_digest, trust, created_at,
                       updated_at))
constexpr auto describe_fields(const WorkItem*) {
    return std::to_array<base::FieldDoc>(
        {{.field = "revision", .has_default = true},
         {.field = "todo_list", .has_default = true},
         {.field = "turns_without_progress", .has_default = true}});
}

// The report that a turn gave to the operator in the round that completed the item.
struct DeliverySummary {
    std::string id;
    AgentId agent_id;
    WorkItemId work_item_id;
    Time created_at{};
    std::string text;
    std::optional<std::int64_t> source_turn_index{};
    std::optional<json::object> evidence{};
    friend bool operator==(const DeliverySummary&, const DeliverySummary&) = default;
};
BOOST_DESCRIBE_STRUCT(DeliverySummary, (),
                      (id, agent_id, work_item_id, created_at, text, source_turn_index, evidence))

// What the record alone says about who moves next. Waits are not considered; see agent/work.
enum class WorkReadiness { Runnable, WaitingForOperator, Blocked, Completed };
BOOST_DESCRIBE_ENUM(WorkReadiness, Runnable, WaitingForOperator, Blocked, Completed)

constexpr WorkReadiness readiness_of(const WorkItem& item) {
    if (item.state == WorkItemState::Completed) return WorkReadiness::Completed;
    if (item.plan_status == PlanStatus::NeedsInput) return WorkReadiness::WaitingForOperator;
    return item.blocked_by ? WorkReadiness::Blocked : WorkReadiness::Runnable;
}

}  // namespace domain
