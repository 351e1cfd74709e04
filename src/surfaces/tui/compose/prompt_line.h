// Prompts of MCP servers as the operator types them: `/mcp:SERVER:PROMPT name=value ...`. Names and
// descriptions are the servers' words. Pure.
#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "service/mcp.h"
#include "surfaces/tui/compose/menu.h"

namespace tui {

// The word that asks for a prompt.
std::string prompt_word(const service::McpPrompt& prompt);
// Null when none of them is meant.
const service::McpPrompt* find_prompt(std::span<const service::McpPrompt> prompts,
                                      std::string_view word);

// A line of that form. A value with blanks is put into double quotes, in which \" is a quote.
// InvalidInput says what is wrong.
base::Result<service::McpPromptRequest> read_prompt_line(std::string_view line);
// The first argument that the prompt needs and the request does not have; null when there is none.
const service::McpPromptArgument* missing_argument(const service::McpPrompt& prompt,
                                                   const service::McpPromptRequest& request);

// What may be typed for a word of which `typed` is the beginning,
std::vector<Offer> prompt_offers(std::span<const service::McpPrompt> prompts,
                                 std::string_view typed);
// and behind it, after the arguments that are there: the names of the others.
std::vector<Offer> argument_offers(const service::McpPrompt& prompt, const std::string& typed);

}  // namespace tui
