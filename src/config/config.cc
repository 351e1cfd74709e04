#include "config/config.h"

#include <pwd.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <ranges>
#include <set>

#include "base/text.h"
#include "config/models/builtin_providers.h"
#include "config/sections/control_token.h"
#include "config/stored.h"

namespace config {
namespace {

using base::ErrorCode;
using base::fail;
using base::Result;
using base::Status;

std::optional<std::string> lookup(const Environment& environment, const std::string& name) {
    const auto found = environment.find(name);
    if (found == environment.end() || found->second.empty()) return std::nullopt;
    return found->second;
}

Result<std::optional<std::int64_t>> number(const Environment& environment,
                                           const std::string& name) {
    const auto text = lookup(environment, name);
    if (!text) return std::nullopt;
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), value);
    if (error != std::errc{} || end != text->data() + text->size() || value <= 0)
        return fail(ErrorCode::InvalidInput, "{} must be a whole number above 0, got '{}'", name,
                    base::printable(*text));
    return value;
}

Result<std::optional<bool>> truth(const Environment& environment, const std::string& name) {
    const auto text = lookup(environment, name);
    if (!text) return std::nullopt;
    for (const char* yes : {"true", "1", "yes", "on"})
        if (*text == yes) return true;
    for (const char* no : {"false", "0", "no", "off"})
        if (*text == no) return false;
    return fail(ErrorCode::InvalidInput, "{} must be true or false, got '{}'", name,
                base::printable(*text));
}

std::string upper_env(std::string_view id) {
    std::string out;
    for (char c : id)
        out += std::isalnum(static_cast<unsigned char>(c)) != 0
                   ? static_cast<char>(std::toupper(static_cast<unsigned char>(c)))
                   : '_';
    return out;
}

std::vector<std::string> split_names(std::string_view list) {
    std::vector<std::string> names;
    while (!list.empty()) {
        const std::size_t comma = list.find(',');
        const auto name = base::trim(list.substr(0, comma));
        if (!name.empty()) names.emplace_back(name);
        if (comma == std::string_view::npos) break;
        list.remove_prefix(comma + 1);
    }
    return names;
}

// The variables that replace a built-in base URL, the first that is set wins.
std::vector<std::string> base_url_names(std::string_view id) {
    std::vector<std::string> names{"HOLON_" + upper_env(id) + "_BASE_URL"};
    if (id == "openai") names.emplace_back("OPENAI_BASE_URL");
    if (id == "anthropic") names.emplace_back("ANTHROPIC_BASE_URL");
    return names;
}

Result<std::optional<ContextManagement>> context_management(const ContextManagementSection& stored,
                                                            const Environment& environment) {
    const std::string name = "HOLON_ANTHROPIC_CONTEXT_MANAGEMENT";
    const bool enabled = TRY(truth(environment, name)).value_or(stored.enabled.value_or(false));
    const auto pick =
        [&](std::string_view suffix,
            const std::optional<std::int64_t>& kept) -> Result<std::optional<std::int64_t>> {
        const auto set = TRY(number(environment, name + std::string(suffix)));
        return set ? set : kept;
    };
    ContextManagement out;
    const auto trigger = TRY(pick("_TRIGGER_INPUT_TOKENS", stored.trigger_input_tokens));
    const auto keep = TRY(pick("_KEEP_RECENT_TOOL_USES", stored.keep_recent_tool_uses));
    out.clear_at_least_input_tokens =
        TRY(pick("_CLEAR_AT_LEAST_INPUT_TOKENS", stored.clear_at_least_input_tokens));
    out.trigger_input_tokens = trigger.value_or(out.trigger_input_tokens);
    out.keep_recent_tool_uses = keep.value_or(out.keep_recent_tool_uses);
    return enabled ? std::optional(out) : std::nullopt;
}

Result<std::optional<ReasoningEffort>> codex_effort(const Environment& environment) {
    const std::string name = "HOLON_OPENAI_CODEX_REASONING_EFFORT";
    const auto text = lookup(environment, name);
    if (!text) return std::nullopt;
    const auto effort = base::enum_from<ReasoningEffort>(*text);
    if (!effort)
        return fail(ErrorCode::InvalidInput, "{} must be low, medium, high or xhigh, got '{}'",
                    name, base::printable(*text));
    return *effort;
}

void find_credential(Provider& provider, const Environment& environment) {
    for (const auto& name : provider.credential_env) {
        const auto value = lookup(environment, name);
        if (!value) continue;
        provider.credential = *value;
        provider.credential_name = name;
        return;
    }
}

Auth builtin_auth(const Provider& provider) {
    if (provider.transport == Transport::OpenaiCodexResponses)
        return {.source = CredentialSource::ExternalCli,
                .kind = CredentialKind::SessionToken,
                .external = std::string(kCodexCli)};
    if (provider.credential_env.empty()) return {};
    return {.source = CredentialSource::Env,
            .kind = CredentialKind::ApiKey,
            .env = fmt::format("{}", fmt::join(provider.credential_env, " or "))};
}

// The endpoints of OpenAI itself know no other name for every model.
bool takes_completion_tokens(const Provider& provider) {
    return provider.transport == Transport::OpenaiChatCompletions &&
           (provider.base_url.contains("//api.openai.com") ||
            provider.base_url.contains(".openai.azure.com"));
}

void adapt_to(Provider& provider, const BuiltinProvider& builtin) {
    provider.replay_reasoning = (builtin.traits & kReplaysReasoning) != 0;
    provider.has_web_search =
        provider.transport == builtin.transport && (builtin.traits & kSearches) != 0;
    if (provider.transport == Transport::OpenaiChatCompletions &&
        (builtin.traits & kTakesCacheKey) == 0)
        provider.omit.emplace_back("prompt_cache_key");
}

// "$NAME" is the value of that variable; a header whose variable is not set is not sent.
std::map<std::string, std::string> headers_of(const std::map<std::string, std::string>& section,
                                              const Environment& environment) {
    std::map<std::string, std::string> headers;
    for (const auto& [name, value] : section) {
        if (!value.starts_with('$'))
            headers[name] = value;
        else if (const auto found = lookup(environment, value.substr(1)))
            headers[name] = *found;
    }
    return headers;
}

void adapt_to(Provider& provider, const ProviderSection& section, const Environment& environment) {
    if (section.headers) provider.headers = headers_of(*section.headers, environment);
    provider.extra_body = section.extra_body.value_or(json::object());
    if (section.omit)
        provider.omit.insert(provider.omit.end(), section.omit->begin(), section.omit->end());
    // A field that the operator adds is sent, whatever the table says.
    std::erase_if(provider.omit,
                  [&](const std::string& name) { return provider.extra_body.contains(name); });
    provider.replay_reasoning = section.replay_reasoning.value_or(provider.replay_reasoning);
    provider.keeps_state = section.keeps_state.value_or(false);
    if (section.builtin_web_search)
        provider.has_web_search = base::bool_at(*section.builtin_web_search, "enabled", true);
    provider.first_byte_timeout_ms = section.first_byte_timeout_ms;
    provider.idle_timeout_ms = section.idle_timeout_ms;
}

Status add_builtins(Config& config, const RuntimeSection& runtime, const Environment& environment) {
    const auto context = TRY(context_management(
        runtime.anthropic_context_management.value_or(ContextManagementSection{}), environment));
    for (const auto& builtin : kBuiltinProviders) {
        Provider provider{.id = std::string(builtin.id),
                          .transport = builtin.transport,
                          .base_url = std::string(builtin.base_url),
                          .credential_env = split_names(builtin.credential_env)};
        for (const auto& name : std::views::reverse(base_url_names(builtin.id)))
            provider.base_url = lookup(environment, name).value_or(provider.base_url);
        adapt_to(provider, builtin);
        provider.max_completion_tokens = takes_completion_tokens(provider);
        provider.needs_credential = !provider.credential_env.empty();
        provider.auth = builtin_auth(provider);
        find_credential(provider, environment);
        if (!provider.credential_name.empty()) provider.auth.env = provider.credential_name;
        provider.credential_kind = provider.credential_name == "ANTHROPIC_AUTH_TOKEN"
                                       ? CredentialKind::BearerToken
                                       : CredentialKind::ApiKey;
        if (builtin.transport == Transport::AnthropicMessages)
            provider.context_management = context;
        if (builtin.transport == Transport::OpenaiCodexResponses)
            provider.reasoning_effort = TRY(codex_effort(environment));
        config.providers[provider.id] = std::move(provider);
    }
    return {};
}

// The material of the profile that `auth` names; empty when there is none.
Result<std::string> profile_secret(const std::filesystem::path& home, const Auth& auth,
                                   const std::string& provider) {
    const CredentialsFile file = TRY(read_credentials(home));
    const auto found = file.profiles.find(auth.profile.value_or(""));
    if (found == file.profiles.end()) return std::string();
    if (parse_kind(found->second.kind) != auth.kind)
        return fail(ErrorCode::InvalidInput,
                    "credentials.json: profile {} is of kind {}, but provider {} asks for {}",
                    base::printable(found->first), base::printable(found->second.kind), provider,
                    kind_text(auth.kind));
    return found->second.material;
}

Status add_configured(Config& config, const std::map<std::string, ProviderSection>& sections,
                      const Environment& environment) {
    for (const auto& [id, section] : sections) {
        Provider provider{.id = id,
                          .transport = *base::enum_from<Transport>(section.transport),
                          .base_url = section.base_url,
                          .credential_kind = section.auth.kind,
                          .reasoning_effort = section.reasoning_effort,
                          .stream = section.stream.value_or(true),
                          .auth = section.auth,
                          .is_configured = true};
        if (const auto builtin = config.providers.find(id); builtin != config.providers.end()) {
            if (!provider.reasoning_effort)
                provider.reasoning_effort = builtin->second.reasoning_effort;
            if (provider.transport == Transport::AnthropicMessages)
                provider.context_management = builtin->second.context_management;
            if (provider.transport == builtin->second.transport) {
                provider.replay_reasoning = builtin->second.replay_reasoning;
                provider.omit = builtin->second.omit;
                provider.has_web_search = builtin->second.has_web_search;
            }
        }
        adapt_to(provider, section, environment);
        provider.max_completion_tokens = takes_completion_tokens(provider);
        const auto source = section.auth.source;
        if (source == CredentialSource::Env) {
            provider.credential_env = {*section.auth.env};
            find_credential(provider, environment);
        } else if (source == CredentialSource::CredentialProfile ||
                   source == CredentialSource::AuthProfile) {
            provider.credential = TRY(profile_secret(config.home, section.auth, id));
        }
        // The login of another program is loaded when it is used.
        provider.needs_credential =
            source != CredentialSource::None && source != CredentialSource::ExternalCli;
        config.providers[id] = std::move(provider);
    }
    return {};
}

Status choose_models(Config& config, const ConfigFile& file, const Environment& environment) {
    auto text = lookup(environment, "HOLON_MODEL");
    if (!text && file.model) text = file.model->default_;
    if (text) config.model = TRY(parse_model_ref(*text));
    std::vector<std::string> fallbacks;
    if (const auto list = lookup(environment, "HOLON_MODEL_FALLBACKS"))
        fallbacks = split_names(*list);
    else if (file.model && file.model->fallbacks)
        fallbacks = *file.model->fallbacks;
    const bool stored = file.runtime && file.runtime->disable_provider_fallback.value_or(false);
    config.disable_provider_fallback =
        TRY(truth(environment, "HOLON_DISABLE_PROVIDER_FALLBACK")).value_or(stored);
    if (config.disable_provider_fallback) return {};
    for (const auto& entry : fallbacks) {
        auto ref = TRY(parse_model_ref(entry));
        if (ref != config.model &&
            std::ranges::find(config.fallbacks, ref) == config.fallbacks.end())
            config.fallbacks.push_back(std::move(ref));
    }
    return {};
}

Status choose_limits(Config& config, const ConfigFile& file, const Environment& environment) {
    const RuntimeSection runtime = file.runtime.value_or(RuntimeSection{});
    const auto pick = [&](std::int64_t& target, const char* name,
                          const std::optional<std::int64_t>& stored) -> Status {
        const auto set = TRY(number(environment, name));
        target = set.value_or(stored.value_or(target));
        return {};
    };
    config.models.max_output_tokens = TRY(number(environment, "HOLON_MAX_OUTPUT_TOKENS"));
    if (!config.models.max_output_tokens)
        config.models.max_output_tokens = runtime.max_output_tokens;
    TRY(pick(config.models.prompt_budget_estimated_tokens, "HOLON_PROMPT_BUDGET_ESTIMATED_TOKENS",
             std::nullopt));
    TRY(pick(config.default_tool_output_tokens, "HOLON_DEFAULT_TOOL_OUTPUT_TOKENS",
             runtime.default_tool_output_tokens));
    TRY(pick(config.max_tool_output_tokens, "HOLON_MAX_TOOL_OUTPUT_TOKENS",
             runtime.max_tool_output_tokens));
    config.max_command_output_bytes =
        runtime.max_command_output_bytes.value_or(config.max_command_output_bytes);
    config.max_concurrent_turns =
        runtime.max_concurrent_turns.value_or(config.max_concurrent_turns);
    config.compaction_summary = runtime.compaction_summary.value_or(false);
    config.budgets = {.turn_rounds = runtime.max_turn_rounds,
                      .turn_tokens = runtime.max_turn_tokens,
                      .turn_wall_ms = runtime.max_turn_wall_ms,
                      .agent_rounds = runtime.max_agent_rounds,
                      .agent_tokens = runtime.max_agent_tokens,
                      .agent_wall_ms = runtime.max_agent_wall_ms};
    config.follow_ups.depth = runtime.max_follow_up_depth.value_or(config.follow_ups.depth);
    config.follow_ups.per_hour =
        runtime.max_follow_ups_per_hour.value_or(config.follow_ups.per_hour);
    config.work.turns_without_progress_max =
        runtime.max_turns_without_progress.value_or(config.work.turns_without_progress_max);
    TRY(pick(config.work.reminder_rounds, "HOLON_WORK_ITEM_STALE_REMINDER_ROUNDS", std::nullopt));
    TRY(pick(config.work.reminder_cooldown_rounds, "HOLON_WORK_ITEM_STALE_REMINDER_COOLDOWN_ROUNDS",
             std::nullopt));
    TRY(pick(config.work.reminder_tokens_max, "HOLON_WORK_ITEM_STALE_REMINDER_MAX_TOKENS",
             std::nullopt));
    TRY(pick(config.provider_timeout_s, "HOLON_PROVIDER_HTTP_TIMEOUT_SECS", std::nullopt));
    config.provider_stream_total_s = TRY(number(environment, "HOLON_PROVIDER_HTTP_TIMEOUT_SECS"));
    TRY(pick(config.provider_stream_idle_ms, "HOLON_PROVIDER_STREAM_IDLE_TIMEOUT_MS",
             std::nullopt));
    config.outage_patience_ms = TRY(number(environment, "HOLON_OUTAGE_PATIENCE_MS"));
    if (!config.outage_patience_ms) config.outage_patience_ms = runtime.outage_patience_ms;
    config.max_tool_output_tokens = std::min(config.max_tool_output_tokens, kToolOutputTokensCap);
    config.default_tool_output_tokens =
        std::min(config.default_tool_output_tokens, config.max_tool_output_tokens);
    return {};
}

Status describe_models(ModelSettings& models, const ConfigFile& file) {
    if (file.model) models.unknown_fallback = file.model->unknown_fallback;
    if (!file.models || !file.models->catalog) return {};
    for (const auto& [ref, override_] : *file.models->catalog)
        models.overrides[TRY(parse_model_ref(ref)).text()] = override_;
    return {};
}

// Where programs keep the user's files.
std::filesystem::path user_home(const Environment& environment) {
    if (const auto home = lookup(environment, "HOME")) return *home;
    const passwd* account = getpwuid(geteuid());
    return account && account->pw_dir ? account->pw_dir : "";
}

// The address of an API, without a slash at its end.
base::Result<std::string> api_base(std::string url) {
    if (!url.starts_with("https://") && !url.starts_with("http://"))
        return fail(ErrorCode::InvalidInput,
                    "HOLON_TEMPLATE_GITHUB_API_BASE must be an http or https address, not {}",
                    base::printable(url));
    while (url.ends_with('/')) url.pop_back();
    return url;
}

Environment without_secrets(Environment environment, const Config& config) {
    // Commands do not get the variables between this process and its parent either.
    for (const char* name :
         {"HOLON_CONTROL_TOKEN", "HOLON_VIEWER_TOKEN", "HOLON_READY_FD", "NOTIFY_SOCKET"})
        environment.erase(name);
    for (const auto& [id, provider] : config.providers)
        for (const auto& name : provider.credential_env) environment.erase(name);
    return environment;
}

// The variables that headers of providers name: their values are credentials.
std::vector<std::string> header_variables(const ConfigFile& file) {
    std::vector<std::string> names;
    for (const auto& [id, section] :
         file.providers.value_or(decltype(file.providers)::value_type{}))
        for (const auto& [name, value] : section.headers.value_or(Environment{}))
            if (value.starts_with('$')) names.push_back(value.substr(1));
    return names;
}

// Each once. Also those in unused variables and profiles.
std::vector<std::string> credentials_of(const Config& config, const ConfigFile& file,
                                        const Environment& environment) {
    std::set<std::string> found{config.server.control_token, config.server.viewer_token,
                                read_control_token(config.server.control_token_file).value_or("")};
    for (const auto& [id, provider] : config.providers) {
        found.insert(provider.credential);
        for (const auto& name : provider.credential_env)
            found.insert(lookup(environment, name).value_or(""));
    }
    for (const auto& name : header_variables(file))
        found.insert(lookup(environment, name).value_or(""));
    // A file that cannot be used is reported where a provider needs it.
    if (const auto stored = read_credentials(config.home))
        for (const auto& [name, entry] : stored->profiles) found.insert(entry.material);
    found.erase("");
    return {found.begin(), found.end()};
}

// By profile. A file that cannot be read has none: what needs one says so.
std::map<std::string, std::string> stored_secrets(const std::filesystem::path& home) {
    std::map<std::string, std::string> secrets;
    if (const auto stored = read_credentials(home))
        for (const auto& [name, entry] : stored->profiles) secrets.emplace(name, entry.material);
    return secrets;
}

// Only these can be a search provider's.
std::map<std::string, std::string> stored_api_keys(const std::filesystem::path& home) {
    std::map<std::string, std::string> keys;
    if (const auto stored = read_credentials(home))
        for (const auto& [name, entry] : stored->profiles)
            if (parse_kind(entry.kind) == CredentialKind::ApiKey)
                keys.emplace(name, entry.material);
    return keys;
}

void choose_policy(Config& config, const ConfigFile& file) {
    if (file.redaction) config.redact_patterns = file.redaction->patterns.value_or(false);
    if (file.policy && file.policy->external_calls)
        config.flow.external_calls = *file.policy->external_calls;
    config.gate.general = file.gate.value_or(GateSection{});
    if (!file.agents) return;
    for (const auto& [agent, section] : *file.agents) {
        if (section.policy && section.policy->external_calls)
            config.flow.agents[agent] = *section.policy->external_calls;
        if (section.gate) config.gate.agents[agent] = *section.gate;
    }
}

Webhooks webhooks_of(const WebhooksSection& section) {
    const Webhooks unset;
    return {.rate_per_minute = section.rate_per_minute.value_or(unset.rate_per_minute),
            .body_bytes_max = section.body_bytes_max.value_or(unset.body_bytes_max),
            .timestamp_tolerance_s =
                section.timestamp_tolerance_s.value_or(unset.timestamp_tolerance_s)};
}

Result<std::string> alternate_screen(const ConfigFile& file, const Environment& environment) {
    constexpr const char* kVariable = "HOLON_TUI_ALTERNATE_SCREEN";
    const auto named = lookup(environment, kVariable);
    if (!named) return file.tui.value_or(TuiSection{}).alternate_screen.value_or("auto");
    if (*named != "auto" && *named != "always" && *named != "never")
        return fail(ErrorCode::InvalidInput, "{} must be auto, always or never, not '{}'",
                    kVariable, base::printable(*named));
    return *named;
}

}  // namespace

std::filesystem::path find_home(const Flags& flags, const Environment& environment,
                                const std::filesystem::path& cwd) {
    std::filesystem::path home = ".holon";
    if (flags.home)
        home = *flags.home;
    else if (const auto named = lookup(environment, "HOLON_HOME"))
        home = *named;
    else if (const auto user = lookup(environment, "HOME"))
        home = std::filesystem::path(*user) / ".holon";
    return home.is_relative() ? (cwd / home).lexically_normal() : home;
}

Result<Config> load_connection(const Flags& flags, const Environment& environment,
                               const std::filesystem::path& cwd) {
    Config config;
    config.home = find_home(flags, environment, cwd);
    config.cwd = cwd;
    config.default_agent = lookup(environment, "HOLON_AGENT_ID").value_or("main");
    config.server = TRY(load_server(config.home, environment));
    config.workspace_dir = lookup(environment, "HOLON_WORKSPACE_DIR").value_or(cwd.string());
    return config;
}

Result<Config> load(const Flags& flags, const Environment& environment,
                    const std::filesystem::path& cwd) {
    Config config = TRY(load_connection(flags, environment, cwd));
    config.telemetry = TRY(load_telemetry(environment));
    if (const auto codex = lookup(environment, "CODEX_HOME"))
        config.codex_home = *codex;
    else
        config.codex_home =
            std::filesystem::path(lookup(environment, "HOME").value_or(".")) / ".codex";
    const std::string shell =
        std::filesystem::path(lookup(environment, "SHELL").value_or("")).filename().string();
    if (shell == "bash" || shell == "zsh") config.default_shell = shell;

    const ConfigFile file = TRY(read_config(config.home));
    const RuntimeSection runtime = file.runtime.value_or(RuntimeSection{});
    TRY(add_builtins(config, runtime, environment));
    if (file.providers) TRY(add_configured(config, *file.providers, environment));
    TRY(choose_models(config, file, environment));
    TRY(describe_models(config.models, file));
    TRY(choose_limits(config, file, environment));
    config.plans = plans_of(file.plan.value_or(PlanSection{}));
    config.webhooks = webhooks_of(file.webhooks.value_or(WebhooksSection{}));
    config.retention = retention_of(file.retention.value_or(RetentionSection{}));
    config.children = children_of(file.children.value_or(ChildrenSection{}));
    config.tls_ca_file = lookup(environment, "HOLON_TLS_CA_FILE")
                             .value_or(runtime.tls_ca_file.value_or(
                                 lookup(environment, "SSL_CERT_FILE").value_or("")));
    if (!config.tls_ca_file.empty() && access(config.tls_ca_file.c_str(), R_OK) != 0)
        return fail(ErrorCode::InvalidInput,
                    "the certificates to trust cannot be read: {}; see HOLON_TLS_CA_FILE, "
                    "runtime.tls_ca_file and SSL_CERT_FILE",
                    base::printable(config.tls_ca_file.string()));
    config.command_environment = without_secrets(environment, config);
    for (const auto& name : header_variables(file)) config.command_environment.erase(name);
    config.credentials = credentials_of(config, file, environment);
    config.notify = notify_of(file.notify.value_or(NotifySection{}), stored_secrets(config.home));
    if (file.web) config.web = web(*file.web, stored_api_keys(config.home));
    choose_policy(config, file);
    if (file.mcp) {
        config.mcp_servers = mcp_servers(*file.mcp, environment, config.workspace_dir);
        for (const auto& name : mcp_secret_names(*file.mcp)) {
            config.command_environment.erase(name);
            if (auto value = lookup(environment, name)) config.credentials.push_back(*value);
        }
    }
    config.user_home = user_home(environment);
    if (const auto base = lookup(environment, "HOLON_TEMPLATE_GITHUB_API_BASE"))
        config.github_api = TRY(api_base(*base));
    config.sandboxes = TRY(load_sandboxes(file, config.home));
    config.alternate_screen = TRY(alternate_screen(file, environment));
    return config;
}

std::vector<ModelRef> fallbacks_of(const Config& config, const ModelRef& ref) {
    std::vector<ModelRef> list;
    if (config.disable_provider_fallback) return list;
    if (config.model && *config.model != ref) list.push_back(*config.model);
    for (const auto& fallback : config.fallbacks)
        if (fallback != ref) list.push_back(fallback);
    return list;
}

bool has_credential(const Config& config, const Provider& provider) {
    if (provider.auth.source == CredentialSource::ExternalCli)
        return !config.codex_home.empty() &&
               access((config.codex_home / "auth.json").c_str(), R_OK) == 0;
    return !provider.needs_credential || !base::trim(provider.credential).empty();
}

std::vector<ModelRef> authenticated_candidates(const Config& config) {
    std::vector<std::string> order{"openai-codex", "openai", "anthropic"};
    for (const auto& [id, provider] : config.providers)
        if (std::ranges::find(order, id) == order.end()) order.push_back(id);
    std::vector<ModelRef> list;
    for (const auto& id : order) {
        const auto found = config.providers.find(id);
        if (found == config.providers.end() ||
            found->second.auth.source == CredentialSource::None ||
            !has_credential(config, found->second))
            continue;
        if (auto model = preferred_model(id, config.models)) list.push_back(std::move(*model));
    }
    return list;
}

}  // namespace config
