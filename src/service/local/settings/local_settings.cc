#include "service/local/settings/local_settings.h"

#include <algorithm>

#include "base/text.h"
#include "config/credentials_lock.h"
#include "config/keys.h"
#include "config/models/builtin_providers.h"
#include "config/stored.h"

namespace service {
namespace {

using base::ErrorCode;
using base::fail;

constexpr std::size_t kMaterialBytesMax = 64 * 1024;

AuthView auth_view(const config::Auth& auth) {
    const bool is_profile = auth.source == config::CredentialSource::AuthProfile;
    return {.source = std::string(base::enum_name(
                is_profile ? config::CredentialSource::CredentialProfile : auth.source)),
            .kind = config::kind_text(auth.kind),
            .env = auth.env,
            .profile = auth.profile,
            .external = auth.external};
}

ProviderView view_of(const config::Config& config, const config::Provider& provider) {
    return {.id = provider.id,
            .transport = std::string(base::enum_name(provider.transport)),
            .base_url = provider.base_url,
            .auth = auth_view(provider.auth),
            .credential_configured = config::has_credential(config, provider),
            .configured_in_config = provider.is_configured};
}

std::string provider_id(std::string_view typed) {
    std::string id(base::trim(typed));
    std::ranges::transform(id, id.begin(),
                           [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    return id;
}

base::Result<const config::Provider*> find_provider(const config::Config& config,
                                                    const std::string& typed) {
    const auto found = config.providers.find(provider_id(typed));
    if (found != config.providers.end()) return &found->second;
    std::vector<std::string> names;
    for (const auto& [id, provider] : config.providers) names.push_back(id);
    const std::string near = base::nearest(provider_id(typed), names);
    return fail(ErrorCode::NotFound, "there is no provider '{}'{}", base::printable(typed),
                near.empty() ? "" : " (did you mean " + near + "?)");
}

const config::BuiltinProvider* find_builtin(std::string_view id) {
    const auto* found =
        std::ranges::find(config::kBuiltinProviders, id, &config::BuiltinProvider::id);
    return found == config::kBuiltinProviders.end() ? nullptr : found;
}

// How a built-in provider authenticates, as it would be written in config.json.
config::Auth builtin_auth(const config::BuiltinProvider& builtin) {
    if (builtin.transport == config::Transport::OpenaiCodexResponses)
        return {.source = config::CredentialSource::ExternalCli,
                .kind = config::CredentialKind::SessionToken,
                .external = std::string(config::kCodexCli)};
    if (builtin.credential_env.empty()) return {};
    const auto first = builtin.credential_env.substr(0, builtin.credential_env.find(','));
    return {.source = config::CredentialSource::Env,
            .kind = config::CredentialKind::ApiKey,
            .env = std::string(base::trim(first))};
}

base::Result<config::Auth> typed_auth(const ProviderChange& change) {
    config::Auth auth{.env = change.credential_env,
                      .profile = change.credential_profile,
                      .external = change.credential_external};
    const std::string source = change.credential_source.value_or("none");
    const auto known = base::enum_from<config::CredentialSource>(source);
    if (!known)
        return fail(ErrorCode::InvalidInput, "'{}' is no credential source; use {}",
                    base::printable(source),
                    "env, external_cli, credential_profile, credential_process or none");
    auth.source = *known == config::CredentialSource::AuthProfile
                      ? config::CredentialSource::CredentialProfile
                      : *known;
    const std::string kind = change.credential_kind.value_or("none");
    const auto known_kind = config::parse_kind(kind);
    if (!known_kind)
        return fail(ErrorCode::InvalidInput,
                    "'{}' is no credential kind; use api_key, bearer_token, oauth, session_token, "
                    "aws_sdk or none",
                    base::printable(kind));
    auth.kind = *known_kind;
    return auth;
}

bool has_auth(const ProviderChange& change) {
    return change.credential_source || change.credential_kind || change.credential_env ||
           change.credential_profile || change.credential_external;
}

base::Result<std::string> profile_name(std::string_view typed) {
    const std::string_view name = base::trim(typed);
    if (name.empty() || !base::is_utf8(name) || base::printable(name) != name)
        return fail(ErrorCode::InvalidInput,
                    "a profile is named with at least one character and no control characters");
    return std::string(name);
}

}  // namespace

LocalSettings::LocalSettings(SettingsParts parts) : parts_(std::move(parts)) {}

base::Result<json::value> LocalSettings::get(const std::string& key) {
    return config::get_value(TRY(config::read_document(parts_.home)), TRY(config::find_key(key)));
}

base::Result<json::value> LocalSettings::set(const std::string& key, const std::string& value) {
    const config::Key known = TRY(config::find_key(key));
    json::object document = TRY(config::read_document(parts_.home));
    config::set_value(document, known, TRY(config::parse_value(known, value)));
    TRY(config::write_document(parts_.home, document));
    return config::get_value(document, known);
}

base::Status LocalSettings::unset(const std::string& key) {
    const config::Key known = TRY(config::find_key(key));
    json::object document = TRY(config::read_document(parts_.home));
    config::unset_value(document, known);
    return config::write_document(parts_.home, document);
}

base::Result<json::object> LocalSettings::list() {
    return config::read_document(parts_.home);
}

std::vector<SettingDescription> LocalSettings::schema() {
    std::vector<SettingDescription> list;
    for (const auto& key : config::keys()) {
        SettingDescription entry{.key = std::string(key.key),
                                 .kind = std::string(base::enum_name(key.kind)),
                                 .description = std::string(key.description)};
        entry.default_ = base::parse_json(key.default_value).value();
        if (!key.allowed_values.empty()) {
            auto& allowed = entry.allowed_values.emplace();
            std::string_view rest = key.allowed_values;
            for (std::size_t comma = 0; comma != std::string_view::npos;) {
                comma = rest.find(',');
                allowed.emplace_back(rest.substr(0, comma));
                rest.remove_prefix(comma == std::string_view::npos ? rest.size() : comma + 1);
            }
        }
        list.push_back(std::move(entry));
    }
    return list;
}

ModelAvailability LocalSettings::availability(const config::Config& config,
                                              const config::ModelRef& ref) const {
    const auto policy = config::resolve_policy(ref, config.models);
    ModelAvailability entry{.model = ref.text(),
                            .provider = ref.provider,
                            .display_name = policy.display_name,
                            .policy = base::to_json(policy).as_object()};
    entry.metadata_source = base::enum_name(config.models.overrides.contains(ref.text())
                                                ? config::MetadataSource::ConfigOverride
                                                : policy.source);
    const auto found = config.providers.find(ref.provider);
    if (found == config.providers.end()) {
        entry.unavailable_reason = "provider_not_configured";
        return entry;
    }
    const ProviderView view = view_of(config, found->second);
    entry.provider_configured = true;
    entry.provider_source = view.configured_in_config ? "config" : "built_in";
    entry.transport = view.transport;
    entry.credential_source = view.auth.source;
    entry.credential_kind = view.auth.kind;
    entry.credential_configured = view.credential_configured;
    if (!view.credential_configured)
        entry.unavailable_reason = "credential_missing";
    else if (const auto usable = parts_.check_model(config, ref); !usable)
        entry.unavailable_reason = usable.error().message;
    entry.available = !entry.unavailable_reason;
    return entry;
}

base::Result<std::vector<ModelAvailability>> LocalSettings::models() {
    const config::Config config = TRY(parts_.load());
    std::vector<ModelAvailability> list;
    for (const auto& ref : config::listed_models(config.models))
        list.push_back(availability(config, ref));
    return list;
}

base::Result<ProviderView> LocalSettings::set_provider(const ProviderChange& change) {
    const std::string id = provider_id(change.id);
    json::object document = TRY(config::read_document(parts_.home));
    config::ConfigFile file = TRY(base::from_json<config::ConfigFile>(document));
    const auto* builtin = find_builtin(id);
    const bool is_stored = file.providers && file.providers->contains(id);
    config::ProviderSection section;
    if (is_stored) {
        section = file.providers->at(id);
    } else if (builtin) {
        section = {.transport = std::string(base::enum_name(builtin->transport)),
                   .base_url = std::string(builtin->base_url),
                   .auth = builtin_auth(*builtin)};
    } else if (!change.transport || !change.base_url) {
        return fail(ErrorCode::InvalidInput,
                    "{} is not built in: --transport and --base-url are required",
                    base::printable(id));
    }
    section.transport = change.transport.value_or(section.transport);
    section.base_url = change.base_url.value_or(section.base_url);
    if (has_auth(change)) section.auth = TRY(typed_auth(change));
    const bool names_its_transport = id.ends_with("-anthropic") || id.ends_with("-openai");
    if (builtin && names_its_transport && section.transport != base::enum_name(builtin->transport))
        return fail(ErrorCode::InvalidInput, "{} always speaks {}; use another id", id,
                    base::enum_name(builtin->transport));
    json::value& providers = document["providers"];
    if (!providers.is_object()) providers.emplace_object();
    providers.get_object()[id] = base::to_json(section);
    TRY(config::write_document(parts_.home, document));
    return provider(id);
}

base::Result<ProviderView> LocalSettings::provider(const std::string& id) {
    const config::Config config = TRY(parts_.load());
    return view_of(config, *TRY(find_provider(config, id)));
}

base::Result<std::vector<ProviderView>> LocalSettings::providers() {
    const config::Config config = TRY(parts_.load());
    std::vector<ProviderView> list;
    for (const auto& [id, provider] : config.providers) list.push_back(view_of(config, provider));
    return list;
}

base::Result<bool> LocalSettings::remove_provider(const std::string& id) {
    json::object document = TRY(config::read_document(parts_.home));
    auto* providers = document.if_contains("providers");
    if (!providers || !providers->is_object()) return false;
    if (providers->get_object().erase(provider_id(id)) == 0) return false;
    if (providers->get_object().empty()) document.erase("providers");
    TRY(config::write_document(parts_.home, document));
    return true;
}

base::Result<CredentialView> LocalSettings::set_credential(const std::string& profile,
                                                           const std::string& kind,
                                                           const std::string& material) {
    const std::string name = TRY(profile_name(profile));
    const auto known = config::parse_kind(kind);
    if (!known || !config::is_storable(*known))
        return fail(ErrorCode::InvalidInput,
                    "a credential of kind '{}' cannot be stored; use api_key, bearer_token, oauth "
                    "or session_token",
                    base::printable(kind));
    if (base::trim(material).empty())
        return fail(ErrorCode::InvalidInput, "the credential is blank; nothing was stored");
    if (material.size() > kMaterialBytesMax || !base::is_utf8(material) ||
        base::printable(material) != material)
        return fail(ErrorCode::InvalidInput,
                    "a credential is one line of text, at most {} bytes; nothing was stored",
                    kMaterialBytesMax);
    const auto lock = TRY(config::lock_credentials(parts_.home));
    config::CredentialsFile file = TRY(config::read_credentials(parts_.home));
    file.profiles[name] = {.kind = config::kind_text(*known), .material = material};
    TRY(config::write_credentials(parts_.home, file));
    return CredentialView{name, config::kind_text(*known), true};
}

base::Result<std::vector<CredentialView>> LocalSettings::credentials() {
    std::vector<CredentialView> list;
    for (const auto& [name, entry] : TRY(config::read_credentials(parts_.home)).profiles)
        list.push_back({name, entry.kind, !base::trim(entry.material).empty()});
    return list;
}

base::Result<CredentialView> LocalSettings::remove_credential(const std::string& profile) {
    const std::string name = TRY(profile_name(profile));
    const auto lock = TRY(config::lock_credentials(parts_.home));
    config::CredentialsFile file = TRY(config::read_credentials(parts_.home));
    const auto found = file.profiles.find(name);
    if (found == file.profiles.end()) return CredentialView{name, "unknown", false};
    CredentialView removed{name, found->second.kind, false};
    file.profiles.erase(found);
    TRY(config::write_credentials(parts_.home, file));
    return removed;
}

}  // namespace service
