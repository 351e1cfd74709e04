#include "app/providers.h"

#include <utility>

#include "base/text.h"
#include "provider/anthropic_messages/anthropic_messages.h"
#include "provider/chain.h"
#include "provider/chat_completions/chat_completions.h"
#include "provider/guard.h"
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
base::Status check_contract(const config::Provider& provider) {
    const bool is_codex = provider.id == "openai-codex";
    const bool speaks_codex = provider.transport == config::Transport::OpenaiCodexResponses;
    if (is_codex != speaks_codex)
        return fail(ErrorCode::Refused,
                    "provider {} with the transport contract {} is unsupported: openai-codex and "
                    "openai_codex_responses go only with each other",
                    provider.id, base::enum_name(provider.transport));
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
    TRY(check_contract(provider));
    if (provider.transport == config::Transport::OpenaiCodexResponses)
        TRY(provider::read_codex_login(config.codex_home));
    if (provider.needs_credential && provider.credential.empty()) {
        const std::string names = fmt::format("{}", fmt::join(provider.credential_env, " or "));
        return fail(ErrorCode::Refused, "provider {} has no credential; set {}", ref.provider,
                    names.empty() ? "its profile in credentials.json" : names);
    }
    return &provider;
}

std::optional<std::string> credential_of(const config::Provider& provider) {
    if (provider.credential.empty()) return std::nullopt;
    return provider.credential;
}

struct Parts {
    const config::Config& config;
    const config::Provider& provider;
    provider::HttpClient& http;
    base::Clock& clock;
};

// A stream lasts as long as something arrives, unless somebody has set a limit.
provider::HttpTimeouts timeouts_of(const Parts& parts) {
    using std::chrono::milliseconds, std::chrono::seconds;
    const seconds whole(parts.config.provider_timeout_s);
    provider::HttpTimeouts timeouts{.first_byte = whole,
                                    .idle = milliseconds(parts.config.provider_stream_idle_ms),
                                    .total = whole};
    if (parts.provider.stream)
        timeouts.total = parts.config.provider_stream_total_s.transform(
            [](std::int64_t total) { return milliseconds(seconds(total)); });
    return timeouts;
}

std::shared_ptr<provider::Provider> make_chat_completions(const Parts& parts) {
    return std::make_shared<provider::ChatCompletions>(
        parts.http, parts.clock,
        provider::ChatCompletionsOptions{.base_url = parts.provider.base_url,
                                         .api_key = credential_of(parts.provider),
                                         .stream = parts.provider.stream,
                                         .timeouts = timeouts_of(parts)});
}

std::shared_ptr<provider::Provider> make_openai_responses(const Parts& parts) {
    return std::make_shared<provider::OpenaiResponses>(
        parts.http, parts.clock,
        provider::OpenaiResponsesOptions{.base_url = parts.provider.base_url,
                                         .api_key = credential_of(parts.provider),
                                         .stream = parts.provider.stream,
                                         .timeouts = timeouts_of(parts)});
}

std::shared_ptr<provider::Provider> make_openai_codex(const Parts& parts) {
    provider::OpenaiCodexOptions options{.base_url = parts.provider.base_url,
                                         .codex_home = parts.config.codex_home,
                                         .timeouts = timeouts_of(parts)};
    if (parts.provider.reasoning_effort)
        options.reasoning_effort = base::enum_name(*parts.provider.reasoning_effort);
    return std::make_shared<provider::OpenaiCodex>(parts.http, parts.clock, std::move(options));
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
        .stream = parts.provider.stream,
        .timeouts = timeouts_of(parts)};
    if (const auto& chosen = parts.provider.context_management)
        options.context_management = provider::ContextManagement{
            .trigger_input_tokens = chosen->trigger_input_tokens,
            .keep_recent_tool_uses = chosen->keep_recent_tool_uses,
            .clear_at_least_input_tokens = chosen->clear_at_least_input_tokens};
    return std::make_shared<provider::AnthropicMessages>(parts.http, parts.clock,
                                                         std::move(options));
}

// The kind of failure that `settings_of` refusing a model amounts to.
provider::FailureKind kind_of_refusal(const config::Config& config, const config::ModelRef& ref) {
    const auto found = config.providers.find(ref.provider);
    if (found == config.providers.end()) return provider::FailureKind::ContractError;
    if (!check_contract(found->second)) return provider::FailureKind::UnsupportedTransport;
    if (found->second.transport == config::Transport::Scripted)
        return provider::FailureKind::ContractError;
    return provider::FailureKind::AuthError;
}

}  // namespace

base::Status check_model(const config::Config& config, const config::ModelRef& ref) {
    const config::Provider* settings = TRY(settings_of(config, ref));
    if (settings->transport == config::Transport::Scripted) TRY(provider::load_scenario(ref.model));
    return {};
}

Providers::Providers(const config::Config& config, base::AsioLoop& loop, base::Clock& clock,
                     base::Ids& ids)
    : config_(config), loop_(loop), clock_(clock), ids_(ids) {}

base::Result<std::shared_ptr<provider::Provider>> Providers::make(const config::ModelRef& ref) {
    const config::Provider* settings = TRY(settings_of(config_, ref));
    if (!http_) http_.emplace(loop_, provider::HttpOptions{.ca_file = config_.tls_ca_file});
    const Parts parts{config_, *settings, *http_, clock_};
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

provider::Candidate Providers::candidate(const config::ModelRef& ref) {
    auto& known = connected_[ref.text()];
    if (known) return {.model_ref = ref.text(), .provider = known};
    auto made = make(ref);
    if (!made)
        return {.model_ref = ref.text(),
                .refusal = provider::Failure{.kind = kind_of_refusal(config_, ref),
                                             .message = made.error().message}};
    known = std::move(*made);
    return {.model_ref = ref.text(), .provider = known};
}

std::shared_ptr<provider::Exchange> Providers::ask(
    provider::Request request, provider::Progress progress,
    std::move_only_function<void(provider::Outcome)> done) {
    auto guarded = provider::guard(std::move(progress), std::move(done));
    const auto ref = config::parse_model_ref(request.model_ref);
    if (!ref) {
        provider::Failure failure{.kind = provider::FailureKind::ContractError,
                                  .message = ref.error().message};
        failure.timeline.requested_model_ref = request.model_ref;
        return provider::fail_later(loop_, std::move(failure), std::move(guarded.done));
    }
    std::vector<provider::Candidate> candidates{candidate(*ref)};
    for (const auto& fallback : config::fallbacks_of(config_, *ref))
        candidates.push_back(candidate(fallback));
    provider::Chain chain(std::move(candidates), {.loop = loop_, .clock = clock_, .ids = ids_});
    return chain.ask(std::move(request), std::move(guarded.progress), std::move(guarded.done));
}

}  // namespace app
