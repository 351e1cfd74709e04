#include "flow/turn/decide/interject.h"

#include "flow/turn/decide/records.h"
#include "flow/turn/decide/settle.h"

namespace turn {
namespace {

std::int64_t round_of(const domain::TurnState& state) {
    return std::visit(
        []<class T>(const T& at) -> std::int64_t {
            if constexpr (requires { at.round; })
                return at.round;
            else
                return 0;
        },
        state);
}

}  // namespace

bool is_interjection(const domain::Message& message) {
    return message.kind == domain::MessageKind::OperatorPrompt &&
           std::holds_alternative<domain::OperatorOrigin>(message.origin) &&
           message.trust == domain::TrustLevel::TrustedOperator &&
           message.authority_class == domain::AuthorityClass::OperatorInstruction &&
           message.priority == domain::Priority::Interject;
}

base::Result<std::vector<domain::Message>> waiting_interjections(store::Tx& tx,
                                                                 const domain::AgentId& agent) {
    std::vector<domain::Message> list;
    for (auto& queued : TRY(tx.pending_interjections(agent, kInterjectionsPerRoundMax)))
        if (queued.entry.status == domain::QueueStatus::Queued && is_interjection(queued.message))
            list.push_back(std::move(queued.message));
    return list;
}

void take_interjections(Step& step, const Facts& facts) {
    const auto* thinking = std::get_if<domain::Thinking>(&step.attempt.state);
    if (!thinking || thinking->round <= round_of(facts.attempt.state)) return;
    // A text that was cut off is finished first: what comes between would be answered in its midst.
    if (thinking->continues_text) return;
    for (const auto& message : facts.interjections) {
        step.transcript.push_back(interjection_entry(facts, thinking->round, message));
        step.events.push_back(
            interjection_admitted(facts, thinking->round, "after_tool_results", message));
        step.interjected.push_back(message.id);
        ++statistics_of(step, facts).total_message_count;
    }
}

}  // namespace turn
