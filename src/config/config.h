// Files, environment and flags become one checked value.
//
// Precedence: flag, environment, config.json, built-in default. Unknown keys and values that do not
// parse are errors that say where they are and what was meant.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/typed.h"

namespace config {

using Environment = std::map<std::string, std::string>;

inline constexpr std::int64_t kToolOutputTokensCap = 64'000;

enum class Transport {
    OpenaiCodexResponses,
    OpenaiResponses,
    OpenaiChatCompletions,
    AnthropicMessages,
    Scripted
};
BOOST_DESCRIBE_ENUM(Transport, OpenaiCodexResponses, OpenaiResponses, OpenaiChatCompletions,
                    AnthropicMessages, Scripted)

enum class CredentialKind { ApiKey, BearerToken, OAuth, SessionToken, AwsSdk, None };
BOOST_DESCRIBE_ENUM(CredentialKind, ApiKey, BearerToken, OAuth, SessionToken, AwsSdk, None)

// How hard a model is asked to think.
enum class ReasoningEffort { Low, Medium, High, Xhigh };
BOOST_DESCRIBE_ENUM(ReasoningEffort, Low, Medium, High, Xhigh)

// When a server that can do so is asked to forget old tool results.
struct ContextManagement {
    std::int64_t trigger_input_tokens{100'000};
    std::int64_t keep_recent_tool_uses{3};
    std::optional<std::int64_t> clear_at_least_input_tokens{};
    friend bool operator==(const ContextManagement&, const ContextManagement&) = default;
};

// Where requests to one provider go and with which credential. `credential` is a secret: it is
// never printed, logged or passed to commands.
struct Provider {
    std::string id;
    Transport transport{Transport::OpenaiChatCompletions};
    std::string base_url;
    std::string credential{};
    std::vector<std::string>
        credential_env{};           // Names it may come from; empty: no credential needed.
    std::string credential_name{};  // The one of them that it came from.
    CredentialKind credential_kind{CredentialKind::None};
    bool needs_credential{false};
    std::optional<ReasoningEffort> reasoning_effort{};  // None: the model's own.
    std::optional<ContextManagement> context_management{};
};

struct ModelRef {
    std::string provider;
    std::string model;
    std::string text() const { return provider + "/" + model; }
    friend bool operator==(const ModelRef&, const ModelRef&) = default;
};
// "provider/model", split at the first slash; the provider is lower-cased.
base::Result<ModelRef> parse_model_ref(std::string_view text);

struct Config {
    std::filesystem::path home;
    std::string default_agent{"main"};
    std::filesystem::path workspace_dir;
    std::filesystem::path cwd;  // Where the program was started.
    std::optional<ModelRef> model{};
    std::vector<ModelRef> fallbacks{};
    std::map<std::string, Provider> providers{};  // Built-in ones and configured ones.
    std::int64_t max_output_tokens{8192};
    std::int64_t default_tool_output_tokens{8000};
    std::int64_t max_tool_output_tokens{kToolOutputTokensCap};
    std::int64_t provider_timeout_s{300};
    std::int64_t provider_stream_idle_ms{300'000};
    std::optional<std::int64_t> provider_stream_total_s{};  // None: as long as something arrives.
    std::filesystem::path codex_home{};                     // Where the Codex command line logs in.
    std::string default_shell{"sh"};
    // The environment of commands: ours, without the secrets of the runtime and its providers.
    Environment command_environment{};

    std::filesystem::path database() const { return home / "holon.db"; }
    std::filesystem::path agent_home(const std::string& agent) const {
        return home / "agents" / agent;
    }
};

struct Flags {
    std::optional<std::filesystem::path> home{};
};

// `cwd` is the folder the program was started in.
base::Result<Config> load(const Flags& flags, const Environment& environment,
                          const std::filesystem::path& cwd);

}  // namespace config
