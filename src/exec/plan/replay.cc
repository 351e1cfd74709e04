#include "exec/plan/replay.h"

#include "exec/plan/wire.h"

namespace plan {
namespace {

std::string key_of(const domain::ToolCall& call) {
    return call.iteration
               ? fmt::format("{} item {} attempt {}", call.step_id, call.iteration->index, call.attempt)
               : fmt::format("{} attempt {}", call.step_id, call.attempt);
}

}  // namespace

RecordedPerformer::RecordedPerformer(const RunFiles& files, const tools::Dispatcher& dispatcher,
                                     base::Loop& loop)
    : dispatcher_(dispatcher), loop_(loop) {
    std::map<std::string, std::string> keys;  // By call id.
    for (const auto& record : files.records) {
        const auto value = base::parse_json(record.line).value_or(nullptr);
        if (record.kind == domain::PlanRecordKind::Call) {
            if (auto call = call_from(value)) {
                const std::string key = keys[call->call_id.value] = key_of(*call);
                recorded_[key] = {std::move(*call), std::nullopt};
            }
        } else if (record.kind == domain::PlanRecordKind::Result) {
            if (auto result = result_from(value); result && keys.contains(result->call_id.value))
                recorded_[keys[result->call_id.value]].result = std::move(*result);
        }
    }
    // What was skipped or never got its args is decided again, not performed.
    std::erase_if(recorded_, [](const auto& entry) {
        const auto& result = entry.second.result;
        if (!result) return false;
        return result->status == domain::ResultStatus::Skipped ||
               (result->error && result->error->details &&
                result->error->details->is_object() &&
                result->error->details->get_object().contains("path") &&
                entry.second.call.args == json::value(json::object()));
    });
}

std::shared_ptr<tools::Running> RecordedPerformer::start(
    const CallPtr& call, std::move_only_function<void(domain::ToolResult)> done) {
    const std::string key = key_of(*call);
    const auto found = recorded_.find(key);
    domain::ToolResult result;
    if (found == recorded_.end()) {
        divergences.push_back(key + ": the record has no such call");
        result = dispatcher_
                     .without_running(*call, {.kind = "not_recorded", .message = "Not recorded."},
                                      domain::ResultStatus::Error)
                     .result;
    } else {
        const auto& recorded = found->second;
        if (recorded.call.args_hash != call->args_hash)
            divergences.push_back(fmt::format("{}: the record has args {}, the replay {}", key,
                                              recorded.call.args_hash, call->args_hash));
        if (recorded.call.tool != call->tool)
            divergences.push_back(fmt::format("{}: the record has tool {}, the replay {}", key,
                                              recorded.call.tool, call->tool));
        if (recorded.result) {
            ++served;
            result = *recorded.result;
        } else {
            divergences.push_back(key + ": the record has no result");
            result = dispatcher_
                         .without_running(*call, {.kind = "not_recorded", .message = "Not recorded."},
                                          domain::ResultStatus::Error)
                         .result;
        }
        recorded_.erase(found);
    }
    // Identity of this call, time of this clock: the retries of the replay need not wait.
    result.call_id = call->call_id;
    result.run_id = call->run_id;
    loop_.post([done = std::move(done), result = std::move(result)]() mutable {
        done(std::move(result));
    });
    return nullptr;
}

std::vector<std::string> RecordedPerformer::left_over() const {
    std::vector<std::string> list;
    for (const auto& [key, recorded] : recorded_)
        list.push_back(key + ": the replay never made this call");
    return list;
}

}  // namespace plan
