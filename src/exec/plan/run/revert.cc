#include "exec/plan/run/revert.h"

#include <algorithm>
#include <map>
#include <set>

#include "exec/plan/language/wire.h"
#include "exec/tools/plan_tools/plan_tools.h"

namespace plan {
namespace {

// Of what a call gave, or of what is known of one that nobody saw end.
const json::array* undo_list(const json::value& result) {
    const auto* holder = base::find(result, "data");
    if (const auto* error = base::find(result, "error")) holder = base::find(*error, "details");
    const auto* undo = holder ? base::find(*holder, "undo") : nullptr;
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
    std::string action;
    std::string path;
    std::string from;
    std::string before;  // Etags; empty where there is none.
    std::string after;
    std::size_t begun{0};
    std::size_t ended{0};

    bool overlaps(const Entry& other) const { return begun < other.ended && other.begun < ended; }
};

bool is_inside(std::string_view path, std::string_view folder) {
    return path.size() > folder.size() && path.starts_with(folder) && path[folder.size()] == '/';
}

// Of two changes by calls side by side: can `later` only have been made after `earlier`?
bool builds_on(const Entry& later, const Entry& earlier) {
    if (earlier.action == "mkdir")
        return is_inside(later.path, earlier.path) || is_inside(later.from, earlier.path);
    if (earlier.action == "rename")
        return later.action == "modify" &&
               (later.path == earlier.path || is_inside(later.path, earlier.path));
    if (later.action == "rename" && earlier.action == "modify")
        return later.from == earlier.path || is_inside(earlier.path, later.from);
    return later.path == earlier.path && !earlier.after.empty() && later.before == earlier.after &&
           later.after != earlier.before;
}

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
                entries.push_back({.step = base::string_at(value, "stepId"),
                                   .args = item.get_object(),
                                   .action = base::string_at(item, "action"),
                                   .path = base::string_at(item, "path"),
                                   .from = base::string_at(item, "from"),
                                   .before = base::string_at(item, "beforeEtag"),
                                   .after = base::string_at(item, "afterEtag"),
                                   .begun = begun[call],
                                   .ended = at});
    }
    return entries;
}

// For each entry, those that were made after it. The journal orders calls by their end; what calls
// side by side did to one path is ordered by what the one found and the other left.
std::vector<std::vector<std::size_t>> successors(const std::vector<Entry>& entries) {
    std::vector<std::vector<std::size_t>> after(entries.size());
    // The first begin among the entries from here on: no later one overlaps when that is too late.
    std::vector<std::size_t> begun_from(entries.size() + 1, SIZE_MAX);
    for (std::size_t i = entries.size(); i-- > 0;)
        begun_from[i] = std::min(begun_from[i + 1], entries[i].begun);
    for (std::size_t i = 0; i < entries.size(); ++i)
        for (std::size_t j = i + 1; j < entries.size(); ++j) {
            const Entry &one = entries[i], &other = entries[j];
            if (one.ended == other.ended) {
                after[i].push_back(j);  // Of one call, in its order.
            } else if (begun_from[j] >= one.ended) {
                break;
            } else if (one.overlaps(other)) {
                if (builds_on(one, other))
                    after[j].push_back(i);
                else if (builds_on(other, one))
                    after[i].push_back(j);
            }
        }
    return after;
}

// The first of `free` that nothing left over was over before: `first_left` is the entry that ended
// first of those. Without one, the first: then the records contradict each other.
std::size_t next_of(const std::set<std::size_t>& free, const std::vector<Entry>& entries,
                    std::size_t first_left) {
    for (const std::size_t each : free)
        if (each == first_left || entries[each].begun < entries[first_left].ended) return each;
    return *free.begin();
}

// In the order in which they were made, as far as that can be told; otherwise as in the journal. A
// call that began when another was over comes after it, also where that one waits for a third.
std::vector<Entry> as_made(std::vector<Entry> entries) {
    const auto after = successors(entries);
    std::vector<std::size_t> waits_for(entries.size(), 0);
    for (const auto& list : after)
        for (const std::size_t other : list) ++waits_for[other];
    std::set<std::size_t> left, free;
    for (std::size_t i = 0; i < entries.size(); ++i) (waits_for[i] == 0 ? free : left).insert(i);
    std::vector<std::size_t> order;
    std::vector<bool> is_ordered(entries.size(), false);
    std::size_t first_left = 0;
    while (order.size() < entries.size()) {
        while (is_ordered[first_left]) ++first_left;
        // A circle of changes that found what the others left is cut where the journal begins it.
        const std::size_t next = free.empty() ? *left.begin() : next_of(free, entries, first_left);
        (free.empty() ? left : free).erase(next);
        order.push_back(next);
        is_ordered[next] = true;
        for (const std::size_t other : after[next])
            if (--waits_for[other] == 0 && left.erase(other) > 0) free.insert(other);
    }
    std::vector<Entry> ordered;
    ordered.reserve(entries.size());
    for (const std::size_t each : order) ordered.push_back(std::move(entries[each]));
    return ordered;
}

}  // namespace

base::Result<std::optional<json::value>> revert_plan(
    const domain::PlanRun& run, const std::vector<domain::PlanRecord>& records) {
    auto entries = as_made(TRY(entries_of(records)));
    if (entries.empty()) return std::nullopt;
    std::ranges::reverse(entries);
    json::array steps;
    for (auto& entry : entries)
        steps.push_back({{"id", fmt::format("undo-{}", steps.size() + 1)},
                         {"tool", plan_tools::kUndoTool},
                         {"preview", literal(fmt::format("Take back {} of {} (step {})",
                                                         entry.action, entry.path, entry.step))},
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
