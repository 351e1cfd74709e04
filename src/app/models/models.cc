#include "app/models/models.h"

#include "app/models/providers.h"
#include "base/log/log.h"
#include "service/local/settings/reach.h"

namespace app {
namespace {

using base::ErrorCode;
using base::fail;

std::string local_server_hint() {
    for (const auto& server : service::kLocalModelServers)
        if (service::is_reachable("127.0.0.1", server.port, service::kLocalProbeTimeout))
            return fmt::format(
                "\nA server listens on 127.0.0.1:{}, where {} usually is. To use it:\n"
                "  export HOLON_MODEL=vllm/<model> HOLON_VLLM_BASE_URL=http://127.0.0.1:{}/v1",
                server.port, server.name, server.port);
    return "\nWith a local server that speaks Chat Completions on port 8000:\n"
           "  export HOLON_MODEL=vllm/<model>";
}

}  // namespace

void choose_model(config::Config& config) {
    if (config.model) return;
    for (auto& candidate : config::authenticated_candidates(config)) {
        if (!check_model(config, candidate)) continue;
        if (!config.model)
            config.model = std::move(candidate);
        else if (!config.disable_provider_fallback &&
                 std::ranges::find(config.fallbacks, candidate) == config.fallbacks.end())
            config.fallbacks.push_back(std::move(candidate));
    }
    if (config.model) std::erase(config.fallbacks, *config.model);
}

base::Status check_run(const config::Config& config, const std::string& model_ref) {
    if (model_ref.empty())
        return fail(ErrorCode::InvalidInput,
                    "no model is configured.\n"
                    "With a key (asks for it and keeps it; also openai, openrouter and others):\n"
                    "  holon login anthropic{}",
                    local_server_hint());
    const auto ref = TRY(config::parse_model_ref(model_ref));
    const auto first = check_model(config, ref);
    if (first) return {};
    for (const auto& fallback : config::fallbacks_of(config, ref))
        if (check_model(config, fallback)) {
            base::log_warn("{} cannot be asked: {}; continuing with {}", ref.text(),
                           first.error().message, fallback.text());
            return {};
        }
    return first;
}

base::Result<std::string> name_model(const config::Config& config, const std::string& model_ref) {
    const auto ref = TRY(config::parse_model_ref(model_ref));
    TRY(check_model(config, ref));
    return ref.text();
}

config::ModelPolicy policy_of(const config::Config& config, const std::string& model) {
    const auto ref = config::parse_model_ref(model);
    return config::resolve_policy(ref.value_or(config::ModelRef{"", model}), config.models);
}

std::vector<std::string> fallback_names(const config::Config& config, const std::string& model) {
    std::vector<std::string> names;
    const auto ref = config::parse_model_ref(model);
    if (!ref) return names;
    for (const auto& fallback : config::fallbacks_of(config, *ref))
        names.push_back(fallback.text());
    return names;
}

base::Result<std::string> planner_model(const config::Config& config,
                                        const std::optional<std::string>& asked) {
    if (asked) return name_model(config, *asked);
    std::string model = config.model ? config.model->text() : "";
    TRY(check_run(config, model));
    return model;
}

}  // namespace app
