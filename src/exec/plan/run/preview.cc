#include "exec/plan/run/preview.h"

#include <algorithm>

#include "exec/plan/language/wire.h"

namespace plan {
namespace {

domain::ToolError why_not(const base::Error& error) {
    domain::ToolError why{.kind = error.kind.empty() ? "precondition_failed" : error.kind,
                          .message = error.message};
    if (!error.details.empty()) why.details = error.details;
    return why;
}

// Another program writes to a file in this moment: what the run will find nobody knows.
bool is_passing(const json::value* error) {
    const auto* details = error ? base::find(*error, "details") : nullptr;
    return details && base::bool_at(*details, "busy");
}

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
    auto result = dispatcher_
                      .without_running(*call,
                                       refused         ? *refused
                                       : described_now ? domain::ToolError{.kind = "not_run",
                                                                           .message = "Not run."}
                                                       : why_not(described_now.error()),
                                       domain::ResultStatus::Error)
                      .result;
    if (described_now && !refused) {
        result.status = domain::ResultStatus::Ok;
        result.ok = true;
        result.error.reset();
        const auto* data = described_now->if_contains("data");
        if (!data) without_data.insert(call->call_id.value);
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

// Reads the journal of a run that only pretended, in its order.
class Teller {
public:
    Teller(const CheckedPlan& plan, const PreviewPerformer& performer)
        : plan_(plan), performer_(performer) {
        out_ = {{"goal", plan->plan.goal},
                {"planHash", plan->hash},
                {"riskLevel", risk_name(plan->risk)}};
        for (const auto list : kLists) out_[list] = json::array();
    }

    void on_call(const json::value& call) {
        json::object step;
        for (const std::string_view name : {"stepId", "tool", "riskLevel", "preview", "args"})
            step[name] = call.at(name);
        if (const auto* iteration = base::find(call, "iteration"))
            step["index"] = iteration->at("index");
        const std::string id = base::string_at(call, "callId");
        if (stopped_by_) {
            step["notReached"] = fmt::format("the run stops when step {} fails", *stopped_by_);
        } else if (const auto found = performer_.described.find(id);
                   found != performer_.described.end()) {
            step["changes"] = changes_of(found->second);
            note_order(step_of(call), found->second, base::string_at(call.at("args"), "path"),
                       step);
            if (performer_.without_data.contains(id)) unsure_.insert(step_of(call));
        }
        places_[id] = steps_.size();
        steps_.push_back(std::move(step));
    }

    void on_result(const json::value& result) {
        if (base::bool_at(result, "ok")) return;
        auto& step = steps_[places_[base::string_at(result, "callId")]].get_object();
        if (step.contains("notReached")) return;
        const std::size_t index = step_of(result);
        const auto* error = base::find(result, "error");
        const std::string message =
            error ? base::string_at(*error, "message") : base::string_at(result, "userMessage");
        const bool is_unsure =
            is_passing(error) || std::ranges::any_of(plan_->needs[index], [&](std::size_t other) {
                return unsure_.contains(other);
            });
        if (is_unsure) {
            unsure_.insert(index);
            step["unknown"] = message;
        } else if (!error) {
            step["skipped"] = message;
        } else {
            step["fails"] =
                json::object{{"code", base::string_at(*error, "code")}, {"message", message}};
            if (on_error_of(plan_->plan, plan_->plan.steps[index]) != OnError::Skip)
                stopped_by_ = plan_->plan.steps[index].id;
        }
    }

    json::object told() && {
        out_["steps"] = std::move(steps_);
        return std::move(out_);
    }

private:
    // Paths that a call would change.
    static std::set<std::string> changed(const json::object& described) {
        std::set<std::string> paths;
        for (const auto list : kLists) {
            const auto* items = described.if_contains(list);
            if (list == "commands" || !items || !items->is_array()) continue;
            for (const auto& item : items->get_array()) {
                if (item.is_string()) paths.emplace(std::string_view(item.get_string()));
                for (const std::string_view name : {"path", "from", "to"})
                    if (const auto path = base::string_at(item, name); !path.empty())
                        paths.insert(path);
            }
        }
        return paths;
    }

    // Steps without an order between them may run side by side, and then nobody knows which comes
    // first at a path that one of them changes.
    void note_order(std::size_t index, const json::object& described, const std::string& named,
                    json::object& step) {
        auto paths = changed(described);
        if (!named.empty()) paths.insert(named);
        for (const auto& path : paths) {
            for (const std::size_t other : touched_[path])
                if (other != index && !comes_before(other, index) && !step.contains("unknown"))
                    step["unknown"] = fmt::format(
                        "step {} touches {}, too, and which comes first is not fixed; add "
                        "dependsOn",
                        plan_->plan.steps[other].id, path);
            touched_[path].insert(index);
        }
    }

    bool comes_before(std::size_t earlier, std::size_t later) {
        auto& before = before_[later];
        if (before.empty()) {
            std::vector<std::size_t> left{later};
            before.insert(later);
            while (!left.empty()) {
                const std::size_t at = left.back();
                left.pop_back();
                for (const std::size_t need : plan_->needs[at])
                    if (before.insert(need).second) left.push_back(need);
            }
        }
        return before.contains(earlier);
    }

    std::size_t step_of(const json::value& record) const {
        return plan_->by_id.at(base::string_at(record, "stepId"));
    }

    json::object changes_of(const json::object& described) {
        json::object changes;
        for (const auto list : kLists)
            if (const auto* items = described.if_contains(list);
                items && items->is_array() && !items->get_array().empty()) {
                for (const auto& item : items->get_array()) out_[list].get_array().push_back(item);
                changes[list] = *items;
            }
        return changes;
    }

    const CheckedPlan& plan_;
    const PreviewPerformer& performer_;
    json::object out_;
    json::array steps_;
    std::map<std::string, std::size_t> places_;             // In steps_, by call id.
    std::map<std::string, std::set<std::size_t>> touched_;  // Steps by path.
    std::map<std::size_t, std::set<std::size_t>> before_;   // Steps that come before each.
    std::set<std::size_t> unsure_;  // Steps whose result only the run can know.
    std::optional<std::string> stopped_by_{};
};

}  // namespace

json::object preview_json(const CheckedPlan& plan, const std::vector<domain::PlanRecord>& records,
                          const PreviewPerformer& performer) {
    Teller teller(plan, performer);
    for (const auto& record : records) {
        const auto value = base::parse_json(record.line).value();
        if (record.kind == domain::PlanRecordKind::Call) teller.on_call(value);
        if (record.kind == domain::PlanRecordKind::Result) teller.on_result(value);
    }
    return std::move(teller).told();
}

}  // namespace plan
