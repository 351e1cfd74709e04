#include "flow/turn/decide/refusals.h"

#include <utility>

#include "base/text.h"
#include "domain/events/tools.h"
#include "exec/tools/mutation.h"
#include "exec/tools/policy/flow_policy.h"
#include "flow/turn/decide/records.h"
#include "flow/turn/decide/settle.h"

namespace turn {
namespace {

// What would run, whole: the operator approves no part that they cannot read. The text of a command
// or a patch comes as it is, with all other arguments after it.
std::string whole_call(const domain::ToolCall& call) {
    json::object rest = call.args.is_object() ? call.args.get_object() : json::object{};
    std::string text;
    for (const char* name : {"cmd", "patch"})
        if (const auto value = base::string_at(call.args, name); text.empty() && !value.empty()) {
            text = value;
            rest.erase(name);
        }
    if (text.empty() || !rest.empty())
        text += (text.empty() ? "" : "\nwith ") + base::pretty_json(rest);
    return base::printable(text, true);
}

domain::Brief question(const Facts& facts, const domain::ToolCall& call,
                       const std::string& proposal) {
    return {
        .kind = domain::BriefKind::Result,
        .visibility = domain::BriefVisibility::ActionRequired,
        .text = fmt::format(
            "Your approval is needed: a message of an external sender ({}) led to a call of "
            "{}, which has not run:\n\n{}\n\nShow its plan with: holon plan show {}. Allow "
            "it with: holon plan approve {}.",
            base::enum_name(facts.message.kind), call.tool, whole_call(call), proposal, proposal),
        .related_message_id = facts.message.id};
}

// Once for each hour in which follow-ups are counted: the model may try again and again.
void report_follow_up(Step& step, const Facts& facts, const json::value& error) {
    auto& statistics = statistics_of(step, facts);
    if (std::exchange(statistics.follow_up_refusal_reported, true)) return;
    step.briefs.push_back(
        {.kind = domain::BriefKind::Failure,
         .visibility = domain::BriefVisibility::TurnResult,
         .text = fmt::format("The agent wanted to queue more work for itself than it may. {} Raise "
                             "that setting if the work is intended.",
                             base::string_at(error, "message")),
         .related_message_id = facts.message.id});
}

}  // namespace

void record_refusal(Step& step, const Facts& facts, const domain::ToolExecution& execution) {
    const auto* error = execution.envelope ? base::find(*execution.envelope, "error") : nullptr;
    const std::string kind = error ? base::string_at(*error, "kind") : "";
    if (kind == tools::kFollowUpRefused) return report_follow_up(step, facts, *error);
    if (kind != tools::kUntrustedInstructions && kind != tools::kNeedsApproval) return;
    const auto& call = execution.call;
    auto refused = domain::events::labelled(
        domain::events::ToolCallRefused{.agent_id = facts.agent.agent_id,
                                        .run_id = facts.attempt.run_id,
                                        .round = execution.round,
                                        .tool_call_id = call.call_id,
                                        .tool_name = call.tool,
                                        .risk_level = call.risk_level,
                                        .instructed_by = call.authority_class,
                                        .error_kind = kind,
                                        .reason = base::string_at(*error, "message")},
        facts.message);
    const auto* details = base::find(*error, "details");
    const std::string proposal = details ? base::string_at(*details, "proposal_id") : "";
    if (!proposal.empty()) {
        refused.proposal_id = proposal;
        step.briefs.push_back(question(facts, call, proposal));
    }
    step.events.push_back(refused);
}

}  // namespace turn
