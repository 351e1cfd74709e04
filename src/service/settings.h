// The configuration as operators see and change it. It works on files: no agent, no model and no
// network are needed, except where a function says so.
//
// No secret ever crosses this interface outwards. A change that could not be loaded again is
// refused and nothing is written; what a change does not name is kept.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/typed.h"

namespace service {

struct SettingDescription {
    std::string key;
    std::string kind;
    std::string description;
    json::value default_;
    std::optional<std::vector<std::string>> allowed_values{};
};
BOOST_DESCRIBE_STRUCT(SettingDescription, (), (key, kind, description, default_, allowed_values))

struct AuthView {
    std::string source;
    std::string kind;
    std::optional<std::string> env{};
    std::optional<std::string> profile{};
    std::optional<std::string> external{};
};
BOOST_DESCRIBE_STRUCT(AuthView, (), (source, kind, env, profile, external))

struct ProviderView {
    std::string id;
    std::string transport;
    std::string base_url;
    AuthView auth{};
    bool credential_configured{false};  // True also when none is asked for.
    bool configured_in_config{false};
};
BOOST_DESCRIBE_STRUCT(ProviderView, (),
                      (id, transport, base_url, auth, credential_configured, configured_in_config))

// What is not given comes from the stored provider, then from the built-in one of this id.
struct ProviderChange {
    std::string id;
    std::optional<std::string> transport{};
    std::optional<std::string> base_url{};
    std::optional<std::string> credential_source{};
    std::optional<std::string> credential_kind{};
    std::optional<std::string> credential_env{};
    std::optional<std::string> credential_profile{};
    std::optional<std::string> credential_external{};
};
BOOST_DESCRIBE_STRUCT(ProviderChange, (),
                      (id, transport, base_url, credential_source, credential_kind, credential_env,
                       credential_profile, credential_external))

struct CredentialView {
    std::string profile;
    std::string kind;
    bool configured{false};
};
BOOST_DESCRIBE_STRUCT(CredentialView, (), (profile, kind, configured))

struct ModelAvailability {
    std::string model;
    std::string provider;
    std::string display_name;
    std::string metadata_source;
    bool provider_configured{false};
    std::optional<std::string> provider_source{};  // config, built_in
    std::optional<std::string> transport{};
    std::optional<std::string> credential_source{};
    std::optional<std::string> credential_kind{};
    bool credential_configured{false};
    bool available{false};
    std::optional<std::string> unavailable_reason{};
    json::object policy;
};
BOOST_DESCRIBE_STRUCT(ModelAvailability, (),
                      (model, provider, display_name, metadata_source, provider_configured,
                       provider_source, transport, credential_source, credential_kind,
                       credential_configured, available, unavailable_reason, policy))

// A key for a provider, as an operator typed it.
struct LoginRequest {
    std::string provider;
    std::string key;
    std::optional<std::string> model{};  // To ask and to prefer; else one that the catalogue knows.
};

// What a login did. `answered` is false when the model could not be asked for another reason than
// the key (`problem` says which); the key is stored then, too.
struct LoginResult {
    std::string provider;
    std::string profile;
    std::string model;
    bool answered{false};
    std::optional<std::string> problem{};
    bool is_default{false};  // Whether `model` is the default model now.
};
BOOST_DESCRIBE_STRUCT(LoginResult, (), (provider, profile, model, answered, problem, is_default))

class Settings {
public:
    virtual ~Settings() = default;

    // The stored value of a setting; null, or an empty list, when it is not set.
    virtual base::Result<json::value> get(const std::string& key) = 0;
    // Stores `value` as a person types it, and returns what is stored then.
    virtual base::Result<json::value> set(const std::string& key, const std::string& value) = 0;
    virtual base::Status unset(const std::string& key) = 0;
    // All that is stored.
    virtual base::Result<json::object> list() = 0;
    virtual std::vector<SettingDescription> schema() = 0;

    // All models of the catalogue and of the configuration, sorted by their names.
    virtual base::Result<std::vector<ModelAvailability>> models() = 0;

    virtual base::Result<ProviderView> set_provider(const ProviderChange& change) = 0;
    virtual base::Result<ProviderView> provider(const std::string& id) = 0;
    virtual base::Result<std::vector<ProviderView>> providers() = 0;
    // False when there was none in the configuration. A built-in one of this id is back then.
    virtual base::Result<bool> remove_provider(const std::string& id) = 0;

    virtual base::Result<CredentialView> set_credential(const std::string& profile,
                                                        const std::string& kind,
                                                        const std::string& material) = 0;
    virtual base::Result<std::vector<CredentialView>> credentials() = 0;
    virtual base::Result<CredentialView> remove_credential(const std::string& profile) = 0;

    // Asks one model of the provider a short question with this key. Unless the provider rejects
    // it (Refused, and nothing is stored), stores the key as a profile named like the provider,
    // makes the provider use it, and makes the model the default if there is none. Needs a network.
    virtual base::Result<LoginResult> login(const LoginRequest& request) = 0;

    // The chain of models, whether each can be asked and why not, the retry policy, and what to do
    // next. With `probe` it also asks each model of the chain a short question, which may cost a
    // few tokens.
    virtual base::Result<json::object> doctor(bool probe) = 0;
    // The same for one provider, whatever the chain is.
    virtual base::Result<json::object> doctor_provider(const std::string& id, bool probe) = 0;
};

}  // namespace service
