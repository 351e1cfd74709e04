// The configuration through the built program, and the model of an agent.
#include <sys/stat.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/e2e/program.h"
#include "tests/support/fake_model_server.h"

namespace e2e {
namespace {

using test_support::FakeModelServer;
using testing::HasSubstr;
using testing::Not;

const std::string kKey = "sk-very-secret-0123456789";

mode_t mode_of(const std::filesystem::path& file) {
    struct stat status{};
    EXPECT_EQ(stat(file.c_str(), &status), 0) << file;
    return status.st_mode & 0777U;
}

TEST(Config, SettingsAreStoredShownAndForgotten) {
    Program program;
    EXPECT_EQ(program.json_of({"config", "get", "model.default"}), json::value(nullptr));
    EXPECT_EQ(program.json_of({"config", "get", "model.fallbacks"}), json::value(json::array{}));
    EXPECT_EQ(program.json_of({"config", "list"}), json::value(json::object{}));
    EXPECT_FALSE(std::filesystem::exists(program.home()));
    EXPECT_EQ(program.json_of({"config", "set", "model.default", "vllm/m"}), json::value("vllm/m"));
    EXPECT_EQ(program.json_of({"config", "set", "runtime.default_tool_output_tokens", "9"}),
              json::value(9));
    EXPECT_EQ(mode_of(program.home() / "config.json"), 0600U);
    EXPECT_EQ(program.json_of({"config", "list"}),
              (json::value{{"model", {{"default", "vllm/m"}}},
                           {"runtime", {{"default_tool_output_tokens", 9}}}}));
    EXPECT_EQ(program.json_of({"config", "unset", "model.default"}),
              (json::value{{"key", "model.default"}, {"status", "unset"}}));
    EXPECT_EQ(program.json_of({"config", "list"}),
              (json::value{{"runtime", {{"default_tool_output_tokens", 9}}}}));
    EXPECT_FALSE(std::filesystem::exists(program.home() / "holon.db"));
}

TEST(Config, AChangeThatCouldNotBeLoadedIsRefusedAndNothingIsWritten) {
    Program program;
    program.run({"config", "set", "model.default", "vllm/m"});
    const std::string before = program.read(program.home() / "config.json");
    for (const auto& arguments : std::vector<std::vector<std::string>>{
             {"set", "model.defalt", "a/b"},
             {"set", "model.default", "nameless"},
             {"set", "models.catalog", R"({"a/b": {"nonsense": 1}})"},
             {"providers", "set", "x", "--transport", "carrier_pigeon", "--base-url", "http://h"},
             {"providers", "set", "x", "--base-url", "http://h"},
             {"providers", "set", "zai-openai", "--transport", "anthropic_messages"},
             {"providers", "set", "xai", "--credential-source", "env"},
             {"credentials", "set", "w", "--kind", "aws_sdk", "--material", "m"},
             {"credentials", "set", "w", "--kind", "api_key", "--material", " "},
             {"credentials", "set", "w", "--kind", "api_key"}}) {
        std::vector<std::string> all{"config"};
        all.insert(all.end(), arguments.begin(), arguments.end());
        const auto finished = program.run(all);
        EXPECT_EQ(finished.exit_code, 1) << finished.out;
        EXPECT_EQ(finished.out, "");
        EXPECT_THAT(finished.err, testing::StartsWith("Error: "));
    }
    EXPECT_EQ(program.read(program.home() / "config.json"), before);
    EXPECT_FALSE(std::filesystem::exists(program.home() / "credentials.json"));
}

TEST(Config, ACredentialIsStoredPrivatelyUsedAndNeverShown) {
    Program program;
    FakeModelServer server;
    server.always(test_support::says("Done."));
    program.write(program.folder() / "key", kKey + "\r\nsecond line\n");
    const auto stored =
        program.run_after(fmt::format("exec < {}", (program.folder() / "key").string()),
                          {"config", "credentials", "set", "work", "--kind", "api_key", "--stdin"});
    EXPECT_EQ(stored.exit_code, 0) << stored.err;
    EXPECT_EQ(base::parse_json(stored.out).value(),
              (json::value{{"applied_via", "offline_store"},
                           {"credential",
                            {{"profile", "work"}, {"kind", "api_key"}, {"configured", true}}}}));
    EXPECT_EQ(mode_of(program.home() / "credentials.json"), 0600U);
    program.json_of({"config", "providers", "set", "house", "--transport",
                     "openai_chat_completions", "--base-url", server.base_url(),
                     "--credential-source", "auth_profile", "--credential-kind", "api_key",
                     "--credential-profile", "work"});
    program.json_of({"config", "set", "model.default", "house/model-a"});
    EXPECT_EQ(program.run({"run", "go"}).exit_code, 0);
    ASSERT_EQ(server.request_count(), 1U);
    EXPECT_EQ(server.requests()[0].headers.at("authorization"), "Bearer " + kKey);

    for (const auto& arguments :
         std::vector<std::vector<std::string>>{{"config", "list"},
                                               {"config", "schema"},
                                               {"config", "credentials", "list"},
                                               {"config", "providers", "list"},
                                               {"config", "providers", "get", "house"},
                                               {"config", "providers", "doctor", "house"},
                                               {"config", "doctor"},
                                               {"doctor", "--probe"},
                                               {"models"},
                                               {"config", "credentials", "remove", "work"}}) {
        const auto finished = program.run(arguments);
        EXPECT_EQ(finished.exit_code, 0) << finished.err;
        EXPECT_TRUE(base::parse_json(finished.out)) << finished.out;
        EXPECT_THAT(finished.out + finished.err, Not(HasSubstr(kKey)));
    }
    EXPECT_THAT(program.read(program.home() / "credentials.json"), Not(HasSubstr(kKey)));
    EXPECT_EQ(program.json_of({"config", "credentials", "remove", "work"}).at("credential"),
              (json::value{{"profile", "work"}, {"kind", "unknown"}, {"configured", false}}));
    EXPECT_EQ(server.request_count(), 2U) << "the run, and the question of doctor --probe";
}

TEST(Config, ABuiltInProviderKeepsItsKeyWhenMovedAndIsRestoredWhenRemoved) {
    Program program;
    program.environment["XAI_API_KEY"] = kKey;
    const auto moved =
        program.json_of({"config", "providers", "set", "XAI", "--base-url", "http://127.0.0.1:1"});
    EXPECT_EQ(
        moved.at("provider"),
        (json::value{{"id", "xai"},
                     {"transport", "openai_chat_completions"},
                     {"base_url", "http://127.0.0.1:1"},
                     {"auth", {{"source", "env"}, {"kind", "api_key"}, {"env", "XAI_API_KEY"}}},
                     {"credential_configured", true},
                     {"configured_in_config", true}}));
    EXPECT_EQ(base::string_at(program.json_of({"config", "providers", "remove", "xai"}), "status"),
              "removed");
    EXPECT_EQ(base::string_at(program.json_of({"config", "providers", "remove", "xai"}), "status"),
              "not_configured");
    EXPECT_EQ(base::string_at(program.json_of({"config", "providers", "get", "xai"}), "base_url"),
              "https://api.x.ai/v1");
}

TEST(Config, ModelsAreListedTheSameUnderBothNames) {
    Program program;
    const auto list = program.json_of({"config", "models", "list"});
    EXPECT_EQ(program.json_of({"models"}), list);
    ASSERT_GT(list.as_array().size(), 150U);
    EXPECT_EQ(keys_of(list.as_array()[0]),
              (std::vector<std::string>{"available", "credential_configured", "credential_kind",
                                        "credential_source", "display_name", "metadata_source",
                                        "model", "policy", "provider", "provider_configured",
                                        "provider_source", "transport", "unavailable_reason"}));
    program.environment["XAI_API_KEY"] = kKey;
    const auto with_key = program.json_of({"models"});
    for (const auto& model : with_key.as_array())
        if (base::string_at(model, "provider") == "xai")
            EXPECT_TRUE(base::bool_at(model, "available")) << model;
}

// contract: PROV-24
TEST(Doctor, ShowsTheRetryPolicyWithTheUsableModels) {
    Program program;
    const auto nothing = program.json_of({"doctor"});
    EXPECT_TRUE(nothing.at("providers").as_array().empty());
    EXPECT_FALSE(base::bool_at(nothing, "ready"));
    EXPECT_EQ(nothing.at("next_steps").as_array().size(), 2U) << "a model, and the sandbox";

    program.environment["HOLON_MODEL"] = "xai/grok-4";
    program.environment["HOLON_MODEL_FALLBACKS"] = "vllm/m";
    const auto doctor = program.json_of({"config", "doctor"});
    EXPECT_EQ(base::int_at(doctor.at("retry_policy"), "max_retries_per_provider"), 2);
    EXPECT_EQ(base::int_at(doctor.at("retry_policy"), "max_attempts_per_provider"), 3);
    EXPECT_EQ(base::int_at(doctor.at("retry_policy"), "base_backoff_ms"), 200);
    const auto& providers = doctor.at("providers").as_array();
    ASSERT_EQ(providers.size(), 2U);
    EXPECT_EQ(providers[0].at("availability"), (json::value{{"available", false},
                                                            {"error", "credential_missing"},
                                                            {"failure_kind", "auth_error"},
                                                            {"disposition", "fail_fast"}}));
    EXPECT_THAT(base::string_at(providers[0], "next_step"), HasSubstr("XAI_API_KEY"));
    EXPECT_TRUE(base::bool_at(providers[1].at("availability"), "available"));
    EXPECT_EQ(base::string_at(providers[1].at("settings"), "transport"), "openai_chat_completions");
}

TEST(Doctor, ConnectsOnlyOnRequest) {
    Program program;
    FakeModelServer server;
    server.always(test_support::says("ready"));
    program.use_server(server.base_url(), kKey);
    const auto quiet = program.json_of({"doctor"}).at("providers").as_array()[0];
    EXPECT_EQ(base::find(quiet, "reachable"), nullptr);
    EXPECT_EQ(server.request_count(), 0U);
    const auto probed = program.json_of({"doctor", "--probe"}).at("providers").as_array()[0];
    EXPECT_TRUE(base::bool_at(probed, "reachable"));
    EXPECT_TRUE(base::bool_at(probed, "answered"));
    EXPECT_EQ(server.request_count(), 1U);
}

// contract: PROV-18
TEST(Doctor, AProviderThatIsNotBuiltInIsNotGuessed) {
    Program program;
    program.environment["HOLON_MODEL"] = "bedrock/some-model";
    program.environment["AWS_ACCESS_KEY_ID"] = kKey;
    const auto entry = program.json_of({"doctor"}).at("providers").as_array()[0];
    EXPECT_EQ(entry.at("settings"), (json::value{{"error", "provider_not_configured"}}));
    EXPECT_FALSE(base::bool_at(entry.at("availability"), "available"));
    const auto run = program.run({"run", "go"});
    EXPECT_EQ(run.exit_code, 1);
    EXPECT_THAT(run.err, HasSubstr("there is no provider 'bedrock'"));
}

// contract: PROV-14
TEST(Doctor, ATransportContractWeDoNotKnowIsRefusedBeforeAnyRequest) {
    Program program;
    FakeModelServer server;
    program.use_server(server.base_url(), kKey);
    std::string file = program.read(program.home() / "config.json");
    file.replace(file.find("openai_chat_completions"), std::size("openai_chat_completions") - 1,
                 "carrier_pigeon");
    program.write(program.home() / "config.json", file);
    for (const auto& arguments : std::vector<std::vector<std::string>>{{"run", "go"}, {"doctor"}}) {
        const auto finished = program.run(arguments);
        EXPECT_EQ(finished.exit_code, 1);
        EXPECT_THAT(finished.err,
                    HasSubstr("transport contract 'carrier_pigeon' is not supported"));
    }
    EXPECT_EQ(server.request_count(), 0U);
}

TEST(Models, WithoutAConfiguredOneTheFirstWithAKeyIsUsed) {
    Program program;
    FakeModelServer server;
    server.always(test_support::says("Done."));
    program.environment["XAI_API_KEY"] = kKey;
    program.environment["HOLON_XAI_BASE_URL"] = server.base_url();
    EXPECT_EQ(program.run({"run", "go"}).exit_code, 0);
    ASSERT_EQ(server.request_count(), 1U);
    const auto body = base::parse_json(server.requests()[0].body).value();
    EXPECT_EQ(base::string_at(body, "model"), "grok-3");
    EXPECT_EQ(base::int_at(body, "max_tokens"), 8192);
}

TEST(Models, WhatAModelMayWriteFollowsTheModel) {
    Program program;
    FakeModelServer server;
    server.always(test_support::says("Done."));
    program.environment["XAI_API_KEY"] = kKey;
    program.environment["HOLON_XAI_BASE_URL"] = server.base_url();
    program.environment["HOLON_MODEL"] = "xai/grok-4";
    EXPECT_EQ(program.run({"run", "go"}).exit_code, 0);
    program.json_of(
        {"config", "set", "models.catalog", R"({"xai/mine": {"runtime_max_output_tokens": 321}})"});
    program.environment["HOLON_MODEL"] = "xai/mine";
    EXPECT_EQ(program.run({"run", "go"}).exit_code, 0);
    ASSERT_EQ(server.request_count(), 2U);
    const auto limit = [&](std::size_t request) {
        return base::int_at(base::parse_json(server.requests()[request].body).value(),
                            "max_tokens");
    };
    EXPECT_EQ(limit(0), 64'000);
    EXPECT_EQ(limit(1), 321);
}

class AgentModel : public testing::Test {
protected:
    AgentModel() {
        program.use_server(server.base_url(), kKey);
        server.always(test_support::says("Done."));
    }
    Finished run(const std::string& agent) {
        return program.run({"run", "--agent", agent, "--create-agent", "go"});
    }
    std::vector<std::string> asked() const {
        std::vector<std::string> models;
        for (const auto& request : server.requests())
            models.push_back(base::string_at(base::parse_json(request.body).value(), "model"));
        return models;
    }

    Program program;
    FakeModelServer server;
};

// contract: MODEL-03, MODEL-04, MODEL-05, STATE-17
TEST_F(AgentModel, AnOverrideIsForOneAgentAndLeavesTheDefaultAlone) {
    EXPECT_EQ(run("a").exit_code, 0);
    EXPECT_EQ(run("b").exit_code, 0);
    const auto set = program.json_of({"agent", "model", "set", "FAKE/model-b", "a"});
    EXPECT_EQ(keys_of(set), (std::vector<std::string>{"agent_id", "model", "ok"}));
    const auto a = program.json_of({"status", "--agent", "a"}).at("model");
    EXPECT_EQ(a, set.at("model"));
    EXPECT_EQ(a, program.json_of({"agent", "model", "get", "a"}));
    EXPECT_EQ(base::string_at(a, "source"), "agent_override");
    EXPECT_EQ(base::string_at(a, "override_model"), "fake/model-b");
    EXPECT_EQ(base::string_at(a, "effective_model"), "fake/model-b");
    EXPECT_EQ(base::string_at(a, "runtime_default_model"), "fake/model-a");
    EXPECT_EQ(base::string_at(a.at("resolved_policy"), "model_ref"), "fake/model-b");
    const auto b = program.json_of({"status", "--agent", "b"}).at("model");
    EXPECT_EQ(base::string_at(b, "source"), "runtime_default");
    EXPECT_EQ(base::find(b, "override_model"), nullptr);
    EXPECT_EQ(base::string_at(b, "runtime_default_model"), "fake/model-a");
    for (const char* agent : {"a", "b", "new"}) EXPECT_EQ(run(agent).exit_code, 0);
    EXPECT_EQ(asked(),
              (std::vector<std::string>{"model-a", "model-a", "model-b", "model-a", "model-a"}));
    const auto events = program.events("a", "agent_model_override_set");
    ASSERT_EQ(events.size(), 1U);
    EXPECT_EQ(
        events[0].at("data"),
        (json::value{{"agent_id", "a"}, {"model", "fake/model-b"}, {"pending_next_turn", false}}));
}

// contract: MODEL-06, MODEL-07
TEST_F(AgentModel, ATurnInFlightEndsWithTheModelItBeganWith) {
    auto late = test_support::says("Late.");
    late.hang = true;
    server.enqueue(late);
    auto running = program.start({"run", "--json", "--agent", "a", "--create-agent", "go"});
    ASSERT_TRUE(server.wait_for_requests(1));
    program.json_of({"agent", "model", "set", "fake/model-b", "a"});
    server.release();
    const auto finished = running.wait();
    EXPECT_EQ(finished.exit_code, 0) << finished.err;
    EXPECT_EQ(base::string_at(base::parse_json(finished.out).value(), "final_text"), "Late.");
    EXPECT_EQ(program.events("a", "agent_model_override_set")[0].at("data").at("pending_next_turn"),
              true);
    EXPECT_TRUE(program.events("a", "message_processing_aborted").empty());
    EXPECT_EQ(run("a").exit_code, 0);
    EXPECT_EQ(asked(), (std::vector<std::string>{"model-a", "model-b"}));
}

// contract: MODEL-08
TEST_F(AgentModel, ClearingItRestoresTheDefaultWithItsFallbacks) {
    program.environment["HOLON_MODEL_FALLBACKS"] = "fake/model-c";
    EXPECT_EQ(run("a").exit_code, 0);
    const auto overridden =
        program.json_of({"agent", "model", "set", "fake/model-b", "a"}).at("model");
    EXPECT_EQ(overridden.at("effective_fallback_models"),
              (json::value{"fake/model-a", "fake/model-c"}));
    const auto cleared = program.json_of({"agent", "model", "clear", "a"}).at("model");
    EXPECT_EQ(base::string_at(cleared, "source"), "runtime_default");
    EXPECT_EQ(base::find(cleared, "override_model"), nullptr);
    EXPECT_EQ(cleared.at("effective_fallback_models"), (json::value(json::array{"fake/model-c"})));
    EXPECT_EQ(program.events("a", "agent_model_override_cleared").size(), 1U);
    server.enqueue(test_support::status_reply(401));
    EXPECT_EQ(run("a").exit_code, 0);
    EXPECT_EQ(asked(), (std::vector<std::string>{"model-a", "model-a", "model-c"}));
}

TEST_F(AgentModel, AModelThatCannotBeUsedIsRefused) {
    EXPECT_EQ(run("a").exit_code, 0);
    for (const char* bad : {"nameless", "nowhere/m", "xai/grok-4"}) {
        const auto finished = program.run({"agent", "model", "set", bad, "a"});
        EXPECT_EQ(finished.exit_code, 1);
        EXPECT_EQ(finished.out, "");
    }
    EXPECT_EQ(program.run({"agent", "model", "set", "fake/m", "ghost"}).exit_code, 1);
    EXPECT_EQ(base::string_at(program.json_of({"agent", "model", "get", "a"}), "source"),
              "runtime_default");
}

// Each writes the whole file; without a lock the last one would win.
TEST(Config, CredentialsThatAreStoredAtTheSameTimeAreAllKept) {
    Program program;
    constexpr int kWriters = 8;
    std::vector<Running> writers;
    for (int i = 0; i < kWriters; ++i)
        writers.push_back(
            program.start({"config", "credentials", "set", fmt::format("p{}", i), "--kind",
                           "api_key", "--material", "some-key-0123456789"}));
    for (auto& writer : writers) EXPECT_EQ(writer.wait().exit_code, 0);
    const auto stored = base::parse_json(program.read(program.home() / "credentials.json")).value();
    EXPECT_EQ(stored.at("profiles").as_object().size(), static_cast<std::size_t>(kWriters));
}

}  // namespace
}  // namespace e2e
