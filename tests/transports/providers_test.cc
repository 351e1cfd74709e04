// From the environment and config.json to the wire.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "app/models/providers.h"
#include "config/models/builtin_providers.h"
#include "tests/transports/four_transports.h"

namespace {

using test_support::Contract;
using test_support::FakeModelServer;
using testing::HasSubstr;

class ProvidersTest : public testing::Test {
protected:
    ProvidersTest() {
        setenv("no_proxy", "127.0.0.1", 1);
        environment = {{"HOLON_HOME", codex_home.path / "home"},
                       {"CODEX_HOME", codex_home.path},
                       {"OPENAI_API_KEY", "openai-key"},
                       {"HOLON_OPENAI_CODEX_BASE_URL", server.base_url()}};
        codex_home.log_in("codex-token");
        std::filesystem::create_directories(codex_home.path / "home");
    }
    void write_config(std::string_view text) {
        ASSERT_TRUE(base::write_file_atomic(codex_home.path / "home/config.json", text, 0600));
    }
    config::Config loaded() {
        auto config = config::load({}, environment, "/");
        EXPECT_TRUE(config.has_value()) << config.error().message;
        return *config;
    }
    provider::Outcome ask(const std::string& model) {
        const config::Config config = loaded();
        app::Providers providers(config, loop, clock, ids);
        provider::Request request = provider::conformance::question();
        request.model_ref = model;
        provider::conformance::Asked asked;
        asked.ask(providers, std::move(request));
        EXPECT_TRUE(test_support::run_until(loop, [&] { return asked.is_done(); }));
        return asked.outcomes.at(0);
    }
    // Asks `model` of a server that answers by `contract`; what it was sent.
    test_support::RecordedRequest sent(const std::string& model, Contract contract) {
        server.enqueue(test_support::says("hello", contract));
        const auto outcome = ask(model);
        EXPECT_TRUE(outcome.has_value()) << outcome.error().message;
        return server.requests().back();
    }
    static json::value body(const test_support::RecordedRequest& request) {
        return base::parse_json(request.body).value();
    }

    FakeModelServer server;
    test_support::CodexHome codex_home;
    config::Environment environment;
    base::AsioLoop loop;
    base::SystemClock clock;
    base::RandomIds ids{clock};
};

// Ruling 27 replaces the end of PROV-02: answers stream wherever the vendor allows it. A server
// that sends a document all the same is understood. contract: PROV-02
TEST_F(ProvidersTest, OpenaiModelsGoOutAsResponsesAndStream) {
    environment["OPENAI_BASE_URL"] = server.base_url() + "/v1";
    for (const auto contract : {Contract::Responses, Contract::CodexStream}) {
        const auto request = sent("openai/gpt-5", contract);
        EXPECT_EQ(request.path, "/v1/responses");
        EXPECT_EQ(request.headers.at("authorization"), "Bearer openai-key");
        EXPECT_EQ(body(request).at("stream"), true);
        EXPECT_EQ(body(request).at("store"), false);
        EXPECT_TRUE(body(request).as_object().contains("input"));
    }
}

TEST_F(ProvidersTest, SettingsOfAProviderAdaptItsRequests) {
    environment["TEAM_TOKEN"] = "team-secret";
    write_config(fmt::format(
        R"({{"providers":{{"house":{{"transport":"openai_chat_completions","base_url":"{}",
            "auth":{{"source":"none","kind":"none"}},"stream":false,"reasoning_effort":"high",
            "headers":{{"X-Team":"blue","X-Token":"$TEAM_TOKEN","X-None":"$UNSET"}},
            "extra_body":{{"seed":7}},"omit":["max_tokens"]}}}}}})",
        server.base_url()));
    const auto request = sent("house/m", Contract::ChatCompletions);
    EXPECT_EQ(request.headers.at("x-team"), "blue");
    EXPECT_EQ(request.headers.at("x-token"), "team-secret");
    EXPECT_FALSE(request.headers.contains("x-none"));
    EXPECT_EQ(body(request).at("seed"), 7);
    EXPECT_EQ(body(request).at("stream"), false);
    EXPECT_EQ(body(request).at("reasoning_effort"), "high");
    EXPECT_FALSE(body(request).as_object().contains("max_tokens"));
    const auto config = loaded();
    EXPECT_THAT(config.credentials, testing::Contains("team-secret"));
    EXPECT_FALSE(config.command_environment.contains("TEAM_TOKEN"));
}

TEST_F(ProvidersTest, AProviderThatKeepsStateIsAskedToStore) {
    write_config(fmt::format(
        R"({{"providers":{{"house":{{"transport":"openai_responses","base_url":"{}",
            "auth":{{"source":"none","kind":"none"}},"keeps_state":true}}}}}})",
        server.base_url()));
    EXPECT_EQ(body(sent("house/m", Contract::Responses)).at("store"), true);
}

TEST_F(ProvidersTest, KnownProvidersGetOnlyWhatTheyTake) {
    environment["HOLON_LITELLM_BASE_URL"] = environment["HOLON_MOONSHOT_BASE_URL"] =
        server.base_url();
    environment["LITELLM_API_KEY"] = environment["MOONSHOT_API_KEY"] = "k";
    const auto has_key = [&](const std::string& model) {
        server.enqueue(test_support::says("hello", Contract::ChatStream));
        const config::Config config = loaded();
        app::Providers providers(config, loop, clock, ids);
        provider::Request request = provider::conformance::question_with_results();
        request.model_ref = model;
        request.frame.cache = provider::PromptCache{.prompt_cache_key = "main:ctx:1"};
        auto& said = std::get<provider::AssistantTurn>(request.conversation.at(0));
        said.blocks.insert(said.blocks.begin(), domain::ThinkingBlock{"hm", ""});
        provider::conformance::Asked asked;
        asked.ask(providers, std::move(request));
        EXPECT_TRUE(test_support::run_until(loop, [&] { return asked.is_done(); }));
        const auto sent = server.requests().back().body;
        EXPECT_EQ(sent.contains("prompt_cache_key"), sent.contains("reasoning_content"));
        return sent.contains("prompt_cache_key");
    };
    EXPECT_FALSE(has_key("litellm/claude"));
    EXPECT_TRUE(has_key("moonshot/kimi-k2"));
}

TEST_F(ProvidersTest, AReplyHasItsCostWhereThePricesAreKnown) {
    environment["OPENAI_BASE_URL"] = server.base_url() + "/v1";
    write_config(R"({"models":{"catalog":{"openai/gpt-5":{"prices":
        {"input":1000,"output":4000,"cached_input":100}}}}})");
    server.enqueue(test_support::says("hello", Contract::Responses));
    EXPECT_EQ(ask("openai/gpt-5")->cost_usd, 0.03);  // 10 in, 5 out.
    server.enqueue(test_support::says("hello", Contract::Responses));
    EXPECT_EQ(ask("openai/other")->cost_usd, std::nullopt);
}

TEST_F(ProvidersTest, OurOwnNameForABaseUrlComesFirst) {
    environment["OPENAI_BASE_URL"] = "http://127.0.0.1:1";
    environment["HOLON_OPENAI_BASE_URL"] = server.base_url();
    EXPECT_EQ(sent("openai/gpt-5", Contract::Responses).path, "/responses");
}

// Ruling 27 replaces the end of PROV-03, too.
// contract: PROV-03
TEST_F(ProvidersTest, AnthropicModelsGoOutAsMessagesAndStream) {
    environment["ANTHROPIC_BASE_URL"] = server.base_url();
    environment["ANTHROPIC_API_KEY"] = "anthropic-key";
    const auto by_key = sent("anthropic/claude-1", Contract::Messages);
    EXPECT_EQ(by_key.path, "/v1/messages");
    EXPECT_EQ(by_key.headers.at("x-api-key"), "anthropic-key");
    EXPECT_FALSE(by_key.headers.contains("authorization"));
    EXPECT_EQ(body(by_key).at("stream"), true);
    EXPECT_TRUE(body(by_key).as_object().contains("messages"));

    environment.erase("ANTHROPIC_API_KEY");
    environment["ANTHROPIC_AUTH_TOKEN"] = "anthropic-token";
    const auto by_token = sent("anthropic/claude-1", Contract::Messages);
    EXPECT_EQ(by_token.headers.at("authorization"), "Bearer anthropic-token");
    EXPECT_FALSE(by_token.headers.contains("x-api-key"));

    environment["HOLON_DEEPSEEK_BASE_URL"] = server.base_url() + "/anthropic";
    environment["DEEPSEEK_API_KEY"] = "deepseek-key";
    const auto compatible = sent("deepseek/deepseek-chat", Contract::Messages);
    EXPECT_EQ(compatible.path, "/anthropic/v1/messages");
    EXPECT_EQ(compatible.headers.at("authorization"), "Bearer deepseek-key");
}

TEST_F(ProvidersTest, ContextManagementIsChosenByAKeyAndTheEnvironmentComesFirst) {
    environment["ANTHROPIC_BASE_URL"] = server.base_url();
    environment["ANTHROPIC_API_KEY"] = "anthropic-key";
    write_config(R"({"runtime":{"anthropic_context_management":{"enabled":true,
        "keep_recent_tool_uses":7,"trigger_input_tokens":5000}}})");
    environment["HOLON_ANTHROPIC_CONTEXT_MANAGEMENT_TRIGGER_INPUT_TOKENS"] = "6000";
    const auto request = sent("anthropic/claude-1", Contract::Messages);
    EXPECT_THAT(request.body, HasSubstr(R"("keep":{"type":"tool_uses","value":7})"));
    EXPECT_THAT(request.body, HasSubstr(R"("value":6000)"));
    environment["HOLON_ANTHROPIC_CONTEXT_MANAGEMENT"] = "off";
    EXPECT_EQ(sent("anthropic/claude-1", Contract::Messages).headers.count("anthropic-beta"), 0U);
    environment.erase("HOLON_ANTHROPIC_CONTEXT_MANAGEMENT");
    write_config(R"({"runtime":{"anthropic_context_management":{"keep_recent_tool_uses":0}}})");
    EXPECT_FALSE(config::load({}, environment, "/").has_value());
}

TEST_F(ProvidersTest, ContextManagementIsChosenByTheEnvironment) {
    environment["ANTHROPIC_BASE_URL"] = server.base_url();
    environment["ANTHROPIC_API_KEY"] = "anthropic-key";
    environment["HOLON_ANTHROPIC_CONTEXT_MANAGEMENT"] = "on";
    environment["HOLON_ANTHROPIC_CONTEXT_MANAGEMENT_KEEP_RECENT_TOOL_USES"] = "5";
    const auto request = sent("anthropic/claude-1", Contract::Messages);
    EXPECT_EQ(request.headers.at("anthropic-beta"), "context-management-2025-06-27");
    EXPECT_THAT(request.body, HasSubstr(R"("keep":{"type":"tool_uses","value":5})"));
    environment["HOLON_ANTHROPIC_CONTEXT_MANAGEMENT"] = "maybe";
    EXPECT_FALSE(config::load({}, environment, "/").has_value());
}

// contract: PROV-04
TEST_F(ProvidersTest, CodexModelsGoOutAsAStream) {
    const auto request = sent("openai-codex/gpt-5", Contract::CodexStream);
    EXPECT_EQ(request.path, "/codex/responses");
    EXPECT_EQ(request.headers.at("authorization"), "Bearer codex-token");
    EXPECT_EQ(body(request).at("stream"), json::value(true));
    EXPECT_EQ(body(request).at("reasoning"), json::value(nullptr));
    environment["HOLON_OPENAI_CODEX_REASONING_EFFORT"] = "xhigh";
    EXPECT_EQ(body(sent("openai-codex/gpt-5", Contract::CodexStream)).at("reasoning").at("effort"),
              "xhigh");
    environment["HOLON_OPENAI_CODEX_REASONING_EFFORT"] = "much";
    EXPECT_FALSE(config::load({}, environment, "/").has_value());
}

// contract: PROV-05
TEST_F(ProvidersTest, ACompatibleProviderIsConfigured) {
    write_config(fmt::format(R"({{"providers":{{"house":{{
        "transport":"openai_chat_completions","base_url":"{}/v1",
        "auth":{{"source":"none","kind":"none"}}}}}}}})",
                             server.base_url()));
    const auto request = sent("house/model", Contract::ChatCompletions);
    EXPECT_EQ(request.path, "/v1/chat/completions");
    EXPECT_TRUE(body(request).as_object().contains("messages"));
}

// contract: PROV-06
// contract: PROV-33
TEST_F(ProvidersTest, CodexAndItsContractGoOnlyWithEachOther) {
    const std::vector<std::pair<std::string_view, std::string_view>> rows{
        {"openai-codex", "openai_responses"},
        {"openai-codex", "openai_chat_completions"},
        {"openai-codex", "anthropic_messages"},
        {"house", "openai_codex_responses"},
    };
    for (const auto& [id, transport] : rows) {
        write_config(fmt::format(R"({{"providers":{{"{}":{{"transport":"{}","base_url":"{}",
            "auth":{{"source":"none","kind":"none"}}}}}}}})",
                                 id, transport, server.base_url()));
        const auto outcome = ask(std::string(id) + "/model");
        ASSERT_FALSE(outcome.has_value());
        EXPECT_EQ(outcome.error().kind, provider::FailureKind::UnsupportedTransport);
        EXPECT_THAT(outcome.error().message, HasSubstr("transport contract"));
    }
    EXPECT_EQ(server.request_count(), 0U);
}

TEST_F(ProvidersTest, AnUnknownTransportIsRefusedWhenTheConfigurationIsRead) {
    write_config(R"({"providers":{"x":{"transport":"telepathy","base_url":"http://x",
        "auth":{"source":"none","kind":"none"}}}})");
    const auto config = config::load({}, environment, "/");
    ASSERT_FALSE(config.has_value());
    EXPECT_THAT(config.error().message, HasSubstr("openai_responses"));
}

// contract: PROV-16
TEST_F(ProvidersTest, AFallbackIsAskedWhereTheFirstChoiceCannotBe) {
    // Its transport contract is unsupported.
    write_config(R"({"providers":{"openai-codex":{"transport":"openai_chat_completions",
        "base_url":"http://127.0.0.1:1","auth":{"source":"none","kind":"none"}}}})");
    environment["HOLON_OPENAI_BASE_URL"] = server.base_url();
    environment["HOLON_MODEL_FALLBACKS"] = "xai/grok-4,openai/gpt-5";
    server.enqueue(test_support::says("hello", Contract::Responses));
    const auto outcome = ask("openai-codex/gpt-5");
    ASSERT_TRUE(outcome.has_value()) << outcome.error().message;
    EXPECT_EQ(outcome->timeline.winning_model_ref, "openai/gpt-5");
    ASSERT_EQ(outcome->timeline.attempts.size(), 3U);
    EXPECT_EQ(outcome->timeline.attempts[0].failure_kind, "unsupported_transport");
    EXPECT_TRUE(outcome->timeline.attempts[0].advanced_to_fallback);
    EXPECT_EQ(outcome->timeline.attempts[1].failure_kind, "auth_error");
    EXPECT_EQ(server.request_count(), 1U);
}

TEST_F(ProvidersTest, ALoginThatIsMissingIsOnRecordAndMayComeLater) {
    std::filesystem::remove(codex_home.path / "auth.json");
    environment["HOLON_OPENAI_BASE_URL"] = server.base_url();
    environment["HOLON_MODEL_FALLBACKS"] = "openai/gpt-5";
    const config::Config config = loaded();
    app::Providers providers(config, loop, clock, ids);
    const auto winner = [&](Contract contract) {
        server.enqueue(test_support::says("hello", contract));
        provider::Request request = provider::conformance::question();
        request.model_ref = "openai-codex/gpt-5";
        provider::conformance::Asked asked;
        asked.ask(providers, std::move(request));
        EXPECT_TRUE(test_support::run_until(loop, [&] { return asked.is_done(); }));
        const auto& timeline = asked.outcomes.at(0).value().timeline;
        return std::pair(timeline.attempts.at(0).failure_kind.value_or("none"),
                         timeline.winning_model_ref.value_or("none"));
    };
    EXPECT_EQ(winner(Contract::Responses),
              (std::pair<std::string, std::string>{"auth_error", "openai/gpt-5"}));
    codex_home.log_in("codex-token");
    EXPECT_EQ(winner(Contract::CodexStream),
              (std::pair<std::string, std::string>{"none", "openai-codex/gpt-5"}));
}

TEST_F(ProvidersTest, AnswersAreStreamedUnlessAnOperatorSaysOtherwise) {
    environment["HOLON_VLLM_BASE_URL"] = server.base_url();
    environment["HOLON_DEEPSEEK_BASE_URL"] = server.base_url();
    environment["DEEPSEEK_API_KEY"] = "deepseek-key";
    EXPECT_EQ(body(sent("vllm/m", Contract::ChatStream)).at("stream"), json::value(true));
    EXPECT_EQ(body(sent("deepseek/m", Contract::MessagesStream)).at("stream"), json::value(true));
    const auto configure = [&](std::string_view id, std::string_view transport, bool stream) {
        write_config(fmt::format(R"({{"providers":{{"{}":{{"transport":"{}","base_url":"{}",
            "stream":{},"auth":{{"source":"none","kind":"none"}}}}}}}})",
                                 id, transport, server.base_url(), stream));
    };
    configure("house", "openai_responses", true);
    EXPECT_EQ(body(sent("house/m", Contract::CodexStream)).at("stream"), json::value(true));
    configure("house", "openai_responses", false);
    EXPECT_FALSE(body(sent("house/m", Contract::Responses)).as_object().contains("stream"));
    configure("vllm", "openai_chat_completions", false);
    EXPECT_EQ(body(sent("vllm/m", Contract::ChatCompletions)).at("stream"), json::value(false));
    configure("openai", "openai_responses", false);
    EXPECT_FALSE(body(sent("openai/m", Contract::Responses)).as_object().contains("stream"));
}

// contract: PROV-17
TEST_F(ProvidersTest, EveryBuiltinProviderSpeaksAContractThatExists) {
    for (const auto& builtin : config::kBuiltinProviders) {
        if (builtin.transport == config::Transport::Scripted) continue;
        SCOPED_TRACE(builtin.id);
        const std::string key(builtin.credential_env.substr(0, builtin.credential_env.find(',')));
        if (!key.empty()) environment[key] = "key";
        std::string variable = "HOLON_" + std::string(builtin.id) + "_BASE_URL";
        for (char& c : variable)
            c = c == '-' ? '_' : static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
        environment[variable] = server.base_url();
        Contract contract = Contract::ChatCompletions;
        if (builtin.transport == config::Transport::AnthropicMessages)
            contract = Contract::Messages;
        if (builtin.transport == config::Transport::OpenaiResponses) contract = Contract::Responses;
        if (builtin.transport == config::Transport::OpenaiCodexResponses)
            contract = Contract::CodexStream;
        sent(std::string(builtin.id) + "/model", contract);
    }
}

TEST_F(ProvidersTest, SecretsStayOutOfTheEnvironmentOfCommands) {
    environment["ANTHROPIC_API_KEY"] = "anthropic-key";
    environment["ANTHROPIC_AUTH_TOKEN"] = "anthropic-token";
    environment["ZAI_API_KEY"] = "zai-key";
    const auto config = loaded();
    for (const auto* name :
         {"OPENAI_API_KEY", "ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "ZAI_API_KEY"})
        EXPECT_FALSE(config.command_environment.contains(name)) << name;
}

}  // namespace
