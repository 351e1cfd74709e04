// Logging in to a server: OAuth 2.1 with an authorization code and PKCE.
//
// prepare() finds out where and as whom, and makes the address that a person opens in a browser;
// redeem() makes a login of the address that the browser comes back to. Both block, and send
// nothing but through `fetch`, which must not follow redirects.
#pragma once

#include <functional>

#include "base/time.h"
#include "config/sections/mcp.h"
#include "exec/tools/mcp/oauth/grant.h"

namespace mcp {

using Fetch = std::function<base::Result<provider::HttpResponse>(provider::HttpRequest)>;

struct Prepared {
    Grant grant;  // Without tokens yet.
    std::string authorization_url;
    std::string redirect_uri;
    std::string state;
    std::string verifier;  // A secret until it is redeemed.
    bool issuer_names_itself{false};
};

// `redirect_uri` is on this machine. An empty `scope` is what the server asks for.
base::Result<Prepared> prepare(const config::McpServer& server, const std::string& scope,
                               const std::string& redirect_uri, const Fetch& fetch);

// Does this address answer to this login? Anybody can call the port that we listen on.
bool is_answer(const Prepared& prepared, std::string_view redirected);

// Refused when the operator or the authorization server said no.
base::Result<Grant> redeem(const Prepared& prepared, std::string_view redirected,
                           const Fetch& fetch, base::Time now);

// Asks the authorization server to forget the tokens, where it can. Best effort.
void revoke(const Grant& grant, const Fetch& fetch);

// The challenge of PKCE for a verifier.
std::string code_challenge(std::string_view verifier);

}  // namespace mcp
