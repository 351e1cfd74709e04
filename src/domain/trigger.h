// How an external system may wake an agent: its capability, and the hint that a delivery leaves
// behind.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/typed.h"
#include "domain/ids.h"
#include "domain/message.h"

namespace domain {

enum class TriggerScope { Agent, WorkItem };
// EnqueueMessage is only read: an older program wrote it, and a delivery to it is a hint, too.
enum class DeliveryMode { WakeHint, EnqueueMessage };
enum class TriggerStatus { Active, Revoked };
BOOST_DESCRIBE_ENUM(TriggerScope, Agent, WorkItem)
BOOST_DESCRIBE_ENUM(DeliveryMode, WakeHint, EnqueueMessage)
BOOST_DESCRIBE_ENUM(TriggerStatus, Active, Revoked)

// A capability to wake one agent. Anyone who has its URL may use it; only a digest of the token in
// that URL is kept, so that a copy of the database wakes no agent.
struct ExternalTrigger {
    ExternalTriggerId external_trigger_id;
    AgentId target_agent_id;
    TriggerScope scope{TriggerScope::Agent};
    DeliveryMode delivery_mode{DeliveryMode::WakeHint};
    std::string token_hash;  // SHA-256, hex.
    TriggerStatus status{TriggerStatus::Active};
    Time created_at{};
    std::optional<Time> revoked_at{};
    std::optional<Time> last_delivered_at{};
    std::int64_t delivery_count{0};
    friend bool operator==(const ExternalTrigger&, const ExternalTrigger&) = default;
};
BOOST_DESCRIBE_STRUCT(ExternalTrigger, (),
                      (external_trigger_id, target_agent_id, scope, delivery_mode, token_hash,
                       status, created_at, revoked_at, last_delivered_at, delivery_count))
constexpr auto describe_fields(const ExternalTrigger*) {
    return std::to_array<base::FieldDoc>(
        {{.field = "revoked_at", .null_when_absent = true},
         {.field = "last_delivered_at", .null_when_absent = true}});
}

// How the sender of a webhook proves that a delivery is its own, besides knowing the URL: not at
// all, or as the named service signs.
enum class SignatureScheme { None, Github, Gitlab, Stripe };
BOOST_DESCRIBE_ENUM(SignatureScheme, None, Github, Gitlab, Stripe)

// An entry point by which one external system sends messages to one agent. Like a trigger it is a
// URL with a token, of which only a digest is kept. The signing secret is needed to check a
// signature, so it is kept, encrypted under the key of the home.
struct Webhook {
    WebhookId webhook_id;
    AgentId target_agent_id;
    std::string name;  // Chosen by the operator; unique among the active ones of the agent.
    SignatureScheme signature{SignatureScheme::None};
    std::string token_hash;      // SHA-256, hex.
    std::string sealed_secret;   // Hex; empty without a signature.
    std::int64_t generation{1};  // Counts rotations; the token is derived from it.
    TriggerStatus status{TriggerStatus::Active};
    Time created_at{};
    std::optional<Time> rotated_at{};
    std::optional<Time> revoked_at{};
    std::optional<Time> last_delivered_at{};
    std::int64_t delivery_count{0};
    std::optional<std::int64_t> rate_per_minute{};  // None: as webhooks.rate_per_minute says.
    std::optional<std::int64_t> body_bytes_max{};   // None: as webhooks.body_bytes_max says.
    friend bool operator==(const Webhook&, const Webhook&) = default;
};
BOOST_DESCRIBE_STRUCT(Webhook, (),
                      (webhook_id, target_agent_id, name, signature, token_hash, sealed_secret,
                       generation, status, created_at, rotated_at, revoked_at, last_delivered_at,
                       delivery_count, rate_per_minute, body_bytes_max))

// One delivery that was merged into a hint which was still waiting.
struct MergedHint {
    std::string reason;
    std::optional<std::string> source{};
    std::optional<ExternalTriggerId> external_trigger_id{};
    std::optional<std::string> correlation_id{};
    Time created_at{};
    friend bool operator==(const MergedHint&, const MergedHint&) = default;
};
BOOST_DESCRIBE_STRUCT(MergedHint, (),
                      (reason, source, external_trigger_id, correlation_id, created_at))

// An external change that may concern the agent. Never a message: it becomes one tick when the
// agent is next free.
struct WakeHint {
    AgentId target_agent_id;
    std::string reason;
    std::optional<std::string> description{};
    std::optional<std::string> source{};
    std::optional<TriggerScope> scope{};
    std::optional<DeliveryMode> delivery_mode{};
    std::optional<std::string> waiting_intent_id{};
    std::optional<ExternalTriggerId> external_trigger_id{};
    std::optional<std::string> resource{};
    std::optional<Body> body{};
    std::optional<std::string> content_type{};
    std::optional<std::string> correlation_id{};
    std::optional<std::string> causation_id{};
    TrustLevel trust{TrustLevel::TrustedSystem};  // The lowest of what was merged in.
    Time created_at{};
    std::int64_t merged_count{0};      // Earlier hints that were merged into this one.
    std::vector<MergedHint> merged{};  // The newest of them, newest first.
    friend bool operator==(const WakeHint&, const WakeHint&) = default;
};
BOOST_DESCRIBE_STRUCT(WakeHint, (),
                      (target_agent_id, reason, description, source, scope, delivery_mode,
                       waiting_intent_id, external_trigger_id, resource, body, content_type,
                       correlation_id, causation_id, trust, created_at, merged_count, merged))
constexpr auto describe_fields(const WakeHint*) {
    return std::to_array<base::FieldDoc>({{.field = "source", .null_when_absent = true},
                                          {.field = "body", .null_when_absent = true},
                                          {.field = "content_type", .null_when_absent = true},
                                          {.field = "correlation_id", .null_when_absent = true},
                                          {.field = "causation_id", .null_when_absent = true}});
}

}  // namespace domain
