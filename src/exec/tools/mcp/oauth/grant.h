// A login to one MCP server, as it is kept in credentials.json, and the requests that make and
// renew it.
//
// Tokens are secrets: they are in no message, no log and no error, and they are sent only to the
// server (its address is part of the login) and to the token endpoint.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "base/result.h"
#include "base/time.h"
#include "base/typed.h"
#include "provider/http/http_client.h"

namespace mcp {

// How long before its end a token is renewed.
inline constexpr std::chrono::seconds kRenewBefore{30};
// For one request to an authorization server.
inline constexpr std::chrono::milliseconds kOauthTimeout{30'000};

struct Grant {
    std::string url;  // Of the MCP server.
    std::string issuer;
    std::string token_endpoint;
    std::string resource;
    std::string client_id;
    std::string access_token;
    std::optional<std::string> revocation_endpoint{};
    std::optional<std::string> client_secret{};
    bool secret_in_body{false};  // Instead of HTTP basic authentication.
    std::optional<std::string> refresh_token{};
    std::optional<std::string> scope{};
    std::optional<base::Time> expires_at{};
    friend bool operator==(const Grant&, const Grant&) = default;
};
BOOST_DESCRIBE_STRUCT(Grant, (),
                      (url, issuer, token_endpoint, resource, client_id, access_token,
                       revocation_endpoint, client_secret, secret_in_body, refresh_token, scope,
                       expires_at))

// Has the token ended, or will it soon?
bool is_stale(const Grant& grant, base::Time now);

// The profile of a server in credentials.json.
std::string grant_profile(const std::string& server);

// Nothing when there is no login. Its tokens are kept out of everything that is written from now
// on.
base::Result<std::optional<Grant>> load_grant(const std::filesystem::path& home,
                                              const std::string& server);
base::Status save_grant(const std::filesystem::path& home, const std::string& server,
                        const Grant& grant);
// False when there was none.
base::Result<bool> remove_grant(const std::filesystem::path& home, const std::string& server);

// A request to a token endpoint: `fields`, and who we are.
provider::HttpRequest token_request(const Grant& grant, const std::string& endpoint,
                                    std::vector<std::pair<std::string, std::string>> fields);
provider::HttpRequest renewal_request(const Grant& grant);
// The login with the tokens of this answer. A refresh token that it does not replace stays.
base::Result<Grant> with_tokens(Grant grant, const provider::HttpResponse& response,
                                base::Time now);

}  // namespace mcp
