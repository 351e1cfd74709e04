#include "surfaces/http/api/answers.h"
#include "surfaces/http/api/bodies.h"
#include "surfaces/http/api/handlers.h"

// The transports by which operators talk to agents.
namespace http_surface::controls {
namespace {

template <class T>
Response operator_answer(const T& body) {
    return json_response(base::to_json(body));
}

}  // namespace

Answer operator_bindings(const Context& context, const Request& request) {
    const auto agent = TRY(agent_of(context, request));
    return operator_answer(TRY(context.service.operator_bindings(agent)));
}

Answer bind_operator(const Context& context, const Request& request) {
    const auto agent = TRY(agent_of(context, request));
    const auto body = TRY(body_of<service::OperatorBindingRequest>(request, base::Unknown::Reject));
    auto binding = TRY(context.service.bind_operator(agent, body, caller_of(request)));
    return operator_answer(Bound{.agent_id = agent, .binding = std::move(binding)});
}

Answer revoke_operator_binding(const Context& context, const Request& request) {
    const auto agent = TRY(agent_of(context, request));
    TRY(body_of<TrustBody>(request, base::Unknown::Reject));
    const auto& binding = request.params.find("binding_id")->second;
    return operator_answer(
        TRY(context.service.revoke_operator_binding(agent, binding, caller_of(request))));
}

Answer operator_ingress(const Context& context, const Request& request) {
    const auto agent = TRY(agent_of(context, request));
    const auto body = TRY(body_of<service::OperatorIngressRequest>(request, base::Unknown::Reject));
    auto id = TRY(context.service.operator_ingress(agent, body, caller_of(request)));
    return operator_answer(Delivered{.agent_id = agent, .message_id = std::move(id)});
}

}  // namespace http_surface::controls
