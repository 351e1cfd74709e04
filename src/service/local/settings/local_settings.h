// The configuration files of this machine behind service::Settings.
#pragma once

#include <filesystem>
#include <functional>

#include "config/config.h"
#include "service/settings.h"

namespace service {

// How a short question to a model ended.
struct ModelProbe {
    std::optional<std::string> failure_kind{};  // Nothing: it answered.
    std::string message{};
};

struct SettingsParts {
    std::filesystem::path home;
    // The configuration as a program started now would have it.
    std::function<base::Result<config::Config>()> load;
    // What commands run behind, and what is missing for it; see `holon doctor`.
    std::function<json::object(const config::Config&)> sandbox_report = [](const config::Config&) {
        return json::object{};
    };
    // Is the database of the home sound? {ok, damage, broken}; see `holon doctor`.
    std::function<json::object(const config::Config&)> store_report = [](const config::Config&) {
        return json::object{{"ok", true}};
    };
    // What is wrong with asking this model; nothing when a request can be made.
    std::function<base::Status(const config::Config&, const config::ModelRef&)> check_model;
    // Asks the model a short question and waits for the end, for a bounded time.
    std::function<ModelProbe(const config::Config&, const config::ModelRef&)> ask_model =
        [](const config::Config&, const config::ModelRef&) { return ModelProbe{}; };
    // The MCP servers, one object each; with `probe` they are started.
    std::function<json::array(const config::Config&, bool probe)> mcp_diagnosis =
        [](const config::Config&, bool) { return json::array{}; };
};

class LocalSettings final : public Settings {
public:
    explicit LocalSettings(SettingsParts parts);

    base::Result<json::value> get(const std::string& key) override;
    base::Result<json::value> set(const std::string& key, const std::string& value) override;
    base::Status unset(const std::string& key) override;
    base::Result<json::object> list() override;
    std::vector<SettingDescription> schema() override;
    base::Result<std::vector<ModelAvailability>> models() override;
    base::Result<ProviderView> set_provider(const ProviderChange& change) override;
    base::Result<ProviderView> provider(const std::string& id) override;
    base::Result<std::vector<ProviderView>> providers() override;
    base::Result<bool> remove_provider(const std::string& id) override;
    base::Result<CredentialView> set_credential(const std::string& profile, const std::string& kind,
                                                const std::string& material) override;
    base::Result<std::vector<CredentialView>> credentials() override;
    base::Result<CredentialView> remove_credential(const std::string& profile) override;
    base::Result<LoginResult> login(const LoginRequest& request) override;
    base::Result<json::object> doctor(bool probe) override;
    base::Result<json::object> doctor_provider(const std::string& id, bool probe) override;

private:
    ModelAvailability availability(const config::Config& config, const config::ModelRef& ref) const;
    json::object diagnosis(const config::Config& config, const config::ModelRef& ref,
                           bool probe) const;

    SettingsParts parts_;
};

}  // namespace service
