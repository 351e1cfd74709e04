// What agents may read of the web, and who searches it for them.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/typed.h"

namespace config {

inline constexpr std::int64_t kFetchCharsMax = 1'000'000;
inline constexpr std::int64_t kFetchBytesMax = std::int64_t{64} * 1024 * 1024;
inline constexpr std::int64_t kFetchTimeoutMaxS = 600;
inline constexpr std::int64_t kFetchRedirectsMax = 20;
inline constexpr std::int64_t kSearchResultsMax = 50;
inline constexpr std::int64_t kSearchAttemptsMax = 10;
inline constexpr std::int64_t kSearchTimeoutMaxMs = 120'000;
inline constexpr std::int64_t kSearchOutputMaxBytes = std::int64_t{16} * 1024 * 1024;

// As it is written in config.json.
struct WebFetchSection {
    std::optional<bool> enabled{};
    std::optional<std::int64_t> max_chars{};
    std::optional<std::int64_t> max_response_bytes{};
    std::optional<std::int64_t> timeout_seconds{};
    std::optional<std::int64_t> max_redirects{};
    std::optional<std::vector<std::string>> allowed_hosts{};
    std::optional<std::vector<std::string>> denied_hosts{};
};
BOOST_DESCRIBE_STRUCT(WebFetchSection, (),
                      (enabled, max_chars, max_response_bytes, timeout_seconds, max_redirects,
                       allowed_hosts, denied_hosts))

enum class WebSearchMode { Single, Fallback, Aggregate };
BOOST_DESCRIBE_ENUM(WebSearchMode, Single, Fallback, Aggregate)

struct WebBuiltinProviderSection {
    std::optional<bool> enabled{};
};
BOOST_DESCRIBE_STRUCT(WebBuiltinProviderSection, (), (enabled))
struct WebSearchSection {
    std::optional<bool> enabled{};
    std::optional<WebBuiltinProviderSection> builtin_provider{};
    std::optional<std::string> provider{};
    std::optional<WebSearchMode> mode{};
    std::optional<std::vector<std::string>> providers{};
    std::optional<std::int64_t> max_results{};
    std::optional<std::int64_t> max_provider_attempts{};
};
BOOST_DESCRIBE_STRUCT(WebSearchSection, (),
                      (enabled, builtin_provider, provider, mode, providers, max_results,
                       max_provider_attempts))

enum class WebSearchKind {
    Brave,
    Tavily,
    Exa,
    OpenAiNative,
    AnthropicNative,
    GeminiNative,
    Perplexity,
    Firecrawl,
    Searxng,
    Command,
    DuckDuckGo
};
BOOST_DESCRIBE_ENUM(WebSearchKind, Brave, Tavily, Exa, OpenAiNative, AnthropicNative, GeminiNative,
                    Perplexity, Firecrawl, Searxng, Command, DuckDuckGo)

// The last three are for a command: what it runs, how its output is read, what it may use.
struct WebCommand {
    std::vector<std::string> argv{};
};
BOOST_DESCRIBE_STRUCT(WebCommand, (), (argv))
struct WebMapping {
    std::optional<std::string> title{}, url{}, snippet{}, published_at{};
};
BOOST_DESCRIBE_STRUCT(WebMapping, (), (title, url, snippet, published_at))
struct WebOutput {
    std::optional<std::string> format{};
    std::optional<WebMapping> mapping{};
};
BOOST_DESCRIBE_STRUCT(WebOutput, (), (format, mapping))
struct WebLimits {
    std::optional<std::int64_t> timeout_ms{};
    std::optional<std::int64_t> max_output_bytes{};
};
BOOST_DESCRIBE_STRUCT(WebLimits, (), (timeout_ms, max_output_bytes))
struct WebProviderSection {
    WebSearchKind kind{WebSearchKind::DuckDuckGo};
    std::optional<std::string> base_url{};
    std::optional<std::string> credential_profile{};
    std::optional<WebCommand> command{};
    std::optional<WebOutput> output{};
    std::optional<WebLimits> limits{};
};
BOOST_DESCRIBE_STRUCT(WebProviderSection, (),
                      (kind, base_url, credential_profile, command, output, limits))

struct WebSection {
    std::optional<WebFetchSection> fetch{};
    std::optional<WebSearchSection> search{};
    std::optional<std::map<std::string, WebProviderSection>> providers{};
};
BOOST_DESCRIBE_STRUCT(WebSection, (), (fetch, search, providers))

base::Status check_web(const WebSection& section);

// Which pages may be fetched, and within which bounds.
struct WebFetch {
    bool enabled{true};
    std::int64_t max_chars{20'000};
    std::int64_t max_response_bytes{750'000};
    std::int64_t timeout_seconds{20};  // For each hop.
    std::int64_t max_redirects{5};
    // "host", "*.host", each also with ":port". Not empty: these only, and they may be private.
    std::vector<std::string> allowed_hosts{};
    std::vector<std::string> denied_hosts{};
    friend bool operator==(const WebFetch&, const WebFetch&) = default;
};

// A search provider, ready to be asked. `api_key` is a secret.
struct WebProvider {
    std::string name;
    WebSearchKind kind{WebSearchKind::DuckDuckGo};
    std::string base_url{};  // Empty: the kind's own.
    std::string api_key{};   // Empty when its profile does not exist or is of another kind.
    std::vector<std::string> argv{};
    WebMapping mapping{};
    std::int64_t timeout_ms{10'000};
    std::int64_t max_output_bytes{200'000};
};

struct WebSearch {
    bool enabled{true};
    bool native_enabled{true};  // The model's own search is preferred.
    std::string provider{"auto"};
    WebSearchMode mode{WebSearchMode::Fallback};
    std::vector<std::string> order{};  // Names of providers; empty: by the priority of their kinds.
    std::int64_t max_results{5};
    std::int64_t max_provider_attempts{3};
    std::vector<WebProvider> providers{};  // By name.
};

struct Web {
    WebFetch fetch{};
    WebSearch search{};
};

// `api_keys` are the credentials of kind api_key, by the names of their profiles.
Web web(const WebSection& section, const std::map<std::string, std::string>& api_keys);

}  // namespace config
