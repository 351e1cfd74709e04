#include <gmock/gmock.h>

#include "base/os/files.h"
#include "base/os/process_runner.h"
#include "exec/tools/dispatcher.h"
#include "exec/tools/patch/folder_for_test.h"
#include "exec/tools/web_tools/web_tools.h"
#include "tests/support/fake_model_server.h"

namespace web_tools {
namespace {

using Kind = config::WebSearchKind;
using testing::AllOf;
using testing::HasSubstr;

constexpr std::string_view kAnswer =
    R"({"results":[{"title":"One","url":"https://one.example/","content":"first"},
                   {"title":"Two","url":"https://two.example/","content":"second"}]})";

class WebSearchTest : public testing::Test {
protected:
    WebSearchTest() {
        settings.provider = "house";
        settings.mode = config::WebSearchMode::Single;
        settings.providers = {{.name = "house", .kind = Kind::Searxng, .base_url = url()}};
    }

    std::string url() const { return fmt::format("http://127.0.0.1:{}", server.port()); }
    // A provider that runs this Python program.
    config::WebProvider command(const std::string& program) {
        return {.name = "cmd",
                .kind = Kind::Command,
                .argv = {"python3", "-c", program, "{{query}}", "{{max_results}}"}};
    }

    tools::Dispatched search(json::object args) {
        base::AsioLoop loop;
        base::SystemProcessRunner processes(loop);
        tools::Registry registry;
        registry.add(web_search({.loop = loop,
                                 .clock = clock_,
                                 .processes = processes,
                                 .settings = settings,
                                 .http = {.proxy = ""},
                                 .environment = {{"PATH", "/usr/bin:/bin"}}}));
        tools::Dispatcher dispatcher(
            {.registry = registry, .clock = clock_, .ids = ids_, .loop = &loop});
        const tools::ExecutionContext place{.agent_id = {"main"}, .agent_home = folder_.path()};
        const auto call = dispatcher.describe({.call_id = {"call-1"},
                                               .run_id = {"run-1"},
                                               .step_id = "round-1.1",
                                               .tool = "WebSearch",
                                               .args = std::move(args)},
                                              place);
        std::optional<tools::Dispatched> ended;
        const auto running = dispatcher.dispatch(call, domain::ProfilePreset::PublicNamed, place,
                                                 [&](tools::Dispatched dispatched) {
                                                     ended = std::move(dispatched);
                                                     loop.stop();
                                                 });
        while (!ended) loop.run();
        return std::move(*ended);
    }

    test_support::FakeModelServer server;
    config::WebSearch settings;
    patch::TestFolder folder_;
    base::SystemClock clock_;
    base::RandomIds ids_{clock_};
};

TEST_F(WebSearchTest, ResultsAreLabelledAndCited) {
    server.enqueue(test_support::with_body(std::string(kAnswer)));
    const auto found = search({{"query", " c++  modules "}, {"max_results", 1}});
    ASSERT_TRUE(found.envelope.ok()) << found.receipt;
    const json::value result(found.envelope.result());
    EXPECT_EQ(base::string_at(result, "query"), "c++ modules");
    EXPECT_EQ(base::string_at(result, "winning_provider"), "house");
    EXPECT_EQ(base::string_at(result, "authority_class"), "external_evidence");
    EXPECT_EQ(base::json_text(result.at("citations")),
              R"([{"title":"One","url":"https://one.example/"}])");
    EXPECT_THAT(found.receipt,
                AllOf(HasSubstr("<external_content source=\"search: house\">\nOne\n"),
                      HasSubstr("untrusted data")));
    EXPECT_EQ(server.requests().at(0).path, "/search?q=c%2B%2B%20modules&format=json");
}

TEST_F(WebSearchTest, AProviderThatFailsIsFollowedByTheNext) {
    settings.mode = config::WebSearchMode::Fallback;
    settings.providers.push_back({.name = "spare", .kind = Kind::Searxng, .base_url = url()});
    settings.order = {"spare"};
    server.enqueue(test_support::rate_limited());
    server.enqueue(test_support::with_body(std::string(kAnswer)));
    const auto found = search({{"query", "x"}});
    ASSERT_TRUE(found.envelope.ok()) << found.receipt;
    const json::value result(found.envelope.result());
    EXPECT_EQ(base::string_at(result, "winning_provider"), "spare");
    EXPECT_EQ(base::string_at(result.at("provider_attempts").at(0), "error_kind"), "rate_limited");

    server.enqueue(test_support::rate_limited());
    server.enqueue(test_support::status_reply(401));
    const auto failed = search({{"query", "x"}});
    ASSERT_FALSE(failed.envelope.ok());
    EXPECT_EQ(failed.envelope.error().kind, "provider_unavailable");
    EXPECT_TRUE(failed.envelope.error().retryable);
    EXPECT_EQ(base::json_text(failed.envelope.error().details->at("attempted_providers")),
              R"(["house","spare"])");
}

TEST_F(WebSearchTest, AggregateAsksAllAndListsEachUrlOnce) {
    settings.mode = config::WebSearchMode::Aggregate;
    settings.providers.push_back({.name = "spare", .kind = Kind::Searxng, .base_url = url()});
    settings.order = {"spare"};
    server.enqueue(test_support::with_body(std::string(kAnswer)));
    server.enqueue(test_support::with_body(
        R"({"results":[{"title":"Two again","url":"https://two.example/"},
                       {"title":"Three","url":"https://three.example/"}]})"));
    const auto found = search({{"query", "x"}});
    ASSERT_TRUE(found.envelope.ok()) << found.receipt;
    EXPECT_EQ(found.envelope.result().at("results").as_array().size(), 3u);
}

TEST_F(WebSearchTest, ACommandGetsTheQueryAsOneArgument) {
    settings.provider = "cmd";
    settings.providers = {command(
        "import json,sys; print(json.dumps([{'title': sys.argv[1], 'url': 'https://e.example/',"
        "'snippet': sys.argv[2]}]))")};
    const auto found = search({{"query", "a; touch /x $(id) 'q"}});
    ASSERT_TRUE(found.envelope.ok()) << found.receipt;
    const auto& hit = found.envelope.result().at("results").at(0);
    EXPECT_EQ(base::string_at(hit, "title"), "a; touch /x $(id) 'q");
    EXPECT_EQ(base::string_at(hit, "snippet"), "5");
}

TEST_F(WebSearchTest, ACommandIsHeldToItsLimits) {
    settings.provider = "cmd";
    const auto kind_of = [&](config::WebProvider provider) {
        settings.providers = {std::move(provider)};
        const auto found = search({{"query", "x"}});
        return found.envelope.ok() ? "success" : found.envelope.error().kind;
    };
    auto slow = command("import time; time.sleep(600)");
    slow.timeout_ms = 200;
    EXPECT_EQ(kind_of(slow), "network_failed");
    auto loud = command("print('x' * 100000)");
    loud.max_output_bytes = 1000;
    EXPECT_EQ(kind_of(loud), "response_too_large");
    EXPECT_EQ(kind_of(command("raise SystemExit(3)")), "provider_unavailable");
    EXPECT_EQ(kind_of(command("print('no json')")), "parse_failed");
}

TEST_F(WebSearchTest, WhatCannotBeAskedIsSaid) {
    EXPECT_EQ(search({{"query", "  "}}).envelope.error().kind, "invalid_tool_input");
    EXPECT_EQ(search({{"query", "x"}, {"provider", "nobody"}}).envelope.error().kind,
              "invalid_tool_input");
    settings.providers = {{.name = "house", .kind = Kind::Brave}};
    EXPECT_THAT(search({{"query", "x"}}).envelope.error().message, HasSubstr("API key"));
    settings.enabled = false;
    EXPECT_EQ(search({{"query", "x"}}).envelope.error().kind, "web_search_disabled");
    EXPECT_EQ(server.request_count(), 0u);
}

}  // namespace
}  // namespace web_tools
