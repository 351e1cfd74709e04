// The prompts that servers offer, as they list and expand them. Pure; all of it is the servers'
// words.
#pragma once

#include <string>
#include <vector>

#include "base/json.h"

namespace mcp {

// Of one server; more are left out.
inline constexpr std::size_t kPromptsMax = 64;
inline constexpr std::size_t kPromptArgumentsMax = 32;
inline constexpr std::size_t kPromptMessagesMax = 64;
inline constexpr std::size_t kPromptNameCharsMax = 64;
inline constexpr std::size_t kPromptAboutCharsMax = 300;
inline constexpr std::size_t kPromptTextCharsMax = std::size_t{256} * 1024;

struct PromptArgument {
    std::string name;
    std::string description;
    bool required{false};
    friend bool operator==(const PromptArgument&, const PromptArgument&) = default;
};
struct Prompt {
    std::string server;
    std::string name;
    std::string description;
    std::vector<PromptArgument> arguments;
    friend bool operator==(const Prompt&, const Prompt&) = default;
};

// The result of prompts/list. A prompt without a plain name is left out.
std::vector<Prompt> listed_prompts(const std::string& server, const json::object& result);

struct Expanded {
    std::string text;
    std::vector<std::string> left_out;  // Kinds of content that are no text.
    friend bool operator==(const Expanded&, const Expanded&) = default;
};
// The result of prompts/get: the text of its messages, one after the other.
Expanded expanded_prompt(const json::object& result);

}  // namespace mcp
