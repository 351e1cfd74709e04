// Raw input becomes a Message: labels come from the way it arrived, never from what it says.
#pragma once

#include <optional>
#include <string>

#include "base/ids.h"
#include "base/result.h"
#include "domain/message.h"
#include "domain/turn.h"

namespace ingress {

inline constexpr std::size_t kBodyBytesMax = 1024 * 1024;
inline constexpr std::size_t kMetadataBytesMax = 64 * 1024;
// What the runtime itself writes there may hold what came with a wake hint.
inline constexpr std::size_t kRuntimeMetadataBytesMax = 1024 * 1024;
// Everything else together: origin, references, correlation. Short by nature, but callers name
// some.
inline constexpr std::size_t kLabelsBytesMax = 16 * 1024;

// The member of a message's metadata that describes the transport it came by.
inline constexpr std::string_view kOperatorTransport = "operator_transport";

// What a surface hands in. It knows how the input arrived; it does not choose its authority.
struct Raw {
    domain::AgentId agent_id;
    domain::MessageKind kind{domain::MessageKind::OperatorPrompt};
    domain::Origin origin{};
    domain::Body body{};
    domain::DeliverySurface surface{domain::DeliverySurface::RuntimeSystem};
    domain::AdmissionContext admission{domain::AdmissionContext::RuntimeOwned};
    std::optional<domain::Priority> priority{};
    // A local caller may ask for less trust than the origin has by default, never for more.
    std::optional<domain::TrustLevel> trust{};
    std::optional<json::value> metadata{};
    std::optional<std::string> correlation_id{};
    std::optional<std::string> causation_id{};
    std::optional<std::string> dedupe_key{};
};

// The envelope as it is queued. Refused for an origin that its entry point cannot vouch for;
// InvalidInput for a kind that does not go with its origin, metadata that is no object, and
// anything over its bound or not UTF-8.
base::Result<domain::Message> receive(Raw raw, base::Time now, base::Ids& ids);

domain::TrustLevel default_trust(const domain::Origin& origin);
domain::AuthorityClass authority_of(domain::TrustLevel trust);
domain::TriggerKind trigger_of(domain::MessageKind kind);
bool is_allowed(domain::MessageKind kind, const domain::Origin& origin);
// The transport that brought the message of an operator; nothing for one that came another way.
std::optional<domain::OperatorRoute> operator_route(const domain::Message& message);
// Which origin enters at which entry point. Nobody is the operator, or the runtime, because they
// say so.
bool vouches_for(domain::AdmissionContext admission, const domain::Origin& origin);

}  // namespace ingress
