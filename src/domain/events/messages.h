// Events of a message's life: admitted, queued, processed, aborted, set aside.
#pragma once

#include <map>

#include "domain/events/payload.h"

namespace domain::events {

struct MessageAdmitted {
    static constexpr std::string_view kKind = "message_admitted";
    MessageId message_id;
    AgentId agent_id;
    MessageKind kind{MessageKind::OperatorPrompt};
    Origin origin{};
    TrustLevel trust{TrustLevel::UntrustedExternal};
    AuthorityClass authority_class{AuthorityClass::ExternalEvidence};
    Priority priority{Priority::Normal};
    std::optional<DeliverySurface> delivery_surface{};
    std::optional<AdmissionContext> admission_context{};
    std::optional<TriggerKind> trigger_kind{};
    std::optional<WorkItemId> work_item_id{};
    std::optional<TaskId> task_id{};
    std::optional<std::map<std::string, std::string>> source_refs{};
    std::optional<std::string> correlation_id{};
    std::optional<std::string> causation_id{};
};
BOOST_DESCRIBE_STRUCT(MessageAdmitted, (),
                      (message_id, agent_id, kind, origin, trust, authority_class, priority,
                       delivery_surface, admission_context, trigger_kind, work_item_id, task_id,
                       source_refs, correlation_id, causation_id))
constexpr auto describe_fields(const MessageAdmitted*) {
    return null_when_absent("delivery_surface", "admission_context", "trigger_kind", "work_item_id",
                            "task_id", "source_refs", "correlation_id", "causation_id");
}

struct MessageEnqueued : Message {
    static constexpr std::string_view kKind = "message_enqueued";
};
BOOST_DESCRIBE_STRUCT(MessageEnqueued, (Message), ())

struct MessageProcessingStarted : Message {
    static constexpr std::string_view kKind = "message_processing_started";
};
BOOST_DESCRIBE_STRUCT(MessageProcessingStarted, (Message), ())

struct MessageProcessingAborted {
    static constexpr std::string_view kKind = "message_processing_aborted";
    MessageId message_id;
    MessageKind message_kind{MessageKind::OperatorPrompt};
    RunId run_id;
    std::string reason;
    Origin origin{};
    TrustLevel trust{TrustLevel::UntrustedExternal};
    AuthorityClass authority_class{AuthorityClass::ExternalEvidence};
    Priority priority{Priority::Normal};
    std::optional<DeliverySurface> delivery_surface{};
    std::optional<AdmissionContext> admission_context{};
};
BOOST_DESCRIBE_STRUCT(MessageProcessingAborted, (),
                      (message_id, message_kind, run_id, reason, origin, trust, authority_class,
                       priority, delivery_surface, admission_context))

// No turn could be opened for the message as often as is tried; it is dropped from the queue.
struct MessageQuarantined {
    static constexpr std::string_view kKind = "message_quarantined";
    MessageId message_id;
    MessageKind message_kind{MessageKind::OperatorPrompt};
    std::int64_t failures{0};
    std::string error;
    Origin origin{};
    TrustLevel trust{TrustLevel::UntrustedExternal};
    AuthorityClass authority_class{AuthorityClass::ExternalEvidence};
    Priority priority{Priority::Normal};
    std::optional<DeliverySurface> delivery_surface{};
    std::optional<AdmissionContext> admission_context{};
};
BOOST_DESCRIBE_STRUCT(MessageQuarantined, (),
                      (message_id, message_kind, failures, error, origin, trust, authority_class,
                       priority, delivery_surface, admission_context))

// An operator's prompt entered the running turn at `boundary`.
struct OperatorInterjectionAdmitted {
    static constexpr std::string_view kKind = "operator_interjection_admitted";
    AgentId agent_id;
    RunId run_id;
    std::int64_t round{0};
    std::string boundary;
    MessageId message_id;
    std::string text_preview;
    Origin origin{};
    TrustLevel trust{TrustLevel::UntrustedExternal};
    AuthorityClass authority_class{AuthorityClass::ExternalEvidence};
    Priority priority{Priority::Normal};
    std::optional<DeliverySurface> delivery_surface{};
    std::optional<AdmissionContext> admission_context{};
};
BOOST_DESCRIBE_STRUCT(OperatorInterjectionAdmitted, (),
                      (agent_id, run_id, round, boundary, message_id, text_preview, origin, trust,
                       authority_class, priority, delivery_surface, admission_context))

struct BriefCreated : Brief {
    static constexpr std::string_view kKind = "brief_created";
};
BOOST_DESCRIBE_STRUCT(BriefCreated, (Brief), ())

}  // namespace domain::events
