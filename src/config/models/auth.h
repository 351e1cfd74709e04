// How a request authenticates to a provider.
#pragma once

#include <optional>
#include <string>

#include "base/typed.h"

namespace config {

enum class CredentialSource {
    Env,
    ExternalCli,
    CredentialProfile,
    AuthProfile,
    CredentialProcess,
    None
};
enum class CredentialKind { ApiKey, BearerToken, OAuth, SessionToken, AwsSdk, None };
BOOST_DESCRIBE_ENUM(CredentialSource, Env, ExternalCli, CredentialProfile, AuthProfile,
                    CredentialProcess, None)
BOOST_DESCRIBE_ENUM(CredentialKind, ApiKey, BearerToken, OAuth, SessionToken, AwsSdk, None)

// The only other program whose login can be used.
inline constexpr std::string_view kCodexCli = "codex_cli";

struct Auth {
    CredentialSource source{CredentialSource::None};
    CredentialKind kind{CredentialKind::None};
    std::optional<std::string> env{};
    std::optional<std::string> profile{};
    std::optional<std::string> external{};
    friend bool operator==(const Auth&, const Auth&) = default;
};
BOOST_DESCRIBE_STRUCT(Auth, (), (source, kind, env, profile, external))

// How much effort a model spends on reasoning.
enum class ReasoningEffort { Low, Medium, High, Xhigh };
BOOST_DESCRIBE_ENUM(ReasoningEffort, Low, Medium, High, Xhigh)

// What people read and type: `oauth`, where the files have `o_auth`.
std::string kind_text(CredentialKind kind);
std::optional<CredentialKind> parse_kind(std::string_view text);
// Whether a credential of this kind can be kept in credentials.json.
bool is_storable(CredentialKind kind);

// Checks that source and kind fit together and are complete; an error names `place`.
base::Status check_auth(const Auth& auth, std::string_view place);

}  // namespace config
