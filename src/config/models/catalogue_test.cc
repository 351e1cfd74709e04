#include "config/models/catalogue.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "config/models/builtin_providers.h"
#include "config/models/known_models.h"

namespace config {
namespace {

using testing::HasSubstr;

ModelRef ref(std::string_view text) {
    return *parse_model_ref(text);
}

TEST(Policy, OfACatalogueModelComesFromTheCatalogue) {
    EXPECT_EQ(resolve_policy(ref("anthropic/claude-sonnet-4-6"), {}),
              (ModelPolicy{.model_ref = "anthropic/claude-sonnet-4-6",
                           .display_name = "Claude Sonnet 4.6",
                           .context_window_tokens = 200'000,
                           .effective_context_window_percent = 90,
                           .prompt_budget_estimated_tokens = 180'000,
                           .compaction_trigger_estimated_tokens = 135'000,
                           .compaction_keep_recent_estimated_tokens = 63'450,
                           .runtime_max_output_tokens = 32'000,
                           .max_output_tokens_upper_limit = 128'000,
                           .capabilities = {.image_input = true},
                           .source = MetadataSource::BuiltInCatalog}));
    const auto conservative = resolve_policy(ref("openai/gpt-5.4"), {});
    EXPECT_EQ(conservative.source, MetadataSource::ConservativeBuiltin);
    EXPECT_EQ(conservative.prompt_budget_estimated_tokens, 258'400);
    EXPECT_EQ(conservative.compaction_trigger_estimated_tokens, 193'800);
    EXPECT_EQ(conservative.runtime_max_output_tokens, kMaxOutputTokens);
    EXPECT_EQ(conservative.max_output_tokens_upper_limit, std::nullopt);
}

TEST(Policy, TheOperatorSaysWhetherAModelTakesImages) {
    const ModelSettings settings{
        .overrides = {{"vllm/sees", {.image_input = true}},
                      {"anthropic/claude-sonnet-4-6", {.image_input = false}}},
        .unknown_fallback = ModelOverride{.image_input = true}};
    const auto takes_images = [&](std::string_view model, const ModelSettings& with) {
        return resolve_policy(ref(model), with).capabilities.image_input;
    };
    EXPECT_TRUE(takes_images("vllm/sees", settings));
    EXPECT_TRUE(takes_images("vllm/other", settings));
    EXPECT_FALSE(takes_images("anthropic/claude-sonnet-4-6", settings));
    EXPECT_FALSE(takes_images("vllm/other", {}));
    EXPECT_FALSE(takes_images("arcee/trinity-mini", settings)) << "a known model without images";
}

TEST(Policy, OfAnUnknownModelHasRoomToWork) {
    EXPECT_EQ(resolve_policy(ref("vllm/mine"), {}),
              (ModelPolicy{.model_ref = "vllm/mine",
                           .display_name = "vllm/mine",
                           .prompt_budget_estimated_tokens = kPromptBudgetUnknownModel,
                           .compaction_trigger_estimated_tokens = 24'000,
                           .compaction_keep_recent_estimated_tokens = 11'280,
                           .runtime_max_output_tokens = kMaxOutputTokens,
                           .source = MetadataSource::UnknownFallback}));
    EXPECT_EQ(resolve_policy(ref("vllm/mine"), {.prompt_budget_estimated_tokens = 1000})
                  .prompt_budget_estimated_tokens,
              1000);
}

TEST(Policy, TheFallbackForUnknownModelsIsForThemOnly) {
    const ModelSettings settings{.unknown_fallback =
                                     ModelOverride{.context_window_tokens = 10'000,
                                                   .effective_context_window_percent = 50,
                                                   .runtime_max_output_tokens = 77}};
    const auto unknown = resolve_policy(ref("vllm/mine"), settings);
    EXPECT_EQ(unknown.prompt_budget_estimated_tokens, 5000);
    EXPECT_EQ(unknown.runtime_max_output_tokens, 77);
    EXPECT_EQ(resolve_policy(ref("xai/grok-4"), settings), resolve_policy(ref("xai/grok-4"), {}));
}

TEST(Policy, AnOverrideComesFirstFieldByField) {
    ModelSettings settings{.max_output_tokens = 500};
    settings.overrides["xai/grok-4"] = {.display_name = "Mine",
                                        .prompt_budget_estimated_tokens = 9};
    settings.overrides["vllm/mine"] = {.runtime_max_output_tokens = 7};
    const auto known = resolve_policy(ref("xai/grok-4"), settings);
    EXPECT_EQ(known.source, MetadataSource::ConfigOverride);
    EXPECT_EQ(known.display_name, "Mine");
    EXPECT_EQ(known.prompt_budget_estimated_tokens, 9);
    EXPECT_EQ(known.context_window_tokens, 256'000);
    // The operator's general setting comes before the catalogue, the model's own before both.
    EXPECT_EQ(known.runtime_max_output_tokens, 500);
    const auto unknown = resolve_policy(ref("vllm/mine"), settings);
    EXPECT_EQ(unknown.source, MetadataSource::UnknownFallback);
    EXPECT_EQ(unknown.runtime_max_output_tokens, 7);
}

TEST(Policy, CompactionStartsBeforeASmallBudgetOverflows) {
    ModelSettings settings;
    settings.overrides["anthropic/claude-haiku-4-5"] = {.prompt_budget_estimated_tokens = 1000};
    const auto policy = resolve_policy(ref("anthropic/claude-haiku-4-5"), settings);
    EXPECT_EQ(policy.compaction_trigger_estimated_tokens, 750);
    EXPECT_EQ(policy.compaction_keep_recent_estimated_tokens, 352);
}

TEST(Policy, AliasesShareTheirModels) {
    auto alias = resolve_policy(ref("bigmodel-openai/glm-5"), {});
    alias.model_ref = "zai/glm-5";
    EXPECT_EQ(alias, resolve_policy(ref("zai/glm-5"), {}));
}

TEST(Overrides, ThatContradictThemselvesAreRefused) {
    const std::vector<std::pair<ModelOverride, std::string>> table{
        {{.context_window_tokens = 10, .prompt_budget_estimated_tokens = 11},
         "/m/prompt_budget_estimated_tokens"},
        {{.prompt_budget_estimated_tokens = 10, .compaction_trigger_estimated_tokens = 11},
         "/m/compaction_trigger_estimated_tokens"},
        {{.compaction_trigger_estimated_tokens = 10, .compaction_keep_recent_estimated_tokens = 11},
         "/m/compaction_keep_recent_estimated_tokens"},
        {{.effective_context_window_percent = 0}, "/m/effective_context_window_percent"},
        {{.effective_context_window_percent = 101}, "/m/effective_context_window_percent"},
        {{.runtime_max_output_tokens = 0}, "/m/runtime_max_output_tokens"},
        {{.context_window_tokens = -1}, "/m/context_window_tokens"},
        {{.tool_output_truncation_estimated_tokens = 0},
         "/m/tool_output_truncation_estimated_tokens"}};
    for (const auto& [faulty, place] : table) {
        const auto status = check_override(faulty, "/m");
        ASSERT_FALSE(status) << place;
        EXPECT_THAT(status.error().message, HasSubstr(place));
    }
    EXPECT_TRUE(
        check_override({.context_window_tokens = 10, .prompt_budget_estimated_tokens = 10}, "/m"));
}

TEST(Catalogue, ListsEachModelOnceByDisplayName) {
    ModelSettings settings;
    settings.overrides["my-proxy/house"] = {.display_name = "AAA"};
    settings.overrides["xai/grok-4"] = {};
    const auto list = listed_models(settings);
    EXPECT_EQ(list.front().text(), "my-proxy/house");
    std::size_t aliased = 0;
    for (const auto& alias : kModelAliases)
        aliased += static_cast<std::size_t>(std::ranges::count_if(kKnownModels, [&](const auto& m) {
            return m.ref.starts_with(std::string(alias.same_as) + "/");
        }));
    EXPECT_EQ(list.size(), kKnownModels.size() + aliased + 1);
    EXPECT_TRUE(std::ranges::is_sorted(list, {}, [&](const ModelRef& model) {
        return resolve_policy(model, settings).display_name;
    }));
}

TEST(Catalogue, APoliciesNumbersAreInOrderForEveryModel) {
    for (const auto& model : listed_models({})) {
        const auto policy = resolve_policy(model, {});
        EXPECT_LE(policy.prompt_budget_estimated_tokens, policy.context_window_tokens);
        EXPECT_LE(policy.compaction_trigger_estimated_tokens,
                  policy.prompt_budget_estimated_tokens);
        EXPECT_LT(policy.compaction_keep_recent_estimated_tokens,
                  policy.compaction_trigger_estimated_tokens);
        EXPECT_GT(policy.runtime_max_output_tokens, 0);
    }
}

TEST(Catalogue, APreferredModelIsTheFirstOfItsProvider) {
    EXPECT_EQ(preferred_model("anthropic", {}), ref("anthropic/claude-sonnet-4-6"));
    EXPECT_EQ(preferred_model("zai-openai", {}), ref("zai-openai/glm-5.1"));
    EXPECT_EQ(preferred_model("my-proxy", {}), std::nullopt);
    ModelSettings settings;
    settings.overrides["my-proxy/b"] = {};
    settings.overrides["my-proxy/a"] = {};
    EXPECT_EQ(preferred_model("my-proxy", settings), ref("my-proxy/a"));
}

TEST(Catalogue, CostCountsEachPartAtItsPrice) {
    const ModelPrices prices{.input = 2, .output = 10, .cached_input = 0.5, .cache_write = 4};
    const domain::TokenUsage usage{1'000'000, 100'000, 1'100'000};
    EXPECT_DOUBLE_EQ(cost_usd(prices, usage, std::nullopt), 3.0);
    EXPECT_DOUBLE_EQ(cost_usd(prices, usage, domain::CacheUsage{600'000, 200'000, 200'000}), 2.5);
    EXPECT_DOUBLE_EQ(cost_usd({.input = 2, .output = 10}, usage, domain::CacheUsage{600'000, 0}),
                     3.0);
    EXPECT_FALSE(check_override({.prices = ModelPrices{.input = -1}}, "/x").has_value());
}

}  // namespace
}  // namespace config
