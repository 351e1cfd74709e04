#include "exec/tools/web_tools/search/hits.h"

#include <algorithm>
#include <ranges>

#include "base/plain_text.h"
#include "base/text.h"
#include "exec/tools/web_tools/html/document.h"
#include "exec/tools/web_tools/url.h"

namespace web_tools {
namespace {

using Kind = config::WebSearchKind;

constexpr std::size_t kSearchUrlBytesMax = 2048;
constexpr std::size_t kHitsMax = 100;
constexpr std::int64_t kTooManyRequests = 429;
constexpr std::chrono::milliseconds kSearchTimeout{20'000};

constexpr KindFacts kKinds[] = {
    {Kind::Brave, AuthClass::ApiKey, 80, "https://api.search.brave.com"},
    {Kind::Tavily, AuthClass::ApiKey, 75, "https://api.tavily.com"},
    {Kind::Exa, AuthClass::ApiKey, 70, "https://api.exa.ai"},
    {Kind::OpenAiNative, AuthClass::NativeProvider, 65, ""},
    {Kind::AnthropicNative, AuthClass::NativeProvider, 65, ""},
    {Kind::GeminiNative, AuthClass::NativeProvider, 65, ""},
    {Kind::Perplexity, AuthClass::ApiKey, 60, "https://api.perplexity.ai"},
    {Kind::Firecrawl, AuthClass::ApiKey, 55, "https://api.firecrawl.dev"},
    {Kind::Searxng, AuthClass::SelfHosted, 50, ""},
    {Kind::Command, AuthClass::None, 40, ""},
    {Kind::DuckDuckGo, AuthClass::None, 10, "https://html.duckduckgo.com"}};

// Where an answer keeps its list, and which members of an entry say what.
struct Shape {
    std::string_view list;
    std::string_view snippet;
    std::string_view published_at;
};
Shape shape_of(Kind kind) {
    switch (kind) {
        case Kind::Brave:
            return {"/web/results", "description", "page_age"};
        case Kind::Tavily:
            return {"/results", "content", "published_date"};
        case Kind::Exa:
            return {"/results", "text", "publishedDate"};
        case Kind::Perplexity:
            return {"/results", "snippet", "date"};
        case Kind::Firecrawl:
            return {"/data/web", "description", "date"};
        case Kind::Searxng:
            return {"/results", "content", "publishedDate"};
        case Kind::Command:
        case Kind::OpenAiNative:
        case Kind::AnthropicNative:
        case Kind::GeminiNative:
        case Kind::DuckDuckGo:
            break;
    }
    return {"/results", "snippet", "published_at"};
}

const json::value* at_pointer(const json::value& value, std::string_view pointer) {
    boost::system::error_code missing;
    return value.find_pointer(json::string_view(pointer.data(), pointer.size()), missing);
}

std::string one_line(std::string_view text) {
    return base::collapse_whitespace(base::plain_text(text, kHitTextCharsMax));
}

// An entry counts only with a URL that could be fetched.
void add_hit(std::vector<Hit>& hits, Hit hit) {
    const auto url = parse_url(hit.url);
    if (!url || url->text.size() > kSearchUrlBytesMax || hits.size() >= kHitsMax) return;
    hit.url = url->text;
    hit.title = one_line(hit.title);
    hit.snippet = one_line(hit.snippet);
    if (hit.published_at)
        hit.published_at =
            hit.published_at->empty() ? std::nullopt : std::optional(one_line(*hit.published_at));
    hits.push_back(std::move(hit));
}

// "a.b.0.c" or "$.a.b": the member of an entry that an operator's mapping names.
std::string mapped(const json::value& entry, const std::optional<std::string>& path,
                   std::string_view otherwise) {
    std::string_view rest = path ? std::string_view(*path) : otherwise;
    if (rest.starts_with("$")) rest.remove_prefix(1);
    if (rest.starts_with(".")) rest.remove_prefix(1);
    std::string pointer;
    for (const char c : rest) pointer += c == '.' ? '/' : c;
    const auto* found = at_pointer(entry, "/" + pointer);
    return found && found->is_string() ? std::string(std::string_view(found->get_string())) : "";
}

SearchFault parse_failed(const config::WebProvider& provider, std::string_view why) {
    return {"parse_failed", fmt::format("the answer of {} {}", provider.name, why)};
}

// The list of an answer: where the kind keeps it, or the whole answer, or its only known places.
const json::array* list_in(const json::value& answer, Kind kind) {
    if (answer.is_array()) return &answer.get_array();
    for (const std::string_view place :
         {shape_of(kind).list, std::string_view("/data"), std::string_view("/results")})
        if (const auto* found = at_pointer(answer, place); found && found->is_array())
            return &found->get_array();
    return nullptr;
}

Hits read_json(const config::WebProvider& provider, const std::string& body) {
    const auto answer = base::parse_json(body);
    if (!answer) return std::unexpected(parse_failed(provider, "is not valid JSON"));
    std::vector<Hit> hits;
    // An answer without results has no list for some of them.
    const auto* list = list_in(*answer, provider.kind);
    if (!list && !answer->is_object())
        return std::unexpected(parse_failed(provider, "has no list of results"));
    const Shape shape = shape_of(provider.kind);
    for (const auto& entry : list ? *list : json::array())
        add_hit(hits,
                {.title = mapped(entry, provider.mapping.title, "title"),
                 .url = mapped(entry, provider.mapping.url, "url"),
                 .snippet = mapped(entry, provider.mapping.snippet, shape.snippet),
                 .source = provider.name,
                 .published_at = mapped(entry, provider.mapping.published_at, shape.published_at)});
    return hits;
}

// A link of the page leads through the search engine, with the target as a parameter.
std::string direct_target(std::string_view href) {
    constexpr std::string_view kParameter = "uddg=";
    const auto at = href.find(kParameter);
    if (at == href.npos) return std::string(href);
    const auto encoded = href.substr(at + kParameter.size());
    std::string out;
    for (std::size_t i = 0; i < encoded.size() && encoded[i] != '&'; ++i) {
        const auto digit = [&](std::size_t place) {
            const char c = place < encoded.size() ? encoded[place] : ' ';
            const std::string_view digits = "0123456789abcdef";
            return digits.find(static_cast<char>(c >= 'A' && c <= 'F' ? c + ('a' - 'A') : c));
        };
        if (encoded[i] == '%' && digit(i + 1) != std::string_view::npos &&
            digit(i + 2) != std::string_view::npos) {
            out += static_cast<char>(digit(i + 1) * 16 + digit(i + 2));
            i += 2;
        } else {
            out += encoded[i] == '+' ? ' ' : encoded[i];
        }
    }
    return out;
}

std::string words_in(const GumboNode& node) {
    std::string words;
    walk(
        node,
        [&](const GumboNode& inside) {
            if (inside.type == GUMBO_NODE_TEXT || inside.type == GUMBO_NODE_WHITESPACE)
                words += inside.v.text.text;
            return true;
        },
        [](const GumboNode&) {});
    return words;
}

Hits read_page(const config::WebProvider& provider, const std::string& body) {
    const std::string html = base::to_utf8(body);
    const auto document = HtmlDocument::parse(html);
    if (!document) return std::unexpected(parse_failed(provider, "is too large a page"));
    std::vector<Hit> found;
    walk(
        document->root(),
        [&](const GumboNode& node) {
            if (has_class(node, "result--ad")) return false;
            if (has_class(node, "result__a"))
                found.push_back({.title = words_in(node),
                                 .url = direct_target(attribute(node, "href")),
                                 .source = provider.name});
            else if (has_class(node, "result__snippet") && !found.empty())
                found.back().snippet = words_in(node);
            return true;
        },
        [](const GumboNode&) {});
    if (found.empty() && !body.contains("no-results") && !body.contains("No results"))
        return std::unexpected(SearchFault{
            "provider_unavailable",
            fmt::format("{} did not answer with results; it may take this program for a robot",
                        provider.name)});
    std::vector<Hit> hits;
    for (auto& hit : found) add_hit(hits, std::move(hit));
    return hits;
}

std::string base_of(const config::WebProvider& provider) {
    return provider.base_url.empty() ? std::string(facts_of(provider.kind).base_url)
                                     : provider.base_url;
}

}  // namespace

const KindFacts& facts_of(Kind kind) {
    return *std::ranges::find(kKinds, kind, &KindFacts::kind);
}

std::optional<SearchFault> unusable(const config::WebProvider& provider) {
    const auto& facts = facts_of(provider.kind);
    const auto fault = [&](std::string_view why) {
        return SearchFault{"provider_unavailable", fmt::format("{} {}", provider.name, why)};
    };
    if (!facts.is_callable()) return fault("is the model provider's own search, not this tool's");
    if (facts.auth_class == AuthClass::ApiKey && provider.api_key.empty())
        return fault(
            "has no API key; the operator sets one with web.providers.<name>."
            "credential_profile");
    if (facts.auth_class == AuthClass::SelfHosted && provider.base_url.empty())
        return fault("has no base_url");
    if (provider.kind == Kind::Command && provider.argv.empty()) return fault("has no command");
    return std::nullopt;
}

provider::HttpRequest search_request(const config::WebProvider& provider, const std::string& query,
                                     std::int64_t results_max) {
    const std::string base = base_of(provider), words = base::percent_encoded(query);
    provider::HttpRequest request{.timeouts = {.connect = kSearchTimeout,
                                               .first_byte = kSearchTimeout,
                                               .idle = kSearchTimeout,
                                               .total = kSearchTimeout},
                                  .body_bytes_max = kSearchBodyBytesMax};
    request.headers = {{"User-Agent", "holon/" HOLON_VERSION}, {"Accept", "application/json"}};
    const auto get = [&](std::string path) {
        request.method = provider::HttpMethod::Get;
        request.url = base + path;
    };
    const auto post = [&](std::string_view path, json::object body) {
        request.url = base + std::string(path);
        request.headers.push_back({"Content-Type", "application/json"});
        request.body = base::json_text(body);
    };
    const auto bearer = [&] {
        request.headers.push_back({"Authorization", "Bearer " + provider.api_key});
    };
    switch (provider.kind) {
        case Kind::Brave:
            get(fmt::format("/res/v1/web/search?q={}&count={}", words, results_max));
            request.headers.push_back({"X-Subscription-Token", provider.api_key});
            break;
        case Kind::Tavily:
            post("/search", {{"query", query}, {"max_results", results_max}});
            bearer();
            break;
        case Kind::Exa:
            post("/search", {{"query", query},
                             {"numResults", results_max},
                             {"contents", {{"text", {{"maxCharacters", 500}}}}}});
            request.headers.push_back({"x-api-key", provider.api_key});
            break;
        case Kind::Perplexity:
            post("/search", {{"query", query}, {"max_results", results_max}});
            bearer();
            break;
        case Kind::Firecrawl:
            post("/v2/search", {{"query", query}, {"limit", results_max}});
            bearer();
            break;
        case Kind::Searxng:
            get(fmt::format("/search?q={}&format=json", words));
            break;
        case Kind::DuckDuckGo:
            get(fmt::format("/html/?q={}", words));
            request.headers[1].value = "text/html";
            break;
        case Kind::Command:
        case Kind::OpenAiNative:
        case Kind::AnthropicNative:
        case Kind::GeminiNative:
            break;
    }
    return request;
}

Hits read_hits(const config::WebProvider& provider, const std::string& body) {
    return provider.kind == Kind::DuckDuckGo ? read_page(provider, body)
                                             : read_json(provider, body);
}

Hits read_response(const config::WebProvider& provider, const provider::HttpResponse& response) {
    if (response.status == 200) return read_hits(provider, response.body);
    if (response.status == kTooManyRequests)
        return std::unexpected(
            SearchFault{"rate_limited", fmt::format("{} asks to wait (HTTP 429)", provider.name)});
    const bool is_fault_of_server = response.status >= 500;
    return std::unexpected(
        SearchFault{is_fault_of_server ? "network_failed" : "provider_unavailable",
                    fmt::format("{} answered HTTP {}", provider.name, response.status)});
}

std::vector<std::string> command_words(const config::WebProvider& provider,
                                       const std::string& query, std::int64_t results_max) {
    const auto start = query.find_first_not_of("- \t");
    const std::string safe = start == query.npos ? "" : query.substr(start);
    std::vector<std::string> words = provider.argv;
    const auto fill = [](std::string& word, std::string_view mark, const std::string& value) {
        for (auto at = word.find(mark); at != word.npos; at = word.find(mark, at + value.size()))
            word.replace(at, mark.size(), value);
    };
    // The program itself is never a part of a query.
    for (auto& word : words | std::views::drop(1)) {
        fill(word, "{{max_results}}", std::to_string(results_max));
        fill(word, "{{query}}", safe);
    }
    return words;
}

}  // namespace web_tools
