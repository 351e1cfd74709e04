// What is known of models, and the limits that each is used with.
//
// A number comes from the operator's override of the model, else from the catalogue, else from
// `model.unknown_fallback`, else from a default; resolve_policy() says which.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/typed.h"
#include "config/models/model_ref.h"
#include "domain/provider.h"

namespace config {

// For a model without a known window: small enough for models that are served locally today, large
// enough for the tools' definitions and some work.
inline constexpr std::int64_t kPromptBudgetUnknownModel = 32'000;
inline constexpr std::int64_t kMaxOutputTokens = 8192;
inline constexpr std::int64_t kWindowPercent = 95;
inline constexpr std::int64_t kCompactionTriggerPercent = 75;  // Of the prompt budget.
inline constexpr std::int64_t kCompactionKeepPercent =
    47;  // Of the trigger: about 35 % of the budget.
inline constexpr std::int64_t kToolOutputTruncationTokens = 2500;

struct ModelCapabilities {
    bool parallel_tool_calls{false};
    bool reasoning_summaries{false};
    bool image_input{false};
    bool interactive_exec{false};
    friend bool operator==(const ModelCapabilities&, const ModelCapabilities&) = default;
};
BOOST_DESCRIBE_STRUCT(ModelCapabilities, (),
                      (parallel_tool_calls, reasoning_summaries, image_input, interactive_exec))

enum class MetadataSource { BuiltInCatalog, ConservativeBuiltin, ConfigOverride, UnknownFallback };
BOOST_DESCRIBE_ENUM(MetadataSource, BuiltInCatalog, ConservativeBuiltin, ConfigOverride,
                    UnknownFallback)

// What a model costs, in US dollars for a million tokens.
struct ModelPrices {
    double input{0};
    double output{0};
    std::optional<double> cached_input{};  // Read from a cache; as input unless set.
    std::optional<double> cache_write{};   // Written to a cache; as input unless set.
    friend bool operator==(const ModelPrices&, const ModelPrices&) = default;
};
BOOST_DESCRIBE_STRUCT(ModelPrices, (), (input, output, cached_input, cache_write))

// What `usage` costs. Without `parts` all of its input counts as uncached.
double cost_usd(const ModelPrices& prices, const domain::TokenUsage& usage,
                const std::optional<domain::CacheUsage>& parts);

// The operator's settings for one model (`models.catalog`) or for all unknown ones.
struct ModelOverride {
    std::optional<std::string> display_name{};
    std::optional<std::string> description{};
    std::optional<std::int64_t> context_window_tokens{};
    std::optional<std::int64_t> effective_context_window_percent{};
    std::optional<std::int64_t> auto_compact_token_limit{};
    std::optional<std::int64_t> prompt_budget_estimated_tokens{};
    std::optional<std::int64_t> compaction_trigger_estimated_tokens{};
    std::optional<std::int64_t> compaction_keep_recent_estimated_tokens{};
    std::optional<std::int64_t> runtime_max_output_tokens{};
    std::optional<std::int64_t> tool_output_truncation_estimated_tokens{};
    std::optional<ModelPrices> prices{};
    std::optional<bool> image_input{};  // Whether the model takes images.
    friend bool operator==(const ModelOverride&, const ModelOverride&) = default;
};
BOOST_DESCRIBE_STRUCT(ModelOverride, (),
                      (display_name, description, context_window_tokens,
                       effective_context_window_percent, auto_compact_token_limit,
                       prompt_budget_estimated_tokens, compaction_trigger_estimated_tokens,
                       compaction_keep_recent_estimated_tokens, runtime_max_output_tokens,
                       tool_output_truncation_estimated_tokens, prices, image_input))
// `place` names it in the error.
base::Status check_override(const ModelOverride& override_, std::string_view place);

// The limits a model is used with.
struct ModelPolicy {
    std::string model_ref;
    std::string display_name;
    std::string description;
    std::optional<std::int64_t> context_window_tokens{};
    std::int64_t effective_context_window_percent{kWindowPercent};
    std::int64_t prompt_budget_estimated_tokens{kPromptBudgetUnknownModel};
    std::int64_t compaction_trigger_estimated_tokens{0};
    std::int64_t compaction_keep_recent_estimated_tokens{0};
    std::int64_t runtime_max_output_tokens{kMaxOutputTokens};
    std::int64_t tool_output_truncation_estimated_tokens{kToolOutputTruncationTokens};
    std::optional<std::int64_t> max_output_tokens_upper_limit{};
    ModelCapabilities capabilities{};
    MetadataSource source{MetadataSource::UnknownFallback};
    friend bool operator==(const ModelPolicy&, const ModelPolicy&) = default;
};
BOOST_DESCRIBE_STRUCT(ModelPolicy, (),
                      (model_ref, display_name, description, context_window_tokens,
                       effective_context_window_percent, prompt_budget_estimated_tokens,
                       compaction_trigger_estimated_tokens, compaction_keep_recent_estimated_tokens,
                       runtime_max_output_tokens, tool_output_truncation_estimated_tokens,
                       max_output_tokens_upper_limit, capabilities, source))

// The operator's settings for models.
struct ModelSettings {
    std::map<std::string, ModelOverride> overrides{};  // By reference.
    std::optional<ModelOverride> unknown_fallback{};
    std::int64_t prompt_budget_estimated_tokens{kPromptBudgetUnknownModel};
    std::optional<std::int64_t> max_output_tokens{};  // Takes precedence over the catalogue.
};

ModelPolicy resolve_policy(const ModelRef& ref, const ModelSettings& settings);

// All of the catalogue and of the overrides, each once; sorted by display name, then reference.
std::vector<ModelRef> listed_models(const ModelSettings& settings);

// The model of a provider when none is configured: its first of the catalogue, else its
// alphabetically first override.
std::optional<ModelRef> preferred_model(std::string_view provider, const ModelSettings& settings);

}  // namespace config
