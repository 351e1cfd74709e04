#include <algorithm>
#include <array>
#include <set>

#include "base/hash.h"
#include "base/text.h"
#include "provider/chat_completions/wire.h"
#include "provider/classify.h"
#include "provider/http/retry_after.h"
#include "provider/received_json.h"

namespace provider::chat_completions {
namespace {

constexpr std::size_t kExcerptCharsMax = 300;
constexpr std::size_t kIdHexDigits = 12;
constexpr std::int64_t kTokensMax = 1'000'000'000'000;  // Sums of these cannot overflow.

struct NamedKind {
    std::string_view name;
    FailureKind kind;
};

constexpr std::array<NamedKind, 12> kCodes{{
    {"rate_limit_exceeded", FailureKind::RateLimited},
    {"rate_limit_exceeded_error", FailureKind::RateLimited},
    {"insufficient_quota", FailureKind::AuthError},
    {"quota_exceeded", FailureKind::AuthError},
    {"invalid_api_key", FailureKind::AuthError},
    {"invalid_authentication", FailureKind::AuthError},
    {"context_length_exceeded", FailureKind::ContextLengthExceeded},
    {"max_tokens", FailureKind::ContractError},
    {"invalid_request_error", FailureKind::ContractError},
    {"invalid_request", FailureKind::ContractError},
    {"server_error", FailureKind::ServerError},
    {"service_unavailable", FailureKind::ServerError},
}};

constexpr std::array<NamedKind, 5> kTypes{{
    {"rate_limit_error", FailureKind::RateLimited},
    {"invalid_request_error", FailureKind::ContractError},
    {"authentication_error", FailureKind::AuthError},
    {"server_error", FailureKind::ServerError},
    {"context_length_exceeded", FailureKind::ContextLengthExceeded},
}};

std::optional<FailureKind> kind_named(std::span<const NamedKind> names, std::string_view name) {
    for (const auto& entry : names)
        if (entry.name == name) return entry.kind;
    return std::nullopt;
}

// One line for people, whatever the server sent.
std::string excerpt(std::string_view text) {
    const std::string clean = base::to_utf8(text.substr(0, 16 * kExcerptCharsMax));
    return base::printable(base::ellipsize(base::collapse_whitespace(clean), kExcerptCharsMax));
}

bool is_success(std::int64_t status) {
    return status >= 200 && status <= 299;
}

FailureKind kind_without_name(std::int64_t status) {
    return is_success(status) ? FailureKind::ContractError : kind_of_status(status);
}

// The name a body gives to its error decides, with three limits. A prompt too long is that under
// any status, and servers that lack the code say it in words. A 5xx stays a server error, as bodies
// of overloaded gateways are not to be trusted. A 429 stays a rate limit unless its code says that
// there is no money left, which waiting does not cure.
FailureKind kind_of_error(std::int64_t status, const json::value& error) {
    const std::string code = base::string_at(error, "code");
    const std::string type = base::string_at(error, "type");
    const std::string text =
        error.is_string() ? std::string(error.get_string()) : base::string_at(error, "message");
    const auto by_code = kind_named(kCodes, code);
    const auto by_type = kind_named(kTypes, type);
    if (by_code == FailureKind::ContextLengthExceeded ||
        by_type == FailureKind::ContextLengthExceeded || text.contains("context_length_exceeded") ||
        (status == 400 && text.contains("maximum context length")))
        return FailureKind::ContextLengthExceeded;
    if (status >= 500) return kind_of_status(status);
    if (status == 429)
        return by_code == FailureKind::AuthError ? FailureKind::AuthError
                                                 : FailureKind::RateLimited;
    if (by_code) return *by_code;
    if (by_type) return *by_type;
    // Gateways answer 200 and put the true status into the code.
    if (const auto number = base::int_at(error, "code"); is_success(status) && number >= 400)
        return kind_of_status(number);
    return kind_without_name(status);
}

Failure failure_at(std::string_view stage, FailureKind kind, std::int64_t status,
                   std::string message) {
    return {.kind = kind,
            .message = std::move(message),
            .status = status,
            .diagnostics =
                domain::TransportDiagnostics{.stage = std::string(stage),
                                             .status = status,
                                             .reqwest = domain::TransportFlags{.status = status}}};
}

Failure status_failure(const HttpResponse& response, const json::value* error, base::Time now) {
    const std::int64_t status = response.status;
    const FailureKind kind = error ? kind_of_error(status, *error) : kind_without_name(status);
    std::string said;
    if (error)
        said = excerpt(error->is_string() ? std::string_view(error->get_string())
                                          : base::string_at(*error, "message"));
    else
        said = excerpt(response.body);
    const bool is_redirect = status >= 300 && status <= 399;
    if (is_redirect)
        said = "the endpoint redirects, which is not followed; set the base URL to its new address";
    Failure failure =
        failure_at("response_status", kind, status,
                   fmt::format("HTTP {}{}{}", status, said.empty() ? "" : ": ", said));
    failure.diagnostics->reqwest->is_redirect = is_redirect;
    if (const auto* wait = find_header(response.headers, "retry-after"))
        failure.retry_after = parse_retry_after(*wait, now);
    return failure;
}

std::unexpected<Failure> invalid(const HttpResponse& response, std::string message) {
    Failure failure = failure_at("response_body", FailureKind::InvalidResponse, response.status,
                                 std::move(message));
    failure.diagnostics->reqwest->is_decode = true;
    return std::unexpected(std::move(failure));
}

std::int64_t tokens_at(const json::value& usage, std::string_view name) {
    return std::clamp<std::int64_t>(base::int_at(usage, name), 0, kTokensMax);
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

// Hands out ids that are unique within one reply.
class CallIds {
public:
    explicit CallIds(std::string_view body) : body_(body) {}
    std::string take(std::string id) {
        ++count_;
        if (!id.empty() && taken_.insert(id).second) return id;
        id = fmt::format("call_{}_{}", base::sha256_hex(body_).substr(0, kIdHexDigits), count_);
        taken_.insert(id);
        return id;
    }

private:
    std::string_view body_;
    std::size_t count_{0};
    std::set<std::string> taken_;
};

std::expected<domain::ToolUseBlock, std::string> read_call(const json::value& call, CallIds& ids) {
    const auto* function = base::find(call, "function");
    const std::string name = function ? base::string_at(*function, "name") : "";
    if (name.empty()) return std::unexpected("a tool call has no function name");
    domain::ToolUseBlock block{
        .id = ids.take(base::string_at(call, "id")), .name = name, .input = json::object()};
    const auto* arguments = base::find(*function, "arguments");
    if (!arguments || arguments->is_null()) return block;
    if (arguments->is_object()) {
        block.input = *arguments;
        return block;
    }
    if (!arguments->is_string())
        return std::unexpected(
            fmt::format("the arguments of tool call {} are not text", excerpt(name)));
    const std::string_view text = arguments->get_string();
    if (base::trim(text).empty()) return block;
    auto parsed = parse_received_json(text);
    if (!parsed)
        return std::unexpected(
            fmt::format("the arguments of tool call {} are not valid JSON", excerpt(name)));
    block.input = std::move(*parsed);
    return block;
}

Outcome read_choice(const HttpResponse& response, const json::value& document,
                    const json::value& choice) {
    const auto* message = base::find(choice, "message");
    if (!message || !message->is_object())
        return invalid(response, "the response's first choice has no message");
    Reply reply;
    if (const auto* content = base::find(*message, "content"); content && !content->is_null()) {
        if (!content->is_string())
            return invalid(response, "the response's message content is not text");
        if (!content->get_string().empty())
            reply.blocks.emplace_back(
                domain::TextBlock{std::string(std::string_view(content->get_string()))});
    }
    CallIds ids(response.body);
    if (const auto* calls = base::find(*message, "tool_calls"); calls && calls->is_array()) {
        for (const auto& call : calls->get_array()) {
            auto block = read_call(call, ids);
            if (!block) return invalid(response, std::move(block.error()));
            reply.blocks.emplace_back(std::move(*block));
        }
    }
    reply.stop_reason = base::string_at(choice, "finish_reason");
    if (reply.blocks.empty() && reply.stop_reason.empty())
        return invalid(response, "the response has neither content nor a finish reason");
    if (reply.stop_reason == "length") reply.stop_reason = "max_tokens";
    read_usage(document, reply);
    return reply;
}

}  // namespace

Outcome parse_response(const HttpResponse& response, base::Time now) {
    const auto document = parse_received_json(response.body);
    const json::value* error = document ? base::find(*document, "error") : nullptr;
    if (error && !error->is_object() && !error->is_string()) error = nullptr;
    if (!is_success(response.status)) return std::unexpected(status_failure(response, error, now));
    if (!document) {
        const auto* type = find_header(response.headers, "content-type");
        return invalid(response, fmt::format("the response is not valid JSON (content type {})",
                                             type ? excerpt(*type) : "missing"));
    }
    const auto* choices = base::find(*document, "choices");
    if (error && (!choices || !choices->is_array()))
        return std::unexpected(status_failure(response, error, now));
    if (!choices || !choices->is_array())
        return invalid(response, "the response has no choices; is this a Chat Completions API?");
    if (choices->get_array().empty()) return invalid(response, "the response's choices are empty");
    return read_choice(response, *document, choices->get_array()[0]);
}

}  // namespace provider::chat_completions
