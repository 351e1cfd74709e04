#include "exec/plan/revert.h"

#include <algorithm>

#include "exec/plan/wire.h"
#include "exec/tools/plan_tools/plan_tools.h"

namespace plan {
namespace {

const json::array* undo_list(const json::value& result) {
    const auto* data = base::find(result, "data");
    const auto* undo = data ? base::find(*data, "undo") : nullptr;
    return undo ? undo->if_array() : nullptr;
}

// A file whose name looks like a reference is still just that file.
std::string literal(std::string text) {
    for (const std::string_view sign : {"$steps.", "$vars."})
        for (std::size_t at = text.find(sign); at != std::string::npos;
             at = text.find(sign, at + sign.size() + 1))
            text.insert(at, "$");
    return text;
}

json::object literals(const json::object& args) {
    json::object out;
    for (const auto& member : args)
        out.emplace(
            member.key(),
            member.value().is_string()
                ? json::value(literal(std::string(std::string_view(member.value().get_string()))))
                : member.value());
    return out;
}

}  // namespace

base::Result<std::optional<json::value>> revert_plan(
    const domain::PlanRun& run, const std::vector<domain::PlanRecord>& records) {
    struct Entry {
        std::string step;
        json::object args;
    };
    std::vector<Entry> entries;
    for (const auto& record : records) {
        if (record.kind != domain::PlanRecordKind::Result) continue;
        const auto value = TRY(base::parse_json(record.line));
        const auto* list = undo_list(value);
        if (!list) continue;
        for (const auto& item : *list)
            if (item.is_object())
                entries.push_back({base::string_at(value, "stepId"), item.get_object()});
    }
    if (entries.empty()) return std::nullopt;
    std::ranges::reverse(entries);
    json::array steps;
    for (auto& entry : entries)
        steps.push_back(
            {{"id", fmt::format("undo-{}", steps.size() + 1)},
             {"tool", plan_tools::kUndoTool},
             {"preview", literal(fmt::format("Take back {} of {} (step {})",
                                             base::string_at(entry.args, "action"),
                                             base::string_at(entry.args, "path"), entry.step))},
             {"onError", "skip"},
             {"args", literals(entry.args)}});
    return json::value{{"version", "1.0"},
                       {"goal", fmt::format("Revert run {}: {}", run.run_id, run.goal)},
                       {"riskLevel", "writes"},
                       {"steps", std::move(steps)}};
}

std::vector<std::string> irrevertible(const std::vector<domain::PlanRecord>& records) {
    std::vector<std::string> list;
    for (const auto& record : records) {
        if (record.kind != domain::PlanRecordKind::Result) continue;
        const auto value = base::parse_json(record.line).value_or(nullptr);
        const auto result = result_from(value);
        if (!result || undo_list(value)) continue;
        if (!result->effects.observed || result->effects.side_effects_observed)
            list.push_back(fmt::format("{} ({})", result->step_id, result->tool));
    }
    return list;
}

}  // namespace plan
