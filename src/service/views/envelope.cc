#include "service/views/envelope.h"

#include "domain/events/messages.h"
#include "record/events/redact.h"

namespace views {
namespace {

constexpr std::size_t kRedactionsMax = 64;

std::optional<json::value> member(const json::value& payload, std::string_view name) {
    const auto* value = base::find(payload, name);
    if (!value || value->is_null()) return std::nullopt;
    return *value;
}

std::optional<json::value> first_of(const json::value& payload, std::string_view name,
                                    std::string_view other) {
    auto value = member(payload, name);
    return value ? value : member(payload, other);
}

// Payloads that are whole records name themselves `id`.
bool is_message_record(const domain::Event& event) {
    using namespace domain::events;
    return is_any<MessageEnqueued, MessageProcessingStarted>(event);
}
bool is_task_record(const domain::Event& event) {
    return (event.kind.starts_with("task_") || event.kind.starts_with("command_task_")) &&
           base::find(event.data, "recovery");
}

Provenance provenance_of(const domain::Event& event) {
    const json::value& payload = event.data;
    Provenance out{.origin = member(payload, "origin"),
                   .trust = member(payload, "trust"),
                   .authority_class = member(payload, "authority_class"),
                   .delivery_surface = member(payload, "delivery_surface"),
                   .admission_context = member(payload, "admission_context"),
                   .transport = member(payload, "transport"),
                   .source = member(payload, "source"),
                   .reply_route = first_of(payload, "reply_route", "reply_route_id"),
                   .message_id = first_of(payload, "message_id", "related_message_id"),
                   .task_id = first_of(payload, "task_id", "related_task_id"),
                   .work_item_id = member(payload, "work_item_id"),
                   .correlation_id = member(payload, "correlation_id"),
                   .causation_id = member(payload, "causation_id")};
    if (is_message_record(event)) out.message_id = member(payload, "id");
    if (is_task_record(event)) {
        out.task_id = member(payload, "id");
        out.message_id = member(payload, "parent_message_id");
    }
    return out;
}

void collect_redactions(const json::value& value, const std::string& pointer,
                        std::vector<std::string>& out) {
    if (out.size() >= kRedactionsMax) return;
    if (const auto* text = value.if_string()) {
        if (std::string_view(*text).find(events::kRedacted) != std::string_view::npos)
            out.push_back(pointer);
    } else if (const auto* object = value.if_object()) {
        for (const auto& entry : *object)
            collect_redactions(entry.value(),
                               base::typed::child_pointer(pointer, std::string_view(entry.key())),
                               out);
    } else if (const auto* array = value.if_array()) {
        for (std::size_t i = 0; i < array->size(); ++i)
            collect_redactions((*array)[i], pointer + "/" + std::to_string(i), out);
    }
}

}  // namespace

EventEnvelope envelope(const domain::AgentId& agent, const domain::Event& event,
                       ProjectionName projection) {
    EventEnvelope out{.id = event.id,
                      .event_seq = event.event_seq,
                      .ts = event.created_at,
                      .agent_id = agent,
                      .type = event.kind,
                      .projection = {.name = projection},
                      .provenance = provenance_of(event),
                      .payload = event.data};
    collect_redactions(event.data, "", out.projection.redactions);
    return out;
}

}  // namespace views
