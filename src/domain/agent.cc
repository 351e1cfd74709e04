#include "domain/agent.h"

#include <algorithm>
#include <cctype>
#include <utility>

namespace domain {
namespace {

void add(ToolLatency& to, const ToolLatency& more) {
    to.calls += more.calls;
    to.total_ms += more.total_ms;
    to.max_ms = std::max(to.max_ms, more.max_ms);
}

// The entry of the name, made when there is none.
ToolLatency& entry_of(std::vector<ToolLatency>& list, std::string_view name) {
    const auto found = std::ranges::find(list, name, &ToolLatency::tool_name);
    if (found != list.end()) return *found;
    return list.emplace_back(ToolLatency{.tool_name = std::string(name)});
}

bool has_entry(const std::vector<ToolLatency>& list, std::string_view name) {
    return std::ranges::find(list, name, &ToolLatency::tool_name) != list.end();
}

// Records of older programs have an entry for every name that a model has invented.
void fold_excess(std::vector<ToolLatency>& list) {
    if (list.size() < kToolLatencyMax) return;
    std::vector<ToolLatency> kept;
    ToolLatency other{.tool_name = std::string(kOtherTools)};
    for (auto& entry : list)
        if (entry.tool_name != kOtherTools && kept.size() + 1 < kToolLatencyMax)
            kept.push_back(std::move(entry));
        else
            add(other, entry);
    kept.push_back(std::move(other));
    list = std::move(kept);
}

}  // namespace

bool is_agent_id(std::string_view text) {
    constexpr std::size_t kAgentIdCharsMax = 64;
    const auto allowed = [](unsigned char c) {
        return c < 0x80 && (std::isalnum(c) != 0 || c == '.' || c == '-' || c == '_');
    };
    return !text.empty() && text.size() <= kAgentIdCharsMax && std::ranges::all_of(text, allowed) &&
           text.find_first_not_of('.') != std::string_view::npos;
}

void count_call(AgentStatistics& statistics, std::string_view tool, bool is_registered,
                std::int64_t duration_ms) {
    auto& list = statistics.tool_latency;
    fold_excess(list);
    // The last place is kept for kOtherTools.
    const std::size_t places = kToolLatencyMax - (has_entry(list, kOtherTools) ? 0 : 1);
    const bool is_named = is_registered && (has_entry(list, tool) || list.size() < places);
    add(entry_of(list, is_named ? tool : kOtherTools),
        {.calls = 1, .total_ms = duration_ms, .max_ms = duration_ms});
}

}  // namespace domain
