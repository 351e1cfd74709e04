#include "provider/wire/overflow.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <string>

namespace provider {
namespace {

constexpr auto kWordings = std::to_array<std::string_view>({
    "context_length_exceeded",               // OpenAI, by code
    "maximum context length",                // OpenAI, vLLM, DeepSeek, Mistral
    "exceeds the context window",            // OpenAI Responses
    "exceed the context window",             //
    "prompt is too long",                    // Anthropic
    "exceed context limit",                  // Anthropic
    "request_too_large",                     // Anthropic, by type
    "exceeds the maximum number of tokens",  // Gemini
    "maximum model length",                  // vLLM
    "contextwindowexceedederror",            // LiteLLM
    "input is too long",                     // Bedrock
    "maximum prompt length",                 // xAI
    "exceeded model token limit",            // Moonshot
    "context window exceeds limit",          // MiniMax
    "reduce the length of the messages",     // Groq
    "available context size",                // llama.cpp
    "context size has been exceeded",        // llama.cpp
});

}  // namespace

bool says_prompt_too_long(std::string_view text) {
    std::string lower(text);
    for (char& c : lower) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    return std::ranges::any_of(kWordings,
                               [&](std::string_view wording) { return lower.contains(wording); });
}

}  // namespace provider
