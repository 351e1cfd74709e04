#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "surfaces/cli/cli.h"
#include "tests/support/captured_terminal.h"

namespace cli {
namespace {

using test_support::CapturedTerminal;
using testing::HasSubstr;

class FakeSettings final : public service::Settings {
public:
    base::Result<json::value> get(const std::string& key) override {
        if (key == "model.default") return json::value("vllm/m");
        return base::fail(base::ErrorCode::NotFound, "there is no setting '{}'", key);
    }
    base::Result<json::value> set(const std::string&, const std::string& value) override {
        return json::value(value);
    }
    base::Status unset(const std::string&) override { return {}; }
    base::Result<json::object> list() override { return stored; }
    std::vector<service::SettingDescription> schema() override {
        return {{.key = "a",
                 .kind = "enum",
                 .description = "Ay.",
                 .default_ = "x",
                 .allowed_values = {{"x", "y"}}}};
    }
    base::Result<std::vector<service::ModelAvailability>> models() override {
        return std::vector<service::ModelAvailability>{
            {.model = "xai/x",
             .display_name = "\x1b[2JX",
             .available = true,
             .policy = {{"context_window_tokens", 256'000}, {"runtime_max_output_tokens", 900}}},
            {.model = "y/z",
             .display_name = "Z",
             .unavailable_reason = "credential_missing",
             .policy = {{"runtime_max_output_tokens", 8192}}}};
    }
    base::Result<service::ProviderView> set_provider(const service::ProviderChange&) override {
        return house;
    }
    base::Result<service::ProviderView> provider(const std::string&) override { return house; }
    base::Result<std::vector<service::ProviderView>> providers() override {
        return std::vector{house};
    }
    base::Result<bool> remove_provider(const std::string&) override { return true; }
    base::Result<service::CredentialView> set_credential(const std::string& profile,
                                                         const std::string& kind,
                                                         const std::string& secret) override {
        material = secret;
        return service::CredentialView{profile, kind, true};
    }
    base::Result<std::vector<service::CredentialView>> credentials() override {
        return std::vector<service::CredentialView>{{"work", "api_key", true}};
    }
    base::Result<service::CredentialView> remove_credential(const std::string& profile) override {
        return service::CredentialView{profile, "unknown", false};
    }
    base::Result<service::LoginResult> login(const service::LoginRequest& request) override {
        material = request.key;
        return service::LoginResult{.provider = request.provider,
                                    .profile = request.provider,
                                    .model = request.provider + "/m",
                                    .answered = true,
                                    .is_default = true};
    }
    base::Result<json::object> doctor(bool probe) override {
        json::object entry{
            {"model", "xai/x"},
            {"settings", {{"transport", "openai_chat_completions"}, {"base_url", doctor_url}}},
            {"availability",
             {{"available", false},
              {"error", "credential_missing"},
              {"failure_kind", "auth_error"}}},
            {"next_step", "set XAI_API_KEY to a key of xai"}};
        if (probe) entry["reachable"] = false;
        return json::object{{"retry_policy",
                             {{"max_attempts_per_provider", 3},
                              {"max_retries_per_provider", 2},
                              {"base_backoff_ms", 200}}},
                            {"providers", json::array{entry}},
                            {"ready", false}};
    }
    base::Result<json::object> doctor_provider(const std::string&, bool) override {
        return base::fail(base::ErrorCode::NotFound, "there is none");
    }

    json::object stored{{"model", {{"default", "vllm/m"}}}, {"runtime", {{"n", 7}}}};
    service::ProviderView house{.id = "house",
                                .transport = "openai_chat_completions",
                                .base_url = "http://h",
                                .auth = {.source = "env", .kind = "api_key", .env = "K"},
                                .configured_in_config = true};
    std::string material;
    std::string doctor_url{"http://h"};
};

class SettingsCli : public testing::Test {
protected:
    template <class T>
    std::string shown(T action) {
        const CapturedTerminal terminal(true);
        EXPECT_EQ(execute({.action = std::move(action)}, {settings, terminal.terminal}),
                  Exit::Success)
            << terminal.err();
        return terminal.out();
    }
    template <class T>
    json::value piped(T action) {
        const CapturedTerminal terminal;
        EXPECT_EQ(execute({.action = std::move(action)}, {settings, terminal.terminal}),
                  Exit::Success)
            << terminal.err();
        return base::parse_json(terminal.out()).value();
    }

    FakeSettings settings;
};

TEST_F(SettingsCli, OnATerminalPeopleGetSentencesAndTables) {
    EXPECT_EQ(shown(SettingGetCommand{"model.default"}), "vllm/m\n");
    EXPECT_EQ(shown(SettingSetCommand{"model.default", "a/b"}), "model.default is now a/b\n");
    EXPECT_EQ(shown(SettingUnsetCommand{"model.default"}), "model.default is no longer set\n");
    EXPECT_EQ(shown(SettingListCommand{}), "model.default  vllm/m\nruntime.n      7\n");
    EXPECT_EQ(shown(SettingSchemaCommand{}),
              "SETTING  DEFAULT  MEANING\na        x        Ay. One of x, y.\n");
    EXPECT_EQ(shown(ModelsCommand{}),
              "MODEL  NAME      WINDOW  OUTPUT  USABLE\n"
              "xai/x  \\x1b[2JX  256.0k  900     yes\n"
              "y/z    Z         -       8.2k    credential_missing\n");
    EXPECT_EQ(shown(ProviderGetCommand{"house"}),
              "provider    house\n"
              "transport   openai_chat_completions\n"
              "base url    http://h\n"
              "credential  missing: env K\n"
              "from        config.json\n");
    EXPECT_EQ(shown(CredentialListCommand{}), "PROFILE  KIND\nwork     api_key\n");
    settings.stored.clear();
    EXPECT_THAT(shown(SettingListCommand{}), HasSubstr("holon config schema"));
}

TEST_F(SettingsCli, InAPipeScriptsGetTheJsonTheyKnow) {
    EXPECT_EQ(piped(SettingGetCommand{"model.default"}), json::value("vllm/m"));
    EXPECT_EQ(piped(SettingUnsetCommand{"k"}), (json::value{{"key", "k"}, {"status", "unset"}}));
    EXPECT_EQ(piped(SettingListCommand{}), json::value(settings.stored));
    EXPECT_EQ(piped(ProviderRemoveCommand{"house"}),
              (json::value{
                  {"applied_via", "offline_store"}, {"provider", "house"}, {"status", "removed"}}));
    EXPECT_EQ(piped(ProviderSetCommand{}),
              (json::value{{"applied_via", "offline_store"},
                           {"provider", base::to_json(settings.house)}}));
    EXPECT_EQ(piped(SettingSchemaCommand{}),
              (json::value(json::array{{{"key", "a"},
                                        {"kind", "enum"},
                                        {"description", "Ay."},
                                        {"default", "x"},
                                        {"allowed_values", json::array{"x", "y"}}}})));
}

TEST_F(SettingsCli, ADoctorSaysWhatIsWrongAndWhatToDo) {
    EXPECT_EQ(shown(DoctorCommand{.probe = true}),
              "Models, in the order they are tried:\n"
              "  ✗ xai/x  openai_chat_completions at http://h, NOT reachable\n"
              "      credential_missing (auth_error)\n"
              "      → set XAI_API_KEY to a key of xai\n"
              "Each is tried up to 3 times (2 retries, at least 200 ms apart).\n"
              "Not ready: no model can be used.\n");
}

TEST_F(SettingsCli, ADoctorNamesNoAddressWhereThereIsNone) {
    settings.doctor_url = "";
    EXPECT_THAT(shown(DoctorCommand{}), HasSubstr("xai/x  openai_chat_completions\n"));
}

TEST_F(SettingsCli, ACredentialIsTakenFromTheFlagAndNeverPrinted) {
    const CapturedTerminal terminal(true);
    const CredentialSetCommand set{.profile = "work", .kind = "api_key", .material = "sk-secret"};
    EXPECT_EQ(execute({.action = set}, {settings, terminal.terminal}), Exit::Success);
    EXPECT_EQ(settings.material, "sk-secret");
    EXPECT_EQ(terminal.out(), "stored work\n");
    EXPECT_EQ(terminal.err(), "");
}

TEST_F(SettingsCli, ALoginReadsTheKeyFromAPipeAndNeverPrintsIt) {
    CapturedTerminal terminal(true);
    const std::unique_ptr<std::FILE, decltype(&std::fclose)> typed(std::tmpfile(), &std::fclose);
    std::fputs("sk-secret\n", typed.get());
    std::rewind(typed.get());
    terminal.terminal.in = fileno(typed.get());
    EXPECT_EQ(execute({.action = LoginCommand{.provider = "house"}}, {settings, terminal.terminal}),
              Exit::Success);
    EXPECT_EQ(settings.material, "sk-secret");
    EXPECT_EQ(terminal.out(),
              "The key of house is stored.\nhouse/m answers.\n"
              "It is the default model. Next: holon run \"…\"\n");
}

TEST_F(SettingsCli, ErrorsExitOneAndSayNothingOnStandardOutput) {
    const CapturedTerminal terminal;
    EXPECT_EQ(execute({.action = SettingGetCommand{"x"}}, {settings, terminal.terminal}),
              Exit::Error);
    EXPECT_EQ(terminal.out(), "");
    EXPECT_EQ(terminal.err(), "Error: there is no setting 'x'\n");
}

}  // namespace
}  // namespace cli
