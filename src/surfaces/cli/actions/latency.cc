#include "surfaces/cli/actions/latency.h"

#include <algorithm>
#include <map>

#include "base/text.h"
#include "domain/events/messages.h"
#include "domain/events/tools.h"
#include "domain/events/turn.h"
#include "surfaces/cli/actions/actions.h"
#include "surfaces/cli/actions/follow.h"

namespace cli {
namespace {

using namespace domain::events;

std::string latency_duration(std::optional<std::int64_t> ms) {
    if (!ms) return "unknown";
    return *ms < 1000 ? fmt::format("{}ms", *ms)
                      : fmt::format("{:.1f}s", static_cast<double>(*ms) / 1000);
}

// Puts the events of each run together.
class Turns {
public:
    void add(const domain::Event& event) {
        if (const auto admitted = read<MessageAdmitted>(event))
            admitted_[admitted->message_id] = event.created_at;
        if (const auto claimed = read<MessageProcessingStarted>(event))
            started_[claimed->id] = event.created_at;
        if (const auto opened = read<TurnStarted>(event)) open(*opened);
        if (const auto built = read<TurnContextBuilt>(event))
            if (auto* turn = turn_of(built->run_id)) turn->context_build_ms = built->duration_ms;
        if (const auto round = read<ProviderRoundCompleted>(event))
            if (auto* turn = turn_of(round->run_id))
                turn->rounds.push_back({.round = round->round,
                                        .ms = round->provider_round_ms,
                                        .model = round->active_model,
                                        .input_tokens = round->input_tokens,
                                        .output_tokens = round->output_tokens});
        if (const auto done = read<ToolExecuted>(event)) add_tool(*done);
        if (const auto failed = read<ToolExecutionFailed>(event)) add_tool(*failed);
        if (const auto end = read<TurnTerminal>(event))
            if (auto* turn = turn_of(end->run_id)) {
                turn->kind = base::enum_name(end->kind);
                turn->runtime_total_ms = end->duration_ms;
            }
    }

    std::vector<TurnLatency> take() { return std::move(turns_); }

private:
    void open(const TurnStarted& opened) {
        TurnLatency turn{.turn_index = opened.turn_index, .run_id = opened.run_id.value};
        const auto& message = opened.message_id;
        if (admitted_.contains(message) && started_.contains(message))
            turn.queue_wait_ms = base::millis_between(admitted_[message], started_[message]);
        by_run_[opened.run_id] = turns_.size();
        turns_.push_back(std::move(turn));
    }

    void add_tool(const ToolFinished& call) {
        if (auto* turn = turn_of(call.run_id))
            turn->tools.push_back(
                {.tool = call.tool_name, .ms = call.duration_ms, .summary = call.summary});
    }

    // Null when its start lies before the first event given.
    TurnLatency* turn_of(const domain::RunId& run) {
        const auto found = by_run_.find(run);
        return found == by_run_.end() ? nullptr : &turns_[found->second];
    }

    std::map<domain::MessageId, base::Time> admitted_, started_;
    std::map<domain::RunId, std::size_t> by_run_;
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
    const auto events = newest_events(agent, *newest, command.events_limit, context);
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
