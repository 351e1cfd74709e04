#include "surfaces/http/api/handlers.h"

#include <unistd.h>

#include "surfaces/http/api/answers.h"
#include "surfaces/http/api/openapi.h"

namespace http_surface::runtime {
namespace {

RuntimeStatus facts_of(const Context& context) {
    const auto& facts = context.facts;
    RuntimeStatus status{.pid = ::getpid(),
                         .home_dir = facts.home_dir,
                         .http_addr = facts.http_addr,
                         .started_at = facts.started_at,
                         .config_fingerprint = facts.config_fingerprint};
    if (context.options.socket_path) status.socket_path = context.options.socket_path->string();
    if (!facts.startup_surface.empty()) status.startup_surface = facts.startup_surface;
    if (!facts.runtime_surface.empty()) status.runtime_surface = facts.runtime_surface;
    return status;
}

}  // namespace

Answer handshake(const Context& context, const Request& request) {
    const auto& facts = context.facts;
    Handshake shake{.auth = {.mode = request.peer.token_required ? "bearer" : "local",
                             .required = request.peer.token_required},
                    .runtime = {.default_agent = facts.default_agent,
                                .workspace_dir = facts.workspace_dir,
                                .home_dir = facts.home_dir,
                                .listen = facts.http_addr}};
    if (!request.peer.is_unix) shake.runtime.advertise_url = facts.advertise_url;
    return json_response(base::to_json(shake));
}

Answer status(const Context& context, const Request&) {
    auto status = facts_of(context);
    auto activity = TRY(context.service.activity());
    // The last failure is shown next to the counts.
    if (const auto* failure = base::find(activity, "last_failure")) {
        if (!failure->is_null()) status.last_failure = *failure;
        activity.erase("last_failure");
    }
    status.activity = std::move(activity);
    return json_response(base::to_json(status));
}

Answer readiness(const Context& context, const Request&) {
    return json_response(base::to_json(facts_of(context)));
}

Answer shutdown(const Context& context, const Request&) {
    if (!context.request_shutdown)
        return std::unexpected(base::Error{base::ErrorCode::Unavailable,
                                           "this runtime is embedded and ends with its program",
                                           "not_supported"});
    context.request_shutdown();
    return json_response(
        base::to_json(ShutdownRequested{.pid = ::getpid(), .home_dir = context.facts.home_dir}));
}

Answer metrics(const Context& context, const Request&) {
    return Response{.body = context.metrics_text(),
                    .content_type = "text/plain; version=0.0.4; charset=utf-8"};
}

Answer healthz(const Context&, const Request&) {
    return json_response(base::to_json(Ok{}));
}

// Ready means that the runtime does its work, not only that this process lives.
Answer readyz(const Context& context, const Request&) {
    if (auto ready = context.service.ready(); !ready) {
        ready.error().code = base::ErrorCode::Unavailable;
        return std::unexpected(ready.error());
    }
    return json_response(base::to_json(Ok{}));
}

Answer openapi(const Context&, const Request&) {
    static const std::string text = base::json_text(openapi_document(routes()));
    return Response{.body = text};
}

}  // namespace http_surface::runtime
