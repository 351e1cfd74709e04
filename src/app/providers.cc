#include "app/providers.h"

#include "base/text.h"
#include "provider/chain.h"
#include "provider/chat_completions/chat_completions.h"
#include "provider/scripted/scenario.h"
#include "provider/scripted/scripted_provider.h"

namespace app {
namespace {

using base::ErrorCode;
using base::fail;

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
    const bool spoken = provider.transport == config::Transport::OpenaiChatCompletions ||
                        provider.transport == config::Transport::Scripted;
    if (!spoken)
        return fail(ErrorCode::Refused,
                    "provider {} uses the transport contract {}, which this build does not speak; "
                    "use a provider of "
                    "openai_chat_completions",
                    ref.provider, base::enum_name(provider.transport));
    if (provider.needs_credential && provider.credential.empty()) {
        const std::string names = fmt::format("{}", fmt::join(provider.credential_env, " or "));
        return fail(ErrorCode::Refused, "provider {} has no credential; set {}", ref.provider,
                    names.empty() ? "its profile in credentials.json" : names);
    }
    return &provider;
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
    if (settings->transport == config::Transport::Scripted)
        return std::make_shared<provider::ScriptedProvider>(TRY(provider::load_scenario(ref.model)),
                                                            loop_);
    if (!http_) http_.emplace(loop_);
    provider::ChatCompletionsOptions options{.base_url = settings->base_url};
    if (!settings->credential.empty()) options.api_key = settings->credential;
    options.timeouts.total = std::chrono::seconds(config_.provider_timeout_s);
    options.timeouts.first_byte = std::chrono::seconds(config_.provider_timeout_s);
    options.timeouts.idle = std::chrono::milliseconds(config_.provider_stream_idle_ms);
    return std::make_shared<provider::ChatCompletions>(*http_, clock_, std::move(options));
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
