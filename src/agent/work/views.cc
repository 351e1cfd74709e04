#include "agent/work/views.h"

namespace work {

std::optional<json::object> completion_report(
    const domain::WorkItem& item, const std::optional<domain::DeliverySummary>& summary) {
    if (item.state != domain::WorkItemState::Completed) return std::nullopt;
    if (!item.result_summary && !summary) return std::nullopt;
    json::object report{
        {"text", item.result_summary ? *item.result_summary : summary->text},
        {"source", item.result_summary ? "work_item_result_summary" : "delivery_summary"}};
    if (summary && (!item.result_summary || summary->text == *item.result_summary)) {
        report["delivery_summary_id"] = summary->id;
        if (summary->source_turn_index) report["source_turn_index"] = *summary->source_turn_index;
        report["created_at"] = base::to_text(summary->created_at);
    }
    return report;
}

json::object wait_view(const domain::Wait& wait) {
    json::object seen = base::to_json(wait).as_object();
    for (const char* field : {"agent_id", "resolved_by"}) seen.erase(field);
    return seen;
}

json::object view(const ViewFacts& facts) {
    const auto& item = facts.item;
    const auto state = scheduling_state(item, active_waits(item.id, facts.waits));
    const auto readiness = label_of(state);
    json::object seen{{"id", item.id.value},
                      {"agent_id", item.agent_id.value},
                      {"workspace_id", item.workspace_id},
                      {"objective", item.objective},
                      {"state", base::enum_name(item.state)},
                      {"focus", base::enum_name(focus_of(item, facts.is_current))},
                      {"readiness", base::enum_name(readiness)},
                      {"is_current", facts.is_current},
                      {"is_runnable", readiness == domain::WorkReadiness::Runnable},
                      {"plan_status", base::enum_name(item.plan_status)}};
    if (const auto& plan = facts.plan_artifact ? facts.plan_artifact : item.plan_artifact)
        seen["plan_artifact"] = base::to_json(*plan);
    if (facts.with_todos && !item.todo_list.empty())
        seen["todo_list"] = base::to_json(item.todo_list);
    if (item.blocked_by) seen["blocked_by"] = *item.blocked_by;
    if (item.recheck_at) seen["recheck_at"] = base::to_text(*item.recheck_at);
    if (item.recheck_consumed_at)
        seen["recheck_consumed_at"] = base::to_text(*item.recheck_consumed_at);
    if (auto report = completion_report(item, facts.delivery_summary))
        seen["completion_report"] = std::move(*report);
    json::array waits;
    for (const auto& wait : facts.waits)
        if (wait.status == domain::WaitStatus::Active) waits.push_back(wait_view(wait));
    if (!waits.empty()) seen["active_wait_conditions"] = std::move(waits);
    if (item.trust) seen["trust"] = base::enum_name(*item.trust);
    seen["created_at"] = base::to_text(item.created_at);
    seen["updated_at"] = base::to_text(item.updated_at);
    return seen;
}

}  // namespace work
