#include "flow/queue/queue.h"

namespace queue {
namespace {

json::object labels(const domain::Message& message) {
    const json::value whole = base::to_json(message);
    json::object out{{"message_id", message.id.value}};
    for (const std::string_view field :
         {"agent_id", "kind", "origin", "trust", "authority_class", "priority", "delivery_surface",
          "admission_context", "trigger_kind", "work_item_id", "task_id", "source_refs",
          "correlation_id", "causation_id"}) {
        const auto* value = base::find(whole, field);
        out[json::string_view(field.data(), field.size())] = value ? *value : json::value(nullptr);
    }
    return out;
}

}  // namespace

base::Result<store::AppendOutcome> append(events::Log& log, const domain::Message& message,
                                          const std::optional<std::string>& dedupe_key) {
    auto outcome = TRY(log.tx().append_message(message, dedupe_key));
    if (std::holds_alternative<store::AlreadyHave>(outcome)) return outcome;
    TRY(log.append(message.agent_id, "message_admitted", labels(message)));
    TRY(log.append(message.agent_id, "message_enqueued", base::to_json(message).as_object()));
    return outcome;
}

base::Result<std::optional<store::QueuedMessage>> claim(events::Log& log,
                                                        const domain::AgentId& agent) {
    auto next = TRY(log.tx().next_message(agent));
    if (!next) return next;
    TRY(log.tx().set_queue_status(next->message.id, domain::QueueStatus::Claimed, std::nullopt,
                                  log.now()));
    TRY(log.append(agent, "message_processing_started", base::to_json(next->message).as_object()));
    return next;
}

base::Status release(events::Log& log, const domain::MessageId& message, domain::QueueStatus status,
                     const std::optional<std::string>& reason) {
    return log.tx().set_queue_status(message, status, reason, log.now());
}

}  // namespace queue
