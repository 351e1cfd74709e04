#include "exec/plan/run/preview.h"

#include <set>

#include "exec/plan/language/wire.h"

namespace plan {
namespace {

constexpr std::string_view kLists[] = {"creates", "modifies", "renames", "deletes", "commands"};

}  // namespace

std::shared_ptr<tools::Running> PreviewPerformer::start(
    const CallPtr& call, std::move_only_function<void(CallEnded)> done) {
    auto* tool = dispatcher_.registry().find(call->tool);
    if (!tool || tool->spec().risk == domain::RiskLevel::ReadOnly)
        return dispatcher_.dispatch(
            *call, profile_, place_,
            [done = std::move(done)](tools::Dispatched dispatched) mutable {
                done({std::move(dispatched.result), std::move(dispatched.denials)});
            });
    const auto refused = dispatcher_.judge(*call, profile_, place_);
    auto described_now =
        refused ? base::Result<json::object>(json::object()) : tool->preview(call->args, place_);
    auto result =
        dispatcher_
            .without_running(*call,
                             refused ? *refused
                             : described_now
                                 ? domain::ToolError{.kind = "not_run", .message = "Not run."}
                                 : domain::ToolError{.kind = "precondition_failed",
                                                     .message = described_now.error().message},
                             domain::ResultStatus::Error)
            .result;
    if (described_now && !refused) {
        result.status = domain::ResultStatus::Ok;
        result.ok = true;
        result.error.reset();
        const auto* data = described_now->if_contains("data");
        result.data = data ? *data : json::value(json::object());
        described[call->call_id.value] = std::move(*described_now);
    }
    done({std::move(result)});
    return nullptr;
}

CheckedPlan without_stops(const CheckedPlan& plan) {
    auto copy = std::make_shared<Checked>(*plan);
    for (auto& step : copy->plan.steps) {
        step.on_error = OnError::Skip;
        step.retry = Retry{.max_attempts = 1};
    }
    return copy;
}

namespace {

// `creates` of one call without what a call before it makes already: each call is foreseen as if
// it were the first. A folder will be there; what becomes of a file is said in `taken`.
json::array without_made(const json::array& creates, std::set<std::string>& made,
                         std::string& taken) {
    json::array out;
    for (std::size_t i = 0; i < creates.size(); ++i) {
        const std::string path = creates[i].is_string() ? std::string(creates[i].get_string()) : "";
        const bool is_folder =
            i + 1 < creates.size() && creates[i + 1].is_string() &&
            std::string_view(creates[i + 1].get_string()).starts_with(path + "/");
        if (made.insert(path).second)
            out.push_back(creates[i]);
        else if (!is_folder)
            taken = fmt::format("a step before this one makes {}.", path);
    }
    return out;
}

}  // namespace

json::object preview_json(const CheckedPlan& plan, const std::vector<domain::PlanRecord>& records,
                          const PreviewPerformer& performer) {
    std::map<std::string, json::object> steps;  // By call id.
    std::vector<std::string> order;
    json::object out{
        {"goal", plan->plan.goal}, {"planHash", plan->hash}, {"riskLevel", risk_name(plan->risk)}};
    for (const auto list : kLists) out[list] = json::array();
    std::set<std::string> made;
    for (const auto& record : records) {
        const auto value = base::parse_json(record.line).value();
        const std::string id = base::string_at(value, "callId");
        if (record.kind == domain::PlanRecordKind::Call) {
            order.push_back(id);
            auto& step = steps[id];
            for (const std::string_view name : {"stepId", "tool", "riskLevel", "preview", "args"})
                step[name] = value.at(name);
            if (const auto* iteration = base::find(value, "iteration"))
                step["index"] = iteration->at("index");
            const auto found = performer.described.find(id);
            if (found == performer.described.end()) continue;
            json::object changes;
            for (const auto list : kLists)
                if (const auto* items = found->second.if_contains(list);
                    items && items->is_array() && !items->get_array().empty()) {
                    std::string taken;
                    auto shown = list == "creates" ? without_made(items->get_array(), made, taken)
                                                   : items->get_array();
                    if (!taken.empty()) step["unknown"] = taken;
                    for (const auto& item : shown) out[list].get_array().push_back(item);
                    changes[list] = std::move(shown);
                }
            step["changes"] = std::move(changes);
        } else if (record.kind == domain::PlanRecordKind::Result && !base::bool_at(value, "ok")) {
            const auto* error = base::find(value, "error");
            steps[id]["unknown"] =
                error ? base::string_at(*error, "message") : base::string_at(value, "userMessage");
        }
    }
    auto& list = out["steps"].emplace_array();
    for (const auto& id : order) list.push_back(std::move(steps[id]));
    return out;
}

}  // namespace plan
