// `holon login`: a key is tried, stored and put to use in one go.
#include "base/scan/secrets.h"
#include "base/text.h"
#include "service/local/settings/local_settings.h"

namespace service {
namespace {

using base::ErrorCode;
using base::fail;

base::Result<const config::Provider*> login_provider(const config::Config& config,
                                                     const std::string& id) {
    const auto found = config.providers.find(id);
    if (found == config.providers.end())
        return fail(ErrorCode::NotFound,
                    "there is no provider '{}'; holon config providers list shows all, and holon "
                    "config providers set adds one",
                    base::printable(id));
    const config::Provider& provider = found->second;
    if (provider.auth.source == config::CredentialSource::ExternalCli)
        return fail(ErrorCode::InvalidInput,
                    "{} uses the login of the Codex CLI; log in with: codex login", id);
    if (provider.transport == config::Transport::Scripted)
        return fail(ErrorCode::InvalidInput, "a scripted model needs no key");
    return &provider;
}

base::Result<config::ModelRef> login_model(const config::Config& config,
                                           const LoginRequest& request) {
    if (request.model) {
        const bool is_whole = request.model->starts_with(request.provider + "/");
        return config::parse_model_ref(is_whole ? *request.model
                                                : request.provider + "/" + *request.model);
    }
    if (config.model && config.model->provider == request.provider) return *config.model;
    if (const auto preferred = config::preferred_model(request.provider, config.models))
        return *preferred;
    return fail(ErrorCode::InvalidInput,
                "no model of {} is known; name one: holon login {} --model MODEL", request.provider,
                request.provider);
}

}  // namespace

base::Result<LoginResult> LocalSettings::login(const LoginRequest& request) {
    config::Config config = TRY(parts_.load());
    const auto* provider = TRY(login_provider(config, request.provider));
    const auto model = TRY(login_model(config, request));
    scan::know({request.key});
    config::Provider tried = *provider;
    tried.credential = request.key;
    tried.credential_kind = config::CredentialKind::ApiKey;
    tried.credential_name = request.provider;
    tried.needs_credential = true;
    config.providers[request.provider] = tried;
    const ModelProbe probe = parts_.ask_model(config, model);
    if (probe.failure_kind == "auth_error")
        return fail(ErrorCode::Refused, "{} rejected this key, so nothing was stored: {}",
                    request.provider, probe.message);
    const auto stored = TRY(set_credential(request.provider, "api_key", request.key));
    TRY(set_provider({.id = request.provider,
                      .credential_source = "credential_profile",
                      .credential_kind = "api_key",
                      .credential_profile = stored.profile}));
    LoginResult result{.provider = request.provider,
                       .profile = stored.profile,
                       .model = model.text(),
                       .answered = !probe.failure_kind,
                       .is_default = config.model && *config.model == model};
    if (probe.failure_kind) result.problem = probe.message;
    const bool has_default = !TRY(get("model.default")).is_null();
    if (!has_default || request.model) {
        TRY(set("model.default", model.text()));
        result.is_default = true;
    }
    return result;
}

}  // namespace service
