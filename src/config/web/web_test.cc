#include "config/web/web.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "config/stored.h"

namespace config {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

base::Result<ConfigFile> stored_of(std::string_view text) {
    return checked(base::parse_json(text).value().as_object(), "config.json");
}
Web web_of(std::string_view text, const std::map<std::string, std::string>& keys = {}) {
    return web(*stored_of(text).value().web, keys);
}

TEST(WebConfig, NothingNeedsToBeSet) {
    const Web settings = web_of(R"({"web":{}})");
    EXPECT_EQ(settings.fetch, WebFetch{});
    EXPECT_EQ(settings.search.provider, "auto");
    EXPECT_EQ(settings.search.mode, WebSearchMode::Fallback);
    EXPECT_TRUE(settings.search.providers.empty());
}

TEST(WebConfig, EverythingCanBeSet) {
    const Web settings = web_of(R"({"web":{"fetch":{"enabled":false,"max_chars":5,
        "max_response_bytes":6,"timeout_seconds":7,"max_redirects":1,"allowed_hosts":["a:1"],
        "denied_hosts":["*.b"]},"search":{"enabled":false,"builtin_provider":{"enabled":false},
        "provider":"p","mode":"aggregate","providers":["p"],"max_results":2,
        "max_provider_attempts":1},"providers":{"p":{"kind":"brave","base_url":"http://x/",
        "credential_profile":"mine"}}}})",
                                {{"mine", "k-1"}});
    EXPECT_EQ(settings.fetch, (WebFetch{.enabled = false,
                                        .max_chars = 5,
                                        .max_response_bytes = 6,
                                        .timeout_seconds = 7,
                                        .max_redirects = 1,
                                        .allowed_hosts = {"a:1"},
                                        .denied_hosts = {"*.b"}}));
    EXPECT_FALSE(settings.search.enabled);
    EXPECT_EQ(settings.search.mode, WebSearchMode::Aggregate);
    EXPECT_THAT(settings.search.order, ElementsAre("p"));
    ASSERT_EQ(settings.search.providers.size(), 1u);
    EXPECT_EQ(settings.search.providers[0].base_url, "http://x");
    EXPECT_EQ(settings.search.providers[0].api_key, "k-1");
}

// Older versions stored any number, and their homes must open.
TEST(WebConfig, WhatIsTooLargeCountsAsTheLargest) {
    const Web settings = web_of(R"({"web":{"fetch":{"max_chars":99999999,"max_redirects":1000},
        "search":{"max_results":1000}}})");
    EXPECT_EQ(settings.fetch.max_chars, kFetchCharsMax);
    EXPECT_EQ(settings.fetch.max_redirects, kFetchRedirectsMax);
    EXPECT_EQ(settings.search.max_results, kSearchResultsMax);
}

TEST(WebConfig, FaultsNameThePlace) {
    for (const auto& [text, fault] : std::map<std::string, std::string>{
             {R"({"web":{"fetch":{"timeout_seconds":0}}})", "/web/fetch/timeout_seconds"},
             {R"({"web":{"fetch":{"denied_hosts":["http://a/"]}}})", "is no host"},
             {R"({"web":{"fetch":{"allowed_hosts":[""]}}})", "/web/fetch/allowed_hosts"},
             {R"({"web":{"fetch":{"max_size":1}}})", "max_size"},
             {R"({"web":{"search":{"mode":"all"}}})", "mode"}}) {
        const auto stored = stored_of(text);
        ASSERT_FALSE(stored) << text;
        EXPECT_THAT(stored.error().message, HasSubstr(fault));
    }
}

}  // namespace
}  // namespace config
