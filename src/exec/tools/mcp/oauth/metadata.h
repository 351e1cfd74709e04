// What servers say about how to log in to them: challenges, the metadata of protected resources
// (RFC 9728) and of authorization servers (RFC 8414, OpenID Connect Discovery). Pure; nothing of it
// is believed beyond what is checked here.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace mcp {

// Of one document, and of one answer of a token endpoint.
inline constexpr std::size_t kOauthDocumentBytesMax = std::size_t{256} * 1024;
inline constexpr std::size_t kOauthWordBytesMax = std::size_t{16} * 1024;

// A WWW-Authenticate header.
struct Challenge {
    std::string resource_metadata;  // Where the metadata is, or empty.
    std::string scope;
    std::string error;
    friend bool operator==(const Challenge&, const Challenge&) = default;
};
Challenge parse_challenge(std::string_view header);

// May a credential go there? Over https; without it only on this machine, and only where the MCP
// server is on this machine, too: no remote server may direct a credential to a local port.
bool is_safe_endpoint(std::string_view url, std::string_view server_url);

// Where the metadata may be, the likeliest first.
std::vector<std::string> resource_metadata_urls(std::string_view server_url);
std::vector<std::string> issuer_metadata_urls(std::string_view issuer);
// Scheme, host and port.
std::string origin_of(std::string_view url);

struct Resource {
    std::string resource;  // What tokens are asked for.
    std::string issuer;    // The first authorization server.
    std::vector<std::string> scopes;
    bool is_guessed{false};  // The server publishes nothing.
    friend bool operator==(const Resource&, const Resource&) = default;
};
// Fails for the metadata of another resource, and for an authorization server at an unsafe address.
base::Result<Resource> parse_resource(std::string_view text, std::string_view server_url);

struct Issuer {
    std::string issuer;
    std::string authorization_endpoint;
    std::string token_endpoint;
    std::string registration_endpoint;  // Or empty.
    std::string revocation_endpoint;    // Or empty.
    bool takes_none{true};              // Clients without a secret.
    bool takes_basic{true};             // The client's secret as HTTP basic authentication.
    bool names_itself{false};           // Its redirects have `iss` (RFC 9207).
    bool has_offline_access{false};     // A scope that a refresh token needs at some.
    friend bool operator==(const Issuer&, const Issuer&) = default;
};
// How much the issuer of a document must be the one that was looked for. A server that publishes
// nothing about itself names none, and its own host is all that is known.
enum class IssuerMatch { Exact, SameOrigin };
// Fails unless the document is of `issuer`, all its endpoints are safe and it knows PKCE with S256.
base::Result<Issuer> parse_issuer(std::string_view text, std::string_view issuer,
                                  std::string_view server_url,
                                  IssuerMatch match = IssuerMatch::Exact);

// As the revision of 2025-03-26 has it for a server that publishes nothing: fixed paths.
Issuer default_issuer(std::string_view server_url);

// application/x-www-form-urlencoded, also for a query.
using Fields = std::vector<std::pair<std::string, std::string>>;
std::string form_encoded(const Fields& fields);
// The query of an address; the part after '?' and before '#'.
Fields query_of(std::string_view url);

}  // namespace mcp
