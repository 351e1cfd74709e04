// Events of waits, timers and external triggers.
#pragma once

#include "domain/events/payload.h"
#include "domain/trigger.h"
#include "domain/waiting.h"

namespace domain::events {

struct WaitConditionCreated : Wait {
    static constexpr std::string_view kKind = "wait_condition_created";
};
BOOST_DESCRIBE_STRUCT(WaitConditionCreated, (Wait), ())

struct WaitReconciliationRequested {
    static constexpr std::string_view kKind = "wait_reconciliation_requested";
    std::string dedupe_key;
    MessageId message_id;
    WaitId wait_condition_id;
    std::string wake_source;
    std::string waiting_for;
    std::optional<TriggerKind> trigger_kind{};
    std::optional<std::string> subject_ref{};
};
BOOST_DESCRIBE_STRUCT(WaitReconciliationRequested, (),
                      (dedupe_key, message_id, wait_condition_id, wake_source, waiting_for,
                       trigger_kind, subject_ref))
constexpr auto describe_fields(const WaitReconciliationRequested*) {
    return null_when_absent("trigger_kind", "subject_ref");
}

struct WaitConditionResolved {
    static constexpr std::string_view kKind = "wait_condition_resolved";
    WaitId wait_condition_id;
    MessageId message_id;
    std::optional<RunId> run_id{};
};
BOOST_DESCRIBE_STRUCT(WaitConditionResolved, (), (wait_condition_id, message_id, run_id))
constexpr auto describe_fields(const WaitConditionResolved*) {
    return null_when_absent("run_id");
}

struct WaitConditionCancelled {
    static constexpr std::string_view kKind = "wait_condition_cancelled";
    WaitId wait_condition_id;
};
BOOST_DESCRIBE_STRUCT(WaitConditionCancelled, (), (wait_condition_id))

struct WaitConditionExpired {
    static constexpr std::string_view kKind = "wait_condition_expired";
    WaitId wait_condition_id;
    std::string waiting_for;
};
BOOST_DESCRIBE_STRUCT(WaitConditionExpired, (), (wait_condition_id, waiting_for))

struct TimerCreated : Timer {
    static constexpr std::string_view kKind = "timer_created";
};
struct TimerCancelled : Timer {
    static constexpr std::string_view kKind = "timer_cancelled";
};
BOOST_DESCRIBE_STRUCT(TimerCreated, (Timer), ())
BOOST_DESCRIBE_STRUCT(TimerCancelled, (Timer), ())

struct TimerFired {
    static constexpr std::string_view kKind = "timer_fired";
    TimerId timer_id;
    TimerStatus status{TimerStatus::Active};
    std::int64_t fire_count{0};
    std::int64_t missed{0};
    std::optional<MessageId> message_id{};  // Of the tick; null when it was left out.
    std::optional<Time> next_fire_at{};
};
BOOST_DESCRIBE_STRUCT(TimerFired, (),
                      (timer_id, status, fire_count, missed, message_id, next_fire_at))
constexpr auto describe_fields(const TimerFired*) {
    return null_when_absent("message_id", "next_fire_at");
}

struct TimerFireFailed {
    static constexpr std::string_view kKind = "timer_fire_failed";
    TimerId timer_id;
    std::string error;
};
BOOST_DESCRIBE_STRUCT(TimerFireFailed, (), (timer_id, error))

struct ExternalTriggerCreated {
    static constexpr std::string_view kKind = "external_trigger_created";
    ExternalTriggerId external_trigger_id;
    AgentId agent_id;
    TriggerScope scope{TriggerScope::Agent};
    DeliveryMode delivery_mode{DeliveryMode::WakeHint};
};
BOOST_DESCRIBE_STRUCT(ExternalTriggerCreated, (),
                      (external_trigger_id, agent_id, scope, delivery_mode))

struct ExternalTriggerRevoked {
    static constexpr std::string_view kKind = "external_trigger_revoked";
    ExternalTriggerId external_trigger_id;
    AgentId agent_id;
    DeliveryMode delivery_mode{DeliveryMode::WakeHint};
};
BOOST_DESCRIBE_STRUCT(ExternalTriggerRevoked, (), (external_trigger_id, agent_id, delivery_mode))

// The operator made, rotated or revoked a webhook. No secret is part of it.
struct WebhookChanged {
    static constexpr std::string_view kKind = "webhook_changed";
    AgentId agent_id;
    WebhookId webhook_id;
    std::string name;
    SignatureScheme signature{SignatureScheme::None};
    std::string change;  // created, rotated, revoked
    AdmissionContext admission_context{AdmissionContext::LocalProcess};
};
BOOST_DESCRIBE_STRUCT(WebhookChanged, (),
                      (agent_id, webhook_id, name, signature, change, admission_context))

struct CallbackDelivered {
    static constexpr std::string_view kKind = "callback_delivered";
    AgentId agent_id;
    std::optional<std::string> waiting_intent_id{};
    std::optional<WorkItemId> work_item_id{};
    ExternalTriggerId external_trigger_id;
    TriggerScope scope{TriggerScope::Agent};
    DeliveryMode delivery_mode{DeliveryMode::WakeHint};
    DeliveryMode descriptor_delivery_mode{DeliveryMode::WakeHint};
    bool deprecated_enqueue_message_mapped_to_wake_hint{false};
    std::optional<std::string> source{};
    std::optional<std::string> resource{};
    std::int64_t trigger_count{0};
    std::string origin{"callback"};
    DeliverySurface delivery_surface{DeliverySurface::HttpCallbackWake};
    std::string disposition;
    AdmissionContext admission_context{AdmissionContext::ExternalTriggerCapability};
    AuthorityClass authority_class{AuthorityClass::IntegrationSignal};
};
BOOST_DESCRIBE_STRUCT(CallbackDelivered, (),
                      (agent_id, waiting_intent_id, work_item_id, external_trigger_id, scope,
                       delivery_mode, descriptor_delivery_mode,
                       deprecated_enqueue_message_mapped_to_wake_hint, source, resource,
                       trigger_count, origin, delivery_surface, disposition, admission_context,
                       authority_class))
constexpr auto describe_fields(const CallbackDelivered*) {
    return null_when_absent("waiting_intent_id", "work_item_id", "source", "resource");
}

struct WakeRequested {
    static constexpr std::string_view kKind = "wake_requested";
    AgentId target_agent_id;
    std::string reason;
    AdmissionContext admission_context{AdmissionContext::PublicUnauthenticated};
};
BOOST_DESCRIBE_STRUCT(WakeRequested, (), (target_agent_id, reason, admission_context))

}  // namespace domain::events
