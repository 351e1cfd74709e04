#include "service/local/operators/operators.h"

#include <algorithm>

#include "base/text.h"
#include "domain/events/operators.h"
#include "flow/ingress/ingress.h"
#include "flow/notify/notify.h"
#include "service/local/agents/control.h"
#include "service/local/agents/deliveries.h"
#include "service/local/webhooks/sealed.h"

namespace service {
namespace {

using base::ErrorCode;
using base::fail;
using domain::OperatorBinding;

constexpr std::string_view kIdCharacters =
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.:";
constexpr std::size_t kBindingIdChars = 128;

std::unexpected<base::Error> invalid(std::string message) {
    return std::unexpected(
        base::Error{ErrorCode::InvalidInput, std::move(message), "invalid_body"});
}

base::Status check_text(std::string_view name, std::string_view text,
                        std::size_t chars_max = kBindingTextChars) {
    if (base::trim(text).empty()) return invalid(fmt::format("{} is empty", name));
    if (text.size() > chars_max)
        return invalid(fmt::format("{} is longer than {} bytes", name, chars_max));
    // It is shown, and some of it is sent in headers.
    if (base::printable(text) != text || !base::is_utf8(text))
        return invalid(fmt::format("{} holds characters that cannot be printed", name));
    return {};
}
base::Status check_optional(std::string_view name, const std::optional<std::string>& text) {
    return text ? check_text(name, *text) : base::Status{};
}

base::Status check_metadata(const std::optional<json::value>& metadata) {
    if (metadata && base::json_text(*metadata).size() > kBindingMetadataBytes)
        return invalid(fmt::format("metadata is larger than {} bytes", kBindingMetadataBytes));
    return {};
}

base::Status check_url(const std::string& url) {
    TRY(check_text("delivery_callback_url", url, kBindingUrlChars));
    const bool is_http = url.starts_with("http://") || url.starts_with("https://");
    if (!is_http || url.contains(' ') || url.ends_with("//"))
        return invalid("delivery_callback_url is not an http or https address");
    return {};
}

base::Status check_request(const std::string& agent, const OperatorBindingRequest& request) {
    if (request.target_agent_id && *request.target_agent_id != agent)
        return invalid("target_agent_id is not the agent of this address");
    if (request.binding_id &&
        (request.binding_id->empty() || request.binding_id->size() > kBindingIdChars ||
         request.binding_id->find_first_not_of(kIdCharacters) != std::string::npos))
        return invalid(fmt::format(
            "binding_id has up to {} letters, digits and the characters _ - . :", kBindingIdChars));
    TRY(check_text("transport", request.transport));
    TRY(check_text("operator_actor_id", request.operator_actor_id));
    TRY(check_text("default_route_id", request.default_route_id));
    TRY(check_optional("provider", request.provider));
    TRY(check_optional("provider_identity_ref", request.provider_identity_ref));
    TRY(check_url(request.delivery_callback_url));
    TRY(check_metadata(request.metadata));
    if (request.delivery_auth.kind != domain::DeliveryAuthKind::Bearer)
        return fail(ErrorCode::InvalidInput,
                    "delivery_auth of kind hmac is not supported; use bearer with a bearer_token");
    if (!request.delivery_auth.bearer_token)
        return invalid("delivery_auth of kind bearer needs a bearer_token");
    TRY(check_optional("key_id", request.delivery_auth.key_id));
    return check_text("bearer_token", *request.delivery_auth.bearer_token, kBindingUrlChars);
}

// As it is shown and recorded.
OperatorBinding without_token(OperatorBinding binding) {
    binding.delivery_auth.bearer_token.reset();
    binding.sealed_token.reset();
    return binding;
}

base::Status put(events::Log& log, const OperatorBinding& binding) {
    TRY(log.tx().put_binding(binding));
    return log.append(binding.target_agent_id,
                      domain::events::OperatorTransportBindingUpserted{{without_token(binding)}});
}

std::unexpected<base::Error> not_bound(std::string_view why) {
    return std::unexpected(base::Error{ErrorCode::Refused,
                                       fmt::format("this message is not accepted: {}", why),
                                       "operator_binding_refused"});
}

// Does the binding vouch for this sender?
base::Status check_sender(const std::optional<OperatorBinding>& binding, const std::string& agent,
                          const OperatorIngressRequest& request) {
    if (!binding || binding->target_agent_id.value != agent)
        return not_bound("the binding does not exist for this agent");
    if (binding->status != domain::BindingStatus::Active)
        return not_bound(fmt::format("the binding is {}", base::enum_name(binding->status)));
    if (binding->operator_actor_id != request.actor_id)
        return not_bound("it is not from the operator of this binding");
    if (request.provider && *request.provider != binding->provider.value_or(binding->transport))
        return not_bound("it is not from the provider of this binding");
    return {};
}

json::object transport_of(const OperatorBinding& binding, const OperatorIngressRequest& request) {
    json::object transport{
        {"binding_id", binding.binding_id},
        {"transport", binding.transport},
        {"reply_route_id", request.reply_route_id.value_or(binding.default_route_id)}};
    const auto add = [&](std::string_view name, const std::optional<std::string>& text) {
        if (text) transport[name] = *text;
    };
    add("provider", binding.provider);
    add("provider_identity_ref", binding.provider_identity_ref);
    add("upstream_provider", request.upstream_provider);
    add("provider_message_ref", request.provider_message_ref);
    if (request.metadata) transport["metadata"] = *request.metadata;
    return transport;
}

}  // namespace

base::Result<OperatorBinding> LocalOperators::bind(const std::string& agent,
                                                   const OperatorBindingRequest& request,
                                                   const Caller& caller) {
    TRY(check_operator(caller));
    TRY(check_request(agent, request));
    if (!parts_.capabilities.is_available())
        return fail(ErrorCode::Unavailable, "this runtime has no key to store a token under");
    OperatorBinding made{.binding_id = request.binding_id.value_or("opbind_" + parts_.ids.hex32()),
                         .transport = request.transport,
                         .operator_actor_id = request.operator_actor_id,
                         .target_agent_id = {agent},
                         .default_route_id = request.default_route_id,
                         .delivery_callback_url = request.delivery_callback_url,
                         .delivery_auth = {.kind = request.delivery_auth.kind,
                                           .key_id = request.delivery_auth.key_id},
                         .capabilities = request.capabilities,
                         .provider = request.provider,
                         .provider_identity_ref = request.provider_identity_ref,
                         .metadata = request.metadata};
    made.sealed_token =
        seal(parts_.capabilities.key(), made.binding_id, *request.delivery_auth.bearer_token);
    TRY(parts_.transactions.write([&](events::Log& log) -> base::Status {
        TRY(known_agent(log.tx(), made.target_agent_id));
        const auto before = TRY(log.tx().binding(made.binding_id));
        if (before && before->target_agent_id != made.target_agent_id)
            return fail(ErrorCode::Conflict, "the binding {} belongs to another agent",
                        made.binding_id);
        if (!before && std::ssize(TRY(log.tx().bindings(
                           made.target_agent_id, notify::kBindingsMax))) >= notify::kBindingsMax)
            return fail(ErrorCode::Refused, "agent {} already has {} bindings", agent,
                        notify::kBindingsMax);
        made.created_at = before ? before->created_at : log.now();
        made.last_seen_at = before ? before->last_seen_at : std::nullopt;
        return put(log, made);
    }));
    made.sealed_token.reset();
    made.delivery_auth = request.delivery_auth;
    return made;
}

base::Result<std::vector<OperatorBinding>> LocalOperators::list(const std::string& agent) const {
    std::vector<OperatorBinding> shown;
    TRY(parts_.transactions.read([&](store::Tx& tx) -> base::Status {
        shown.clear();
        TRY(known_agent(tx, {agent}));
        for (auto& one : TRY(tx.bindings({agent}, notify::kBindingsMax)))
            shown.push_back(without_token(std::move(one)));
        return {};
    }));
    return shown;
}

base::Result<OperatorBinding> LocalOperators::revoke(const std::string& agent,
                                                     const std::string& binding,
                                                     const Caller& caller) {
    TRY(check_operator(caller));
    OperatorBinding revoked;
    TRY(parts_.transactions.write([&](events::Log& log) -> base::Status {
        auto found = TRY(log.tx().binding(binding));
        if (!found || found->target_agent_id.value != agent)
            return fail(ErrorCode::NotFound, "agent {} has no binding {}", base::printable(agent),
                        base::printable(binding));
        found->status = domain::BindingStatus::Revoked;
        found->sealed_token.reset();
        revoked = *found;
        return put(log, revoked);
    }));
    return revoked;
}

base::Result<std::string> LocalOperators::receive(const std::string& agent,
                                                  const OperatorIngressRequest& request,
                                                  const Caller& caller) {
    TRY(check_operator(caller));
    if (base::trim(request.text).empty()) return invalid("text is empty");
    TRY(check_text("actor_id", request.actor_id));
    TRY(check_optional("reply_route_id", request.reply_route_id));
    TRY(check_optional("upstream_provider", request.upstream_provider));
    TRY(check_optional("provider_message_ref", request.provider_message_ref));
    TRY(check_metadata(request.metadata));
    std::string message_id;
    TRY(parts_.transactions.write([&](events::Log& log) -> base::Status {
        auto binding = TRY(log.tx().binding(request.binding_id));
        TRY(known_agent(log.tx(), {agent}));
        TRY(check_sender(binding, agent, request));
        std::optional<std::string> dedupe_key;
        if (request.provider_message_ref)
            dedupe_key =
                fmt::format("operator:{}:{}", binding->binding_id, *request.provider_message_ref);
        const auto message = TRY(ingress::receive(
            {.agent_id = {agent},
             .kind = domain::MessageKind::OperatorPrompt,
             .origin = domain::OperatorOrigin{request.actor_id},
             .body = domain::TextBody{request.text},
             .surface = domain::DeliverySurface::RemoteOperatorTransport,
             .admission = domain::AdmissionContext::OperatorTransportAuthenticated,
             .priority = domain::Priority::Interject,
             .metadata =
                 json::object{{ingress::kOperatorTransport, transport_of(*binding, request)}},
             .correlation_id = request.correlation_id,
             .causation_id = request.causation_id,
             .dedupe_key = dedupe_key},
            log.now(), log.ids()));
        message_id = TRY(LocalDeliveries::admit(log, message, dedupe_key));
        binding->last_seen_at = log.now();
        return put(log, *binding);
    }));
    parts_.wake({agent});
    return message_id;
}

}  // namespace service
