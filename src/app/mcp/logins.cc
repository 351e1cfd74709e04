#include "app/mcp/logins.h"

#include <algorithm>

#include "base/os/asio_loop.h"
#include "base/text.h"
#include "config/credentials_lock.h"
#include "exec/tools/mcp/oauth/authorizer.h"
#include "exec/tools/mcp/oauth/listener.h"
#include "exec/tools/mcp/oauth/login.h"

namespace app {
namespace {

using base::ErrorCode;
using base::fail;

// One request after the other, each with a loop of its own; redirects are not followed.
mcp::Fetch fetch_with(provider::HttpOptions options) {
    return [options = std::move(options)](
               provider::HttpRequest request) -> base::Result<provider::HttpResponse> {
        base::AsioLoop loop;
        provider::HttpClient client(loop, options);
        const auto url = provider::public_url(request.url);
        std::optional<provider::HttpOutcome> outcome;
        const auto exchange = client.send(std::move(request), {}, [&](provider::HttpOutcome ended) {
            outcome = std::move(ended);
            loop.stop();
        });
        loop.run();
        if (!*outcome)
            return fail(ErrorCode::Unavailable, "{} could not be used: {}", url,
                        base::printable(outcome->error().message));
        return std::move(**outcome);
    };
}

bool has_credential_header(const config::McpServer& server) {
    return std::ranges::any_of(server.headers, [](const auto& header) {
        return provider::find_header({{header.first, header.second}}, "Authorization") != nullptr;
    });
}

}  // namespace

base::Result<const config::McpServer*> McpLogins::find(const std::string& server) const {
    const auto found = std::ranges::find(config_.mcp_servers, server, &config::McpServer::name);
    if (found == config_.mcp_servers.end())
        return fail(ErrorCode::NotFound,
                    "there is no MCP server '{}'; holon mcp status lists all, and holon config set "
                    "mcp.servers.<name>.url adds one",
                    base::printable(server));
    return &*found;
}

base::Result<service::McpAccess> McpLogins::access_of(const config::McpServer& server) {
    service::McpAccess access{
        .server = server.name,
        .address = server.url.empty() ? server.command : provider::public_url(server.url),
        .state = "local"};
    if (server.url.empty()) return access;
    access.state = "logged_out";
    if (has_credential_header(server)) {
        access.state = "headers";
        return access;
    }
    const auto grant = TRY(mcp::load_grant(config_.home, server.name));
    // A login is for one address.
    if (!grant || grant->url != server.url) return access;
    const bool renews = grant->refresh_token.has_value();
    access.state = !renews && mcp::is_stale(*grant, clock_.now()) ? "expired" : "logged_in";
    access.issuer = grant->issuer;
    access.scope = grant->scope;
    access.expires_at = grant->expires_at;
    access.renews = renews;
    return access;
}

base::Result<std::vector<service::McpAccess>> McpLogins::status() {
    std::vector<service::McpAccess> list;
    for (const auto& server : config_.mcp_servers) list.push_back(TRY(access_of(server)));
    return list;
}

base::Result<service::McpAccess> McpLogins::login(const service::McpLogin& login) {
    const auto& server = *TRY(find(login.server));
    if (server.url.empty())
        return fail(ErrorCode::InvalidInput,
                    "{} is a program of this machine; it gets what it needs by "
                    "mcp.servers.{}.env",
                    server.name, server.name);
    if (!server.fault.empty()) return fail(ErrorCode::InvalidInput, "{}", server.fault);
    const auto fetch = fetch_with({.ca_file = config_.tls_ca_file});
    auto listener = TRY(mcp::Listener::open(static_cast<int>(server.oauth.callback_port)));
    const auto prepared = TRY(mcp::prepare(server, login.scope, listener.redirect_uri(), fetch));
    login.show(prepared.authorization_url, prepared.redirect_uri);
    const auto redirected = TRY(listener.wait(
        login.in, service::kMcpLoginPatience,
        [&](std::string_view url) { return mcp::is_answer(prepared, url); }, login.on_refused));
    const auto grant = TRY(mcp::redeem(prepared, redirected, fetch, clock_.now()));
    const auto lock = TRY(config::lock_credentials(config_.home));
    TRY(mcp::save_grant(config_.home, server.name, grant));
    return access_of(server);
}

base::Result<bool> McpLogins::logout(const std::string& server) {
    TRY(find(server));
    const auto lock = TRY(config::lock_credentials(config_.home));
    // A login that cannot be read is removed all the same.
    const auto grant = mcp::load_grant(config_.home, server);
    const bool was_there = TRY(mcp::remove_grant(config_.home, server));
    if (grant && *grant) mcp::revoke(**grant, fetch_with({.ca_file = config_.tls_ca_file}));
    return was_there;
}

}  // namespace app
