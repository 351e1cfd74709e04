#include "agent/identity/views.h"

#include "agent/identity/closure.h"
#include "agent/workspace/workspace.h"

namespace identity {
namespace {

template <class T>
json::value or_null(const std::optional<T>& value) {
    return value ? base::to_json(*value) : json::value(nullptr);
}

json::object identity_view(const domain::Agent& agent) {
    json::object view = base::to_json(agent.identity).as_object();
    view["is_default_agent"] = agent.identity.kind == domain::AgentKind::Default;
    return view;
}

json::object fault_view(const domain::AgentFault& fault) {
    return {{"reason", fault.reason},
            {"phase", fault.phase},
            {"occurred_at", base::to_text(fault.occurred_at)},
            {"recover_cli_hint", "holon agent recover " + fault.agent_id.value}};
}

json::object lifecycle(const AgentFacts& facts) {
    const auto& agent = facts.agent;
    json::object out{{"resume_required", agent.stopped},
                     {"accepts_external_messages", !agent.stopped},
                     {"wake_requires_resume", agent.stopped}};
    if (is_set_aside(facts)) {
        out["fault"] = fault_view(*facts.fault);
        out["operator_hint"] = "This agent is set aside after a fault: " + facts.fault->reason +
                               ". Messages are kept. Let it try again with: holon agent recover " +
                               agent.agent_id.value;
    }
    if (agent.stopped) {
        out["operator_hint"] =
            "This agent is stopped: resume it before sending a prompt; wake cannot lift a stop.";
        out["resume_cli_hint"] = "holon agent start " + agent.agent_id.value;
        out["resume_control_path"] = "/control/agents/" + agent.agent_id.value + "/control";
    }
    return out;
}

std::string_view waiting_posture(domain::WaitingReason reason) {
    switch (reason) {
        case domain::WaitingReason::AwaitingTaskResult:
            return "waiting_for_task";
        case domain::WaitingReason::AwaitingOperatorInput:
            return "waiting_for_operator";
        case domain::WaitingReason::AwaitingExternalChange:
        case domain::WaitingReason::AwaitingTimer:
            return "waiting_for_external";
    }
    return "unknown";
}

// AgentPostureProjection: what the agent is doing, and the fact that shows it.
json::object posture(const AgentFacts& facts) {
    if (facts.agent.stopped) return {{"posture", "archived"}, {"reason", "the agent is stopped"}};
    if (is_set_aside(facts))
        return {{"posture", "waiting_for_operator"}, {"reason", "a fault: " + facts.fault->reason}};
    if (facts.open_attempt)
        return {{"posture", "active_turn"},
                {"reason", "a turn is open"},
                {"run_id", facts.open_attempt->run_id.value}};
    if (facts.pending > 0)
        return {{"posture", "has_queued_input"},
                {"reason", fmt::format("{} messages are waiting", facts.pending)}};
    const auto closure = decide_closure(facts);
    const std::string reason = closure.evidence.empty() ? "" : closure.evidence.front();
    if (closure.work_signal)
        return {{"posture", "has_runnable_work"},
                {"reason", reason},
                {"work_item_id", closure.work_signal->work_item_id.value}};
    if (closure.outcome != domain::ClosureOutcome::Waiting || !closure.waiting_reason)
        return {{"posture", "idle"}, {"reason", reason}};
    return {{"posture", waiting_posture(*closure.waiting_reason)}, {"reason", reason}};
}

json::object working_memory(const AgentFacts& facts) {
    auto view = base::to_json(facts.memory).as_object();
    view.erase("agent_id");
    view["compression_epoch"] = facts.statistics.compression_epoch;
    return view;
}

json::array latency_view(const std::vector<domain::ToolLatency>& latency) {
    json::array list;
    for (const auto& tool : latency)
        list.push_back(json::object{{"tool_name", tool.tool_name},
                                    {"total_calls", tool.calls},
                                    {"total_duration_ms", tool.total_ms},
                                    {"max_duration_ms", tool.max_ms}});
    return list;
}

}  // namespace

json::object agent_state(const AgentFacts& facts) {
    const auto& agent = facts.agent;
    const auto& statistics = facts.statistics;
    json::array task_ids;
    for (const auto& task : facts.active_tasks) task_ids.push_back(json::value(task.id.value));
    json::object state{
        {"id", agent.agent_id.value},
        {"status", base::enum_name(status_of(facts))},
        {"sleeping_until", agent.sleep ? or_null(agent.sleep->until) : json::value(nullptr)},
        {"current_run_id",
         facts.open_attempt ? json::value(facts.open_attempt->run_id.value) : json::value(nullptr)},
        {"pending", facts.pending},
        {"active_task_ids", std::move(task_ids)},
        {"last_wake_reason", or_null(statistics.last_wake_reason)},
        {"last_brief_at", or_null(statistics.last_brief_at)},
        {"turn_index", agent.turn_index},
        {"last_continuation", or_null(statistics.last_continuation)},
        {"working_memory", working_memory(facts)},
        {"context_summary", nullptr},
        {"compacted_message_count", statistics.compacted_message_count},
        {"total_message_count", statistics.total_message_count},
        {"total_input_tokens", statistics.total_input_tokens},
        {"total_output_tokens", statistics.total_output_tokens},
        {"total_model_rounds", statistics.total_model_rounds},
        {"tool_latency", latency_view(statistics.tool_latency)},
        {"active_skills", base::to_json(agent.active_skills)},
        {"execution_profile", workspace::execution_profile(agent.execution)},
        {"attached_workspaces", base::to_json(agent.attached_workspaces)},
        {"active_workspace_entry", or_null(agent.active_workspace_entry)},
        {"worktree_session", or_null(domain::worktree_session(agent.active_workspace_entry))},
        {"pending_wake_hint", or_null(facts.pending_wake_hint)}};
    if (agent.active_workspace_entry) {
        state["active_workspace_id"] = agent.active_workspace_entry->workspace_id;
        state["cwd"] = agent.active_workspace_entry->cwd;
    }
    if (statistics.last_turn_terminal)
        state["last_turn_terminal"] = base::to_json(*statistics.last_turn_terminal);
    if (statistics.last_runtime_failure)
        state["last_runtime_failure"] = base::to_json(*statistics.last_runtime_failure);
    if (statistics.last_turn_token_usage)
        state["last_turn_token_usage"] = base::to_json(*statistics.last_turn_token_usage);
    if (is_set_aside(facts)) state["fault"] = fault_view(*facts.fault);
    if (agent.model_override) state["model_override"] = *agent.model_override;
    if (agent.current_work_item_id)
        state["current_work_item_id"] = agent.current_work_item_id->value;
    if (facts.open_attempt && facts.open_attempt->work_item_id)
        state["current_turn_work_item_id"] = facts.open_attempt->work_item_id->value;
    if (facts.open_attempt && facts.open_attempt->operator_route) {
        const auto& route = *facts.open_attempt->operator_route;
        state["current_turn_operator_binding_id"] = route.binding_id;
        if (route.reply_route_id)
            state["current_turn_operator_reply_route_id"] = *route.reply_route_id;
    }
    return state;
}

const std::string& effective_model(const domain::Agent& agent, const ModelFacts& models) {
    return agent.model_override ? *agent.model_override : models.runtime_default_model;
}

json::object model_state(const AgentFacts& facts, const ModelFacts& models) {
    const auto& agent = facts.agent;
    const std::string& effective = effective_model(agent, models);
    json::object state{{"source", agent.model_override ? "agent_override" : "runtime_default"},
                       {"runtime_default_model", models.runtime_default_model},
                       {"effective_model", effective},
                       {"effective_fallback_models", base::to_json(models.fallbacks_of(effective))},
                       {"fallback_active", facts.statistics.fallback_active},
                       {"resolved_policy", models.policy_of(effective)}};
    if (agent.model_override) state["override_model"] = *agent.model_override;
    return state;
}

json::object trigger_view(const domain::ExternalTrigger& trigger) {
    json::object view = base::to_json(trigger).as_object();
    view.erase("token_hash");
    return view;
}

json::object agent_list_entry(const AgentFacts& facts, const ModelFacts& models) {
    const auto& agent = facts.agent;
    json::object model = model_state(facts, models);
    model.erase("resolved_policy");
    json::object entry{{"identity", identity_view(agent)},
                       {"status", base::enum_name(status_of(facts))},
                       {"scheduling_posture", posture(facts)},
                       {"lifecycle", lifecycle(facts)},
                       {"pending", facts.pending},
                       {"model", std::move(model)}};
    if (facts.open_attempt) entry["current_run_id"] = facts.open_attempt->run_id.value;
    if (facts.statistics.last_brief_at)
        entry["last_brief_at"] = base::to_text(*facts.statistics.last_brief_at);
    if (const auto closure = decide_closure(facts); closure.waiting_reason)
        entry["waiting_reason"] = base::enum_name(*closure.waiting_reason);
    if (agent.active_workspace_entry) {
        auto place = *agent.active_workspace_entry;
        place.projection_metadata.reset();  // Keeps the list short.
        entry["active_workspace_entry"] = base::to_json(place);
    }
    return entry;
}

json::object child_summary(const AgentFacts& child, json::object observability) {
    json::object entry{{"identity", identity_view(child.agent)},
                       {"status", base::enum_name(status_of(child))},
                       {"pending", child.pending},
                       {"active_task_count", child.active_tasks.size()},
                       {"observability", std::move(observability)}};
    if (child.open_attempt) entry["current_run_id"] = child.open_attempt->run_id.value;
    return entry;
}

json::object unreadable_list_entry(const domain::AgentId& agent, const std::string& reason,
                                   const ModelFacts& models) {
    AgentFacts facts{.agent = {.agent_id = agent, .identity = {.agent_id = agent}}};
    facts.fault = domain::AgentFault{.agent_id = agent, .phase = "prepare", .reason = reason};
    return agent_list_entry(facts, models);
}

json::object agent_summary(const AgentFacts& facts, const ModelFacts& models) {
    const auto& agent = facts.agent;
    const auto& statistics = facts.statistics;
    json::object usage{
        {"total",
         {{"input_tokens", statistics.total_input_tokens},
          {"output_tokens", statistics.total_output_tokens},
          {"total_tokens", statistics.total_input_tokens + statistics.total_output_tokens}}},
        {"total_model_rounds", statistics.total_model_rounds}};
    if (statistics.last_turn_token_usage)
        usage["last_turn"] = base::to_json(*statistics.last_turn_token_usage);
    json::object summary{{"identity", identity_view(agent)},
                         {"agent", agent_state(facts)},
                         {"scheduling_posture", posture(facts)},
                         {"active_task_count", facts.active_tasks.size()},
                         {"lifecycle", lifecycle(facts)},
                         {"model", model_state(facts, models)},
                         {"token_usage", std::move(usage)},
                         {"closure", base::to_json(decide_closure(facts))},
                         {"active_waiting_intents", json::array{}},
                         {"active_wait_conditions", base::to_json(facts.open_waits)},
                         {"active_external_triggers", json::array{}}};
    if (facts.active_trigger)
        summary["active_external_triggers"].as_array().push_back(
            trigger_view(*facts.active_trigger));
    if (facts.current_work_item)
        summary["current_work_item"] = {
            {"id", facts.current_work_item->id.value},
            {"objective", facts.current_work_item->objective},
            {"readiness", base::enum_name(readiness_of(*facts.current_work_item))}};
    if (agent.active_workspace_entry)
        summary["execution"] = workspace::execution_snapshot(agent, *agent.active_workspace_entry);
    return summary;
}

}  // namespace identity
