#include <algorithm>

#include "provider/chat_completions/wire.h"
#include "provider/http/received.h"
#include "provider/wire/openai_error.h"
#include "provider/wire/received_json.h"

namespace provider::chat_completions {
namespace {

std::unexpected<Failure> invalid(const Source& source, std::string message) {
    return std::unexpected(unreadable(source.stage, source.status, std::move(message)));
}

// Servers name the cached tokens in three ways, and leave reasoning out of the completion or not.
void read_usage(const json::value& document, Reply& reply) {
    const auto* usage = base::find(document, "usage");
    if (!usage || !usage->is_object()) return;
    const auto in = [&](std::string_view part, std::string_view name) -> std::int64_t {
        const auto* details = base::find(*usage, part);
        return details && details->is_object() ? tokens_at(*details, name) : 0;
    };
    const auto input = tokens_at(*usage, "prompt_tokens");
    auto output = tokens_at(*usage, "completion_tokens");
    const auto reasoning = in("completion_tokens_details", "reasoning_tokens");
    if (reasoning > 0 && tokens_at(*usage, "total_tokens") == input + output + reasoning)
        output += reasoning;
    reply.usage = domain::TokenUsage{
        .input_tokens = input, .output_tokens = output, .total_tokens = input + output};
    const auto read = std::max({in("prompt_tokens_details", "cached_tokens"),
                                tokens_at(*usage, "prompt_cache_hit_tokens"),
                                tokens_at(*usage, "cached_tokens")});
    const auto created = std::max(in("prompt_tokens_details", "cache_creation_tokens"),
                                  tokens_at(*usage, "cache_creation_input_tokens"));
    if (usage->get_object().contains("prompt_tokens_details") || reasoning + read + created > 0)
        reply.cache_usage = cache_usage_of(input, read, created, reasoning);
}

domain::ToolUseBlock read_call(const json::value& call, CallIds& ids) {
    const auto* function = base::find(call, "function");
    std::string name = function ? base::string_at(*function, "name") : "";
    if (name.empty()) name = kUnnamedTool;
    return {.id = ids.take(base::string_at(call, "id")),
            .name = std::move(name),
            .input = read_arguments(function ? base::find(*function, "arguments") : nullptr)};
}

Outcome read_choice(const json::value& choice, const Source& source, std::string_view seed) {
    const auto* message = base::find(choice, "message");
    if (!message || !message->is_object())
        return invalid(source, "the response's first choice has no message");
    Reply reply;
    Content content;
    if (!content.add(base::find(*message, "content")))
        return invalid(source, "the response's message content is not text");
    content.reasoning += reasoning_in(*message);
    if (!content.reasoning.empty())
        reply.blocks.emplace_back(domain::ThinkingBlock{std::move(content.reasoning), ""});
    if (!content.text.empty())
        reply.blocks.emplace_back(domain::TextBlock{std::move(content.text)});
    CallIds ids(seed);
    if (const auto* calls = base::find(*message, "tool_calls"); calls && calls->is_array())
        for (const auto& call : calls->get_array()) reply.blocks.emplace_back(read_call(call, ids));
    reply.stop_reason = base::string_at(choice, "finish_reason");
    if (reply.blocks.empty() && reply.stop_reason.empty())
        return invalid(source, "the response has neither content nor a finish reason");
    if (reply.stop_reason == "length") reply.stop_reason = "max_tokens";
    return reply;
}

}  // namespace

bool Content::add(const json::value* content) {
    if (!content || content->is_null()) return true;
    if (content->is_string()) {
        text += std::string_view(content->get_string());
        return true;
    }
    if (!content->is_array()) return false;
    for (const auto& part : content->get_array()) {
        text += base::string_at(part, "text");
        // Magistral sends its thinking as a list of texts.
        if (const auto* thinking = base::find(part, "thinking"); thinking && thinking->is_array())
            for (const auto& piece : thinking->get_array())
                reasoning += base::string_at(piece, "text");
    }
    return true;
}

std::string reasoning_in(const json::value& message) {
    return base::string_at(message, "reasoning_content", base::string_at(message, "reasoning"));
}

Outcome read_completion(const json::value& document, const Source& source, std::string_view seed) {
    const auto* choices = base::find(document, "choices");
    if (!choices || !choices->is_array())
        return invalid(source, "the response has no choices; is this a Chat Completions API?");
    if (choices->get_array().empty()) return invalid(source, "the response's choices are empty");
    Outcome outcome = read_choice(choices->get_array()[0], source, seed);
    if (outcome) read_usage(document, *outcome);
    return outcome;
}

Outcome parse_response(const HttpResponse& response, base::Time now) {
    const auto document = parse_received_json(response.body);
    const auto* error = document ? error_in(*document, is_success(response.status)) : nullptr;
    const auto failed = [&] {
        const FailureKind kind = error ? kind_of_openai_error(response.status, *error)
                                       : kind_without_error(response.status);
        return std::unexpected(status_failure(response, kind, error, now));
    };
    if (!is_success(response.status)) return failed();
    const Source source{.stage = "response_body", .status = response.status};
    if (!document) return invalid(source, not_json_message(response));
    const auto* choices = base::find(*document, "choices");
    if (error && (!choices || !choices->is_array())) return failed();
    return read_completion(*document, source, response.body);
}

}  // namespace provider::chat_completions
