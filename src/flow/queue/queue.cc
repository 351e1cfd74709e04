#include "flow/queue/queue.h"

#include "domain/events/messages.h"

namespace queue {
namespace {

domain::events::MessageAdmitted admitted(const domain::Message& message) {
    return domain::events::labelled(
        domain::events::MessageAdmitted{.message_id = message.id,
                                        .agent_id = message.agent_id,
                                        .kind = message.kind,
                                        .trigger_kind = message.trigger_kind,
                                        .work_item_id = message.work_item_id,
                                        .task_id = message.task_id,
                                        .source_refs = message.source_refs,
                                        .correlation_id = message.correlation_id,
                                        .causation_id = message.causation_id},
        message);
}

}  // namespace

base::Result<store::AppendOutcome> append(events::Log& log, const domain::Message& message,
                                          const std::optional<std::string>& dedupe_key) {
    auto outcome = TRY(log.tx().append_message(message, dedupe_key));
    if (std::holds_alternative<store::AlreadyHave>(outcome)) return outcome;
    TRY(log.append(message.agent_id, admitted(message)));
    TRY(log.append(message.agent_id, domain::events::MessageEnqueued{message}));
    return outcome;
}

base::Result<std::optional<store::QueuedMessage>> claim(events::Log& log,
                                                        const domain::AgentId& agent) {
    auto next = TRY(log.tx().next_message(agent));
    if (!next) return next;
    TRY(log.tx().set_queue_status(next->message.id, domain::QueueStatus::Claimed, std::nullopt,
                                  log.now()));
    TRY(log.append(agent, domain::events::MessageProcessingStarted{next->message}));
    return next;
}

base::Status release(events::Log& log, const domain::MessageId& message, domain::QueueStatus status,
                     const std::optional<std::string>& reason) {
    return log.tx().set_queue_status(message, status, reason, log.now());
}

}  // namespace queue
