#include "app/providers.h"

#include <utility>

#include "base/text.h"
#include "provider/anthropic_messages/anthropic_messages.h"
#include "provider/chain.h"
#include "provider/chat_completions/chat_completions.h"
#include "provider/openai_codex/login.h"
#include "provider/openai_codex/openai_codex.h"
#include "provider/openai_responses/openai_responses.h"
#include "provider/scripted/scenario.h"
#include "provider/scripted/scripted_provider.h"

namespace app {
namespace {

using base::ErrorCode;
using base::fail;

// Codex and its contract belong together: no other endpoint speaks it, and none but that of Codex
// may be sent its login.
base::Status check_contract(const config::Config& config, const config::Provider& provider) {
    const bool is_codex = provider.id == "openai-codex";
    const bool speaks_codex = provider.transport == config::Transport::OpenaiCodexResponses;
    if (is_codex != speaks_codex)
        return fail(ErrorCode::Refused,
                    "provider {} with the transport contract {} is unsupported: openai-codex and "
                    "openai_codex_responses go only with each other",
                    provider.id, base::enum_name(provider.transport));
    if (speaks_codex) TRY(provider::read_codex_login(config.codex_home));
    return {};
}

base::Result<const config::Provider*> settings_of(const config::Config& config,
                                                  const config::ModelRef& ref) {
    const auto found = config.providers.find(ref.provider);
    if (found == config.providers.end()) {
        std::vector<std::string> names;
        for (const auto& [id, provider] : config.providers) names.push_back(id);
        const std::string near = base::nearest(ref.provider, names);
        return fail(ErrorCode::InvalidInput,
                    "there is no provider '{}'{}; configure it under providers in {}",
                    base::printable(ref.provider),
                    near.empty() ? "" : " (did you mean " + near + "?)",
                    (config.home / "config.json").string());
    }
    const config::Provider& provider = found->second;
    TRY(check_contract(config, provider));
    if (provider.needs_credential && provider.credential.empty()) {
        const std::string names = fmt::format("{}", fmt::join(provider.credential_env, " or "));
        return fail(ErrorCode::Refused, "provider {} has no credential; set {}", ref.provider,
                    names.empty() ? "its profile in credentials.json" : names);
    }
    return &provider;
}

provider::HttpTimeouts timeouts_of(const config::Config& config) {
    const std::chrono::seconds whole(config.provider_timeout_s);
    return {.first_byte = whole,
            .idle = std::chrono::milliseconds(config.provider_stream_idle_ms),
            .total = whole};
}

std::optional<std::string> credential_of(const config::Provider& provider) {
    if (provider.credential.empty()) return std::nullopt;
    return provider.credential;
}

struct Parts {
    const config::Config& config;
    const config::Provider& provider;
    provider::HttpClient& http;
    base::AsioLoop& loop;
    base::Clock& clock;
};

std::shared_ptr<provider::Provider> make_chat_completions(const Parts& parts) {
    return std::make_shared<provider::ChatCompletions>(
        parts.http, parts.clock,
        provider::ChatCompletionsOptions{.base_url = parts.provider.base_url,
                                         .api_key = credential_of(parts.provider),
                                         .timeouts = timeouts_of(parts.config)});
}

std::shared_ptr<provider::Provider> make_openai_responses(const Parts& parts) {
    return std::make_shared<provider::OpenaiResponses>(
        parts.http, parts.clock,
        provider::OpenaiResponsesOptions{.base_url = parts.provider.base_url,
                                         .api_key = credential_of(parts.provider),
                                         .timeouts = timeouts_of(parts.config)});
}

std::shared_ptr<provider::Provider> make_openai_codex(const Parts& parts) {
    provider::OpenaiCodexOptions options{.base_url = parts.provider.base_url,
                                         .codex_home = parts.config.codex_home,
                                         .timeouts = timeouts_of(parts.config)};
    options.timeouts.total = parts.config.provider_stream_total_s.transform(
        [](std::int64_t total) { return std::chrono::milliseconds(std::chrono::seconds(total)); });
    if (parts.provider.reasoning_effort)
        options.reasoning_effort = base::enum_name(*parts.provider.reasoning_effort);
    return std::make_shared<provider::OpenaiCodex>(parts.http, parts.loop, parts.clock,
                                                   std::move(options));
}

std::shared_ptr<provider::Provider> make_anthropic_messages(const Parts& parts) {
    // Servers that only copy the API take a bearer token, whatever their credential is called.
    const bool is_key = parts.provider.credential_name == "ANTHROPIC_API_KEY" ||
                        (parts.provider.id == "anthropic" &&
                         parts.provider.credential_kind == config::CredentialKind::ApiKey);
    provider::AnthropicMessagesOptions options{
        .base_url = parts.provider.base_url,
        .credential = credential_of(parts.provider),
        .credential_header =
            is_key ? provider::CredentialHeader::ApiKey : provider::CredentialHeader::Bearer,
        .timeouts = timeouts_of(parts.config)};
    if (const auto& chosen = parts.provider.context_management)
        options.context_management = provider::ContextManagement{
            .trigger_input_tokens = chosen->trigger_input_tokens,
            .keep_recent_tool_uses = chosen->keep_recent_tool_uses,
            .clear_at_least_input_tokens = chosen->clear_at_least_input_tokens};
    return std::make_shared<provider::AnthropicMessages>(parts.http, parts.clock,
                                                         std::move(options));
}

// Transport failures come back through the outcome, like any other.
class Nothing final : public provider::Exchange {
public:
    void cancel() override {}
};

}  // namespace

base::Status check_model(const config::Config& config, const config::ModelRef& ref) {
    const config::Provider* settings = TRY(settings_of(config, ref));
    if (settings->transport == config::Transport::Scripted) TRY(provider::load_scenario(ref.model));
    return {};
}

Providers::Providers(const config::Config& config, base::AsioLoop& loop, base::Clock& clock,
                     base::Ids& ids)
    : config_(config), loop_(loop), clock_(clock), ids_(ids) {}

base::Result<std::shared_ptr<provider::Provider>> Providers::connect(const config::ModelRef& ref) {
    const config::Provider* settings = TRY(settings_of(config_, ref));
    if (!http_) http_.emplace(loop_);
    const Parts parts{config_, *settings, *http_, loop_, clock_};
    switch (settings->transport) {
        case config::Transport::OpenaiChatCompletions:
            return make_chat_completions(parts);
        case config::Transport::OpenaiResponses:
            return make_openai_responses(parts);
        case config::Transport::OpenaiCodexResponses:
            return make_openai_codex(parts);
        case config::Transport::AnthropicMessages:
            return make_anthropic_messages(parts);
        case config::Transport::Scripted:
            return std::make_shared<provider::ScriptedProvider>(
                TRY(provider::load_scenario(ref.model)), loop_);
    }
    std::unreachable();
}

base::Result<std::shared_ptr<provider::Provider>> Providers::chain(const std::string& model_ref) {
    if (const auto known = chains_.find(model_ref); known != chains_.end()) return known->second;
    std::vector<config::ModelRef> refs{TRY(config::parse_model_ref(model_ref))};
    for (auto& fallback : config::fallbacks_of(config_, refs.front()))
        refs.push_back(std::move(fallback));
    std::vector<provider::Candidate> candidates;
    std::optional<base::Error> refusal;
    for (const auto& ref : refs) {
        auto connected = connect(ref);
        if (connected)
            candidates.push_back({ref.text(), std::move(*connected)});
        else if (!refusal)
            refusal = connected.error();
    }
    if (candidates.empty()) return std::unexpected(*refusal);
    auto made = std::make_shared<provider::Chain>(
        std::move(candidates), provider::Chain::Parts{.loop = loop_, .clock = clock_, .ids = ids_});
    chains_[model_ref] = made;
    return made;
}

std::shared_ptr<provider::Exchange> Providers::ask(
    provider::Request request, provider::Progress progress,
    std::move_only_function<void(provider::Outcome)> done) {
    auto target = chain(request.model_ref);
    if (target) return (*target)->ask(std::move(request), std::move(progress), std::move(done));
    provider::Failure failure{.kind = provider::FailureKind::UnsupportedTransport,
                              .message = target.error().message};
    failure.timeline.requested_model_ref = request.model_ref;
    loop_.post([failure = std::move(failure), done = std::move(done)]() mutable {
        done(std::unexpected(std::move(failure)));
    });
    return std::make_shared<Nothing>();
}

}  // namespace app
