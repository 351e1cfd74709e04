#include "service/daemon/access/surface.h"

#include <set>

#include "base/hash.h"

namespace service {
namespace {

// Providers that are configured or whose models can be used; an unrelated key in the environment
// does not change the configuration.
json::array providers(const config::Config& config) {
    std::set<std::string> used;
    if (config.model) used.insert(config.model->provider);
    for (const auto& fallback : config.fallbacks) used.insert(fallback.provider);
    json::array list;
    for (const auto& [id, provider] : config.providers) {
        if (!provider.is_configured && !used.contains(id)) continue;
        list.push_back({{"id", id},
                        {"transport", base::enum_name(provider.transport)},
                        {"base_url", provider.base_url},
                        {"credential_source", base::enum_name(provider.auth.source)},
                        {"credential_kind", base::enum_name(provider.auth.kind)},
                        {"credential_configured", config::has_credential(config, provider)}});
    }
    return list;
}

}  // namespace

json::object startup_surface(const config::Config& config, const ServePlan& plan) {
    json::object surface{{"home_dir", config.home.string()},
                         {"socket_path", plan.socket_path.string()},
                         {"workspace_dir", config.workspace_dir.string()},
                         {"default_agent_id", config.default_agent},
                         {"callback_base_url", plan.callback_base_url},
                         {"control_token_configured", !plan.token.empty()},
                         {"control_auth_mode", base::enum_name(plan.auth_mode)}};
    if (plan.uses_own_token)
        surface["control_token_file"] = config.server.control_token_file.string();
    return surface;
}

json::object runtime_surface(const config::Config& config) {
    json::array fallbacks;
    for (const auto& fallback : config.fallbacks) fallbacks.emplace_back(fallback.text());
    json::array catalog;
    for (const auto& [ref, override_] : config.models.overrides) catalog.emplace_back(ref);
    json::value output = nullptr;
    if (config.models.max_output_tokens) output = *config.models.max_output_tokens;
    return {{"model_default", config.model ? config.model->text() : ""},
            {"model_fallbacks", std::move(fallbacks)},
            {"model_catalog", std::move(catalog)},
            {"unknown_model_fallback_configured", config.models.unknown_fallback.has_value()},
            {"runtime_max_output_tokens", std::move(output)},
            {"default_tool_output_tokens", config.default_tool_output_tokens},
            {"max_tool_output_tokens", config.max_tool_output_tokens},
            {"disable_provider_fallback", config.disable_provider_fallback},
            {"providers", providers(config)}};
}

namespace {

json::object sandbox_surface(const config::Sandbox& sandbox) {
    return {{"settings", base::to_json(sandbox.settings)},
            {"readable_roots", base::to_json(sandbox.readable_roots)},
            {"allow_processes", sandbox.allow_processes},
            {"allow_background_tasks", sandbox.allow_background_tasks},
            {"allow_worktrees", sandbox.allow_worktrees},
            {"allow_new_workspaces", sandbox.allow_new_workspaces
                                         ? json::value(*sandbox.allow_new_workspaces)
                                         : json::value(nullptr)}};
}

}  // namespace

std::string fingerprint(const config::Config& config, const ServePlan& plan) {
    json::object startup = startup_surface(config, plan);
    startup.erase("control_token_configured");
    startup.erase("control_token_file");
    if (config.workspace_dir == config.cwd) startup.erase("workspace_dir");
    json::object models;
    for (const auto& [ref, override_] : config.models.overrides)
        models[ref] = base::to_json(override_);
    json::object all{{"access", base::enum_name(plan.access)},
                     {"listen", plan.http_addr()},
                     {"startup", std::move(startup)},
                     {"runtime", runtime_surface(config)},
                     {"models", std::move(models)}};
    // Where they run follows from where the runtime was started.
    for (const auto& server : config.mcp_servers)
        all["mcp." + server.name] = json::array{server.command,
                                                base::to_json(server.args),
                                                server.enabled,
                                                server.timeout_ms,
                                                base::enum_name(server.risk),
                                                base::to_json(server.allow),
                                                base::to_json(server.deny)};
    // All that says what commands may do: a daemon with other settings is never up to date.
    all["sandbox"] = sandbox_surface(config.sandboxes.general);
    for (const auto& [agent, sandbox] : config.sandboxes.agents)
        all["sandbox." + agent] = sandbox_surface(sandbox);
    if (!config.gate.is_off()) all["gate"] = base::to_json(config.gate);
    if (const auto& notify = config.notify; !notify.command.empty() || !notify.webhook.empty())
        all["notify"] =
            json::array{base::to_json(notify.command), notify.webhook, notify.webhook_credential,
                        notify.timeout_ms, notify.max_attempts};
    if (plan.advertise_url) all["advertise_url"] = *plan.advertise_url;
    if (plan.tls) all["tls_certificate"] = plan.tls->certificate.string();
    return base::sha256_hex(base::canonical_json(all));
}

}  // namespace service
