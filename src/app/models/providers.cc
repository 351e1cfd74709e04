#include "app/models/providers.h"

#include <algorithm>
#include <utility>

#include "base/log/log.h"
#include "base/text.h"
#include "provider/anthropic_messages/codec.h"
#include "provider/chain.h"
#include "provider/chat_completions/codec.h"
#include "provider/guard.h"
#include "provider/http/search/web_search.h"
#include "provider/http/transport.h"
#include "provider/images/shows_images.h"
#include "provider/openai_codex/codec.h"
#include "provider/openai_codex/login.h"
#include "provider/openai_responses/codec.h"
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
        if (names.empty())
            return fail(ErrorCode::Refused,
                        "provider {} has no credential; set its profile in credentials.json",
                        ref.provider);
        return fail(ErrorCode::Refused,
                    "provider {} has no credential; set {}, or have it asked for: holon login {}",
                    ref.provider, names, ref.provider);
    }
    return &provider;
}

std::optional<std::string> credential_of(const config::Provider& provider) {
    if (provider.credential.empty()) return std::nullopt;
    return provider.credential;
}

// A stream lasts as long as something arrives, unless somebody has set a limit.
provider::HttpTimeouts timeouts_of(const config::Config& config, const config::Provider& settings) {
    using std::chrono::milliseconds, std::chrono::seconds;
    const seconds whole(config.provider_timeout_s);
    provider::HttpTimeouts timeouts{
        .first_byte = whole, .idle = milliseconds(config.provider_stream_idle_ms), .total = whole};
    if (settings.first_byte_timeout_ms)
        timeouts.first_byte = milliseconds(*settings.first_byte_timeout_ms);
    if (settings.idle_timeout_ms) timeouts.idle = milliseconds(*settings.idle_timeout_ms);
    // A document takes as long to begin as to be written.
    timeouts.total = std::max<milliseconds>(whole, timeouts.first_byte);
    if (settings.stream)
        timeouts.total = config.provider_stream_total_s.transform(
            [](std::int64_t total) { return milliseconds(seconds(total)); });
    return timeouts;
}

std::optional<std::string> effort_of(const config::Provider& settings) {
    if (!settings.reasoning_effort) return std::nullopt;
    return std::string(base::enum_name(*settings.reasoning_effort));
}

provider::Adaptation adaptation_of(const config::Provider& settings) {
    using provider::ReasoningReplay;
    provider::Adaptation adaptation{
        .extra_body = settings.extra_body,
        .omit = {settings.omit.begin(), settings.omit.end()},
        .max_completion_tokens = settings.max_completion_tokens,
        .reasoning = settings.replay_reasoning ? ReasoningReplay::All : ReasoningReplay::Signed};
    for (const auto& [name, value] : settings.headers) adaptation.headers.push_back({name, value});
    return adaptation;
}

// What is wrong and what to do when the server does not accept the credential.
std::string when_rejected(const config::Provider& settings) {
    using config::CredentialSource;
    const auto& auth = settings.auth;
    if (auth.source == CredentialSource::CredentialProfile && auth.profile)
        return fmt::format(
            "{0} rejects the key of the credential profile {1}; store another one with: "
            "holon login {0}",
            settings.id, *auth.profile);
    if (auth.source == CredentialSource::ExternalCli)
        return fmt::format("{} rejects the login of {}; log in there again", settings.id,
                           auth.external.value_or("the external program"));
    if (!settings.credential_name.empty())
        return fmt::format(
            "{0} rejects the key in {1}; set {1} to another one, or store one with: "
            "holon login {0}",
            settings.id, settings.credential_name);
    return fmt::format("{0} requires a key; store one with: holon login {0}", settings.id);
}

// Fills in what the reply cost, where the prices of the model are known.
void add_cost(const config::Config& config, provider::Reply& reply) {
    const auto& winner = reply.timeline.winning_model_ref;
    const auto found =
        winner ? config.models.overrides.find(*winner) : config.models.overrides.end();
    if (!reply.usage || found == config.models.overrides.end() || !found->second.prices) return;
    reply.cost_usd = config::cost_usd(*found->second.prices, *reply.usage, reply.cache_usage);
}

std::unique_ptr<provider::Codec> make_openai_codex(const config::Config& config,
                                                   const config::Provider& settings) {
    return provider::openai_codex::make_codec({.base_url = settings.base_url,
                                               .codex_home = config.codex_home,
                                               .reasoning_effort = effort_of(settings)});
}

std::unique_ptr<provider::Codec> make_anthropic_messages(const config::Provider& settings) {
    using provider::anthropic_messages::CredentialHeader;
    // Servers that only copy the API take a bearer token, whatever their credential is called.
    const bool is_key =
        settings.credential_name == "ANTHROPIC_API_KEY" ||
        (settings.id == "anthropic" && settings.credential_kind == config::CredentialKind::ApiKey);
    provider::anthropic_messages::Options options{
        .base_url = settings.base_url,
        .credential = credential_of(settings),
        .credential_header = is_key ? CredentialHeader::ApiKey : CredentialHeader::Bearer,
        .stream = settings.stream};
    if (const auto& chosen = settings.context_management)
        options.context_management = provider::ContextManagement{
            .trigger_input_tokens = chosen->trigger_input_tokens,
            .keep_recent_tool_uses = chosen->keep_recent_tool_uses,
            .clear_at_least_input_tokens = chosen->clear_at_least_input_tokens};
    return provider::anthropic_messages::make_codec(std::move(options));
}

// The API whose own web search the models of this provider use in place of ours; none: ours.
std::optional<provider::SearchApi> search_of(const config::Config& config,
                                             const config::Provider& settings) {
    const auto& search = config.web.search;
    if (!search.enabled || !settings.has_web_search) return std::nullopt;
    const bool is_anthropic = settings.transport == config::Transport::AnthropicMessages;
    const auto kind =
        is_anthropic ? config::WebSearchKind::AnthropicNative : config::WebSearchKind::OpenAiNative;
    const bool is_chosen = std::ranges::any_of(search.providers, [&](const auto& known) {
        return known.name == search.provider && known.kind == kind;
    });
    if (!is_chosen && !(search.provider == "auto" && search.native_enabled)) return std::nullopt;
    switch (settings.transport) {
        case config::Transport::AnthropicMessages:
            return provider::SearchApi::Anthropic;
        case config::Transport::OpenaiResponses:
            return provider::SearchApi::Responses;
        case config::Transport::OpenaiCodexResponses:
            return provider::SearchApi::Codex;
        case config::Transport::OpenaiChatCompletions:
        case config::Transport::Scripted:
            return std::nullopt;
    }
    return std::nullopt;
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
    const auto transport = [&](std::unique_ptr<provider::Codec> codec) {
        if (!http_) http_.emplace(loop_, provider::HttpOptions{.ca_file = config_.tls_ca_file});
        if (const auto search = search_of(config_, *settings))
            codec = provider::with_web_search(std::move(codec), *search);
        auto& refusals = refusals_[settings->id];
        if (!refusals) refusals = std::make_shared<provider::Refusals>();
        return std::make_shared<provider::HttpTransport>(
            *http_, clock_, provider::adapt(std::move(codec), adaptation_of(*settings), refusals),
            provider::HttpTransportOptions{.timeouts = timeouts_of(config_, *settings),
                                           .when_rejected = when_rejected(*settings)});
    };
    switch (settings->transport) {
        case config::Transport::OpenaiChatCompletions:
            return transport(
                provider::chat_completions::make_codec({.base_url = settings->base_url,
                                                        .api_key = credential_of(*settings),
                                                        .stream = settings->stream,
                                                        .reasoning_effort = effort_of(*settings)}));
        case config::Transport::OpenaiResponses:
            if (settings->keeps_state)
                base::log_warn(
                    "provider {} stores every conversation on its servers, because "
                    "providers.{}.keeps_state is true",
                    settings->id, settings->id);
            return transport(
                provider::openai_responses::make_codec({.base_url = settings->base_url,
                                                        .api_key = credential_of(*settings),
                                                        .stream = settings->stream,
                                                        .reasoning_effort = effort_of(*settings),
                                                        .keeps_state = settings->keeps_state}));
        case config::Transport::OpenaiCodexResponses:
            return transport(make_openai_codex(config_, *settings));
        case config::Transport::AnthropicMessages:
            return transport(make_anthropic_messages(*settings));
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
    if (config::resolve_policy(ref, config_.models).capabilities.image_input)
        known = std::make_shared<provider::ShowsImages>(std::move(known), loop_);
    return {.model_ref = ref.text(), .provider = known};
}

std::shared_ptr<provider::Exchange> Providers::ask(
    provider::Request request, provider::Progress progress,
    std::move_only_function<void(provider::Outcome)> done) {
    auto guarded = provider::guard(std::move(progress), [&config = config_, done = std::move(done)](
                                                            provider::Outcome outcome) mutable {
        if (outcome) add_cost(config, *outcome);
        done(std::move(outcome));
    });
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
