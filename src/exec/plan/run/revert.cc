#include "exec/plan/run/revert.h"

#include <algorithm>
#include <map>

#include "exec/plan/language/wire.h"
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

// One thing to take back, and between which lines of the journal it was done.
struct Entry {
    std::string step;
    json::object args;
    std::string path;
    std::size_t begun{0};
    std::size_t ended{0};

    bool is_folder() const { return base::string_at(args, "action") == "mkdir"; }
    bool overlaps(const Entry& other) const { return begun < other.ended && other.begun < ended; }
};

base::Result<std::vector<Entry>> entries_of(const std::vector<domain::PlanRecord>& records) {
    std::vector<Entry> entries;
    std::map<std::string, std::size_t> begun;
    for (std::size_t at = 0; at < records.size(); ++at) {
        if (records[at].kind == domain::PlanRecordKind::Event) continue;
        const auto value = TRY(base::parse_json(records[at].line));
        const auto call = base::string_at(value, "callId");
        if (records[at].kind == domain::PlanRecordKind::Call) begun[call] = at;
        const auto* list = undo_list(value);
        if (!list) continue;
        for (const auto& item : *list)
            if (item.is_object())
                entries.push_back({base::string_at(value, "stepId"), item.get_object(),
                                   base::string_at(item, "path"), begun[call], at});
    }
    return entries;
}

// Of calls side by side, one made the folder that others filled, and the journal does not say which
// came first: such a folder goes when what those others put into it has gone.
void put_folders_behind(std::vector<Entry>& entries) {
    for (std::size_t at = entries.size(); at-- > 0;) {
        if (!entries[at].is_folder()) continue;
        const Entry& folder = entries[at];
        const std::string inside = folder.path + "/";
        std::size_t last = at;
        for (std::size_t other = at + 1; other < entries.size(); ++other)
            if (folder.overlaps(entries[other]) && entries[other].path.starts_with(inside))
                last = other;
        const auto begin = entries.begin();
        std::rotate(begin + static_cast<std::ptrdiff_t>(at),
                    begin + static_cast<std::ptrdiff_t>(at + 1),
                    begin + static_cast<std::ptrdiff_t>(last + 1));
    }
}

}  // namespace

base::Result<std::optional<json::value>> revert_plan(
    const domain::PlanRun& run, const std::vector<domain::PlanRecord>& records) {
    auto entries = TRY(entries_of(records));
    if (entries.empty()) return std::nullopt;
    std::ranges::reverse(entries);
    put_folders_behind(entries);
    json::array steps;
    for (auto& entry : entries)
        steps.push_back({{"id", fmt::format("undo-{}", steps.size() + 1)},
                         {"tool", plan_tools::kUndoTool},
                         {"preview", literal(fmt::format("Take back {} of {} (step {})",
                                                         base::string_at(entry.args, "action"),
                                                         entry.path, entry.step))},
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
