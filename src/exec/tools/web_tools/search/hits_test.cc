#include "exec/tools/web_tools/search/hits.h"

#include <gmock/gmock.h>

#include "exec/tools/web_tools/search/choose.h"

namespace web_tools {
namespace {

using config::WebProvider;
using Kind = config::WebSearchKind;
using testing::ElementsAre;
using testing::HasSubstr;

std::vector<std::string> names_of(const config::WebSearch& settings,
                                  const std::string& asked = "") {
    std::vector<std::string> names;
    for (const auto& provider : chosen_providers(settings, asked).value())
        names.push_back(provider.name);
    return names;
}

TEST(Hits, AreReadFromTheAnswerOfEachKind) {
    const std::vector<std::pair<Kind, std::string>> table{
        {Kind::Brave,
         R"({"web":{"results":[{"title":"T","url":"https://e.example/","description":"S",
            "page_age":"2026-01-02"}]}})"},
        {Kind::Tavily, R"({"results":[{"title":"T","url":"https://e.example/","content":"S",
            "published_date":"2026-01-02"}]})"},
        {Kind::Exa, R"({"results":[{"title":"T","url":"https://e.example/","text":"S",
            "publishedDate":"2026-01-02"}]})"},
        {Kind::Perplexity, R"({"results":[{"title":"T","url":"https://e.example/","snippet":"S",
            "date":"2026-01-02"}]})"},
        {Kind::Firecrawl, R"({"data":{"web":[{"title":"T","url":"https://e.example/",
            "description":"S","date":"2026-01-02"}]}})"},
        {Kind::Searxng, R"({"results":[{"title":"T","url":"https://e.example/","content":"S",
            "publishedDate":"2026-01-02"}]})"},
        {Kind::Command, R"([{"title":"T","url":"https://e.example/","snippet":"S",
            "published_at":"2026-01-02"}])"}};
    for (const auto& [kind, body] : table)
        EXPECT_EQ(read_hits({.name = "p", .kind = kind}, body).value(),
                  (std::vector<Hit>{{"T", "https://e.example/", "S", "p", "2026-01-02"}}))
            << base::enum_name(kind);
}

TEST(Hits, ThatLeadNowhereOrHideSomethingAreCleaned) {
    const WebProvider provider{.name = "p", .kind = Kind::Searxng};
    const auto hits = read_hits(provider, R"({"results":[{"title":"a","url":"javascript:x"},
        {"title":"b\u202e\nc","url":"https://e.example/#x","content":null}, 7]})");
    EXPECT_EQ(hits.value(),
              (std::vector<Hit>{{"b c", "https://e.example/", "", "p", std::nullopt}}));
    EXPECT_EQ(read_hits(provider, "<html>").error().kind, "parse_failed");
    EXPECT_TRUE(read_hits(provider, "{}")->empty());
}

TEST(Hits, OfAPageAreFoundByTheirClasses) {
    const auto hits = read_hits({.name = "duckduckgo"}, R"(<div class="result result--ad">
        <a class="result__a" href="https://ad.example/">Ad</a></div><div class="result">
        <h2><a class="result__a" href="//duckduckgo.com/l/?uddg=https%3A%2F%2Fe.example%2Fa%3Fb&amp;rut=1">
        The <b>title</b></a></h2><a class="result__snippet">Some <b>words</b></a></div>)");
    EXPECT_EQ(hits.value(), (std::vector<Hit>{{"The title", "https://e.example/a?b", "Some words",
                                               "duckduckgo", std::nullopt}}));
    EXPECT_EQ(read_hits({.name = "duckduckgo"}, "<p>Are you a robot?</p>").error().kind,
              "provider_unavailable");
}

TEST(Hits, ARequestCarriesTheKeyInAHeaderAndTheQueryEncoded) {
    const auto request =
        search_request({.name = "b", .kind = Kind::Brave, .api_key = "k-1"}, "a&b c", 3);
    EXPECT_EQ(request.url, "https://api.search.brave.com/res/v1/web/search?q=a%26b%20c&count=3");
    EXPECT_EQ(*provider::find_header(request.headers, "x-subscription-token"), "k-1");
    const auto posted = search_request(
        {.name = "t", .kind = Kind::Tavily, .base_url = "http://x", .api_key = "k-2"}, "a\"b", 3);
    EXPECT_EQ(posted.url, "http://x/search");
    EXPECT_EQ(posted.body, R"({"query":"a\"b","max_results":3})");
    EXPECT_EQ(*provider::find_header(posted.headers, "authorization"), "Bearer k-2");
}

TEST(Hits, AStatusSaysWhatFailed) {
    const WebProvider provider{.name = "p", .kind = Kind::Searxng};
    EXPECT_EQ(read_response(provider, {.status = 429}).error().kind, "rate_limited");
    EXPECT_EQ(read_response(provider, {.status = 503}).error().kind, "network_failed");
    EXPECT_EQ(read_response(provider, {.status = 401}).error().kind, "provider_unavailable");
}

TEST(Hits, AQueryIsOneArgumentAndNoOption) {
    const WebProvider provider{.kind = Kind::Command,
                               .argv = {"{{query}}", "--n={{max_results}}", "{{query}}"}};
    EXPECT_THAT(command_words(provider, "--output=/etc/x {{max_results}}; rm", 3),
                ElementsAre("{{query}}", "--n=3", "output=/etc/x {{max_results}}; rm"));
}

TEST(SearchProviders, AreAskedByPriorityTheBuiltInOneLast) {
    config::WebSearch settings{
        .providers = {{.name = "cmd", .kind = Kind::Command, .argv = {"x"}},
                      {.name = "keyless", .kind = Kind::Brave},
                      {.name = "native", .kind = Kind::OpenAiNative},
                      {.name = "tav", .kind = Kind::Tavily, .api_key = "k"}}};
    EXPECT_THAT(names_of(settings), ElementsAre("tav", "cmd", "duckduckgo"));
    EXPECT_THAT(names_of(settings, "cmd"), ElementsAre("cmd"));
    settings.max_provider_attempts = 2;
    EXPECT_THAT(names_of(settings), ElementsAre("tav", "cmd"));
    settings.mode = config::WebSearchMode::Single;
    EXPECT_THAT(names_of(settings), ElementsAre("tav"));
    settings.mode = config::WebSearchMode::Fallback;
    settings.order = {"duckduckgo", "cmd"};
    EXPECT_THAT(names_of(settings), ElementsAre("duckduckgo", "cmd"));
    settings.provider = "cmd";
    EXPECT_THAT(names_of(settings), ElementsAre("cmd", "duckduckgo"));
    EXPECT_THAT(chosen_providers(settings, "nobody").error().message, HasSubstr("nobody"));
}

}  // namespace
}  // namespace web_tools
