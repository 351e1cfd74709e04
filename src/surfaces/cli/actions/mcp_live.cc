// `holon mcp questions`, `answer`, `prompts` and `prompt`.
#include <algorithm>

#include "base/text.h"
#include "surfaces/cli/cli.h"
#include "surfaces/show/columns.h"
#include "surfaces/show/table.h"

namespace cli {
namespace {

using base::ErrorCode;
using base::fail;

std::string property_type(const json::value& property) {
    return property.is_object() ? base::string_at(property, "type", "string") : "string";
}

// The fields of a form, each in a line.
std::string fields_text(const service::McpQuestion& question) {
    std::string text;
    const auto* properties = question.schema ? base::find(*question.schema, "properties") : nullptr;
    if (!properties || !properties->is_object()) return text;
    for (const auto& property : properties->get_object()) {
        text += fmt::format("\n  {}  {}", base::printable(std::string_view(property.key())),
                            base::printable(property_type(property.value())));
        if (!property.value().is_object()) continue;
        if (const auto* choices = base::find(property.value(), "enum"))
            text += " " + base::printable(base::json_text(*choices));
        if (const auto about = base::string_at(property.value(), "description"); !about.empty())
            text += "  " + base::printable(about);
        if (const auto* preset = base::find(property.value(), "default"))
            text += fmt::format("  (default {})", base::printable(base::json_text(*preset)));
    }
    return text;
}

std::string question_text(const service::McpQuestion& question) {
    std::string text =
        fmt::format("{}  the MCP server {} asks, until {}:\n  {}", question.id,
                    base::printable(question.server), base::to_text(question.expires_at),
                    base::printable(question.message, true));
    text += fields_text(question);
    if (question.url)
        text += fmt::format("\n  It wants you to open {} (nothing is opened by itself).",
                            base::printable(*question.url));
    return text + fmt::format("\n  → holon mcp answer {}{}, or holon mcp answer {} --decline",
                              question.id, question.url ? "" : " NAME=VALUE…", question.id);
}

Answered on(const McpQuestionsCommand&, const McpLiveContext& context) {
    json::array list;
    std::string text;
    for (const auto& question : TRY(context.mcp.questions())) {
        list.push_back(base::to_json(question));
        text += (text.empty() ? "" : "\n") + question_text(question);
    }
    if (list.empty()) text = "No MCP server asks anything.";
    return Answer{std::move(list), show::folded(text, out_columns(context.terminal))};
}

base::Result<std::pair<std::string, std::string>> split_value(const std::string& text) {
    const auto equals = text.find('=');
    if (equals == text.npos || equals == 0)
        return fail(ErrorCode::InvalidInput, "'{}' is not name=value", base::printable(text));
    return std::pair(text.substr(0, equals), text.substr(equals + 1));
}

// Text as the schema wants it: numbers, yes or no and lists are JSON.
base::Result<json::object> typed_values(const service::McpQuestion& question,
                                        const std::vector<std::string>& words) {
    json::object values;
    const auto* properties = question.schema ? base::find(*question.schema, "properties") : nullptr;
    for (const auto& word : words) {
        const auto [name, text] = TRY(split_value(word));
        const auto* property =
            properties && properties->is_object() ? base::find(*properties, name) : nullptr;
        if (!property)
            return fail(ErrorCode::InvalidInput, "the question has no field '{}'",
                        base::printable(name));
        if (property_type(*property) == "string") {
            values[name] = text;
            continue;
        }
        auto value = base::parse_json(text);
        if (!value)
            return fail(ErrorCode::InvalidInput, "{} must be JSON of the type {}",
                        base::printable(name), base::printable(property_type(*property)));
        values[name] = std::move(*value);
    }
    return values;
}

Answered on(const McpAnswerCommand& command, const McpLiveContext& context) {
    service::McpAnswer answer{.action = command.decline ? "decline" : "accept"};
    if (!command.decline) {
        const auto questions = TRY(context.mcp.questions());
        const auto found = std::ranges::find(questions, command.id, &service::McpQuestion::id);
        if (found != questions.end() && found->schema)
            answer.content = TRY(typed_values(*found, command.values));
    }
    TRY(context.mcp.answer(command.id, answer));
    return Answer{json::object{{"id", command.id}, {"action", answer.action}},
                  command.decline ? "Declined." : "Answered."};
}

Answered on(const McpPromptsCommand&, const McpLiveContext& context) {
    show::Rows rows{{"SERVER", "PROMPT", "ARGUMENTS", "DESCRIPTION"}};
    json::array list;
    for (const auto& prompt : TRY(context.mcp.prompts())) {
        std::string arguments;
        for (const auto& argument : prompt.arguments)
            arguments += (arguments.empty() ? "" : " ") + base::printable(argument.name) +
                         (argument.required ? "" : "?");
        rows.push_back({base::printable(prompt.server), base::printable(prompt.name),
                        arguments.empty() ? "-" : arguments, base::printable(prompt.description)});
        list.push_back(base::to_json(prompt));
    }
    std::string text = list.empty() ? "No MCP server offers prompts."
                                    : show::table(rows, out_columns(context.terminal));
    return Answer{std::move(list), std::move(text)};
}

Answered on(const McpPromptCommand& command, const McpLiveContext& context) {
    service::McpPromptRequest request{.server = command.server, .name = command.name};
    for (const auto& word : command.values) {
        auto [name, value] = TRY(split_value(word));
        request.arguments[name] = std::move(value);
    }
    const auto prompt = TRY(context.mcp.expand(request));
    return Answer{base::to_json(prompt), base::printable(prompt.text, true)};
}

}  // namespace

Exit execute(const McpLiveCommand& command, const McpLiveContext& context) {
    return give(
        context.terminal, command.json,
        std::visit([&](const auto& action) { return on(action, context); }, command.action));
}

}  // namespace cli
