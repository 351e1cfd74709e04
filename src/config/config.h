// Files, environment and flags become one checked value.
//
// Precedence: flag, environment, config.json, built-in default. Unknown keys and invalid values are
// errors that name the place and the nearest key.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/typed.h"
#include "config/models/auth.h"
#include "config/models/catalogue.h"
#include "config/models/model_ref.h"
#include "config/notify/notify.h"
#include "config/sections/gate_policy.h"
#include "config/sections/mcp.h"
#include "config/sections/plans.h"
#include "config/sections/retention.h"
#include "config/sections/sandbox.h"
#include "config/sections/server.h"
#include "config/sections/telemetry.h"
#include "config/web/web.h"
#include "domain/tool.h"

namespace config {

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

// When a capable server should drop old tool results.
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
    bool stream{true};  // Whether answers are streamed.
    // How requests are adapted to it; see provider/http/adapt.h. Values of headers may be secrets.
    std::map<std::string, std::string> headers{};
    json::object extra_body{};
    std::vector<std::string> omit{};
    bool max_completion_tokens{false};
    bool replay_reasoning{false};
    bool keeps_state{false};     // It stores responses, and requests continue them.
    bool has_web_search{false};  // Its models can search the web themselves.
    std::optional<std::int64_t> first_byte_timeout_ms{};  // None: as for all providers.
    std::optional<std::int64_t> idle_timeout_ms{};
    Auth auth{};                // As it is shown; names only.
    bool is_configured{false};  // In config.json, not built in.
};

// Limits of turns, and of agents over their whole life. None: no such limit.
struct Budgets {
    std::optional<std::int64_t> turn_rounds{};
    std::optional<std::int64_t> turn_tokens{};
    std::optional<std::int64_t> turn_wall_ms{};
    std::optional<std::int64_t> agent_rounds{};
    std::optional<std::int64_t> agent_tokens{};
    std::optional<std::int64_t> agent_wall_ms{};
    friend bool operator==(const Budgets&, const Budgets&) = default;
};

// How work items are watched over.
struct WorkSettings {
    std::int64_t turns_without_progress_max{3};
    std::int64_t reminder_rounds{10};
    std::int64_t reminder_cooldown_rounds{10};
    std::int64_t reminder_tokens_max{512};
    friend bool operator==(const WorkSettings&, const WorkSettings&) = default;
};

// Which calls untrusted input may trigger; an agent's own setting takes precedence.
struct FlowPolicy {
    domain::ExternalCalls external_calls{domain::ExternalCalls::Ask};
    std::map<std::string, domain::ExternalCalls> agents{};

    domain::ExternalCalls of(const std::string& agent) const {
        const auto own = agents.find(agent);
        return own == agents.end() ? external_calls : own->second;
    }
    friend bool operator==(const FlowPolicy&, const FlowPolicy&) = default;
};

// Bounds of every webhook that has none of its own.
struct Webhooks {
    std::int64_t rate_per_minute{60};
    std::int64_t body_bytes_max{256 * 1024};
    std::int64_t timestamp_tolerance_s{300};
    friend bool operator==(const Webhooks&, const Webhooks&) = default;
};

struct Config {
    std::filesystem::path home;
    std::string default_agent{"main"};
    std::filesystem::path workspace_dir;
    std::filesystem::path cwd;  // Where the program was started.
    std::optional<ModelRef> model{};
    std::vector<ModelRef> fallbacks{};  // Of `model`; none when they are disabled.
    bool disable_provider_fallback{false};
    ModelSettings models{};
    std::map<std::string, Provider> providers{};  // Built-in ones and configured ones.
    std::int64_t default_tool_output_tokens{8000};
    std::int64_t max_tool_output_tokens{kToolOutputTokensCap};
    std::int64_t max_command_output_bytes{std::int64_t{4} << 30};
    std::int64_t max_concurrent_turns{64};
    bool compaction_summary{false};
    Budgets budgets{};
    FollowUpLimits follow_ups{};
    Retention retention{};
    Children children{};
    WorkSettings work{};
    std::int64_t provider_timeout_s{300};
    std::int64_t provider_stream_idle_ms{300'000};
    std::optional<std::int64_t> provider_stream_total_s{};  // None: as long as something arrives.
    // How long a turn waits for a provider that is down. None: the default, which is shorter where
    // an operator waits for the command.
    std::optional<std::int64_t> outage_patience_ms{};
    // Certificates to trust instead of the system's; empty: the system's.
    std::filesystem::path tls_ca_file{};
    std::filesystem::path codex_home{};  // Where the Codex command line logs in.
    std::string default_shell{"sh"};
    // The environment of commands: ours, without the secrets of the runtime and its providers.
    Environment command_environment{};
    // The values that this leaves out, and every other credential that the runtime was given.
    std::vector<std::string> credentials{};
    bool redact_patterns{false};  // Whether what only looks like a secret is redacted, too.
    FlowPolicy flow{};
    std::vector<McpServer> mcp_servers{};
    Web web{};
    Server server{};
    Telemetry telemetry{};
    std::string github_api{"https://api.github.com"};  // For templates and skills.
    std::filesystem::path user_home{};  // It holds the user's secrets; empty when unknown.
    Sandboxes sandboxes{};
    Plans plans{};
    GateSettings gate{};
    Webhooks webhooks{};
    Notify notify{};
    std::string alternate_screen{"auto"};  // Of the console: auto, always, never.

    std::filesystem::path database() const { return home / "holon.db"; }
    // What an MCP server writes to its standard error.
    std::filesystem::path mcp_log(const std::string& server) const {
        return home / "logs" / "mcp" / (server + ".log");
    }
    // The files by which supervised commands are reattached.
    std::filesystem::path task_folder() const { return home / "run" / "tasks"; }
    std::filesystem::path agent_home(const std::string& agent) const {
        return home / "agents" / agent;
    }
};

struct Flags {
    std::optional<std::filesystem::path> home{};
};

// Where everything is kept. `cwd` is the folder the program was started in.
std::filesystem::path find_home(const Flags& flags, const Environment& environment,
                                const std::filesystem::path& cwd);

// What a client needs to reach the daemon: the home, its socket and address, the default agent.
// Reads no file, so that a broken config.json keeps nobody from stopping a daemon.
base::Result<Config> load_connection(const Flags& flags, const Environment& environment,
                                     const std::filesystem::path& cwd);

base::Result<Config> load(const Flags& flags, const Environment& environment,
                          const std::filesystem::path& cwd);

// The models to try when `ref` fails, in order: the default, unless `ref` is it, and its fallbacks.
std::vector<ModelRef> fallbacks_of(const Config& config, const ModelRef& ref);

// Does the provider have its credential? True when it needs none.
bool has_credential(const Config& config, const Provider& provider);

// One model of each provider that an operator gave a credential to, the likeliest first. Providers
// without authentication are no candidates: the operator has not chosen them.
std::vector<ModelRef> authenticated_candidates(const Config& config);

}  // namespace config
