#include "flow/turn/decide/refusals.h"

#include "base/text.h"
#include "domain/events/tools.h"
#include "exec/tools/builtin/commands/command_text.h"
#include "exec/tools/policy/flow_policy.h"
#include "flow/turn/decide/records.h"

namespace turn {
namespace {

// What it would have run, for people; empty for a tool that runs no command line.
std::string shown_command(const domain::ToolCall& call) {
    const std::string cmd = base::string_at(call.args, "cmd");
    return cmd.empty() ? "" : base::printable(builtin::command_preview(cmd));
}

domain::Brief question(const Facts& facts, const domain::ToolCall& call,
                       const std::string& proposal) {
    const std::string cmd = shown_command(call);
    return {.kind = domain::BriefKind::Result,
            .visibility = domain::BriefVisibility::ActionRequired,
            .text = fmt::format(
                "Your approval is needed: a message from outside ({}) led to a call of {}{}{}, "
                "which has not run. Look at it with: holon plan show {}. Allow it with: holon plan "
                "approve {}.",
                base::enum_name(facts.message.kind), call.tool, cmd.empty() ? "" : ": ", cmd,
                proposal, proposal),
            .related_message_id = facts.message.id};
}

}  // namespace

void record_refusal(Step& step, const Facts& facts, const domain::ToolExecution& execution) {
    const auto* error = execution.envelope ? base::find(*execution.envelope, "error") : nullptr;
    const std::string kind = error ? base::string_at(*error, "kind") : "";
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
