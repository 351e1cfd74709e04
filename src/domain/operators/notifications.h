// What reaches the operator outside of the program: notifications of agents, the transports that
// are bound to them, and each delivery with how it ended.
#pragma once

#include <optional>
#include <string>

#include "base/typed.h"
#include "domain/ids.h"

namespace domain {

enum class OperatorBoundary { PrimaryOperator, ParentSupervisor };
BOOST_DESCRIBE_ENUM(OperatorBoundary, PrimaryOperator, ParentSupervisor)

// Something that an agent wants its operator to know now. Never changed.
struct OperatorNotification {
    std::string notification_id;
    AgentId agent_id;
    AgentId requested_by_agent_id;
    OperatorBoundary target_operator_boundary{OperatorBoundary::PrimaryOperator};
    std::optional<AgentId> target_parent_agent_id{};
    std::string message;
    std::string summary;  // The first line that is not blank, cut.
    std::optional<WorkItemId> work_item_id{};
    std::optional<std::string> correlation_id{};
    std::optional<std::string> causation_id{};
    Time created_at{};
    friend bool operator==(const OperatorNotification&, const OperatorNotification&) = default;
};
BOOST_DESCRIBE_STRUCT(OperatorNotification, (),
                      (notification_id, agent_id, requested_by_agent_id, target_operator_boundary,
                       target_parent_agent_id, message, summary, work_item_id, correlation_id,
                       causation_id, created_at))

enum class DeliveryAuthKind { Bearer, Hmac };
BOOST_DESCRIBE_ENUM(DeliveryAuthKind, Bearer, Hmac)
// How the runtime proves to a transport that a delivery is its own.
struct DeliveryAuth {
    DeliveryAuthKind kind{DeliveryAuthKind::Bearer};
    std::optional<std::string> key_id{};
    std::optional<std::string> bearer_token{};  // Never stored: see OperatorBinding::sealed_token.
    friend bool operator==(const DeliveryAuth&, const DeliveryAuth&) = default;
};
BOOST_DESCRIBE_STRUCT(DeliveryAuth, (), (kind, key_id, bearer_token))

struct TransportCapabilities {
    bool text{true};
    std::optional<bool> markdown{};
    std::optional<bool> attachments{};
    friend bool operator==(const TransportCapabilities&, const TransportCapabilities&) = default;
};
BOOST_DESCRIBE_STRUCT(TransportCapabilities, (), (text, markdown, attachments))

enum class BindingStatus { Active, Revoked, Expired };
BOOST_DESCRIBE_ENUM(BindingStatus, Active, Revoked, Expired)

// A chat system or another transport by which one operator talks to one agent: its messages enter
// as that operator's, and notifications of the agent leave by its callback URL.
struct OperatorBinding {
    std::string binding_id;
    std::string transport;
    std::string operator_actor_id;
    AgentId target_agent_id;
    std::string default_route_id;
    std::string delivery_callback_url;
    DeliveryAuth delivery_auth{};
    TransportCapabilities capabilities{};
    std::optional<std::string> provider{};
    std::optional<std::string> provider_identity_ref{};
    BindingStatus status{BindingStatus::Active};
    Time created_at{};
    std::optional<Time> last_seen_at{};
    std::optional<json::value> metadata{};
    // The bearer token, encrypted under the key of the home. Not a member of any answer.
    std::optional<std::string> sealed_token{};
    friend bool operator==(const OperatorBinding&, const OperatorBinding&) = default;
};
BOOST_DESCRIBE_STRUCT(OperatorBinding, (),
                      (binding_id, transport, operator_actor_id, target_agent_id, default_route_id,
                       delivery_callback_url, delivery_auth, capabilities, provider,
                       provider_identity_ref, status, created_at, last_seen_at, metadata,
                       sealed_token))

// Command and Webhook are those of the configuration (notify.command, notify.webhook); Transport
// is a binding.
enum class DeliveryChannel { Command, Webhook, Transport };
enum class DeliveryStatus { Pending, AcceptedByTransport, FailedToSubmit };
BOOST_DESCRIBE_ENUM(DeliveryChannel, Command, Webhook, Transport)
BOOST_DESCRIBE_ENUM(DeliveryStatus, Pending, AcceptedByTransport, FailedToSubmit)

// By which channels of the configuration briefs leave.
struct BriefChannels {
    bool command{false};
    bool webhook{false};
    friend bool operator==(const BriefChannels&, const BriefChannels&) = default;
};

// One thing that is to reach the operator by one channel. Its id is the same in every attempt, so
// that a receiver recognises a repetition.
struct OperatorDelivery {
    std::string delivery_intent_id;
    std::string output_event_id;  // The brief or the notification that it delivers.
    AgentId agent_id;
    DeliveryChannel channel{DeliveryChannel::Command};
    std::string route_id;      // Of Transport; else the setting that names the channel.
    std::string binding_id{};  // Of Transport; else empty.
    std::string trigger_kind;  // brief, operator_notification
    DeliveryStatus status{DeliveryStatus::Pending};
    std::optional<std::string> transport_delivery_id{};
    std::optional<std::string> failure_summary{};  // Of the last attempt that failed.
    std::int64_t attempts{0};
    std::optional<Time> next_attempt_at{};  // While it is pending.
    Time created_at{};
    Time updated_at{};
    friend bool operator==(const OperatorDelivery&, const OperatorDelivery&) = default;
};
BOOST_DESCRIBE_STRUCT(OperatorDelivery, (),
                      (delivery_intent_id, output_event_id, agent_id, channel, route_id, binding_id,
                       trigger_kind, status, transport_delivery_id, failure_summary, attempts,
                       next_attempt_at, created_at, updated_at))

}  // namespace domain
