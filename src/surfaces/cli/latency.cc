#include "surfaces/cli/latency.h"

#include <algorithm>
#include <map>

#include "base/text.h"
#include "surfaces/cli/actions.h"

namespace cli {
namespace {

constexpr std::int64_t kUnknown = -1;

struct Turn {
    std::int64_t first_seq{0};
    std::string head;
    std::int64_t total_ms{kUnknown};
    std::int64_t queue_wait_ms{kUnknown};
    std::int64_t context_build_ms{kUnknown};
    std::vector<std::string> steps;  // Rounds and tools, in order.
    std::int64_t tool_ms{0};
    base::Time last_step_at{};
    std::int64_t cleanup_ms{kUnknown};
};

std::string text_at(const json::value& value, std::string_view name, std::string_view fallback) {
    return base::printable(base::string_at(value, name, fallback));
}

std::string round_line(const json::value& data) {
    return fmt::format("provider round {} {}  {} input={} output={}", base::int_at(data, "round"),
                       latency_duration(base::int_at(data, "provider_round_ms", kUnknown)),
                       text_at(data, "active_model", "?"), base::int_at(data, "input_tokens"),
                       base::int_at(data, "output_tokens"));
}

// Builds the turns by run, from events in their order.
class Collector {
public:
    void add(const domain::Event& event) {
        const auto& data = event.data;
        if (event.kind == "message_enqueued")
            queued_at_[base::string_at(data, "id")] = event.created_at;
        const std::string run = base::string_at(data, "run_id");
        if (event.kind == "turn_started") return open(run, event);
        const auto found = turns_.find(run);
        if (found == turns_.end()) return;
        Turn& turn = found->second;
        if (event.kind == "turn_context_built")
            turn.context_build_ms = base::int_at(data, "duration_ms", kUnknown);
        if (event.kind == "provider_round_completed") step(turn, event, round_line(data));
        if (event.kind == "tool_executed" || event.kind == "tool_execution_failed") {
            const auto took = base::int_at(data, "duration_ms", kUnknown);
            turn.tool_ms += std::max<std::int64_t>(took, 0);
            step(turn, event,
                 fmt::format("tool {} {}  {}", text_at(data, "tool_name", "?"),
                             latency_duration(took), text_at(data, "summary", "")));
        }
        if (event.kind == "turn_terminal") {
            turn.total_ms = base::int_at(data, "duration_ms", kUnknown);
            turn.cleanup_ms = base::millis_between(turn.last_step_at, event.created_at);
        }
    }

    std::vector<Turn> newest_first() const {
        std::vector<Turn> list;
        for (const auto& [run, turn] : turns_) list.push_back(turn);
        std::ranges::sort(list, std::ranges::greater(), &Turn::first_seq);
        return list;
    }

private:
    void open(const std::string& run, const domain::Event& event) {
        Turn& turn = turns_[run];
        turn.first_seq = event.event_seq;
        turn.last_step_at = event.created_at;
        turn.head = fmt::format("turn {} run={} kind={}", base::int_at(event.data, "turn_index"),
                                base::printable(run), text_at(event.data, "message_kind", "?"));
        const auto queued = queued_at_.find(base::string_at(event.data, "message_id"));
        if (queued != queued_at_.end())
            turn.queue_wait_ms = base::millis_between(queued->second, event.created_at);
    }
    static void step(Turn& turn, const domain::Event& event, std::string line) {
        turn.steps.push_back(std::move(line));
        turn.last_step_at = event.created_at;
    }

    std::map<std::string, Turn> turns_;
    std::map<std::string, base::Time> queued_at_;
};

std::string text_of(const Turn& turn) {
    std::string text =
        fmt::format("{} runtime_total={}\n", turn.head, latency_duration(turn.total_ms));
    text += fmt::format("  queue_wait {}\n", latency_duration(turn.queue_wait_ms));
    text += fmt::format("  context_build {}\n", latency_duration(turn.context_build_ms));
    for (const auto& step : turn.steps) text += "  " + step + "\n";
    text += fmt::format("  tool_execution {}\n", latency_duration(turn.tool_ms));
    text += fmt::format("  turn_cleanup {}", latency_duration(turn.cleanup_ms));
    return text;
}

}  // namespace

std::string latency_duration(std::int64_t milliseconds) {
    if (milliseconds < 0) return "unknown";
    if (milliseconds < 1000) return fmt::format("{}ms", milliseconds);
    return fmt::format("{:.1f}s", static_cast<double>(milliseconds) / 1000);
}

std::vector<std::string> latency_texts(std::span<const domain::Event> events, std::int64_t limit) {
    Collector collector;
    for (const auto& event : events) collector.add(event);
    std::vector<std::string> texts;
    for (const auto& turn : collector.newest_first()) {
        if (static_cast<std::int64_t>(texts.size()) == limit) break;
        texts.push_back(text_of(turn));
    }
    return texts;
}

Exit on(const DebugLatencyCommand& command, const Context& context) {
    const std::string agent = agent_of(command.agent, context);
    const auto newest = context.service.newest_event(agent);
    if (!newest) return report(context.terminal, newest.error());
    const auto events = context.service.events(
        agent, std::max<std::int64_t>(*newest - command.events_limit, 0), command.events_limit);
    if (!events) return report(context.terminal, events.error());
    const auto texts = latency_texts(*events, command.limit);
    for (const auto& text : texts) context.terminal.print_line(text);
    if (texts.empty())
        context.terminal.print_line(
            fmt::format("agent {} has had no turn among its newest {} events",
                        base::printable(agent), command.events_limit));
    return Exit::Success;
}

}  // namespace cli
