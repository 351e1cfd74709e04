#include "surfaces/cli/actions/latency.h"

#include <algorithm>
#include <map>

#include "base/text.h"
#include "surfaces/cli/actions/actions.h"

namespace cli {
namespace {

std::optional<std::int64_t> ms_at(const json::value& data, std::string_view name) {
    const auto* value = base::find(data, name);
    if (!value || !value->is_int64()) return std::nullopt;
    return value->get_int64();
}

std::string latency_duration(std::optional<std::int64_t> ms) {
    if (!ms) return "unknown";
    return *ms < 1000 ? fmt::format("{}ms", *ms)
                      : fmt::format("{:.1f}s", static_cast<double>(*ms) / 1000);
}

// Puts the events of each run together.
class Turns {
public:
    void add(const domain::Event& event) {
        if (event.kind == "message_admitted")
            admitted_[base::string_at(event.data, "message_id")] = event.created_at;
        if (event.kind == "message_processing_started")
            started_[base::string_at(event.data, "id")] = event.created_at;
        if (event.kind == "turn_started") open(event.data);
        const auto found = by_run_.find(base::string_at(event.data, "run_id"));
        if (found != by_run_.end()) add_to(turns_[found->second], event);
    }

    std::vector<TurnLatency> take() { return std::move(turns_); }

private:
    void open(const json::value& data) {
        TurnLatency turn{.turn_index = base::int_at(data, "turn_index"),
                         .run_id = base::string_at(data, "run_id")};
        const std::string message = base::string_at(data, "message_id");
        if (admitted_.contains(message) && started_.contains(message))
            turn.queue_wait_ms = base::millis_between(admitted_[message], started_[message]);
        by_run_[turn.run_id] = turns_.size();
        turns_.push_back(std::move(turn));
    }

    static void add_to(TurnLatency& turn, const domain::Event& event) {
        const auto& data = event.data;
        if (event.kind == "turn_context_built") {
            turn.context_build_ms = ms_at(data, "duration_ms");
        } else if (event.kind == "provider_round_completed") {
            turn.rounds.push_back({.round = base::int_at(data, "round"),
                                   .ms = ms_at(data, "provider_round_ms"),
                                   .model = base::string_at(data, "active_model"),
                                   .input_tokens = base::int_at(data, "input_tokens"),
                                   .output_tokens = base::int_at(data, "output_tokens")});
        } else if (event.kind == "tool_executed" || event.kind == "tool_execution_failed") {
            turn.tools.push_back({.tool = base::string_at(data, "tool_name"),
                                  .ms = base::int_at(data, "duration_ms"),
                                  .summary = base::string_at(data, "summary")});
        } else if (event.kind == "turn_terminal") {
            turn.kind = base::string_at(data, "kind");
            turn.runtime_total_ms = ms_at(data, "duration_ms");
        }
    }

    std::map<std::string, base::Time> admitted_, started_;
    std::map<std::string, std::size_t> by_run_;
    std::vector<TurnLatency> turns_;
};

}  // namespace

std::int64_t TurnLatency::tool_ms() const {
    std::int64_t sum = 0;
    for (const auto& tool : tools) sum += tool.ms;
    return sum;
}

std::optional<std::int64_t> TurnLatency::cleanup_ms() const {
    if (!runtime_total_ms) return std::nullopt;
    std::int64_t rest = *runtime_total_ms - tool_ms();
    for (const auto& round : rounds) rest -= round.ms.value_or(0);
    return std::max<std::int64_t>(0, rest);
}

std::vector<TurnLatency> latency_of(const std::vector<domain::Event>& events, std::size_t limit) {
    Turns turns;
    for (const auto& event : events) turns.add(event);
    auto list = turns.take();
    std::ranges::reverse(list);
    if (list.size() > limit) list.resize(limit);
    return list;
}

std::string latency_text(const TurnLatency& turn) {
    std::string text = fmt::format("turn {} run={} kind={} runtime_total={}\n", turn.turn_index,
                                   turn.run_id, turn.kind, latency_duration(turn.runtime_total_ms));
    text += fmt::format("  queue_wait {}\n", latency_duration(turn.queue_wait_ms));
    text += fmt::format("  context_build {}\n", latency_duration(turn.context_build_ms));
    for (const auto& round : turn.rounds)
        text += fmt::format("  provider round {} {}  {} input={} output={}\n", round.round,
                            latency_duration(round.ms), base::printable(round.model),
                            round.input_tokens, round.output_tokens);
    for (const auto& tool : turn.tools)
        text += fmt::format("  tool {} {}  {}\n", base::printable(tool.tool),
                            latency_duration(tool.ms), base::printable(tool.summary));
    text += fmt::format("  tool_execution {}\n", latency_duration(turn.tool_ms()));
    text += fmt::format("  turn_cleanup {}\n", latency_duration(turn.cleanup_ms()));
    return text;
}

Exit on(const DebugLatencyCommand& command, const Context& context) {
    const std::string agent = agent_of(command.agent, context);
    const auto newest = context.service.newest_event(agent);
    if (!newest) return report(context.terminal, newest.error());
    const auto events = context.service.events(
        agent, std::max<std::int64_t>(*newest - command.events_limit, 0), command.events_limit);
    if (!events) return report(context.terminal, events.error());
    const auto turns = latency_of(*events, static_cast<std::size_t>(command.limit));
    for (const auto& turn : turns) context.terminal.print(latency_text(turn));
    if (turns.empty())
        context.terminal.print_line(
            fmt::format("agent {} has had no turn among its newest {} events",
                        base::printable(agent), command.events_limit));
    return Exit::Success;
}

}  // namespace cli
