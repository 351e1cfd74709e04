#include "flow/turn/decide/decide.h"

#include <algorithm>

#include "flow/turn/compaction/compacting.h"
#include "flow/turn/decide/interject.h"
#include "flow/turn/decide/settle.h"

namespace turn {
namespace {

// Final: whatever still arrives is a repetition.
template <class E>
Step on(const Facts& facts, const domain::Closed&, const E&, const Input&) {
    return stay(facts);
}

}  // namespace

namespace {

// A summary that nobody waits for any more.
bool is_late_summary(const Facts& facts, const Event& event) {
    if (std::holds_alternative<domain::Compacting>(facts.attempt.state)) return false;
    const auto* replied = std::get_if<ModelReplied>(&event);
    const auto* failed = std::get_if<ModelFailed>(&event);
    return (replied && replied->is_summary) || (failed && failed->is_summary);
}

}  // namespace

Step decide(const Facts& facts, const Event& event, const Input& input) {
    if (is_late_summary(facts, event)) return stay(facts);
    Step step = std::visit(
        [&](const auto& state, const auto& happened) { return on(facts, state, happened, input); },
        facts.attempt.state, event);
    take_interjections(step, facts);
    count_context(step, event);
    compact_first(step, facts, event, input);
    if (step.statistics == facts.statistics) step.statistics.reset();
    return step;
}

bool needs_disk(const Step& step, const Input& input) {
    if (step.closed()) return true;
    return std::ranges::any_of(step.executions, [&](const domain::ToolExecution& execution) {
        return execution.state == domain::CallState::Started &&
               !input.is_repeatable(execution.call.tool);
    });
}

}  // namespace turn
