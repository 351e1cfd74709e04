// Events of work items.
#pragma once

#include "domain/events/payload.h"
#include "domain/turn.h"
#include "domain/work.h"

namespace domain::events {

// `record` is a whole work item; older homes hold events with less of it.
struct WorkItemWritten {
    static constexpr std::string_view kKind = "work_item_written";
    std::string action;  // created, updated, completed, turn_end_committed
    json::object record{};
    std::optional<std::string> previous_objective{};
    std::optional<bool> objective_changed{};
    std::optional<std::vector<json::object>> warnings{};
    std::optional<std::int64_t> warning_count{};
};
BOOST_DESCRIBE_STRUCT(WorkItemWritten, (),
                      (action, record, previous_objective, objective_changed, warnings,
                       warning_count))

struct WorkItemPicked {
    static constexpr std::string_view kKind = "work_item_picked";
    AgentId agent_id;
    std::optional<WorkItemId> previous_work_item_id{};
    WorkItemId current_work_item_id;
    std::optional<std::string> reason{};
    std::optional<WorkReadiness> previous_readiness{};
    WorkReadiness current_readiness{WorkReadiness::Runnable};
    std::string switch_kind;
    std::string current_focus_mode;
};
BOOST_DESCRIBE_STRUCT(WorkItemPicked, (),
                      (agent_id, previous_work_item_id, current_work_item_id, reason,
                       previous_readiness, current_readiness, switch_kind, current_focus_mode))
constexpr auto describe_fields(const WorkItemPicked*) {
    return null_when_absent("previous_work_item_id", "reason", "previous_readiness");
}

struct WorkItemFocusReleased {
    static constexpr std::string_view kKind = "work_item_focus_released";
    AgentId agent_id;
    WorkItemId work_item_id;
    std::string reason;  // work_item_blocked, work_item_needs_input, work_item_completed
    WorkReadiness readiness{WorkReadiness::Blocked};
    std::int64_t revision{0};
};
BOOST_DESCRIBE_STRUCT(WorkItemFocusReleased, (),
                      (agent_id, work_item_id, reason, readiness, revision))

struct WorkItemRecheckConsumed {
    static constexpr std::string_view kKind = "work_item_recheck_consumed";
    WorkItemId work_item_id;
    std::int64_t revision{0};
    Time recheck_at{};
    Time recheck_consumed_at{};
};
BOOST_DESCRIBE_STRUCT(WorkItemRecheckConsumed, (),
                      (work_item_id, revision, recheck_at, recheck_consumed_at))

struct WorkItemCompletionReportCandidatePromoted {
    static constexpr std::string_view kKind = "work_item_completion_report_candidate_promoted";
    AgentId agent_id;
    WorkItemId work_item_id;
    std::int64_t turn_index{0};
    std::int64_t round{0};
    std::string text_preview;
};
BOOST_DESCRIBE_STRUCT(WorkItemCompletionReportCandidatePromoted, (),
                      (agent_id, work_item_id, turn_index, round, text_preview))

struct WorkItemCompletionReportPromoted {
    static constexpr std::string_view kKind = "work_item_completion_report_promoted";
    AgentId agent_id;
    WorkItemId work_item_id;
    std::int64_t revision{0};
    std::int64_t source_turn_index{0};
    std::int64_t source_round{0};
    std::string text_preview;
    std::vector<std::string> warnings{};
    std::int64_t warning_count{0};
    std::string delivery_summary_id;
    BriefId brief_id;
};
BOOST_DESCRIBE_STRUCT(WorkItemCompletionReportPromoted, (),
                      (agent_id, work_item_id, revision, source_turn_index, source_round,
                       text_preview, warnings, warning_count, delivery_summary_id, brief_id))

struct WorkItemTurnEndCommitted {
    static constexpr std::string_view kKind = "work_item_turn_end_committed";
    AgentId agent_id;
    std::int64_t turn_index{0};
    WorkItemId work_item_id;
    WorkItemState committed_state{WorkItemState::Open};
    bool wrote_new_snapshot{false};
    bool plan_artifact_changed{false};
    bool work_item_state_changed{false};
    json::object closure{};
};
BOOST_DESCRIBE_STRUCT(WorkItemTurnEndCommitted, (),
                      (agent_id, turn_index, work_item_id, committed_state, wrote_new_snapshot,
                       plan_artifact_changed, work_item_state_changed, closure))

struct WorkItemTurnEndCommitSkipped {
    static constexpr std::string_view kKind = "work_item_turn_end_commit_skipped";
    AgentId agent_id;
    std::int64_t turn_index{0};
    WorkItemId work_item_id;
    std::string reason;
    json::object closure{};
};
BOOST_DESCRIBE_STRUCT(WorkItemTurnEndCommitSkipped, (),
                      (agent_id, turn_index, work_item_id, reason, closure))

struct WorkItemStaleReminderInjected {
    static constexpr std::string_view kKind = "work_item_stale_reminder_injected";
    AgentId agent_id;
    std::int64_t round{0};
    WorkItemId work_item_id;
    PlanStatus plan_status{PlanStatus::Draft};
    std::int64_t rounds_since_work_item_update{0};
    std::int64_t cooldown_rounds{0};
    std::string text_preview;
};
BOOST_DESCRIBE_STRUCT(WorkItemStaleReminderInjected, (),
                      (agent_id, round, work_item_id, plan_status, rounds_since_work_item_update,
                       cooldown_rounds, text_preview))

struct WorkItemStaleReminderSkipped {
    static constexpr std::string_view kKind = "work_item_stale_reminder_skipped";
    AgentId agent_id;
    std::int64_t round{0};
    WorkItemId work_item_id;
    PlanStatus plan_status{PlanStatus::Draft};
    std::int64_t rounds_since_work_item_update{0};
    std::int64_t cooldown_rounds{0};
    std::string reason;
};
BOOST_DESCRIBE_STRUCT(WorkItemStaleReminderSkipped, (),
                      (agent_id, round, work_item_id, plan_status, rounds_since_work_item_update,
                       cooldown_rounds, reason))

// The operator changed work items through the control plane.
struct WorkItemEnqueueRequested {
    static constexpr std::string_view kKind = "work_item_enqueue_requested";
    WorkItemId work_item_id;
    AgentId target_agent_id;
    AdmissionContext admission_context{AdmissionContext::PublicUnauthenticated};
    TrustLevel provided_trust{TrustLevel::UntrustedExternal};
    json::object boundary{};
};
BOOST_DESCRIBE_STRUCT(WorkItemEnqueueRequested, (),
                      (work_item_id, target_agent_id, admission_context, provided_trust, boundary))

// The runtime blocked an item: `turns` turns in a row were started for it and changed nothing.
struct WorkItemNoProgress {
    static constexpr std::string_view kKind = "work_item_no_progress";
    AgentId agent_id;
    WorkItemId work_item_id;
    std::int64_t turns{0};
    std::string blocked_by;
};
BOOST_DESCRIBE_STRUCT(WorkItemNoProgress, (), (agent_id, work_item_id, turns, blocked_by))

}  // namespace domain::events
