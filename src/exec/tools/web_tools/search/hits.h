// How each search provider is asked, and what its answer means. Pure.
#pragma once

#include <expected>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/typed.h"
#include "config/web/web.h"
#include "provider/http/http_client.h"

namespace web_tools {

inline constexpr std::size_t kSearchBodyBytesMax = 1'000'000;
inline constexpr std::size_t kHitTextCharsMax = 1000;

// One result. All of it is text of the web.
struct Hit {
    std::string title;
    std::string url;
    std::string snippet;
    std::string source;  // The provider.
    std::optional<std::string> published_at{};
    friend bool operator==(const Hit&, const Hit&) = default;
};
BOOST_DESCRIBE_STRUCT(Hit, (), (title, url, snippet, source, published_at))
constexpr auto describe_fields(const Hit*) {
    return std::to_array<base::FieldDoc>({{.field = "published_at", .null_when_absent = true}});
}

struct SearchFault {
    std::string kind;  // provider_unavailable, rate_limited, network_failed, parse_failed, ...
    std::string message;
    bool is_retryable() const { return kind == "rate_limited" || kind == "network_failed"; }
};
using Hits = std::expected<std::vector<Hit>, SearchFault>;

enum class AuthClass { ApiKey, NativeProvider, SelfHosted, None };
BOOST_DESCRIBE_ENUM(AuthClass, ApiKey, NativeProvider, SelfHosted, None)

struct KindFacts {
    config::WebSearchKind kind;
    AuthClass auth_class;
    int priority;  // The highest is asked first.
    std::string_view base_url;
    bool is_callable() const { return auth_class != AuthClass::NativeProvider; }
};
const KindFacts& facts_of(config::WebSearchKind kind);

// Why this provider cannot be asked, or nothing.
std::optional<SearchFault> unusable(const config::WebProvider& provider);

// For the kinds that are asked over HTTP.
provider::HttpRequest search_request(const config::WebProvider& provider, const std::string& query,
                                     std::int64_t results_max);

// The results in an answer with status 200.
Hits read_hits(const config::WebProvider& provider, const std::string& body);
Hits read_response(const config::WebProvider& provider, const provider::HttpResponse& response);

// A command's words, with {{query}} and {{max_results}} filled in. A query never starts with a
// dash, since the program would take it for an option.
std::vector<std::string> command_words(const config::WebProvider& provider,
                                       const std::string& query, std::int64_t results_max);

}  // namespace web_tools
