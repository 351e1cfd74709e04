#include "record/telemetry/spans.h"

#include <algorithm>

#include "base/hash.h"
#include "domain/events/tasks.h"
#include "domain/events/tools.h"
#include "domain/events/turn.h"

namespace telemetry {
namespace {

namespace kinds = domain::events;

constexpr std::size_t kTraceDigits = 32;
constexpr std::size_t kSpanDigits = 16;

std::string trace_of(std::string_view run) {
    return base::sha256_hex(fmt::format("trace {}", run)).substr(0, kTraceDigits);
}
std::string span_of(std::string_view what) {
    return base::sha256_hex(what).substr(0, kSpanDigits);
}
std::string turn_span(std::string_view run) {
    return span_of(fmt::format("turn {}", run));
}
std::string round_span(std::string_view run, std::int64_t round) {
    return span_of(fmt::format("round {} {}", run, round));
}

// A reason that is a name; any other may quote what was said.
std::string reason_name(const std::optional<std::string>& reason) {
    const bool is_name = reason && !reason->empty() && std::ranges::all_of(*reason, [](char c) {
                             return (c >= 'a' && c <= 'z') || c == '_';
                         });
    return is_name ? *reason : "failed";
}

Span ended(const events::Committed& committed, const kinds::TurnTerminal& turn) {
    const bool failed = turn.kind == domain::TerminalKind::Aborted;
    return {.trace_id = trace_of(turn.run_id.value),
            .span_id = turn_span(turn.run_id.value),
            .name = "turn",
            .start = turn.completed_at - std::chrono::milliseconds(turn.duration_ms),
            .end = turn.completed_at,
            .failed = failed,
            .failure = failed ? reason_name(turn.reason) : "",
            .attributes = {{"holon.agent.id", committed.agent_id.value},
                           {"holon.run.id", turn.run_id.value},
                           {"holon.turn.index", turn.turn_index},
                           {"holon.turn.kind", std::string(base::enum_name(turn.kind))}}};
}

Span ended(const events::Committed& committed, const kinds::ProviderRoundCompleted& round) {
    return {.trace_id = trace_of(round.run_id.value),
            .span_id = round_span(round.run_id.value, round.round),
            .parent_span_id = turn_span(round.run_id.value),
            .name = "chat " + round.active_model,
            .start = round.provider_started_at,
            .end = round.provider_completed_at,
            .attributes = {{"holon.agent.id", committed.agent_id.value},
                           {"holon.run.id", round.run_id.value},
                           {"holon.round", round.round},
                           {"gen_ai.operation.name", std::string("chat")},
                           {"gen_ai.request.model", round.requested_model},
                           {"gen_ai.response.model", round.active_model},
                           {"gen_ai.response.finish_reasons", round.stop_reason},
                           {"gen_ai.usage.input_tokens", round.input_tokens},
                           {"gen_ai.usage.output_tokens", round.output_tokens},
                           {"holon.fallback", round.fallback_active}}};
}

Span ended(const events::Committed& committed, const kinds::ToolFinished& call,
           const std::string& failure) {
    return {.trace_id = trace_of(call.run_id.value),
            .span_id = span_of(fmt::format("call {}", call.tool_call_id.value)),
            .parent_span_id = round_span(call.run_id.value, call.round),
            .name = "execute_tool " + call.tool_name,
            .start = committed.event.created_at - std::chrono::milliseconds(call.duration_ms),
            .end = committed.event.created_at,
            .failed = !failure.empty(),
            .failure = failure,
            .attributes = {{"holon.agent.id", committed.agent_id.value},
                           {"holon.run.id", call.run_id.value},
                           {"holon.round", call.round},
                           {"gen_ai.operation.name", std::string("execute_tool")},
                           {"gen_ai.tool.name", call.tool_name},
                           {"gen_ai.tool.call.id", call.tool_call_id.value}}};
}

Span ended(const events::Committed& committed, const kinds::TaskResultReceived& task) {
    const bool failed = task.status != domain::TaskStatus::Completed;
    return {.trace_id = trace_of(task.task_id.value),
            .span_id = span_of(fmt::format("task {}", task.task_id.value)),
            .name = "task",
            .start = task.created_at,
            .end = committed.event.created_at,
            .failed = failed,
            .failure = failed ? std::string(base::enum_name(task.status)) : "",
            .attributes = {{"holon.agent.id", committed.agent_id.value},
                           {"holon.task.id", task.task_id.value},
                           {"holon.task.kind", std::string(base::enum_name(task.kind))},
                           {"holon.task.status", std::string(base::enum_name(task.status))}}};
}

template <class Payload>
base::Result<Payload> read(const events::Committed& committed) {
    return base::from_json<Payload>(committed.event.data);
}

}  // namespace

std::vector<Span> spans_of(const events::Committed& committed) {
    const auto& event = committed.event;
    std::vector<Span> spans;
    if (kinds::is<kinds::TurnTerminal>(event)) {
        if (const auto turn = read<kinds::TurnTerminal>(committed))
            spans.push_back(ended(committed, *turn));
    } else if (kinds::is<kinds::ProviderRoundCompleted>(event)) {
        if (const auto round = read<kinds::ProviderRoundCompleted>(committed))
            spans.push_back(ended(committed, *round));
    } else if (kinds::is<kinds::ToolExecuted>(event)) {
        if (const auto call = read<kinds::ToolExecuted>(committed))
            spans.push_back(ended(committed, *call, ""));
    } else if (kinds::is<kinds::ToolExecutionFailed>(event)) {
        if (const auto call = read<kinds::ToolExecutionFailed>(committed))
            spans.push_back(ended(committed, *call, call->error_kind));
    } else if (kinds::is<kinds::TaskResultReceived>(event)) {
        if (const auto task = read<kinds::TaskResultReceived>(committed))
            spans.push_back(ended(committed, *task));
    }
    return spans;
}

}  // namespace telemetry
