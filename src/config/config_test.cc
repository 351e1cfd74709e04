#include "config/config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sys/stat.h>

#include "base/os/files.h"
#include "config/models/builtin_providers.h"

namespace config {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

constexpr std::string_view kSecret = "sk-secret-0123456789";

class Load : public testing::Test {
protected:
    Load() {
        std::string pattern = (std::filesystem::temp_directory_path() / "config-XXXXXX").string();
        CHECK(mkdtemp(pattern.data()) != nullptr, "mkdtemp");
        home = pattern;
        environment["HOLON_HOME"] = home.string();
    }
    ~Load() override { std::filesystem::remove_all(home); }

    void file(std::string_view text) {
        ASSERT_TRUE(base::write_file_atomic(home / "config.json", text, 0600));
    }
    void credentials(std::string_view text, mode_t mode = 0600) {
        ASSERT_TRUE(base::write_file_atomic(home / "credentials.json", text, mode));
    }
    Config load() {
        auto loaded = config::load({}, environment, "/work-dir");
        EXPECT_TRUE(loaded) << loaded.error().message;
        return loaded.value_or(Config{});
    }
    std::string error() {
        const auto loaded = config::load({}, environment, "/work-dir");
        EXPECT_FALSE(loaded);
        return loaded ? "" : loaded.error().message;
    }

    std::filesystem::path home;
    Environment environment{};
};

TEST_F(Load, WithoutAnythingEveryDefaultHolds) {
    const Config config = load();
    EXPECT_EQ(config.home, home);
    EXPECT_EQ(config.default_agent, "main");
    EXPECT_EQ(config.workspace_dir, "/work-dir");
    EXPECT_EQ(config.cwd, "/work-dir");
    EXPECT_EQ(config.model, std::nullopt);
    EXPECT_TRUE(config.fallbacks.empty());
    EXPECT_EQ(config.models.max_output_tokens, std::nullopt);
    EXPECT_EQ(config.default_tool_output_tokens, 8000);
    EXPECT_EQ(config.max_tool_output_tokens, 64'000);
    EXPECT_EQ(config.provider_timeout_s, 300);
    EXPECT_EQ(config.provider_stream_idle_ms, 300'000);
    EXPECT_EQ(config.default_shell, "sh");
    EXPECT_EQ(config.database(), home / "holon.db");
    EXPECT_EQ(config.agent_home("a"), home / "agents" / "a");
}

TEST_F(Load, TheHomeIsTheFlagThenTheVariableThenTheUsersHome) {
    environment["HOME"] = "/home/someone";
    EXPECT_EQ(config::load({.home = "/flag"}, environment, "/w")->home, "/flag");
    EXPECT_EQ(load().home, home);
    environment["HOLON_HOME"] = "";
    EXPECT_EQ(load().home, "/home/someone/.holon");
    environment["HOLON_HOME"] = "here/../there";
    EXPECT_EQ(load().home, "/work-dir/there");
    environment = {};
    EXPECT_EQ(load().home, "/work-dir/.holon");
}

TEST_F(Load, TheEnvironmentComesBeforeTheFile) {
    file(R"({"model": {"default": "vllm/of-file", "fallbacks": ["vllm/f1", "vllm/of-file"]},
             "runtime": {"max_output_tokens": 100}})");
    Config config = load();
    EXPECT_EQ(config.model, (ModelRef{"vllm", "of-file"}));
    EXPECT_EQ(config.fallbacks, (std::vector<ModelRef>{{"vllm", "f1"}}));
    EXPECT_EQ(config.models.max_output_tokens, 100);

    environment["HOLON_MODEL"] = "openrouter/a/b:free";
    environment["HOLON_MODEL_FALLBACKS"] = " xai/x , vllm/y,xai/x ";
    environment["HOLON_MAX_OUTPUT_TOKENS"] = "200";
    config = load();
    EXPECT_EQ(config.model, (ModelRef{"openrouter", "a/b:free"}));
    EXPECT_EQ(config.fallbacks, (std::vector<ModelRef>{{"xai", "x"}, {"vllm", "y"}}));
    EXPECT_EQ(config.models.max_output_tokens, 200);
}

TEST_F(Load, FallbacksCanBeTurnedOffAndOnAgain) {
    file(R"({"model": {"default": "vllm/a", "fallbacks": ["vllm/b"]},
             "runtime": {"disable_provider_fallback": true}})");
    EXPECT_TRUE(load().fallbacks.empty());
    environment["HOLON_DISABLE_PROVIDER_FALLBACK"] = "no";
    EXPECT_EQ(load().fallbacks.size(), 1U);
    environment["HOLON_DISABLE_PROVIDER_FALLBACK"] = "maybe";
    EXPECT_THAT(error(), AllOf(HasSubstr("HOLON_DISABLE_PROVIDER_FALLBACK"), HasSubstr("maybe")));
}

TEST_F(Load, AnUnknownKeyNamesTheNearestAndItsPlace) {
    file(R"({"model": {"defualt": "vllm/a"}})");
    EXPECT_THAT(error(), AllOf(HasSubstr("config.json"), HasSubstr("/model"), HasSubstr("defualt"),
                               HasSubstr("default")));
}

TEST_F(Load, AFileThatIsNoJsonOrOfAnotherTypeIsAnErrorWithItsPlace) {
    file("{\"model\": ");
    EXPECT_THAT(error(), HasSubstr((home / "config.json").string()));
    file(R"({"runtime": {"max_output_tokens": "many"}})");
    EXPECT_THAT(error(), HasSubstr("/runtime/max_output_tokens"));
    file(R"({"runtime": {"max_output_tokens": 0}})");
    EXPECT_THAT(error(), HasSubstr("above 0"));
}

TEST_F(Load, NumbersOfTheEnvironmentMustBeWholeAndPositive) {
    for (const char* name : {"HOLON_MAX_OUTPUT_TOKENS", "HOLON_DEFAULT_TOOL_OUTPUT_TOKENS",
                             "HOLON_MAX_TOOL_OUTPUT_TOKENS", "HOLON_PROVIDER_HTTP_TIMEOUT_SECS",
                             "HOLON_PROVIDER_STREAM_IDLE_TIMEOUT_MS"})
        for (const char* bad : {"0", "-1", "1.5", "12x", "99999999999999999999", "\x1b[2J"}) {
            environment[name] = bad;
            EXPECT_THAT(error(), AllOf(HasSubstr(name), Not(HasSubstr("\x1b"))));
            environment.erase(name);
        }
}

// contract: REPO-11
TEST_F(Load, TheSettingCapsToolOutputAlsoBelowTheDefault) {
    file(R"({"runtime": {"max_tool_output_tokens": 1000}})");
    const Config config = load();
    EXPECT_EQ(config.max_tool_output_tokens, 1000);
    EXPECT_EQ(config.default_tool_output_tokens, 1000);
}

// contract: REPO-12
TEST_F(Load, TheVariableSetsTheDefaultOfToolOutput) {
    file(R"({"runtime": {"default_tool_output_tokens": 500}})");
    EXPECT_EQ(load().default_tool_output_tokens, 500);
    environment["HOLON_DEFAULT_TOOL_OUTPUT_TOKENS"] = "1000";
    EXPECT_EQ(load().default_tool_output_tokens, 1000);
    EXPECT_EQ(load().max_tool_output_tokens, 64'000);
}

// contract: REPO-13
TEST_F(Load, TheVariableCapsToolOutputAndNothingLiftsTheCap) {
    environment["HOLON_MAX_TOOL_OUTPUT_TOKENS"] = "700";
    EXPECT_EQ(load().max_tool_output_tokens, 700);
    EXPECT_EQ(load().default_tool_output_tokens, 700);
    environment["HOLON_MAX_TOOL_OUTPUT_TOKENS"] = "1000000";
    EXPECT_EQ(load().max_tool_output_tokens, kToolOutputTokensCap);
}

TEST_F(Load, AKeyIsFoundUnderTheFirstOfItsNamesThatIsSet) {
    environment["HF_TOKEN"] = "second";
    EXPECT_EQ(load().providers.at("huggingface").credential, "second");
    environment["HUGGINGFACE_API_KEY"] = "first";
    EXPECT_EQ(load().providers.at("huggingface").credential, "first");
    environment["HUGGINGFACE_API_KEY"] = "";
    EXPECT_EQ(load().providers.at("huggingface").credential, "second");
}

TEST_F(Load, AVariableMovesABuiltInProviderButNotAConfiguredOne) {
    environment["HOLON_XAI_BASE_URL"] = "http://127.0.0.1:1/v1";
    environment["HOLON_DEEPSEEK_OPENAI_BASE_URL"] = "http://127.0.0.1:2/v1";
    EXPECT_EQ(load().providers.at("xai").base_url, "http://127.0.0.1:1/v1");
    EXPECT_EQ(load().providers.at("deepseek-openai").base_url, "http://127.0.0.1:2/v1");
    file(R"({"providers": {"xai": {"transport": "openai_chat_completions",
             "base_url": "http://127.0.0.1:3", "auth": {"source": "none", "kind": "none"}}}})");
    const Provider provider = load().providers.at("xai");
    EXPECT_EQ(provider.base_url, "http://127.0.0.1:3");
    EXPECT_FALSE(provider.needs_credential);
}

TEST_F(Load, AnUnknownTransportIsRefusedAndTheKnownOnesAreNamed) {
    file(R"({"providers": {"x": {"transport": "carrier_pigeon", "base_url": "http://h",
             "auth": {"source": "none", "kind": "none"}}}})");
    EXPECT_THAT(error(), AllOf(HasSubstr("/providers/x/transport"), HasSubstr("carrier_pigeon"),
                               HasSubstr("openai_chat_completions")));
}

TEST_F(Load, ASourceWithoutWhatItNeedsIsRefused) {
    const auto with = [&](std::string_view auth) {
        file(fmt::format(R"({{"providers": {{"x": {{"transport": "openai_chat_completions",
             "base_url": "http://h", "auth": {}}}}}}})",
                         auth));
        return error();
    };
    EXPECT_THAT(with(R"({"source": "env", "kind": "api_key"})"),
                HasSubstr("/providers/x/auth/env"));
    EXPECT_THAT(with(R"({"source": "credential_profile", "kind": "api_key"})"),
                HasSubstr("/providers/x/auth/profile"));
    EXPECT_THAT(with(R"({"source": "credential_process", "kind": "api_key"})"),
                HasSubstr("not supported"));
}

TEST_F(Load, AProfileGivesItsMaterialOnlyWhileTheFileIsPrivate) {
    file(R"({"providers": {"x": {"transport": "openai_chat_completions", "base_url": "http://h",
             "auth": {"source": "credential_profile", "kind": "api_key", "profile": "work"}}}})");
    EXPECT_EQ(load().providers.at("x").credential, "");
    EXPECT_TRUE(load().providers.at("x").needs_credential);
    const std::string stored = fmt::format(
        R"({{"profiles": {{"work": {{"kind": "api_key", "material": "{}"}}}}}})", kSecret);
    credentials(stored);
    EXPECT_EQ(load().providers.at("x").credential, kSecret);
    for (const mode_t mode : {0640U, 0604U, 0620U}) {
        credentials(stored, mode);
        EXPECT_THAT(error(), AllOf(HasSubstr("chmod 600"), Not(HasSubstr(std::string(kSecret)))));
    }
}

TEST_F(Load, AProfileOfAnotherKindThanTheProviderAsksForIsRefused) {
    file(R"({"providers": {"x": {"transport": "openai_chat_completions", "base_url": "http://h",
             "auth": {"source": "credential_profile", "kind": "o_auth", "profile": "work"}}}})");
    credentials(R"({"profiles": {"work": {"kind": "api_key", "material": "m"}}})");
    EXPECT_THAT(error(), AllOf(HasSubstr("work"), HasSubstr("api_key"), HasSubstr("oauth")));
    credentials(R"({"profiles": {"work": {"kind": "oauth", "material": "m"}}})");
    EXPECT_EQ(load().providers.at("x").credential, "m");
}

TEST_F(Load, AFaultyCredentialsFileIsRefusedWithoutQuotingIt) {
    file(R"({"providers": {"x": {"transport": "openai_chat_completions", "base_url": "http://h",
             "auth": {"source": "credential_profile", "kind": "api_key", "profile": "work"}}}})");
    credentials(fmt::format(R"({{"profiles": {{"work": "{}"}}}})", kSecret));
    EXPECT_THAT(error(),
                AllOf(HasSubstr("credentials.json"), Not(HasSubstr(std::string(kSecret)))));
}

TEST_F(Load, CommandsGetTheEnvironmentWithoutAnySecret) {
    environment["PATH"] = "/bin";
    environment["HOLON_CONTROL_TOKEN"] = kSecret;
    environment["MY_KEY"] = kSecret;
    for (const auto& builtin : kBuiltinProviders)
        for (const auto& name : load().providers.at(std::string(builtin.id)).credential_env)
            environment[name] = kSecret;
    file(R"({"providers": {"x": {"transport": "openai_chat_completions", "base_url": "http://h",
             "auth": {"source": "env", "kind": "api_key", "env": "MY_KEY"}}}})");
    const Config config = load();
    EXPECT_EQ(config.providers.at("x").credential, kSecret);
    EXPECT_EQ(config.command_environment,
              (Environment{{"HOLON_HOME", home.string()}, {"PATH", "/bin"}}));
}

TEST_F(Load, EveryCredentialIsKnownUsedOrNot) {
    environment["HOLON_CONTROL_TOKEN"] = "token-1";
    environment["HOLON_VIEWER_TOKEN"] = "token-2";
    ASSERT_TRUE(base::write_file_atomic(home / "control-token", "token-3\n", 0600));
    environment["OPENAI_API_KEY"] = "key-1";
    environment["ANTHROPIC_API_KEY"] = "key-2";
    environment["ANTHROPIC_AUTH_TOKEN"] = "key-3";
    credentials(R"({"profiles": {"spare": {"kind": "api_key", "material": "key-4"}}})");
    EXPECT_THAT(load().credentials, testing::ElementsAre("key-1", "key-2", "key-3", "key-4",
                                                         "token-1", "token-2", "token-3"));
}

TEST_F(Load, ExternalCallsNeedApprovalUnlessTheFileSaysOtherwise) {
    using domain::ExternalCalls;
    EXPECT_EQ(load().flow.of("main"), ExternalCalls::Ask);
    file(
        R"({"policy": {"external_calls": "refuse"}, "agents": {"ci": {"policy": {"external_calls": "allow"}}},
             "redaction": {"patterns": true}})");
    const Config config = load();
    EXPECT_EQ(config.flow.of("main"), ExternalCalls::Refuse);
    EXPECT_EQ(config.flow.of("ci"), ExternalCalls::Allow);
    EXPECT_TRUE(config.redact_patterns);
    file(R"({"policy": {"external_calls": "never"}})");
    EXPECT_THAT(error(), HasSubstr("external_calls"));
}

TEST_F(Load, TheShellOfCommandsIsOneWeKnow) {
    environment["SHELL"] = "/usr/bin/zsh";
    EXPECT_EQ(load().default_shell, "zsh");
    environment["SHELL"] = "/usr/bin/fish";
    EXPECT_EQ(load().default_shell, "sh");
}

TEST_F(Load, AProviderMustBeNamedAndPlacedWell) {
    const auto with = [&](std::string_view id, std::string_view url) {
        file(fmt::format(R"({{"providers": {{"{}": {{"transport": "openai_chat_completions",
             "base_url": "{}", "auth": {{"source": "none", "kind": "none"}}}}}}}})",
                         id, url));
        return error();
    };
    EXPECT_THAT(with("My Proxy", "http://h"), HasSubstr("a-z, 0-9"));
    EXPECT_THAT(with("x", "h:80"), HasSubstr("/providers/x/base_url"));
    EXPECT_THAT(with("x", "https:///v1"), HasSubstr("/providers/x/base_url"));
    EXPECT_THAT(with("x", "https://user:sk-secret@h/v1"),
                AllOf(HasSubstr("/providers/x/base_url"), Not(HasSubstr("sk-secret"))));
}

TEST_F(Load, ModelEntriesAreTypedAndChecked) {
    file(R"({"models": {"catalog": {"My-Proxy/house": {"context_window_tokens": 64000}}},
             "model": {"unknown_fallback": {"runtime_max_output_tokens": 5}}})");
    const auto models = load().models;
    EXPECT_EQ(models.overrides.at("my-proxy/house").context_window_tokens, 64'000);
    EXPECT_EQ(models.unknown_fallback->runtime_max_output_tokens, 5);
    file(R"({"models": {"catalog": {"a/b": {"context_window": 64000}}}})");
    EXPECT_THAT(error(), HasSubstr("context_window_tokens"));
    file(R"({"models": {"catalog": {"a/b": {"context_window_tokens": 0}}}})");
    EXPECT_THAT(error(), HasSubstr("/models/catalog/a~1b/context_window_tokens"));
    file(R"({"models": {"catalog": {"nameless": {}}}})");
    EXPECT_THAT(error(), HasSubstr("/models/catalog/nameless"));
    file(R"({"model": {"unknown_fallback": null}})");
    EXPECT_EQ(load().models.unknown_fallback, std::nullopt);
}

TEST_F(Load, CandidatesAreThoseWithACredentialTheUsualFirst) {
    EXPECT_TRUE(authenticated_candidates(load()).empty());
    environment["XAI_API_KEY"] = "k";
    environment["OPENAI_API_KEY"] = "k";
    environment["MISTRAL_API_KEY"] = "  ";
    EXPECT_EQ(authenticated_candidates(load()),
              (std::vector<ModelRef>{{"openai", "gpt-5.4"}, {"xai", "grok-3"}}));
    environment["CODEX_HOME"] = home.string();
    ASSERT_TRUE(base::write_file_atomic(home / "auth.json", "{}", 0600));
    EXPECT_EQ(authenticated_candidates(load()).front().text(), "openai-codex/gpt-5.4");
    file(R"({"providers": {"a": {"transport": "openai_chat_completions", "base_url": "http://h",
             "auth": {"source": "env", "kind": "api_key", "env": "XAI_API_KEY"}}},
             "models": {"catalog": {"a/mine": {}}}})");
    EXPECT_EQ(authenticated_candidates(load()).at(2).text(), "a/mine");
}

TEST_F(Load, AnotherModelFallsBackToTheDefaultAndItsFallbacks) {
    file(R"({"model": {"default": "vllm/a", "fallbacks": ["vllm/b", "vllm/c"]}})");
    EXPECT_EQ(fallbacks_of(load(), {"vllm", "a"}),
              (std::vector<ModelRef>{{"vllm", "b"}, {"vllm", "c"}}));
    EXPECT_EQ(fallbacks_of(load(), {"vllm", "b"}),
              (std::vector<ModelRef>{{"vllm", "a"}, {"vllm", "c"}}));
    environment["HOLON_DISABLE_PROVIDER_FALLBACK"] = "1";
    EXPECT_TRUE(fallbacks_of(load(), {"vllm", "b"}).empty());
}

TEST_F(Load, AWebSearchProviderIsCheckedLikeAnyOther) {
    file(R"({"web": {"providers": {"house": {"kind": "searxng", "base_url": "http://x"},
        "tool": {"kind": "command", "command": {"argv": ["search", "{{query}}"]}}}}})");
    load();
    const std::vector<std::pair<std::string_view, std::string_view>> table{
        {R"({"base_url": "http://x"})", "kind"},
        {R"({"kind": "telepathy"})", "kind"},
        {R"({"kind": "brave", "base_url": "x"})", "base_url"},
        {R"({"kind": "brave", "key": "k"})", "key"},
        {R"({"kind": "brave", "command": {"argv": ["search"]}})", "command"},
        {R"({"kind": "command", "output": {"format": "xml"}})", "format"},
        {R"({"kind": "command", "command": {"argv": ["/bin/sh", "-c", "{{query}}"]}})", "shell"}};
    for (const auto& [section, named] : table) {
        file(fmt::format(R"({{"web": {{"providers": {{"house": {}}}}}}})", section));
        EXPECT_THAT(error(), HasSubstr(std::string(named))) << section;
    }
}

TEST(ModelRefs, AreSplitAtTheFirstSlashAndTheProviderIsLowerCased) {
    EXPECT_EQ(parse_model_ref(" OpenRouter / Org/Model:free "),
              (ModelRef{"openrouter", "Org/Model:free"}));
    EXPECT_EQ(parse_model_ref("a/b")->text(), "a/b");
    for (const char* bad : {"", "model", "/model", "provider/", " / "}) {
        const auto ref = parse_model_ref(bad);
        ASSERT_FALSE(ref) << bad;
        EXPECT_THAT(ref.error().message, HasSubstr("provider/model"));
    }
}

TEST(BuiltIns, EachHasAnEndpointOfATransportContractAndNothingOfItsOwn) {
    std::vector<std::string_view> ids;
    for (const auto& builtin : kBuiltinProviders) {
        EXPECT_EQ(std::ranges::count(ids, builtin.id), 0) << builtin.id;
        ids.push_back(builtin.id);
        if (builtin.transport == Transport::Scripted) continue;
        EXPECT_TRUE(builtin.base_url.starts_with("https://") ||
                    builtin.base_url.starts_with("http://127.0.0.1") ||
                    builtin.base_url.starts_with("http://localhost"))
            << builtin.id;
    }
}

TEST_F(Load, HowRequestsAreAdaptedToAProviderIsChecked) {
    const auto configured = [&](std::string_view transport, std::string_view members) {
        file(fmt::format(
            R"({{"providers":{{"house":{{"transport":"{}","base_url":"http://h",
                "auth":{{"source":"none","kind":"none"}},{}}}}}}})",
            transport, members));
        return config::load({}, environment, "/");
    };
    EXPECT_TRUE(configured("openai_responses", R"("keeps_state":true)").has_value());
    const std::vector<std::tuple<std::string_view, std::string_view, std::string>> rows{
        {"openai_chat_completions", R"("keeps_state":true)", "keeps_state"},
        {"openai_responses", R"("headers":{"a b":"c"})", "headers"},
        {"openai_responses", R"("headers":{"a":"b\nc"})", "headers"},
        {"openai_responses", R"("idle_timeout_ms":0)", "idle_timeout_ms"},
        {"openai_responses", R"("first_byte_timeout_ms":-1)", "first_byte_timeout_ms"},
        {"openai_responses", R"("builtin_web_search":{"enabled":1})", "builtin_web_search"},
        {"anthropic_messages", R"("builtin_web_search":{"advertised_tool_type":"web_search"})",
         "builtin_web_search"},
        {"openai_responses", R"("omit":3)", "omit"}};
    for (const auto& [transport, members, place] : rows) {
        const auto refused = configured(transport, members);
        ASSERT_FALSE(refused.has_value()) << members;
        EXPECT_THAT(refused.error().message, HasSubstr("/providers/house/" + place));
    }
}

TEST_F(Load, WhichProvidersSearchTheWebForTheirModelsIsKnownOrSet) {
    const auto searches = [&](const std::string& id) {
        return load().providers.at(id).has_web_search;
    };
    EXPECT_TRUE(searches("anthropic"));
    EXPECT_TRUE(searches("openai"));
    EXPECT_TRUE(searches("openai-codex"));
    EXPECT_FALSE(searches("mistral"));
    const auto entry = [](std::string_view transport, std::string_view search) {
        return fmt::format(
            R"({{"transport":"{}","base_url":"http://h","auth":{{"source":"none","kind":"none"}}{}}})",
            transport, search);
    };
    file(fmt::format(
        R"({{"providers":{{"openai":{},"anthropic":{},"own":{},"house":{}}}}})",
        entry("openai_responses", ""),
        entry("anthropic_messages", R"(,"builtin_web_search":{"enabled":false})"),
        entry("anthropic_messages", ""),
        entry(
            "anthropic_messages",
            R"(,"builtin_web_search":{"kind":"anthropic","advertised_tool_type":"web_search_20250305"})")));
    EXPECT_TRUE(searches("openai")) << "as the built-in one of its name";
    EXPECT_FALSE(searches("anthropic"));
    EXPECT_FALSE(searches("own"));
    EXPECT_TRUE(searches("house"));
}

TEST_F(Load, ThePatienceWithAnOutageIsASetting) {
    EXPECT_EQ(load().outage_patience_ms, std::nullopt);
    file(R"({"runtime":{"outage_patience_ms":7000}})");
    EXPECT_EQ(load().outage_patience_ms, 7000);
    environment["HOLON_OUTAGE_PATIENCE_MS"] = "9000";
    EXPECT_EQ(load().outage_patience_ms, 9000);
}

}  // namespace
}  // namespace config
