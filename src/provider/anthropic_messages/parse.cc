#include <array>

#include "provider/anthropic_messages/wire.h"
#include "provider/classify.h"
#include "provider/http/received.h"
#include "provider/wire/openai_error.h"
#include "provider/wire/overflow.h"
#include "provider/wire/received_json.h"

namespace provider::anthropic_messages {
namespace {

struct NamedKind {
    std::string_view name;
    FailureKind kind;
};

constexpr std::array<NamedKind, 9> kTypes{{
    {"rate_limit_error", FailureKind::RateLimited},
    {"authentication_error", FailureKind::AuthError},
    {"permission_error", FailureKind::AuthError},
    {"billing_error", FailureKind::AuthError},
    {"invalid_request_error", FailureKind::ContractError},
    {"not_found_error", FailureKind::ContractError},
    {"timeout_error", FailureKind::ServerError},
    {"api_error", FailureKind::ServerError},
    {"overloaded_error", FailureKind::ServerError},
}};

// The status decides where it says what happened; servers that answer 200, or a bare 400, say it in
// the body. A prompt too long has no type of its own.
FailureKind kind_of_error(std::int64_t status, const json::value& error) {
    const std::string type = base::string_at(error, "type");
    if (says_prompt_too_long(error_text(error)) || says_prompt_too_long(type))
        return FailureKind::ContextLengthExceeded;
    if (!is_success(status) && status != 400) return kind_of_status(status);
    for (const auto& entry : kTypes)
        if (entry.name == type) return entry.kind;
    return kind_of_openai_error(status, error);
}

// What the server counts as input is what no cache had. The sum means the same on every API.
void read_usage(const json::value& document, Reply& reply) {
    const auto* usage = base::find(document, "usage");
    if (!usage || !usage->is_object()) return;
    const auto read = tokens_at(*usage, "cache_read_input_tokens");
    const auto created = tokens_at(*usage, "cache_creation_input_tokens");
    const auto input = tokens_at(*usage, "input_tokens") + read + created;
    const auto output = tokens_at(*usage, "output_tokens");
    reply.usage = domain::TokenUsage{input, output, input + output};
    if (usage->get_object().contains("cache_read_input_tokens") ||
        usage->get_object().contains("cache_creation_input_tokens"))
        reply.cache_usage = cache_usage_of(input, read, created, 0);
}

// Adds the block, or nothing for a type that is not ours to read.
void read_block(const json::value& part, CallIds& ids, std::vector<domain::Block>& blocks) {
    const std::string type = base::string_at(part, "type");
    if (type == "text") {
        if (auto text = base::string_at(part, "text"); !text.empty())
            blocks.emplace_back(domain::TextBlock{std::move(text)});
    } else if (type == "thinking") {
        blocks.emplace_back(domain::ThinkingBlock{base::string_at(part, "thinking"),
                                                  base::string_at(part, "signature")});
    } else if (type == "redacted_thinking") {
        blocks.emplace_back(domain::RedactedThinkingBlock{base::string_at(part, "data")});
    } else if (type == "tool_use") {
        std::string name = base::string_at(part, "name");
        if (name.empty()) name = kUnnamedTool;
        blocks.emplace_back(domain::ToolUseBlock{ids.take(base::string_at(part, "id")),
                                                 std::move(name),
                                                 read_arguments(base::find(part, "input"))});
    }
}

}  // namespace

std::expected<Reply, std::string> read_message(const json::value& document, std::string_view seed) {
    const auto* content = base::find(document, "content");
    if (!content || !content->is_array())
        return std::unexpected("the response has no content; is this a Messages API?");
    Reply reply{.stop_reason = base::string_at(document, "stop_reason")};
    CallIds ids(seed);
    for (const auto& part : content->get_array()) read_block(part, ids, reply.blocks);
    if (reply.blocks.empty() && reply.stop_reason.empty())
        return std::unexpected("the response has neither content nor a stop reason");
    read_usage(document, reply);
    return reply;
}

Failure stream_failure(const json::value* error) {
    constexpr std::int64_t kStreamStatus = 200;
    if (!usable_error(error))
        return failure_at(kStreamStage, FailureKind::ServerError, kStreamStatus,
                          "the message failed without a reason");
    const std::string text = error_text(*error);
    return failure_at(
        kStreamStage, kind_of_error(kStreamStatus, *error), kStreamStatus,
        fmt::format("the message failed{}{}", text.empty() ? "" : ": ", excerpt(text)));
}

Outcome parse_response(const HttpResponse& response, base::Time now) {
    const auto document = parse_received_json(response.body);
    const auto* error = document ? error_in(*document, is_success(response.status)) : nullptr;
    if (error || !is_success(response.status)) {
        const FailureKind kind =
            error ? kind_of_error(response.status, *error) : kind_without_error(response.status);
        return std::unexpected(status_failure(response, kind, error, now));
    }
    const auto invalid = [&](std::string message) {
        return std::unexpected(unreadable("response_body", response.status, std::move(message)));
    };
    if (!document) return invalid(not_json_message(response));
    auto reply = read_message(*document, response.body);
    if (!reply) return invalid(std::move(reply).error());
    return std::move(*reply);
}

}  // namespace provider::anthropic_messages
