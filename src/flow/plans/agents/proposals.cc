// A call that only the operator may allow, as a run of one step that waits for them.
#include "exec/plan/language/refs.h"
#include "flow/plans/agents/agent_plans.h"

namespace plans {
namespace {

using base::ErrorCode;
using base::fail;

// Text in a plan can hold references; a call that is sent to the operator for approval means what
// it says.
json::value verbatim(const json::value& value) {
    if (value.is_string()) {
        std::string text(std::string_view(value.get_string()));
        for (const std::string_view sign : {"$steps.", "$vars."})
            for (auto at = text.find(sign); at != std::string::npos;
                 at = text.find(sign, at + sign.size() + 1))
                text.insert(at, "$");
        return json::value(text);
    }
    if (const auto* list = value.if_array()) {
        json::array out;
        for (const auto& one : *list) out.push_back(verbatim(one));
        return out;
    }
    if (const auto* object = value.if_object()) {
        json::object out;
        for (const auto& member : *object) out.emplace(member.key(), verbatim(member.value()));
        return out;
    }
    return value;
}

base::Result<json::object> plan_of(const domain::ToolCall& call) {
    const auto args = verbatim(call.args);
    const auto meant = plan::resolve(args, {.step = [](const auto&) { return nullptr; },
                                            .var = [](const auto&) { return nullptr; }});
    if (!meant || domain::args_hash(*meant) != call.args_hash)
        return fail(ErrorCode::InvalidInput, "its input cannot be put into a plan as it is");
    return json::object{
        {"version", "1.0"},
        {"goal", fmt::format("Let agent {} call {} as it asked to", call.agent_id, call.tool)},
        {"riskLevel", plan::risk_name(call.risk_level)},
        {"steps", json::array{json::object{{"id", "call"}, {"tool", call.tool}, {"args", args}}}}};
}

std::string text_of(const std::vector<domain::PlanFault>& faults) {
    std::string text;
    for (const auto& fault : faults)
        text += fmt::format("{}{}: {}", text.empty() ? "" : "; ", fault.path, fault.message);
    return text;
}

}  // namespace

base::Result<std::string> AgentPlans::propose(const domain::ToolCall& call,
                                              const tools::ExecutionContext& place) {
    // Exactly this call under its own policy, and not without the operator.
    auto policy = call.policy;
    policy.confirmations_required = true;
    const auto created = TRY(
        make({.text = base::json_text(TRY(plan_of(call))), .vault = place.workspace.execution_root},
             call, place, policy));
    if (!created.run) return fail(ErrorCode::InvalidInput, "{}", text_of(created.faults));
    TRY(promote(created.run->run_id));
    return created.run->run_id.value;
}

}  // namespace plans
