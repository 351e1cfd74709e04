#include "config/config.h"

#include <sys/stat.h>

#include <algorithm>
#include <charconv>
#include <ranges>

#include "base/files.h"
#include "base/text.h"
#include "config/builtin_providers.h"
#include "config/file.h"

namespace config {
namespace {

using base::ErrorCode;
using base::fail;
using base::Result;
using base::Status;

constexpr std::size_t kConfigBytesMax = 1024 * 1024;

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

Result<std::optional<ContextManagement>> context_management(const Environment& environment) {
    const std::string name = "HOLON_ANTHROPIC_CONTEXT_MANAGEMENT";
    const bool enabled = TRY(truth(environment, name)).value_or(false);
    ContextManagement out;
    const auto trigger = TRY(number(environment, name + "_TRIGGER_INPUT_TOKENS"));
    const auto keep = TRY(number(environment, name + "_KEEP_RECENT_TOOL_USES"));
    out.clear_at_least_input_tokens =
        TRY(number(environment, name + "_CLEAR_AT_LEAST_INPUT_TOKENS"));
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

Status add_builtins(Config& config, const Environment& environment) {
    const auto context = TRY(context_management(environment));
    for (const auto& builtin : kBuiltinProviders) {
        Provider provider{.id = std::string(builtin.id),
                          .transport = builtin.transport,
                          .base_url = std::string(builtin.base_url),
                          .credential_env = split_names(builtin.credential_env)};
        for (const auto& name : std::views::reverse(base_url_names(builtin.id)))
            provider.base_url = lookup(environment, name).value_or(provider.base_url);
        provider.needs_credential = !provider.credential_env.empty();
        find_credential(provider, environment);
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

Result<std::string> profile_secret(const std::filesystem::path& file, const std::string& profile) {
    struct stat status{};
    if (stat(file.c_str(), &status) != 0) return std::string();
    if ((status.st_mode & 077U) != 0)
        return fail(ErrorCode::Refused, "{} can be read by others; make it private: chmod 600 {}",
                    file.string(), file.string());
    const auto parsed = TRY(base::parse_json(TRY(base::read_file(file, kConfigBytesMax))));
    const auto credentials = base::from_json<CredentialsFile>(parsed);
    // The text of a decoding error could quote a secret.
    if (!credentials)
        return fail(ErrorCode::InvalidInput, "{} is not a valid credentials file", file.string());
    const auto found = credentials->profiles.find(profile);
    return found == credentials->profiles.end() ? std::string() : found->second.material;
}

Status add_configured(Config& config, const std::map<std::string, ProviderSection>& sections,
                      const Environment& environment) {
    for (const auto& [id, section] : sections) {
        const auto transport = base::enum_from<Transport>(section.transport);
        if (!transport) {
            std::string known;
            for (const auto& name : base::typed::type_of<Transport>().names)
                known += (known.empty() ? "" : ", ") + name;
            return fail(ErrorCode::InvalidInput,
                        "config.json /providers/{}/transport: expected one of {}, got '{}'", id,
                        known, base::printable(section.transport));
        }
        Provider provider{.id = id,
                          .transport = *transport,
                          .base_url = section.base_url,
                          .credential_kind = section.auth.kind,
                          .reasoning_effort = section.reasoning_effort};
        if (const auto builtin = config.providers.find(id);
            builtin != config.providers.end() && !provider.reasoning_effort)
            provider.reasoning_effort = builtin->second.reasoning_effort;
        if (section.auth.source == CredentialSource::Env) {
            if (!section.auth.env)
                return fail(ErrorCode::InvalidInput,
                            "config.json /providers/{}/auth/env: is required with source env", id);
            provider.credential_env = {*section.auth.env};
            find_credential(provider, environment);
        } else if (section.auth.source == CredentialSource::CredentialProfile ||
                   section.auth.source == CredentialSource::AuthProfile) {
            if (!section.auth.profile)
                return fail(ErrorCode::InvalidInput,
                            "config.json /providers/{}/auth/profile: is required with this source",
                            id);
            provider.credential =
                TRY(profile_secret(config.home / "credentials.json", *section.auth.profile));
        }
        if (section.auth.source == CredentialSource::CredentialProcess)
            return fail(ErrorCode::InvalidInput,
                        "config.json /providers/{}/auth/source: credential_process is not "
                        "supported; use env, credential_profile, external_cli or none",
                        id);
        // What another program has logged in is looked for when it is used.
        provider.needs_credential = section.auth.source != CredentialSource::None &&
                                    section.auth.source != CredentialSource::ExternalCli;
        config.providers[id] = std::move(provider);
    }
    return {};
}

Result<ConfigFile> read_file_config(const std::filesystem::path& file) {
    const auto text = base::read_file(file, kConfigBytesMax);
    if (!text && text.error().code == ErrorCode::NotFound) return ConfigFile{};
    if (!text) return std::unexpected(text.error());
    const auto parsed = base::parse_json(*text);
    if (!parsed)
        return fail(ErrorCode::InvalidInput, "{}: {}", file.string(), parsed.error().message);
    auto decoded = base::from_json<ConfigFile>(*parsed, base::Unknown::Reject);
    if (!decoded)
        return fail(ErrorCode::InvalidInput, "{}: {}", file.string(), decoded.error().message);
    return *decoded;
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
    const bool disabled =
        TRY(truth(environment, "HOLON_DISABLE_PROVIDER_FALLBACK")).value_or(stored);
    if (disabled) return {};
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
        if (stored && *stored <= 0)
            return fail(ErrorCode::InvalidInput, "config.json: runtime limits must be above 0");
        target = set.value_or(stored.value_or(target));
        return {};
    };
    TRY(pick(config.max_output_tokens, "HOLON_MAX_OUTPUT_TOKENS", runtime.max_output_tokens));
    TRY(pick(config.default_tool_output_tokens, "HOLON_DEFAULT_TOOL_OUTPUT_TOKENS",
             runtime.default_tool_output_tokens));
    TRY(pick(config.max_tool_output_tokens, "HOLON_MAX_TOOL_OUTPUT_TOKENS",
             runtime.max_tool_output_tokens));
    TRY(pick(config.provider_timeout_s, "HOLON_PROVIDER_HTTP_TIMEOUT_SECS", std::nullopt));
    config.provider_stream_total_s = TRY(number(environment, "HOLON_PROVIDER_HTTP_TIMEOUT_SECS"));
    TRY(pick(config.provider_stream_idle_ms, "HOLON_PROVIDER_STREAM_IDLE_TIMEOUT_MS",
             std::nullopt));
    config.max_tool_output_tokens = std::min(config.max_tool_output_tokens, kToolOutputTokensCap);
    config.default_tool_output_tokens =
        std::min(config.default_tool_output_tokens, config.max_tool_output_tokens);
    return {};
}

Environment without_secrets(Environment environment, const Config& config) {
    environment.erase("HOLON_CONTROL_TOKEN");
    for (const auto& [id, provider] : config.providers)
        for (const auto& name : provider.credential_env) environment.erase(name);
    return environment;
}

}  // namespace

Result<ModelRef> parse_model_ref(std::string_view text) {
    const std::size_t slash = text.find('/');
    ModelRef ref;
    if (slash != std::string_view::npos) {
        ref.provider = base::trim(text.substr(0, slash));
        ref.model = base::trim(text.substr(slash + 1));
        std::ranges::transform(ref.provider, ref.provider.begin(),
                               [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    }
    if (ref.provider.empty() || ref.model.empty())
        return fail(ErrorCode::InvalidInput, "a model is named provider/model, got '{}'",
                    base::printable(text.substr(0, 80)));
    return ref;
}

Result<Config> load(const Flags& flags, const Environment& environment,
                    const std::filesystem::path& cwd) {
    Config config;
    if (flags.home)
        config.home = *flags.home;
    else if (const auto home = lookup(environment, "HOLON_HOME"))
        config.home = *home;
    else if (const auto user = lookup(environment, "HOME"))
        config.home = std::filesystem::path(*user) / ".holon";
    else
        config.home = ".holon";
    if (config.home.is_relative()) config.home = (cwd / config.home).lexically_normal();
    config.cwd = cwd;
    config.default_agent = lookup(environment, "HOLON_AGENT_ID").value_or("main");
    config.workspace_dir = lookup(environment, "HOLON_WORKSPACE_DIR").value_or(cwd.string());
    if (const auto codex = lookup(environment, "CODEX_HOME"))
        config.codex_home = *codex;
    else
        config.codex_home =
            std::filesystem::path(lookup(environment, "HOME").value_or(".")) / ".codex";
    const std::string shell =
        std::filesystem::path(lookup(environment, "SHELL").value_or("")).filename().string();
    if (shell == "bash" || shell == "zsh") config.default_shell = shell;

    const ConfigFile file = TRY(read_file_config(config.home / "config.json"));
    TRY(add_builtins(config, environment));
    if (file.providers) TRY(add_configured(config, *file.providers, environment));
    TRY(choose_models(config, file, environment));
    TRY(choose_limits(config, file, environment));
    config.command_environment = without_secrets(environment, config);
    return config;
}

}  // namespace config
