#include "config/models/auth.h"

#include <algorithm>

namespace config {

using base::ErrorCode;
using base::fail;

std::string kind_text(CredentialKind kind) {
    return kind == CredentialKind::OAuth ? "oauth" : std::string(base::enum_name(kind));
}

std::optional<CredentialKind> parse_kind(std::string_view text) {
    return text == "oauth" ? CredentialKind::OAuth : base::enum_from<CredentialKind>(text);
}

bool is_storable(CredentialKind kind) {
    switch (kind) {
        case CredentialKind::ApiKey:
        case CredentialKind::BearerToken:
        case CredentialKind::OAuth:
        case CredentialKind::SessionToken:
            return true;
        case CredentialKind::AwsSdk:
        case CredentialKind::None:
            return false;
    }
    return false;
}

namespace {

bool fits(CredentialSource source, CredentialKind kind) {
    switch (source) {
        case CredentialSource::Env:
            return kind == CredentialKind::ApiKey || kind == CredentialKind::BearerToken;
        case CredentialSource::ExternalCli:
            return kind == CredentialKind::SessionToken;
        case CredentialSource::CredentialProfile:
        case CredentialSource::AuthProfile:
            return is_storable(kind);
        case CredentialSource::CredentialProcess:
            return false;
        case CredentialSource::None:
            return kind == CredentialKind::None;
    }
    return false;
}

base::Status check_needed(const std::optional<std::string>& value, std::string_view name,
                          const Auth& auth, std::string_view place) {
    if (value && !value->empty()) return {};
    return fail(ErrorCode::InvalidInput, "{}/{}: is required with source {}", place, name,
                base::enum_name(auth.source));
}

}  // namespace

base::Status check_auth(const Auth& auth, std::string_view place) {
    if (auth.source == CredentialSource::CredentialProcess)
        return fail(ErrorCode::InvalidInput,
                    "{}/source: credential_process is not supported; use env, credential_profile, "
                    "external_cli or none",
                    place);
    if (!fits(auth.source, auth.kind))
        return fail(ErrorCode::InvalidInput, "{}/kind: {} does not go with source {}", place,
                    kind_text(auth.kind), base::enum_name(auth.source));
    switch (auth.source) {
        case CredentialSource::Env:
            return check_needed(auth.env, "env", auth, place);
        case CredentialSource::CredentialProfile:
        case CredentialSource::AuthProfile:
            return check_needed(auth.profile, "profile", auth, place);
        case CredentialSource::ExternalCli:
            TRY(check_needed(auth.external, "external", auth, place));
            if (auth.external == kCodexCli) return {};
            return fail(ErrorCode::InvalidInput, "{}/external: only {} is known", place, kCodexCli);
        case CredentialSource::CredentialProcess:
        case CredentialSource::None:
            return {};
    }
    return {};
}

}  // namespace config
