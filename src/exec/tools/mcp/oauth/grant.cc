#include "exec/tools/mcp/oauth/grant.h"

#include <algorithm>

#include "base/plain_text.h"
#include "base/scan/engine/encodings.h"
#include "base/scan/secrets.h"
#include "base/text.h"
#include "config/stored.h"
#include "exec/tools/mcp/oauth/metadata.h"

namespace mcp {
namespace {

using base::ErrorCode;
using base::fail;

constexpr std::size_t kShownCharsMax = 200;
constexpr std::int64_t kLifetimeMaxS = 10LL * 365 * 24 * 3600;

// What a header can hold. Anything else would let a server write headers of ours.
bool is_token(std::string_view text) {
    return !text.empty() && text.size() <= kOauthWordBytesMax &&
           std::ranges::all_of(text, [](char c) { return c >= 0x21 && c <= 0x7e; });
}

void know(const Grant& grant) {
    scan::know(
        {grant.access_token, grant.refresh_token.value_or(""), grant.client_secret.value_or("")});
}

// Why a token endpoint refused, in its words.
base::Error refusal_of(const provider::HttpResponse& response) {
    const auto body = base::parse_json(response.body);
    std::string why = fmt::format("HTTP {}", response.status);
    if (body && body->is_object())
        for (const char* name : {"error", "error_description"})
            if (const auto text = base::string_at(*body, name); !text.empty())
                why += ", " + base::printable(base::plain_text(text, kShownCharsMax));
    return {ErrorCode::Refused, "the authorization server gave no token: " + why};
}

}  // namespace

bool is_stale(const Grant& grant, base::Time now) {
    return grant.expires_at && *grant.expires_at - kRenewBefore <= now;
}

std::string grant_profile(const std::string& server) {
    return "mcp:" + server;
}

base::Result<std::optional<Grant>> load_grant(const std::filesystem::path& home,
                                              const std::string& server) {
    const auto file = TRY(config::read_credentials(home));
    const auto found = file.profiles.find(grant_profile(server));
    if (found == file.profiles.end()) return std::optional<Grant>{};
    const auto parsed = base::parse_json(found->second.material);
    auto grant = parsed ? base::from_json<Grant>(*parsed, base::Unknown::Ignore)
                        : base::Result<Grant>(std::unexpected(parsed.error()));
    // Its text may hold a token, so that no error quotes it.
    if (!grant || !is_token(grant->access_token))
        return fail(ErrorCode::InvalidInput,
                    "the login to {} cannot be read; log in again: holon mcp login {}", server,
                    server);
    know(*grant);
    return std::optional(std::move(*grant));
}

base::Status save_grant(const std::filesystem::path& home, const std::string& server,
                        const Grant& grant) {
    know(grant);
    auto file = TRY(config::read_credentials(home));
    file.profiles[grant_profile(server)] = {
        .kind = config::kind_text(config::CredentialKind::OAuth),
        .material = base::json_text(base::to_json(grant))};
    return config::write_credentials(home, file);
}

base::Result<bool> remove_grant(const std::filesystem::path& home, const std::string& server) {
    auto file = TRY(config::read_credentials(home));
    if (file.profiles.erase(grant_profile(server)) == 0) return false;
    TRY(config::write_credentials(home, file));
    return true;
}

provider::HttpRequest token_request(const Grant& grant, const std::string& endpoint,
                                    std::vector<std::pair<std::string, std::string>> fields) {
    provider::HttpRequest request{.url = endpoint};
    request.headers = {{"Content-Type", "application/x-www-form-urlencoded"},
                       {"Accept", "application/json"},
                       {"User-Agent", "holon/" HOLON_VERSION}};
    if (grant.client_secret && !grant.secret_in_body) {
        const auto encoded = [](const std::string& text) {
            return form_encoded({{"", text}}).substr(1);
        };
        request.headers.push_back(
            {"Authorization", "Basic " + scan::base64(encoded(grant.client_id) + ":" +
                                                      encoded(*grant.client_secret))});
    } else {
        fields.emplace_back("client_id", grant.client_id);
        if (grant.client_secret) fields.emplace_back("client_secret", *grant.client_secret);
    }
    request.body = form_encoded(fields);
    request.timeouts = {.connect = kOauthTimeout,
                        .first_byte = kOauthTimeout,
                        .idle = kOauthTimeout,
                        .total = kOauthTimeout};
    request.body_bytes_max = kOauthDocumentBytesMax;
    return request;
}

provider::HttpRequest renewal_request(const Grant& grant) {
    return token_request(grant, grant.token_endpoint,
                         {{"grant_type", "refresh_token"},
                          {"refresh_token", grant.refresh_token.value_or("")},
                          {"resource", grant.resource}});
}

base::Result<Grant> with_tokens(Grant grant, const provider::HttpResponse& response,
                                base::Time now) {
    if (response.status != 200) return std::unexpected(refusal_of(response));
    const auto body = base::parse_json(response.body);
    if (!body || !body->is_object())
        return fail(ErrorCode::InvalidInput,
                    "the authorization server answered with something that is no token");
    std::string type = base::string_at(*body, "token_type");
    std::ranges::transform(type, type.begin(), [](char c) {
        return c >= 'A' && c <= 'Z' ? static_cast<char>(c + ('a' - 'A')) : c;
    });
    grant.access_token = base::string_at(*body, "access_token");
    if (type != "bearer" || !is_token(grant.access_token))
        return fail(ErrorCode::InvalidInput,
                    "the authorization server gave a token that cannot be sent as a bearer token");
    if (const auto next = base::string_at(*body, "refresh_token"); is_token(next))
        grant.refresh_token = next;
    if (const auto scope = base::string_at(*body, "scope"); !scope.empty())
        grant.scope = base::printable(base::plain_text(scope, kShownCharsMax));
    const auto* lifetime = base::find(*body, "expires_in");
    grant.expires_at.reset();
    if (lifetime && lifetime->is_int64())
        grant.expires_at = now + std::chrono::seconds(std::clamp<std::int64_t>(
                                     lifetime->get_int64(), 0, kLifetimeMaxS));
    know(grant);
    return grant;
}

}  // namespace mcp
