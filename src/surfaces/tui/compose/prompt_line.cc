#include "surfaces/tui/compose/prompt_line.h"

#include <algorithm>
#include <optional>

#include "base/text.h"
#include "surfaces/tui/compose/commands.h"

namespace tui {
namespace {

using base::ErrorCode;
using base::fail;

constexpr std::size_t kNoteCharsMax = 120;
constexpr std::size_t kQuotedCharsMax = 40;

std::string shown(std::string_view text) {
    return base::printable(base::ellipsize(base::to_utf8(text), kQuotedCharsMax));
}

// The value at the beginning of `text`, which is removed from it.
base::Result<std::string> take_value(std::string_view& text) {
    if (!text.starts_with('"')) {
        const std::size_t end = std::min(text.find_first_of(" \t"), text.size());
        std::string value(text.substr(0, end));
        text.remove_prefix(end);
        return value;
    }
    std::string value;
    for (std::size_t i = 1; i < text.size(); ++i) {
        if (text[i] == '"') {
            text.remove_prefix(i + 1);
            return value;
        }
        if (text[i] == '\\' && i + 1 < text.size() && (text[i + 1] == '"' || text[i + 1] == '\\'))
            ++i;
        value += text[i];
    }
    return fail(ErrorCode::InvalidInput, "a quote is not closed: {}", shown(text));
}

base::Result<std::map<std::string, std::string>> take_arguments(std::string_view text) {
    std::map<std::string, std::string> arguments;
    for (text = base::trim(text); !text.empty(); text = base::trim(text)) {
        const std::size_t equals = text.find('=');
        const std::size_t blank = text.find_first_of(" \t");
        if (equals == text.npos || equals == 0 || blank < equals)
            return fail(ErrorCode::InvalidInput,
                        "{} is not name=value; put a value with blanks into quotes: name=\"a b\"",
                        shown(text.substr(0, blank)));
        std::string name(text.substr(0, equals));
        text.remove_prefix(equals + 1);
        arguments[std::move(name)] = TRY(take_value(text));
    }
    return arguments;
}

std::string about(const service::McpPrompt& prompt) {
    std::string names;
    for (const auto& argument : prompt.arguments)
        names +=
            (argument.required ? "" : "[") + argument.name + (argument.required ? "= " : "=] ");
    return base::ellipsize(base::collapse_whitespace(names + " " + prompt.description),
                           kNoteCharsMax);
}

}  // namespace

std::string prompt_word(const service::McpPrompt& prompt) {
    return fmt::format("{}{}:{}", kPromptWord, prompt.server, prompt.name);
}

const service::McpPrompt* find_prompt(std::span<const service::McpPrompt> prompts,
                                      std::string_view word) {
    const auto found = std::ranges::find(prompts, word, prompt_word);
    return found == prompts.end() ? nullptr : &*found;
}

base::Result<service::McpPromptRequest> read_prompt_line(std::string_view line) {
    if (line.find('\n') != line.npos)
        return fail(ErrorCode::InvalidInput,
                    "{0} is a command of one line. To send all of it as a message, begin it with "
                    "/{0}",
                    kPromptWord);
    const std::size_t end = std::min(line.find_first_of(" \t"), line.size());
    const std::string_view word =
        line.substr(0, end).substr(std::min(kPromptWord.size(), line.substr(0, end).size()));
    const std::size_t colon = word.find(':');
    if (colon == word.npos || colon == 0 || colon + 1 == word.size())
        return fail(ErrorCode::InvalidInput, "Usage: {}<server>:<prompt> [name=value ...]",
                    kPromptWord);
    service::McpPromptRequest request{.server = std::string(word.substr(0, colon)),
                                      .name = std::string(word.substr(colon + 1))};
    request.arguments = TRY(take_arguments(line.substr(end)));
    return request;
}

const service::McpPromptArgument* missing_argument(const service::McpPrompt& prompt,
                                                   const service::McpPromptRequest& request) {
    const auto found = std::ranges::find_if(prompt.arguments, [&](const auto& argument) {
        const auto given = request.arguments.find(argument.name);
        return argument.required && (given == request.arguments.end() || given->second.empty());
    });
    return found == prompt.arguments.end() ? nullptr : &*found;
}

std::vector<Offer> prompt_offers(std::span<const service::McpPrompt> prompts,
                                 std::string_view typed) {
    std::vector<Offer> offers;
    for (const auto& prompt : prompts)
        if (std::string word = prompt_word(prompt); word.starts_with(typed))
            offers.push_back({.text = std::move(word), .note = about(prompt)});
    return offers;
}

std::vector<Offer> argument_offers(const service::McpPrompt& prompt, const std::string& typed) {
    // Only where a name begins: not inside of a value.
    const std::size_t blank = typed.find_last_of(" \t");
    const std::size_t begin = blank == typed.npos ? 0 : blank + 1;
    const auto before = take_arguments(std::string_view(typed).substr(0, begin));
    const std::string_view last = std::string_view(typed).substr(begin);
    std::vector<Offer> offers;
    if (!before || last.contains('=')) return offers;
    for (const auto& argument : prompt.arguments)
        if (argument.name.starts_with(last) && !before->contains(argument.name))
            offers.push_back({.text = typed.substr(0, begin) + argument.name + "=",
                              .note = base::ellipsize(
                                  base::collapse_whitespace((argument.required ? "needed  " : "") +
                                                            argument.description),
                                  kNoteCharsMax)});
    return offers;
}

}  // namespace tui
