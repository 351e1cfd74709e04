// What is configured, whether it can work, and what to do next.
#include "base/os/spawn.h"
#include "base/text.h"
#include "provider/anthropic_messages/wire.h"
#include "provider/chat_completions/wire.h"
#include "provider/classify.h"
#include "provider/openai_codex/wire.h"
#include "provider/openai_responses/wire.h"
#include "provider/retry.h"
#include "service/local/settings/local_settings.h"
#include "service/local/settings/reach.h"

namespace service {
namespace {

json::object retry_policy() {
    json::array retryable;
    json::array fail_fast;
    for (const auto& name : base::typed::type_of<provider::FailureKind>().names) {
        const auto kind = *base::enum_from<provider::FailureKind>(name);
        const bool again =
            provider::disposition({.kind = kind}) == provider::Disposition::Retryable;
        (again ? retryable : fail_fast).push_back(json::value(name));
    }
    const provider::RetryPolicy policy;
    return {{"max_retries_per_provider", policy.retries_max},
            {"max_attempts_per_provider", policy.retries_max + 1},
            {"base_backoff_ms", policy.backoff_step.count()},
            {"retryable_failure_kinds", std::move(retryable)},
            {"fail_fast_failure_kinds", std::move(fail_fast)}};
}

std::span<const provider::PromptCapability> declared(config::Transport transport) {
    static constexpr std::array kScripted{provider::PromptCapability::FullRequestOnly};
    switch (transport) {
        case config::Transport::OpenaiResponses:
            return provider::openai_responses::kCapabilities;
        case config::Transport::OpenaiCodexResponses:
            return provider::openai_codex::kCapabilities;
        case config::Transport::AnthropicMessages:
            return provider::anthropic_messages::kCapabilities;
        case config::Transport::OpenaiChatCompletions:
            return provider::chat_completions::kCapabilities;
        case config::Transport::Scripted:
            return kScripted;
    }
    return {};
}

json::array prompt_capabilities(const config::Provider& provider) {
    json::array names;
    for (const auto capability : declared(provider.transport))
        names.push_back(json::value(base::enum_name(capability)));
    if (provider.transport == config::Transport::AnthropicMessages && provider.context_management)
        names.push_back(
            json::value(base::enum_name(provider::PromptCapability::ContextManagement)));
    if (provider.transport == config::Transport::OpenaiResponses && provider.keeps_state)
        names.push_back(
            json::value(base::enum_name(provider::PromptCapability::IncrementalResponses)));
    return names;
}

json::object settings_of(const config::Config& config, const config::Provider& provider) {
    json::object auth{{"source", base::enum_name(provider.auth.source)},
                      {"kind", config::kind_text(provider.auth.kind)},
                      {"env", base::to_json(provider.auth.env)},
                      {"profile", base::to_json(provider.auth.profile)},
                      {"external", base::to_json(provider.auth.external)},
                      {"credential_configured", config::has_credential(config, provider)}};
    return {{"base_url", provider.base_url},
            {"transport", base::enum_name(provider.transport)},
            {"auth", std::move(auth)}};
}

// What the chain would answer for this reason.
provider::FailureKind failure_kind(const ModelAvailability& model) {
    if (!model.provider_configured) return provider::FailureKind::ContractError;
    if (!model.credential_configured) return provider::FailureKind::AuthError;
    return provider::FailureKind::UnsupportedTransport;
}

json::object availability_of(const ModelAvailability& model, const config::Provider* provider) {
    if (model.available && provider)
        return {{"available", true}, {"prompt_capabilities", prompt_capabilities(*provider)}};
    const auto kind = failure_kind(model);
    return {{"available", false},
            {"error", model.unavailable_reason.value_or("")},
            {"failure_kind", base::enum_name(kind)},
            {"disposition", base::enum_name(provider::disposition({.kind = kind}))}};
}

// How an operator makes this model usable.
std::string remedy(const ModelAvailability& model, const config::Provider* provider) {
    if (!provider)
        return fmt::format(
            "configure the provider: holon config providers set {} --transport "
            "openai_chat_completions --base-url URL",
            model.provider);
    if (model.credential_configured) return *model.unavailable_reason;
    switch (provider->auth.source) {
        case config::CredentialSource::CredentialProfile:
        case config::CredentialSource::AuthProfile:
            return fmt::format("store the credential: holon config credentials set {} --kind {}",
                               base::printable(provider->auth.profile.value_or("")),
                               config::kind_text(provider->auth.kind));
        case config::CredentialSource::ExternalCli:
            return "log in with the Codex CLI: codex login";
        case config::CredentialSource::Env:
        case config::CredentialSource::CredentialProcess:
        case config::CredentialSource::None:
            break;
    }
    return fmt::format("set {} to a key of {}", base::printable(provider->auth.env.value_or("")),
                       model.provider);
}

void add_sandbox_steps(const json::value& report, json::array& next_steps) {
    const auto add = [&](const json::value& one, const std::string& whose) {
        for (const char* name : {"warning", "stale"})
            if (const auto text = base::string_at(one, name); !text.empty())
                next_steps.push_back(json::value(whose + ": " + text));
        const auto* missing = base::find(one, "missing");
        if (!missing || !missing->is_array()) return;
        for (const auto& lack : missing->get_array())
            next_steps.push_back(json::value(
                fmt::format("{}: no command runs: {}", whose, std::string(lack.as_string()))));
    };
    add(report, "sandbox");
    const auto* agents = base::find(report, "agents");
    if (!agents || !agents->is_object()) return;
    for (const auto& [agent, one] : agents->get_object())
        add(one, "sandbox of agent " + std::string(agent));
}

// What the gate does with results, by who started the turn.
json::object gate_report(const config::Config& config) {
    using enum domain::GatePolicy;
    const auto policy = [&](std::string_view family, domain::GatePolicy unset) {
        return json::value(
            base::enum_name(config.gate.policy(config.default_agent, family, unset)));
    };
    return {{"turns_of_external_input", policy("local_environment", Enforce)},
            {"mcp_servers", policy("authority_expanding", Report)},
            {"operator_turns", policy("local_environment", Off)}};
}

// Where clients find the token that TCP requires. The token itself is not in it.
json::object control_report(const config::Server& server) {
    json::object report{{"auth_mode", base::enum_name(server.control_auth_mode)}};
    if (!server.control_token.empty())
        report["token_source"] = "environment";
    else if (server.control_auth_mode == config::AuthMode::Disabled)
        report["token_source"] = "none";
    else
        report["token_source"] = "file";
    report["token_file"] = server.control_token_file.string();
    return report;
}

// Whether the operator can be notified as it is configured.
json::object notify_report(const config::Config& config, json::array& next_steps) {
    const auto& notify = config.notify;
    json::object report{{"command", base::to_json(notify.command)},
                        {"webhook", notify.webhook},
                        {"webhook_credential_configured", !notify.webhook_secret.empty()}};
    if (!notify.command.empty()) {
        base::ProcessSpec spec{.argv = notify.command, .cwd = config.home};
        for (const auto& [name, value] : config.command_environment)
            spec.environment.emplace_back(name, value);
        if (const auto program = base::find_program(spec); !program)
            next_steps.push_back(json::value("notify.command: " + program.error().message));
    }
    if (!notify.webhook.empty() && notify.webhook_secret.empty())
        next_steps.push_back(json::value(fmt::format(
            "notify.webhook: store the secret that signs it: holon config credentials set {} "
            "--kind api_key --stdin",
            base::printable(notify.webhook_credential))));
    return report;
}

}  // namespace

json::object LocalSettings::diagnosis(const config::Config& config, const config::ModelRef& ref,
                                      bool probe) const {
    const auto found = config.providers.find(ref.provider);
    const config::Provider* provider = found == config.providers.end() ? nullptr : &found->second;
    const auto model = availability(config, ref);
    json::object entry{{"model", ref.text()},
                       {"provider", ref.provider},
                       {"settings", provider ? settings_of(config, *provider)
                                             : json::object{{"error", "provider_not_configured"}}},
                       {"availability", availability_of(model, provider)}};
    if (!model.available) entry["next_step"] = remedy(model, provider);
    if (!probe || !provider) return entry;
    if (const auto endpoint = endpoint_of(provider->base_url))
        entry["reachable"] = is_reachable(endpoint->host, endpoint->port, kRemoteProbeTimeout);
    if (!model.available || !base::bool_at(entry, "reachable", true)) return entry;
    const ModelProbe answer = parts_.ask_model(config, ref);
    entry["answered"] = !answer.failure_kind;
    if (answer.failure_kind) {
        entry["probe_failure"] = {{"failure_kind", *answer.failure_kind},
                                  {"message", answer.message}};
        entry["next_step"] =
            answer.failure_kind == "auth_error"
                ? fmt::format("give it a key that works: holon login {}", ref.provider)
                : answer.message;
    }
    return entry;
}

base::Result<json::object> LocalSettings::doctor(bool probe) {
    const config::Config config = TRY(parts_.load());
    std::vector<config::ModelRef> chain;
    if (config.model) chain.push_back(*config.model);
    chain.insert(chain.end(), config.fallbacks.begin(), config.fallbacks.end());
    json::array fallbacks;
    for (const auto& ref : config.fallbacks) fallbacks.push_back(json::value(ref.text()));
    json::array models;
    json::array providers;
    json::array next_steps;
    bool any = false;
    for (const auto& ref : chain) {
        const auto model = availability(config, ref);
        models.push_back(base::to_json(model));
        providers.push_back(diagnosis(config, ref, probe));
        any = any || (model.available && base::bool_at(providers.back(), "reachable", true) &&
                      base::bool_at(providers.back(), "answered", true));
        if (const auto* step = base::find(providers.back(), "next_step"))
            next_steps.push_back(json::value(ref.text() + ": " + std::string(step->as_string())));
    }
    if (chain.empty())
        next_steps.push_back(
            "choose a model: holon login PROVIDER (anthropic, openai, openrouter, …), or holon "
            "config "
            "set model.default PROVIDER/MODEL");
    json::array servers = parts_.mcp_diagnosis(config, probe);
    for (const auto& server : servers)
        if (base::find(server, "reason"))
            next_steps.push_back(
                json::value(fmt::format("MCP server {}: {}", base::string_at(server, "name"),
                                        base::string_at(server, "reason"))));
    json::object sandbox = parts_.sandbox_report(config);
    add_sandbox_steps(sandbox, next_steps);
    json::object store = parts_.store_report(config);
    if (!base::bool_at(store, "ok"))
        next_steps.push_back("the database is damaged: holon store check says where");
    if (base::bool_at(store, "is_over_budget"))
        next_steps.push_back(
            "the home uses more than retention.max_bytes: holon store status shows what; raise the "
            "budget, or lower retention.min_age_days");
    if (const auto from = base::string_at(store, "deletes_from"); !from.empty())
        next_steps.push_back(json::value(fmt::format(
            "from {} on old records are removed: holon store status shows which", from)));
    json::object notify = notify_report(config, next_steps);
    const auto policy =
        config.model ? config::resolve_policy(*config.model, config.models) : config::ModelPolicy{};
    return json::object{
        {"default_model", config.model ? json::value(config.model->text()) : json::value(nullptr)},
        {"fallback_models", std::move(fallbacks)},
        {"disable_provider_fallback", config.disable_provider_fallback},
        {"runtime_max_output_tokens", policy.runtime_max_output_tokens},
        {"retry_policy", retry_policy()},
        {"model_availability", std::move(models)},
        {"providers", std::move(providers)},
        {"mcp_servers", std::move(servers)},
        {"sandbox", std::move(sandbox)},
        {"gate", gate_report(config)},
        {"control", control_report(config.server)},
        {"store", std::move(store)},
        {"notify", std::move(notify)},
        {"ready", any},
        {"next_steps", std::move(next_steps)}};
}

base::Result<json::object> LocalSettings::doctor_provider(const std::string& id, bool probe) {
    const config::Config config = TRY(parts_.load());
    const ProviderView view = TRY(provider(id));
    std::vector<config::ModelRef> chain;
    if (config.model) chain.push_back(*config.model);
    chain.insert(chain.end(), config.fallbacks.begin(), config.fallbacks.end());
    json::array diagnostics;
    for (const auto& ref : chain)
        if (ref.provider == view.id) diagnostics.push_back(diagnosis(config, ref, probe));
    // A provider that no model of the chain uses is looked at by its preferred model.
    if (diagnostics.empty())
        diagnostics.push_back(diagnosis(config,
                                        config::preferred_model(view.id, config.models)
                                            .value_or(config::ModelRef{view.id, "unknown"}),
                                        probe));
    return json::object{{"provider", base::to_json(view)},
                        {"retry_policy", retry_policy()},
                        {"model_chain_diagnostics", std::move(diagnostics)}};
}

}  // namespace service
