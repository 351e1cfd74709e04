#include "exec/tools/mcp/oauth/login.h"

#include <sys/random.h>

#include <algorithm>
#include <array>

#include "base/hash.h"
#include "base/plain_text.h"
#include "base/scan/engine/encodings.h"
#include "base/scan/secrets.h"
#include "base/text.h"
#include "exec/tools/mcp/oauth/metadata.h"
#include "exec/tools/mcp/wire/message.h"

namespace mcp {
namespace {

using base::ErrorCode;
using base::fail;

constexpr std::size_t kShownCharsMax = 200;
constexpr std::size_t kRandomBytes = 32;
constexpr std::size_t kScopeCharsMax = 1024;
constexpr std::string_view kOfflineAccess = "offline_access";

std::string shown(std::string_view text) {
    return base::printable(base::plain_text(text, kShownCharsMax));
}

std::string url_base64(std::string_view bytes) {
    auto text = scan::base64(bytes, scan::Alphabet::Url);
    while (text.ends_with('=')) text.pop_back();
    return text;
}

base::Result<std::string> random_word() {
    std::array<char, kRandomBytes> bytes{};
    // A request of up to 256 bytes is answered whole once the system's source is ready.
    if (::getrandom(bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size()))
        return base::fail_errno("make a random word");
    return url_base64({bytes.data(), bytes.size()});
}

provider::HttpRequest bounded(provider::HttpRequest request) {
    request.timeouts = {.connect = kOauthTimeout,
                        .first_byte = kOauthTimeout,
                        .idle = kOauthTimeout,
                        .total = kOauthTimeout};
    request.body_bytes_max = kOauthDocumentBytesMax;
    request.headers.push_back({"User-Agent", "holon/" HOLON_VERSION});
    return request;
}

// What the server says to somebody who is not logged in.
base::Result<Challenge> challenge_of(const config::McpServer& server, const Fetch& fetch) {
    provider::HttpRequest request{.url = server.url};
    request.headers = {{"Content-Type", "application/json"},
                       {"Accept", "application/json, text/event-stream"}};
    request.body = mcp::request(1, "initialize",
                                {{"protocolVersion", kProtocolVersions[0]},
                                 {"capabilities", json::object{}},
                                 {"clientInfo", client_info()}});
    const auto response = TRY(fetch(bounded(std::move(request))));
    const auto* header = provider::find_header(response.headers, "WWW-Authenticate");
    return header ? parse_challenge(*header) : Challenge{};
}

// The first of these documents that exists; nothing when none does.
base::Result<std::optional<std::string>> first_document(const std::vector<std::string>& urls,
                                                        const Fetch& fetch) {
    for (const auto& url : urls) {
        provider::HttpRequest request{.url = url, .method = provider::HttpMethod::Get};
        request.headers = {{"Accept", "application/json"}};
        auto response = TRY(fetch(bounded(std::move(request))));
        if (response.status == 200) return std::optional(std::move(response.body));
        if (response.status >= 300 && response.status < 400)
            return fail(ErrorCode::Refused,
                        "{} answers with a redirect (HTTP {}), which is not followed", shown(url),
                        response.status);
    }
    return std::optional<std::string>{};
}

base::Result<Resource> find_resource(const config::McpServer& server, const Challenge& challenge,
                                     const Fetch& fetch) {
    auto urls = resource_metadata_urls(server.url);
    if (!challenge.resource_metadata.empty()) {
        if (!is_safe_endpoint(challenge.resource_metadata, server.url))
            return fail(ErrorCode::Refused,
                        "it names {} as the place of its metadata, which is not reached by https",
                        shown(challenge.resource_metadata));
        urls = {challenge.resource_metadata};
    }
    const auto text = TRY(first_document(urls, fetch));
    if (text) return parse_resource(*text, server.url);
    // As servers of the revision of 2025-03-26 do it: the server is its own authorization server.
    const auto origin = origin_of(server.url);
    return Resource{.resource = server.url, .issuer = origin, .is_guessed = true};
}

base::Result<Issuer> find_issuer(const Resource& resource, const config::McpServer& server,
                                 const Fetch& fetch) {
    // It publishes no metadata of its own, and is its own authorization server.
    const bool is_own = resource.is_guessed;
    const auto text = TRY(first_document(issuer_metadata_urls(resource.issuer), fetch));
    if (!text && is_own) return default_issuer(server.url);
    if (!text)
        return fail(ErrorCode::NotFound,
                    "{} says nothing about how to log in; a token can be set with "
                    "mcp.servers.{}.headers",
                    shown(resource.issuer), server.name);
    return parse_issuer(*text, resource.issuer, server.url,
                        is_own ? IssuerMatch::SameOrigin : IssuerMatch::Exact);
}

// What the operator chose, else what the server wants now, else all that it knows.
std::string scope_for(const std::string& chosen, const config::McpServer& server,
                      const Challenge& challenge, const Resource& resource, const Issuer& issuer) {
    std::string scope = chosen.empty() ? server.oauth.scope : chosen;
    if (!scope.empty()) return scope;
    scope = challenge.scope.empty() ? fmt::format("{}", fmt::join(resource.scopes, " "))
                                    : challenge.scope;
    if (scope.size() > kScopeCharsMax || !base::is_plain(scope, kScopeCharsMax)) return "";
    if (!scope.empty() && issuer.has_offline_access && !scope.contains(kOfflineAccess))
        scope += fmt::format(" {}", kOfflineAccess);
    return scope;
}

base::Status enrol(Prepared& prepared, const Issuer& issuer, const config::McpServer& server,
                   const Fetch& fetch) {
    auto& grant = prepared.grant;
    if (!server.oauth.client_id.empty()) {
        grant.client_id = server.oauth.client_id;
        if (!server.oauth.client_secret.empty()) grant.client_secret = server.oauth.client_secret;
        grant.secret_in_body = !issuer.takes_basic;
        return {};
    }
    if (issuer.registration_endpoint.empty())
        return fail(ErrorCode::NotFound,
                    "{} registers no clients by itself; register one there with the redirect "
                    "address http://127.0.0.1/redirect, and set mcp.servers.{}.oauth.client_id",
                    shown(issuer.issuer), server.name);
    json::object client{
        {"client_name", "holon"},
        {"application_type", "native"},
        {"redirect_uris", json::array{prepared.redirect_uri}},
        {"grant_types", json::array{"authorization_code", "refresh_token"}},
        {"response_types", json::array{"code"}},
        {"token_endpoint_auth_method", issuer.takes_none    ? "none"
                                       : issuer.takes_basic ? "client_secret_basic"
                                                            : "client_secret_post"}};
    if (grant.scope) client["scope"] = *grant.scope;
    provider::HttpRequest request{.url = issuer.registration_endpoint};
    request.headers = {{"Content-Type", "application/json"}, {"Accept", "application/json"}};
    request.body = base::json_text(client);
    const auto response = TRY(fetch(bounded(std::move(request))));
    const auto answer = base::parse_json(response.body);
    if (response.status / 100 != 2 || !answer || base::string_at(*answer, "client_id").empty())
        return fail(ErrorCode::Refused,
                    "{} did not register holon (HTTP {}); register a client there, and set "
                    "mcp.servers.{}.oauth.client_id",
                    shown(issuer.issuer), response.status, server.name);
    grant.client_id = base::string_at(*answer, "client_id");
    const auto secret = base::string_at(*answer, "client_secret");
    const auto method = base::string_at(*answer, "token_endpoint_auth_method");
    if (!secret.empty() && method != "none") {
        grant.client_secret = secret;
        grant.secret_in_body = method == "client_secret_post" || !issuer.takes_basic;
    }
    return {};
}

std::string authorization_url(const Prepared& prepared, const Issuer& issuer) {
    const auto& grant = prepared.grant;
    Fields fields{{"response_type", "code"},
                  {"client_id", grant.client_id},
                  {"redirect_uri", prepared.redirect_uri},
                  {"code_challenge", code_challenge(prepared.verifier)},
                  {"code_challenge_method", "S256"},
                  {"state", prepared.state},
                  {"resource", grant.resource}};
    if (grant.scope) fields.emplace_back("scope", *grant.scope);
    if (grant.scope && grant.scope->contains(kOfflineAccess))
        fields.emplace_back("prompt", "consent");
    const char joint = issuer.authorization_endpoint.contains('?') ? '&' : '?';
    return issuer.authorization_endpoint + joint + form_encoded(fields);
}

std::string field_of(const Fields& fields, std::string_view name) {
    const auto found = std::ranges::find(fields, name, &Fields::value_type::first);
    return found == fields.end() ? "" : found->second;
}

}  // namespace

std::string code_challenge(std::string_view verifier) {
    return url_base64(scan::decode_hex(base::sha256_hex(verifier), kRandomBytes));
}

base::Result<Prepared> prepare(const config::McpServer& server, const std::string& scope,
                               const std::string& redirect_uri, const Fetch& fetch) {
    if (!is_safe_endpoint(server.url, server.url))
        return fail(ErrorCode::Refused,
                    "{} is not reached by https, so that a token could be read on the way",
                    server.name);
    const auto challenge = TRY(challenge_of(server, fetch));
    const auto resource = TRY(find_resource(server, challenge, fetch));
    const auto issuer = TRY(find_issuer(resource, server, fetch));
    Prepared prepared{.grant = {.url = server.url,
                                .issuer = issuer.issuer,
                                .token_endpoint = issuer.token_endpoint,
                                .resource = resource.resource},
                      .redirect_uri = redirect_uri,
                      .state = TRY(random_word()),
                      .verifier = TRY(random_word()),
                      .issuer_names_itself = issuer.names_itself};
    if (!issuer.revocation_endpoint.empty())
        prepared.grant.revocation_endpoint = issuer.revocation_endpoint;
    if (auto wanted = scope_for(scope, server, challenge, resource, issuer); !wanted.empty())
        prepared.grant.scope = std::move(wanted);
    TRY(enrol(prepared, issuer, server, fetch));
    scan::know({prepared.verifier, prepared.grant.client_secret.value_or("")});
    prepared.authorization_url = authorization_url(prepared, issuer);
    return prepared;
}

bool is_answer(const Prepared& prepared, std::string_view redirected) {
    return base::equal_in_constant_time(field_of(query_of(redirected), "state"), prepared.state);
}

base::Result<Grant> redeem(const Prepared& prepared, std::string_view redirected,
                           const Fetch& fetch, base::Time now) {
    const auto fields = query_of(redirected);
    if (!is_answer(prepared, redirected))
        return fail(ErrorCode::Refused, "this address does not belong to this login");
    const auto issuer = field_of(fields, "iss");
    if (issuer.empty() ? prepared.issuer_names_itself : issuer != prepared.grant.issuer)
        return fail(ErrorCode::Refused,
                    "the answer is of another authorization server, {}; nothing was sent to it",
                    issuer.empty() ? "which it does not name" : shown(issuer));
    if (const auto error = field_of(fields, "error"); !error.empty())
        return fail(ErrorCode::Refused, "the authorization server refused: {} {}", shown(error),
                    shown(field_of(fields, "error_description")));
    const auto code = field_of(fields, "code");
    if (code.empty()) return fail(ErrorCode::InvalidInput, "the address has no code");
    scan::know({code});
    const auto response = TRY(fetch(token_request(prepared.grant, prepared.grant.token_endpoint,
                                                  {{"grant_type", "authorization_code"},
                                                   {"code", code},
                                                   {"redirect_uri", prepared.redirect_uri},
                                                   {"code_verifier", prepared.verifier},
                                                   {"resource", prepared.grant.resource}})));
    return with_tokens(prepared.grant, response, now);
}

void revoke(const Grant& grant, const Fetch& fetch) {
    if (!grant.revocation_endpoint) return;
    const auto token = grant.refresh_token.value_or(grant.access_token);
    std::ignore = fetch(token_request(grant, *grant.revocation_endpoint, {{"token", token}}));
}

}  // namespace mcp
