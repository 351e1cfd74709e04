#include "exec/tools/mcp/oauth/metadata.h"

#include <algorithm>

#include "base/json.h"
#include "base/plain_text.h"
#include "base/text.h"
#include "exec/tools/web_tools/url.h"

namespace mcp {
namespace {

using base::ErrorCode;
using base::fail;

constexpr std::size_t kShownCharsMax = 200;
constexpr std::size_t kScopesMax = 64;
constexpr std::string_view kResourcePlace = "/.well-known/oauth-protected-resource";
constexpr std::string_view kIssuerPlace = "/.well-known/oauth-authorization-server";
constexpr std::string_view kOpenIdPlace = "/.well-known/openid-configuration";

std::string shown(std::string_view text) {
    return base::printable(base::plain_text(text, kShownCharsMax));
}

// Names such as 127.example.com begin like an address and lead anywhere.
bool is_loopback(const web_tools::Url& url) {
    const bool is_address = url.host.find_first_not_of("0123456789.") == std::string::npos;
    return url.host == "localhost" || url.host == "::1" ||
           (is_address && url.host.starts_with("127."));
}

// The path without its last slash; empty for the root.
std::string path_of(std::string_view url) {
    const auto origin = origin_of(url);
    if (origin.empty()) return "";
    const auto parsed = web_tools::parse_url(url);
    const auto begin = parsed->text.find('/', parsed->scheme.size() + 3);
    if (begin == parsed->text.npos) return "";
    std::string path = parsed->text.substr(begin, parsed->text.find('?', begin) - begin);
    while (path.ends_with('/')) path.pop_back();
    return path;
}

std::string lower(std::string_view text) {
    std::string copy(text);
    std::ranges::transform(copy, copy.begin(), [](char c) {
        return c >= 'A' && c <= 'Z' ? static_cast<char>(c + ('a' - 'A')) : c;
    });
    return copy;
}

std::string_view without_blanks(std::string_view text) {
    while (!text.empty() && (text.front() == ' ' || text.front() == '\t' || text.front() == ','))
        text.remove_prefix(1);
    return text;
}

// One word or quoted text at the front, taken off.
std::string taken_value(std::string_view& rest) {
    std::string value;
    if (!rest.starts_with('"')) {
        const auto end = std::min(rest.find_first_of(", \t"), rest.size());
        value = rest.substr(0, end);
        rest.remove_prefix(end);
        return value;
    }
    rest.remove_prefix(1);
    while (!rest.empty() && rest.front() != '"') {
        if (rest.front() == '\\' && rest.size() > 1) rest.remove_prefix(1);
        value += rest.front();
        rest.remove_prefix(1);
    }
    if (!rest.empty()) rest.remove_prefix(1);
    return value;
}

base::Result<json::object> document_of(std::string_view text, std::string_view what) {
    const auto parsed = base::parse_json(text);
    if (!parsed || !parsed->is_object())
        return fail(ErrorCode::InvalidInput, "the {} is no JSON object", what);
    return parsed->get_object();
}

std::vector<std::string> words_at(const json::object& document, std::string_view name) {
    std::vector<std::string> words;
    const auto* list = base::find(document, name);
    if (!list || !list->is_array()) return words;
    for (const auto& word : list->get_array())
        if (word.is_string() && words.size() < kScopesMax) words.emplace_back(word.get_string());
    return words;
}

bool has(const std::vector<std::string>& words, std::string_view word) {
    return std::ranges::find(words, word) != words.end();
}

// An endpoint, checked; empty when it is not there.
base::Result<std::string> endpoint_at(const json::object& document, std::string_view name,
                                      std::string_view server_url) {
    std::string url = base::string_at(json::value(document), name);
    if (!url.empty() && !is_safe_endpoint(url, server_url))
        return fail(ErrorCode::Refused,
                    "its authorization server names the {} {}, which is not reached by https", name,
                    shown(url));
    return url;
}

// Is `resource` the server or a part of its address that holds it?
bool covers(std::string_view resource, std::string_view server_url) {
    if (origin_of(resource).empty() || origin_of(resource) != origin_of(server_url)) return false;
    const auto path = path_of(resource);
    const auto inner = path_of(server_url);
    return inner == path || inner.starts_with(path + "/");
}

bool is_plain_byte(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '.' || c == '_' || c == '~';
}

int hex_digit(char c) {
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    if (c >= 'A' && c <= 'F') return c - 'A' + 10;
    return -1;
}

std::string decoded(std::string_view text) {
    std::string out;
    for (std::size_t i = 0; i < text.size(); ++i) {
        const bool is_escape = text[i] == '%' && i + 2 < text.size() &&
                               hex_digit(text[i + 1]) >= 0 && hex_digit(text[i + 2]) >= 0;
        if (is_escape) {
            out += static_cast<char>(hex_digit(text[i + 1]) * 16 + hex_digit(text[i + 2]));
            i += 2;
        } else {
            out += text[i] == '+' ? ' ' : text[i];
        }
    }
    return out;
}

}  // namespace

Challenge parse_challenge(std::string_view header) {
    Challenge challenge;
    header = header.substr(0, kOauthWordBytesMax);
    const auto scheme = lower(header).find("bearer");
    if (scheme == std::string::npos) return challenge;
    std::string_view rest =
        without_blanks(header.substr(scheme + std::string_view("bearer").size()));
    while (!rest.empty()) {
        const auto equals = rest.find('=');
        if (equals == rest.npos) break;
        const std::string name = lower(base::trim(rest.substr(0, equals)));
        rest.remove_prefix(equals + 1);
        std::string value = taken_value(rest);
        if (name == "resource_metadata") challenge.resource_metadata = value;
        if (name == "scope") challenge.scope = value;
        if (name == "error") challenge.error = value;
        rest = without_blanks(rest);
    }
    return challenge;
}

std::string origin_of(std::string_view url) {
    const auto parsed = web_tools::parse_url(url);
    if (!parsed) return "";
    const bool is_usual = parsed->port == (parsed->scheme == "https" ? 443 : 80);
    const std::string host = parsed->host.contains(':') ? "[" + parsed->host + "]" : parsed->host;
    return fmt::format("{}://{}{}", parsed->scheme, host,
                       is_usual ? "" : fmt::format(":{}", parsed->port));
}

bool is_safe_endpoint(std::string_view url, std::string_view server_url) {
    const auto parsed = web_tools::parse_url(url);
    const auto server = web_tools::parse_url(server_url);
    if (!parsed || !server) return false;
    if (is_loopback(*parsed)) return is_loopback(*server);
    return parsed->scheme == "https";
}

std::vector<std::string> resource_metadata_urls(std::string_view server_url) {
    const auto origin = origin_of(server_url);
    if (origin.empty()) return {};
    std::vector<std::string> urls;
    if (const auto path = path_of(server_url); !path.empty())
        urls.push_back(fmt::format("{}{}{}", origin, kResourcePlace, path));
    urls.push_back(fmt::format("{}{}", origin, kResourcePlace));
    return urls;
}

std::vector<std::string> issuer_metadata_urls(std::string_view issuer) {
    const auto origin = origin_of(issuer);
    const auto path = path_of(issuer);
    if (origin.empty()) return {};
    if (path.empty())
        return {fmt::format("{}{}", origin, kIssuerPlace),
                fmt::format("{}{}", origin, kOpenIdPlace)};
    return {fmt::format("{}{}{}", origin, kIssuerPlace, path),
            fmt::format("{}{}{}", origin, kOpenIdPlace, path),
            fmt::format("{}{}{}", origin, path, kOpenIdPlace)};
}

base::Result<Resource> parse_resource(std::string_view text, std::string_view server_url) {
    const auto document = TRY(document_of(text, "metadata of the server"));
    Resource resource{.resource = base::string_at(json::value(document), "resource"),
                      .scopes = words_at(document, "scopes_supported")};
    if (!covers(resource.resource, server_url))
        return fail(ErrorCode::Refused,
                    "its metadata is of another resource, {}; nothing was sent to it",
                    shown(resource.resource));
    const auto issuers = words_at(document, "authorization_servers");
    if (issuers.empty())
        return fail(ErrorCode::InvalidInput, "its metadata names no authorization server");
    resource.issuer = issuers.front();
    if (!is_safe_endpoint(resource.issuer, server_url))
        return fail(ErrorCode::Refused,
                    "its metadata names the authorization server {}, which is not reached by https",
                    shown(resource.issuer));
    return resource;
}

base::Result<Issuer> parse_issuer(std::string_view text, std::string_view issuer,
                                  std::string_view server_url, IssuerMatch match) {
    const auto document = TRY(document_of(text, "metadata of the authorization server"));
    const json::value value(document);
    Issuer found{
        .issuer = base::string_at(value, "issuer"),
        .names_itself = base::bool_at(value, "authorization_response_iss_parameter_supported"),
        .has_offline_access = has(words_at(document, "scopes_supported"), "offline_access")};
    const bool is_it =
        match == IssuerMatch::Exact
            ? found.issuer == issuer
            : !origin_of(issuer).empty() && origin_of(found.issuer) == origin_of(issuer);
    if (!is_it)
        return fail(ErrorCode::Refused,
                    "the authorization server {} says that it is another one, {}", shown(issuer),
                    shown(found.issuer));
    found.authorization_endpoint = TRY(endpoint_at(document, "authorization_endpoint", server_url));
    found.token_endpoint = TRY(endpoint_at(document, "token_endpoint", server_url));
    found.registration_endpoint = TRY(endpoint_at(document, "registration_endpoint", server_url));
    found.revocation_endpoint = TRY(endpoint_at(document, "revocation_endpoint", server_url));
    if (found.authorization_endpoint.empty() || found.token_endpoint.empty())
        return fail(ErrorCode::InvalidInput,
                    "the authorization server {} names no authorization or token endpoint",
                    shown(issuer));
    if (!has(words_at(document, "code_challenge_methods_supported"), "S256"))
        return fail(ErrorCode::Refused,
                    "the authorization server {} does not promise PKCE with S256, without which a "
                    "login could be stolen",
                    shown(issuer));
    const auto methods = words_at(document, "token_endpoint_auth_methods_supported");
    found.takes_none = methods.empty() || has(methods, "none");
    found.takes_basic = methods.empty() || has(methods, "client_secret_basic");
    return found;
}

Issuer default_issuer(std::string_view server_url) {
    const auto origin = origin_of(server_url);
    return {.issuer = origin,
            .authorization_endpoint = origin + "/authorize",
            .token_endpoint = origin + "/token",
            .registration_endpoint = origin + "/register"};
}

std::string form_encoded(const Fields& fields) {
    std::string text;
    const auto add = [&text](std::string_view part) {
        for (const char c : part)
            text += is_plain_byte(c) ? std::string(1, c)
                                     : fmt::format("%{:02X}", static_cast<unsigned char>(c));
    };
    for (const auto& [name, value] : fields) {
        if (!text.empty()) text += '&';
        add(name);
        text += '=';
        add(value);
    }
    return text;
}

Fields query_of(std::string_view url) {
    Fields fields;
    url = url.substr(0, std::min(url.find('#'), kOauthWordBytesMax));
    const auto begin = url.find('?');
    if (begin == url.npos) return fields;
    std::string_view rest = url.substr(begin + 1);
    while (!rest.empty()) {
        const auto end = std::min(rest.find('&'), rest.size());
        const auto pair = rest.substr(0, end);
        const auto equals = std::min(pair.find('='), pair.size());
        fields.emplace_back(decoded(pair.substr(0, equals)),
                            decoded(pair.substr(std::min(equals + 1, pair.size()))));
        rest.remove_prefix(std::min(end + 1, rest.size()));
    }
    return fields;
}

}  // namespace mcp
