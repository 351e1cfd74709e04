// Providers whose endpoint and credential fit a supported transport; all others are configured.
#pragma once

#include <array>
#include <string_view>

#include "config/config.h"

namespace config {

// What is known of a provider beyond its transport. Everything else is found out when it refuses a
// request; see provider/http/adapt.h.
inline constexpr unsigned kTakesCacheKey = 1U << 0U;     // Chat Completions: `prompt_cache_key`.
inline constexpr unsigned kReplaysReasoning = 1U << 1U;  // Thinking without a signature goes back.
inline constexpr unsigned kSearches = 1U << 2U;  // Its models can search the web themselves.

struct BuiltinProvider {
    std::string_view id;
    Transport transport;
    std::string_view base_url;
    std::string_view credential_env;  // Names, comma separated; empty: none needed.
    unsigned traits{0};
};

inline constexpr auto kBuiltinProviders = std::to_array<BuiltinProvider>({
    {"openai-codex", Transport::OpenaiCodexResponses, "https://chatgpt.com/backend-api/codex", "",
     kSearches},
    {"openai", Transport::OpenaiResponses, "https://api.openai.com/v1", "OPENAI_API_KEY",
     kSearches},
    {"anthropic", Transport::AnthropicMessages, "https://api.anthropic.com",
     "ANTHROPIC_API_KEY,ANTHROPIC_AUTH_TOKEN", kSearches},
    {"arcee", Transport::OpenaiChatCompletions, "https://api.arcee.ai/api/v1", "ARCEE_API_KEY"},
    {"bigmodel", Transport::AnthropicMessages, "https://open.bigmodel.cn/api/anthropic",
     "BIGMODEL_API_KEY", kReplaysReasoning},
    {"bigmodel-anthropic", Transport::AnthropicMessages, "https://open.bigmodel.cn/api/anthropic",
     "BIGMODEL_API_KEY", kReplaysReasoning},
    {"bigmodel-openai", Transport::OpenaiChatCompletions, "https://open.bigmodel.cn/api/paas/v4",
     "BIGMODEL_API_KEY", kReplaysReasoning},
    {"byteplus", Transport::OpenaiChatCompletions, "https://ark.ap-southeast.bytepluses.com/api/v3",
     "BYTEPLUS_API_KEY"},
    {"byteplus-coding", Transport::OpenaiChatCompletions,
     "https://ark.ap-southeast.bytepluses.com/api/coding/v3",
     "BYTEPLUS_CODING_API_KEY,BYTEPLUS_API_KEY"},
    {"chutes", Transport::OpenaiChatCompletions, "https://llm.chutes.ai/v1", "CHUTES_API_KEY"},
    {"deepseek", Transport::AnthropicMessages, "https://api.deepseek.com/anthropic",
     "DEEPSEEK_API_KEY", kReplaysReasoning},
    {"deepseek-anthropic", Transport::AnthropicMessages, "https://api.deepseek.com/anthropic",
     "DEEPSEEK_API_KEY", kReplaysReasoning},
    {"deepseek-openai", Transport::OpenaiChatCompletions, "https://api.deepseek.com/v1",
     "DEEPSEEK_API_KEY", kReplaysReasoning},
    {"fireworks", Transport::OpenaiChatCompletions, "https://api.fireworks.ai/inference/v1",
     "FIREWORKS_API_KEY"},
    {"huggingface", Transport::OpenaiChatCompletions, "https://router.huggingface.co/v1",
     "HUGGINGFACE_API_KEY,HF_TOKEN"},
    {"kilocode", Transport::OpenaiChatCompletions, "https://api.kilo.ai/api/gateway",
     "KILOCODE_API_KEY"},
    {"litellm", Transport::OpenaiChatCompletions, "http://localhost:4000", "LITELLM_API_KEY"},
    {"minimax", Transport::AnthropicMessages, "https://api.minimax.io/anthropic", "MINIMAX_API_KEY",
     kReplaysReasoning},
    {"minimax-portal", Transport::AnthropicMessages, "https://api.minimax.io/anthropic",
     "MINIMAX_API_KEY", kReplaysReasoning},
    {"mistral", Transport::OpenaiChatCompletions, "https://api.mistral.ai/v1", "MISTRAL_API_KEY"},
    {"moonshot", Transport::OpenaiChatCompletions, "https://api.moonshot.ai/v1", "MOONSHOT_API_KEY",
     kTakesCacheKey | kReplaysReasoning},
    {"nearai", Transport::OpenaiChatCompletions, "https://cloud-api.near.ai/v1", "NEARAI_API_KEY"},
    {"nvidia", Transport::OpenaiChatCompletions, "https://integrate.api.nvidia.com/v1",
     "NVIDIA_API_KEY"},
    {"opencode-go", Transport::OpenaiChatCompletions, "https://opencode.ai/zen/go/v1",
     "OPENCODE_GO_API_KEY"},
    {"openrouter", Transport::OpenaiChatCompletions, "https://openrouter.ai/api/v1",
     "OPENROUTER_API_KEY", kTakesCacheKey},
    {"qianfan", Transport::OpenaiChatCompletions, "https://qianfan.baidubce.com/v2",
     "QIANFAN_API_KEY"},
    {"qwen", Transport::OpenaiChatCompletions, "https://coding-intl.dashscope.aliyuncs.com/v1",
     "QWEN_API_KEY,DASHSCOPE_API_KEY"},
    {"stepfun", Transport::OpenaiChatCompletions, "https://api.stepfun.ai/v1", "STEPFUN_API_KEY"},
    {"stepfun-plan", Transport::OpenaiChatCompletions, "https://api.stepfun.ai/step_plan/v1",
     "STEPFUN_PLAN_API_KEY,STEPFUN_API_KEY"},
    {"synthetic", Transport::AnthropicMessages, "https://api.synthetic.new/anthropic",
     "SYNTHETIC_API_KEY"},
    {"tencent-tokenhub", Transport::OpenaiChatCompletions, "https://tokenhub.tencentmaas.com/v1",
     "TOKENHUB_API_KEY"},
    {"together", Transport::OpenaiChatCompletions, "https://api.together.xyz/v1",
     "TOGETHER_API_KEY"},
    {"venice", Transport::OpenaiChatCompletions, "https://api.venice.ai/api/v1", "VENICE_API_KEY",
     kTakesCacheKey},
    {"vercel-ai-gateway", Transport::AnthropicMessages, "https://ai-gateway.vercel.sh",
     "AI_GATEWAY_API_KEY,VERCEL_AI_GATEWAY_API_KEY"},
    {"vllm", Transport::OpenaiChatCompletions, "http://127.0.0.1:8000/v1", ""},
    {"volcengine", Transport::OpenaiChatCompletions, "https://ark.cn-beijing.volces.com/api/v3",
     "VOLCENGINE_API_KEY,ARK_API_KEY"},
    {"volcengine-coding", Transport::OpenaiChatCompletions,
     "https://ark.cn-beijing.volces.com/api/coding/v3",
     "VOLCENGINE_CODING_API_KEY,VOLCENGINE_API_KEY,ARK_API_KEY"},
    {"xai", Transport::OpenaiChatCompletions, "https://api.x.ai/v1", "XAI_API_KEY"},
    {"xiaomi", Transport::AnthropicMessages, "https://api.xiaomimimo.com/anthropic",
     "XIAOMI_API_KEY", kReplaysReasoning},
    {"xiaomi-anthropic", Transport::AnthropicMessages, "https://api.xiaomimimo.com/anthropic",
     "XIAOMI_API_KEY", kReplaysReasoning},
    {"xiaomi-openai", Transport::OpenaiChatCompletions, "https://api.xiaomimimo.com/v1",
     "XIAOMI_API_KEY", kReplaysReasoning},
    {"xiaomi-token-plan", Transport::AnthropicMessages,
     "https://token-plan-cn.xiaomimimo.com/anthropic", "XIAOMI_TOKEN_PLAN_API_KEY",
     kReplaysReasoning},
    {"xiaomi-token-plan-anthropic", Transport::AnthropicMessages,
     "https://token-plan-cn.xiaomimimo.com/anthropic", "XIAOMI_TOKEN_PLAN_API_KEY",
     kReplaysReasoning},
    {"xiaomi-token-plan-openai", Transport::OpenaiChatCompletions,
     "https://token-plan-cn.xiaomimimo.com/v1", "XIAOMI_TOKEN_PLAN_API_KEY", kReplaysReasoning},
    {"zai", Transport::AnthropicMessages, "https://api.z.ai/api/anthropic", "ZAI_API_KEY",
     kReplaysReasoning},
    {"zai-anthropic", Transport::AnthropicMessages, "https://api.z.ai/api/anthropic", "ZAI_API_KEY",
     kReplaysReasoning},
    {"zai-openai", Transport::OpenaiChatCompletions, "https://api.z.ai/api/paas/v4", "ZAI_API_KEY",
     kReplaysReasoning},
    // Plays a scenario file: `scripted/<path>`. For demonstrations and tests; no network, no key.
    {"scripted", Transport::Scripted, "", ""},
});

}  // namespace config
