#include "config/models/catalogue.h"

#include <algorithm>
#include <set>
#include <tuple>

#include "config/models/known_models.h"

namespace config {
namespace {

using base::ErrorCode;
using base::fail;

// The provider whose entries `provider` shares; itself for most.
std::string_view catalogue_provider(std::string_view provider) {
    const auto* found = std::ranges::find(kModelAliases, provider, &ModelAlias::provider);
    return found == kModelAliases.end() ? provider : found->same_as;
}

const KnownModel* find_known(const ModelRef& ref) {
    const std::string text =
        ModelRef{std::string(catalogue_provider(ref.provider)), ref.model}.text();
    const auto* found = std::ranges::find(kKnownModels, text, &KnownModel::ref);
    return found == kKnownModels.end() ? nullptr : found;
}

std::string_view provider_part(std::string_view ref) {
    return ref.substr(0, ref.find('/'));
}
std::string_view model_part(std::string_view ref) {
    return ref.substr(ref.find('/') + 1);
}

using Number = std::optional<std::int64_t>;

// Rounded down. Divided first, so that no number an operator may write overflows.
std::int64_t percent_of(std::int64_t number, std::int64_t percent) {
    return number / 100 * percent + number % 100 * percent / 100;
}

// The catalogue writes 0 where a number is not known.
Number known(std::int64_t number) {
    return number > 0 ? Number(number) : std::nullopt;
}

Number first_of(std::initializer_list<Number> numbers) {
    for (const auto& number : numbers)
        if (number) return number;
    return std::nullopt;
}

// The entries of one model; absent ones are empty.
struct Sources {
    ModelOverride own;
    ModelOverride unknown;  // Only for a model that is not in the catalogue.
    const KnownModel* entry{nullptr};
    bool is_overridden{false};

    Number of(Number ModelOverride::* field, std::int64_t KnownModel::* listed) const {
        return first_of({own.*field, entry ? known(entry->*listed) : std::nullopt, unknown.*field});
    }
};

Sources sources_of(const ModelRef& ref, const ModelSettings& settings) {
    Sources sources{.entry = find_known(ref)};
    if (const auto found = settings.overrides.find(ref.text()); found != settings.overrides.end()) {
        sources.own = found->second;
        sources.is_overridden = true;
    }
    if (!sources.entry) sources.unknown = settings.unknown_fallback.value_or(ModelOverride{});
    return sources;
}

MetadataSource source_of(const Sources& sources) {
    if (!sources.entry) return MetadataSource::UnknownFallback;
    if (sources.is_overridden) return MetadataSource::ConfigOverride;
    return sources.entry->is_conservative ? MetadataSource::ConservativeBuiltin
                                          : MetadataSource::BuiltInCatalog;
}

void describe(ModelPolicy& policy, const ModelRef& ref, const Sources& sources) {
    const std::string name = sources.entry ? std::string(sources.entry->display_name)
                                           : sources.unknown.display_name.value_or(ref.text());
    policy.display_name = sources.own.display_name.value_or(name);
    policy.description = sources.own.description.value_or(sources.unknown.description.value_or(""));
    policy.capabilities.image_input = sources.own.image_input.value_or(
        sources.entry ? (sources.entry->capabilities & kImage) != 0
                      : sources.unknown.image_input.value_or(false));
    if (!sources.entry) return;
    policy.max_output_tokens_upper_limit = known(sources.entry->max_output_tokens_upper_limit);
    policy.capabilities.reasoning_summaries = (sources.entry->capabilities & kReasoning) != 0;
    policy.capabilities.interactive_exec = (sources.entry->capabilities & kInteractive) != 0;
}

base::Status check_number(const Number& number, std::string_view place, std::string_view name) {
    if (number && *number <= 0)
        return fail(ErrorCode::InvalidInput, "{}/{}: must be above 0, got {}", place, name,
                    *number);
    return {};
}

base::Status check_order(const Number& smaller, std::string_view smaller_name, const Number& larger,
                         std::string_view larger_name, std::string_view place) {
    if (smaller && larger && *smaller > *larger)
        return fail(ErrorCode::InvalidInput, "{}/{}: must not be above {} ({} > {})", place,
                    smaller_name, larger_name, *smaller, *larger);
    return {};
}

}  // namespace

base::Status check_override(const ModelOverride& model, std::string_view place) {
    TRY(check_number(model.context_window_tokens, place, "context_window_tokens"));
    TRY(check_number(model.auto_compact_token_limit, place, "auto_compact_token_limit"));
    TRY(check_number(model.prompt_budget_estimated_tokens, place,
                     "prompt_budget_estimated_tokens"));
    TRY(check_number(model.compaction_trigger_estimated_tokens, place,
                     "compaction_trigger_estimated_tokens"));
    TRY(check_number(model.compaction_keep_recent_estimated_tokens, place,
                     "compaction_keep_recent_estimated_tokens"));
    TRY(check_number(model.runtime_max_output_tokens, place, "runtime_max_output_tokens"));
    TRY(check_number(model.tool_output_truncation_estimated_tokens, place,
                     "tool_output_truncation_estimated_tokens"));
    if (model.prices)
        for (const double price :
             {model.prices->input, model.prices->output, model.prices->cached_input.value_or(0),
              model.prices->cache_write.value_or(0)})
            if (!(price >= 0))
                return fail(ErrorCode::InvalidInput, "{}/prices: must not be below 0, got {}",
                            place, price);
    const auto percent = model.effective_context_window_percent;
    if (percent && (*percent < 1 || *percent > 100))
        return fail(ErrorCode::InvalidInput,
                    "{}/effective_context_window_percent: must be 1 to 100, got {}", place,
                    *percent);
    TRY(check_order(model.prompt_budget_estimated_tokens, "prompt_budget_estimated_tokens",
                    model.context_window_tokens, "context_window_tokens", place));
    TRY(check_order(model.compaction_trigger_estimated_tokens,
                    "compaction_trigger_estimated_tokens", model.prompt_budget_estimated_tokens,
                    "prompt_budget_estimated_tokens", place));
    return check_order(
        model.compaction_keep_recent_estimated_tokens, "compaction_keep_recent_estimated_tokens",
        model.compaction_trigger_estimated_tokens, "compaction_trigger_estimated_tokens", place);
}

double cost_usd(const ModelPrices& prices, const domain::TokenUsage& usage,
                const std::optional<domain::CacheUsage>& parts) {
    constexpr double kMillion = 1e6;
    const auto read = parts ? parts->read_input_tokens : 0;
    const auto written = parts ? parts->creation_input_tokens : 0;
    const auto uncached = std::max<std::int64_t>(0, usage.input_tokens - read - written);
    return (static_cast<double>(uncached) * prices.input +
            static_cast<double>(read) * prices.cached_input.value_or(prices.input) +
            static_cast<double>(written) * prices.cache_write.value_or(prices.input) +
            static_cast<double>(usage.output_tokens) * prices.output) /
           kMillion;
}

ModelPolicy resolve_policy(const ModelRef& ref, const ModelSettings& settings) {
    const Sources from = sources_of(ref, settings);
    ModelPolicy policy{.model_ref = ref.text(), .source = source_of(from)};
    describe(policy, ref, from);
    policy.context_window_tokens =
        from.of(&ModelOverride::context_window_tokens, &KnownModel::context_window_tokens);
    policy.effective_context_window_percent =
        from.of(&ModelOverride::effective_context_window_percent,
                &KnownModel::effective_context_window_percent)
            .value_or(kWindowPercent);
    const Number usable = policy.context_window_tokens.transform([&](std::int64_t window) {
        return percent_of(window, policy.effective_context_window_percent);
    });
    policy.prompt_budget_estimated_tokens =
        first_of({from.own.prompt_budget_estimated_tokens, usable,
                  from.unknown.prompt_budget_estimated_tokens})
            .value_or(settings.prompt_budget_estimated_tokens);
    const std::int64_t budget = policy.prompt_budget_estimated_tokens;
    const std::int64_t trigger =
        first_of({from.own.compaction_trigger_estimated_tokens,
                  from.unknown.compaction_trigger_estimated_tokens,
                  from.own.auto_compact_token_limit, from.unknown.auto_compact_token_limit})
            .value_or(percent_of(budget, kCompactionTriggerPercent));
    // A budget set below the catalogue's own limit must still be compacted before it overflows.
    policy.compaction_trigger_estimated_tokens = std::min(trigger, budget);
    policy.compaction_keep_recent_estimated_tokens =
        first_of({from.own.compaction_keep_recent_estimated_tokens,
                  from.unknown.compaction_keep_recent_estimated_tokens})
            .value_or(
                percent_of(policy.compaction_trigger_estimated_tokens, kCompactionKeepPercent));
    policy.runtime_max_output_tokens =
        first_of({from.own.runtime_max_output_tokens, from.unknown.runtime_max_output_tokens,
                  settings.max_output_tokens,
                  from.entry ? known(from.entry->max_output_tokens) : std::nullopt})
            .value_or(kMaxOutputTokens);
    policy.tool_output_truncation_estimated_tokens =
        first_of({from.own.tool_output_truncation_estimated_tokens,
                  from.unknown.tool_output_truncation_estimated_tokens})
            .value_or(kToolOutputTruncationTokens);
    return policy;
}

std::vector<ModelRef> listed_models(const ModelSettings& settings) {
    std::set<std::string> refs;
    for (const auto& model : kKnownModels) {
        refs.emplace(model.ref);
        for (const auto& alias : kModelAliases)
            if (alias.same_as == provider_part(model.ref))
                refs.insert(fmt::format("{}/{}", alias.provider, model_part(model.ref)));
    }
    for (const auto& [ref, override_] : settings.overrides) refs.insert(ref);

    std::vector<std::tuple<std::string, std::string, ModelRef>> sorted;
    for (const auto& text : refs) {
        const ModelRef ref{std::string(provider_part(text)), std::string(model_part(text))};
        sorted.emplace_back(resolve_policy(ref, settings).display_name, text, ref);
    }
    std::ranges::sort(sorted, {}, [](const auto& entry) {
        return std::tie(std::get<0>(entry), std::get<1>(entry));
    });
    std::vector<ModelRef> list;
    for (auto& entry : sorted) list.push_back(std::move(std::get<2>(entry)));
    return list;
}

std::optional<ModelRef> preferred_model(std::string_view provider, const ModelSettings& settings) {
    const std::string_view listed = catalogue_provider(provider);
    for (const auto& model : kKnownModels)
        if (provider_part(model.ref) == listed)
            return ModelRef{std::string(provider), std::string(model_part(model.ref))};
    for (const auto& [ref, override_] : settings.overrides)
        if (provider_part(ref) == provider)
            return ModelRef{std::string(provider), std::string(model_part(ref))};
    return std::nullopt;
}

}  // namespace config
