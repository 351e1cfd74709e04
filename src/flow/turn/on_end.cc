// The turn is stopped from outside, or found open by a new process.
#include "flow/turn/records.h"
#include "flow/turn/settle.h"

namespace turn {
namespace {

void interrupt(Step& step, const Facts& facts, const std::string& reason, base::Time now) {
    step.events.push_back({"message_processing_aborted",
                           {{"message_id", facts.message.id.value},
                            {"message_kind", base::enum_name(facts.message.kind)},
                            {"run_id", facts.attempt.run_id.value},
                            {"reason", reason}}});
    close(step, facts, domain::TerminalKind::Aborted, std::string(domain::kReasonInterrupted), now);
    step.release = Release{domain::QueueStatus::Interrupted, reason};
}

// Counts the pick-up; a turn that was picked up too often is given up instead.
bool pick_up(Step& step, const Facts& facts, std::int64_t round, const Input& input) {
    ++step.attempt.restarts;
    step.events.push_back({"attempt_resumed",
                           {{"agent_id", facts.agent.agent_id.value},
                            {"run_id", facts.attempt.run_id.value},
                            {"message_id", facts.message.id.value},
                            {"round", round},
                            {"restarts", step.attempt.restarts}}});
    if (step.attempt.restarts <= kRestartsMax) return true;
    const domain::FailureArtifact artifact{
        .category = domain::FailureCategory::Runtime,
        .kind = "restarts_exhausted",
        .summary = fmt::format("the turn was cut off by {} restarts and is not tried again",
                               kRestartsMax)};
    auto executions = facts.executions;
    if (std::holds_alternative<domain::AwaitingTools>(facts.attempt.state)) {
        finish_unmade_calls(
            step, executions, input,
            {.kind = "tool_outcome_unknown", .message = "The runtime stopped while the call ran."});
        step.transcript.push_back(results_entry(facts, round, executions));
    }
    give_up(step, facts, round, artifact, nullptr, artifact.kind, input.now);
    return false;
}

}  // namespace

Step on(const Facts& facts, const domain::Thinking&, const Interrupted& interrupted,
        const Input& input) {
    Step step = stay(facts);
    interrupt(step, facts, interrupted.reason, input.now);
    return step;
}

Step on(const Facts& facts, const domain::AwaitingTools& state, const Interrupted& interrupted,
        const Input& input) {
    Step step = stay(facts);
    auto executions = facts.executions;
    const auto current = static_cast<std::size_t>(state.next);
    if (interrupted.last && current < executions.size() &&
        executions[current].call.call_id == interrupted.last->call_id)
        record_result(step, facts, executions[current], interrupted.last->dispatched);
    // The record must pair every call with a result before the conversation can go on.
    finish_unmade_calls(
        step, executions, input,
        {.kind = "tool_call_not_made",
         .message = "The call was not made: the turn was interrupted.",
         .recovery_hint = "It has had no effect. Make it again if it is still needed."});
    step.transcript.push_back(results_entry(facts, state.round, executions));
    interrupt(step, facts, interrupted.reason, input.now);
    return step;
}

Step on(const Facts& facts, const domain::Thinking& state, const Resumed&, const Input& input) {
    Step step = stay(facts);
    if (pick_up(step, facts, state.round, input)) step.effects.push_back(AskModel{state.round});
    return step;
}

Step on(const Facts& facts, const domain::AwaitingTools& state, const Resumed& resumed,
        const Input& input) {
    Step step = stay(facts);
    if (!pick_up(step, facts, state.round, input)) return step;
    if (!resumed.unknown) {
        step.effects.push_back(RunTool{state.calls.at(static_cast<std::size_t>(state.next))});
        return step;
    }
    Facts picked_up = facts;
    picked_up.attempt = step.attempt;
    Step next = on(picked_up, state, *resumed.unknown, input);
    next.events.insert(next.events.begin(), step.events.begin(), step.events.end());
    return next;
}

}  // namespace turn
