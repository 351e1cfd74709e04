// A call has come back.
#include <algorithm>

#include "flow/turn/decide/records.h"
#include "flow/turn/decide/settle.h"

namespace turn {
namespace {

bool all_sleep(const std::vector<domain::ToolExecution>& executions, const Input& input) {
    return std::ranges::all_of(executions, [&](const domain::ToolExecution& execution) {
        const auto* spec = input.spec_of(execution.call.tool);
        return spec && spec->sleeps && execution.result && execution.result->ok;
    });
}

}  // namespace

Step on(const Facts& facts, const domain::AwaitingTools& state, const ToolFinished& finished,
        const Input& input) {
    Step step = stay(facts);
    auto executions = facts.executions;
    const auto current = static_cast<std::size_t>(state.next);
    // Only the running call can finish; anything else is a repetition.
    if (current >= executions.size() || executions[current].call.call_id != finished.call_id)
        return step;
    record_result(step, facts, executions[current], finished.dispatched, input);

    auto next = std::find_if(
        executions.begin() + static_cast<std::ptrdiff_t>(current), executions.end(),
        [](const auto& execution) { return execution.state != domain::CallState::Finished; });
    if (next != executions.end()) {
        start_call(step, facts, *next, input);
        step.attempt.state =
            domain::AwaitingTools{state.round, state.calls, next - executions.begin(), state.text};
        return step;
    }
    end_round(step, facts, state, executions, input.spec_of);
    step.transcript.push_back(results_entry(facts, state.round, executions));
    if (step.attempt.sleep_request && all_sleep(executions, input)) {
        complete(step, facts, input.now);
        return step;
    }
    if (step.attempt.unusable_calls > kUnusableCallsMax) {
        const domain::FailureArtifact artifact{
            .category = domain::FailureCategory::Protocol,
            .kind = "unusable_tool_calls",
            .summary = fmt::format("the model {} made {} tool calls that could not be read or that "
                                   "do not fit any tool",
                                   facts.attempt.model_ref, step.attempt.unusable_calls)};
        give_up(step, facts, state.round, artifact, nullptr, artifact.kind, input.now);
        return step;
    }
    step.attempt.state = domain::Thinking{state.round + 1};
    step.effects.push_back(AskModel{state.round + 1});
    return step;
}

Step on(const Facts& facts, const domain::Parked&, const ToolFinished&, const Input&) {
    return stay(facts);
}

// The round is over; its results are recorded.
Step on(const Facts& facts, const domain::Thinking&, const ToolFinished&, const Input&) {
    return stay(facts);
}

}  // namespace turn
