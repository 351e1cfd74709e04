#include "flow/admission/admission.h"

#include "agent/identity/transition.h"
#include "flow/queue/queue.h"
#include "flow/queue/waits.h"

namespace admission {
namespace {

// A wait that ends may change what the agent is seen to do: no longer awaiting a task.
base::Status trigger_waits(events::Log& log, const domain::Message& message) {
    if (TRY(log.tx().open_waits(message.agent_id)).empty()) return {};
    const auto before = TRY(identity::current_status(log.tx(), message.agent_id));
    TRY(queue::trigger_waits(log, message));
    return identity::record_change(log, message.agent_id, before);
}

}  // namespace

base::Result<Outcome> admit(events::Log& log, const domain::Message& message,
                            const std::optional<std::string>& dedupe_key) {
    auto agent = TRY(log.tx().agent(message.agent_id));
    if (!agent)
        return base::fail(base::ErrorCode::NotFound, "there is no agent '{}'", message.agent_id);
    Facts facts{std::move(*agent), TRY(log.tx().pending_count(message.agent_id))};
    if (const auto sender = domain::external_sender(message))
        facts.pending_of_sender = TRY(log.tx().pending_count_of(message.agent_id, *sender));
    const Verdict verdict = decide(facts, message);
    if (const auto* refuse = std::get_if<Refuse>(&verdict)) {
        // A sender that repeats itself learns that it was heard, also when nothing may enter now.
        if (auto first = TRY(log.tx().known_message(message, dedupe_key)))
            return Outcome{AlreadyHave{std::move(*first)}};
        return Outcome{*refuse};
    }
    const auto appended = TRY(queue::append(log, message, dedupe_key));
    if (const auto* first = std::get_if<store::AlreadyHave>(&appended))
        return Outcome{AlreadyHave{first->message_id}};
    TRY(trigger_waits(log, message));
    return Outcome{Admitted{message.id}};
}

}  // namespace admission
