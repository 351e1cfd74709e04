// How servers say that a prompt is too long. Pure.
#pragma once

#include <string_view>

namespace provider {

// Whether `text`, a message, code or type of an error, says so in the words of OpenAI, Anthropic,
// Gemini, vLLM, LiteLLM or one of the servers that copy them; in any case.
bool says_prompt_too_long(std::string_view text);

}  // namespace provider
