#include "provider/chat_completions/wire.h"
#include "provider/http/received.h"
#include "provider/wire/openai_error.h"
#include "provider/wire/received_json.h"

namespace provider::chat_completions {
namespace {

std::unexpected<Failure> invalid(const Source& source, std::string message) {
    return std::unexpected(unreadable(source.stage, source.status, std::move(message)));
}

void read_usage(const json::value& document, Reply& reply) {
    const auto* usage = base::find(document, "usage");
    if (!usage || !usage->is_object()) return;
    const auto input = tokens_at(*usage, "prompt_tokens");
    const auto output = tokens_at(*usage, "completion_tokens");
    reply.usage = domain::TokenUsage{
        .input_tokens = input, .output_tokens = output, .total_tokens = input + output};
    const auto* details = base::find(*usage, "prompt_tokens_details");
    if (details && details->is_object())
        reply.cache_usage =
            domain::CacheUsage{.read_input_tokens = tokens_at(*details, "cached_tokens")};
}

std::expected<domain::ToolUseBlock, std::string> read_call(const json::value& call, CallIds& ids) {
    const auto* function = base::find(call, "function");
    const std::string name = function ? base::string_at(*function, "name") : "";
    if (name.empty()) return std::unexpected("a tool call has no function name");
    auto input = read_arguments(base::find(*function, "arguments"), name);
    if (!input) return std::unexpected(std::move(input.error()));
    return domain::ToolUseBlock{
        .id = ids.take(base::string_at(call, "id")), .name = name, .input = std::move(*input)};
}

Outcome read_choice(const json::value& choice, const Source& source, std::string_view seed) {
    const auto* message = base::find(choice, "message");
    if (!message || !message->is_object())
        return invalid(source, "the response's first choice has no message");
    Reply reply;
    if (const auto* content = base::find(*message, "content"); content && !content->is_null()) {
        if (!content->is_string())
            return invalid(source, "the response's message content is not text");
        if (!content->get_string().empty())
            reply.blocks.emplace_back(
                domain::TextBlock{std::string(std::string_view(content->get_string()))});
    }
    CallIds ids(seed);
    if (const auto* calls = base::find(*message, "tool_calls"); calls && calls->is_array()) {
        for (const auto& call : calls->get_array()) {
            auto block = read_call(call, ids);
            if (!block) return invalid(source, std::move(block.error()));
            reply.blocks.emplace_back(std::move(*block));
        }
    }
    reply.stop_reason = base::string_at(choice, "finish_reason");
    if (reply.blocks.empty() && reply.stop_reason.empty())
        return invalid(source, "the response has neither content nor a finish reason");
    if (reply.stop_reason == "length") reply.stop_reason = "max_tokens";
    return reply;
}

}  // namespace

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
    const auto* error = document ? usable_error(base::find(*document, "error")) : nullptr;
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
