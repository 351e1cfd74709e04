#include "exec/tools/mcp/ask/prompts.h"

#include <algorithm>

#include "base/plain_text.h"
#include "base/text.h"

namespace mcp {
namespace {

std::string about(const json::value& value) {
    return base::plain_text(base::string_at(value, "description"), kPromptAboutCharsMax);
}

bool is_name(std::string_view name) {
    return !name.empty() && base::is_plain(name, kPromptNameCharsMax) && !name.contains(' ') &&
           !name.contains('=');
}

const json::array* list_at(const json::value& value, std::string_view name) {
    const auto* list = base::find(value, name);
    return list ? list->if_array() : nullptr;
}

std::vector<PromptArgument> arguments_of(const json::value& prompt) {
    std::vector<PromptArgument> arguments;
    const auto* list = list_at(prompt, "arguments");
    if (!list) return arguments;
    for (const auto& entry : *list) {
        std::string name = entry.is_object() ? base::string_at(entry, "name") : "";
        if (is_name(name) && arguments.size() < kPromptArgumentsMax)
            arguments.push_back({std::move(name), about(entry), base::bool_at(entry, "required")});
    }
    return arguments;
}

// The text of one piece, or nothing when it is none.
std::optional<std::string> text_of(const json::value& content) {
    const auto type = base::string_at(content, "type");
    if (type == "text") return base::string_at(content, "text");
    const auto* resource = type == "resource" ? base::find(content, "resource") : nullptr;
    if (resource && resource->is_object() && base::find(*resource, "text"))
        return base::string_at(*resource, "text");
    return std::nullopt;
}

void add(Expanded& expanded, const json::value& content) {
    if (!content.is_object()) return;
    auto text = text_of(content);
    if (!text) {
        expanded.left_out.push_back(
            base::plain_text(base::string_at(content, "type"), kPromptNameCharsMax));
        return;
    }
    if (!expanded.text.empty()) expanded.text += "\n\n";
    expanded.text += *text;
}

}  // namespace

std::vector<Prompt> listed_prompts(const std::string& server, const json::object& result) {
    std::vector<Prompt> prompts;
    const json::value value(result);
    const auto* list = list_at(value, "prompts");
    if (!list) return prompts;
    for (const auto& entry : *list) {
        std::string name = entry.is_object() ? base::string_at(entry, "name") : "";
        if (is_name(name) && prompts.size() < kPromptsMax)
            prompts.push_back({server, std::move(name), about(entry), arguments_of(entry)});
    }
    return prompts;
}

Expanded expanded_prompt(const json::object& result) {
    Expanded expanded;
    const json::value value(result);
    const auto* messages = list_at(value, "messages");
    if (!messages) return expanded;
    std::size_t count = 0;
    for (const auto& message : *messages) {
        const auto* content = message.is_object() ? base::find(message, "content") : nullptr;
        if (!content || ++count > kPromptMessagesMax) continue;
        if (const auto* pieces = content->if_array())
            for (const auto& piece : *pieces) add(expanded, piece);
        else
            add(expanded, *content);
    }
    expanded.text = base::plain_text(expanded.text, kPromptTextCharsMax);
    return expanded;
}

}  // namespace mcp
