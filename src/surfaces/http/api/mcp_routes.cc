// MCP servers: what they ask the operator, and the prompts that they offer.
#include "service/mcp.h"
#include "surfaces/http/api/answers.h"
#include "surfaces/http/api/bodies.h"
#include "surfaces/http/api/handlers.h"

namespace http_surface::mcp_servers {
namespace {

base::Result<service::McpLive*> servers_of(const Context& context) {
    if (context.mcp) return context.mcp;
    return std::unexpected(base::Error{base::ErrorCode::Unavailable,
                                       "this runtime has no MCP servers", "not_supported"});
}

}  // namespace

Answer questions(const Context& context, const Request&) {
    return json_response(base::to_json(TRY(TRY(servers_of(context))->questions())));
}

Answer answer(const Context& context, const Request& request) {
    const auto body = TRY(body_of<service::McpAnswer>(request, base::Unknown::Reject));
    TRY(TRY(servers_of(context))->answer(request.params.find("question_id")->second, body));
    return json_response(base::to_json(Ok{}));
}

Answer prompts(const Context& context, const Request&) {
    return json_response(base::to_json(TRY(TRY(servers_of(context))->prompts())));
}

Answer expand(const Context& context, const Request& request) {
    const auto body = TRY(body_of<service::McpPromptRequest>(request, base::Unknown::Reject));
    return json_response(base::to_json(TRY(TRY(servers_of(context))->expand(body))));
}

}  // namespace http_surface::mcp_servers
