#include "base/text.h"
#include "provider/http/received.h"
#include "provider/openai_responses/wire.h"
#include "provider/wire/openai_error.h"
#include "provider/wire/received_json.h"

namespace provider::openai_responses {
namespace {

void add_text(std::vector<domain::Block>& blocks, std::string text) {
    if (!text.empty()) blocks.emplace_back(domain::TextBlock{std::move(text)});
}

void read_message(const json::value& item, std::vector<domain::Block>& blocks) {
    const auto* content = base::find(item, "content");
    if (!content || !content->is_array()) return;
    for (const auto& part : content->get_array()) {
        const std::string type = base::string_at(part, "type");
        if (type == "output_text" || type == "text" || type == "input_text")
            add_text(blocks, base::string_at(part, "text"));
        else if (type == "refusal")
            add_text(blocks, base::string_at(part, "refusal"));
    }
}

json::value read_input(const json::value& item, std::string_view type) {
    if (type == "function_call") return read_arguments(base::find(item, "arguments"));
    const auto* input = base::find(item, "input");
    // The only tools that are offered as free text are those that take a patch.
    if (input && input->is_string()) return {{"patch", *input}};
    return input ? *input : json::value(nullptr);
}

class Output {
public:
    Output(Answer& answer, std::string_view seed, bool cut_off)
        : answer_(answer), ids_(seed), cut_off_(cut_off) {}

    void read(const json::value& item) {
        const std::string type = base::string_at(item, "type");
        if (type == "message") read_message(item, answer_.reply.blocks);
        if (type != "function_call" && type != "custom_tool_call") return;
        std::string name = base::string_at(item, "name");
        if (name.empty()) name = kUnnamedTool;
        json::value input = read_input(item, type);
        // The limit struck within the arguments: what came before is the answer.
        if (!input.is_object() && cut_off_) return;
        std::string given = base::string_at(item, "call_id");
        if (given.empty()) given = base::string_at(item, "id");
        std::string id = ids_.take(given);
        if (id != given) id_is_ours_ = true;
        answer_.reply.blocks.emplace_back(
            domain::ToolUseBlock{std::move(id), std::move(name), std::move(input)});
    }
    bool id_is_ours() const { return id_is_ours_; }

private:
    Answer& answer_;
    CallIds ids_;
    bool cut_off_;
    bool id_is_ours_{false};
};

std::string stop_reason_of(const json::value& response) {
    if (const auto* details = base::find(response, "incomplete_details"))
        if (auto reason = base::string_at(*details, "reason"); !reason.empty()) return reason;
    auto status = base::string_at(response, "status");
    return status.empty() ? base::string_at(response, "stop_reason") : status;
}

std::optional<domain::CacheUsage> read_cache_usage(const json::value& response) {
    const auto* usage = base::find(response, "usage");
    if (!usage) return std::nullopt;
    const auto* spent = base::find(*usage, "output_tokens_details");
    const auto reasoning =
        spent && spent->is_object() ? tokens_at(*spent, "reasoning_tokens") : std::int64_t{0};
    const auto input = tokens_at(*usage, "input_tokens");
    for (const auto* name : {"input_tokens_details", "prompt_tokens_details"})
        if (const auto* details = base::find(*usage, name); details && details->is_object())
            return cache_usage_of(input, tokens_at(*details, "cached_tokens"), 0, reasoning);
    if (reasoning > 0) return cache_usage_of(input, 0, 0, reasoning);
    return std::nullopt;
}

}  // namespace

std::optional<domain::TokenUsage> read_usage(const json::value& response) {
    const auto* usage = base::find(response, "usage");
    if (!usage || !usage->is_object()) return std::nullopt;
    const auto input = tokens_at(*usage, "input_tokens");
    const auto output = tokens_at(*usage, "output_tokens");
    return domain::TokenUsage{input, output, input + output};
}

std::expected<Answer, std::string> read_response(const json::value& response,
                                                 const json::array& output, std::string_view seed) {
    Answer answer{.response_id = base::string_at(response, "id")};
    answer.reply.stop_reason = stop_reason_of(response);
    Output reader(answer, seed, base::string_at(response, "status") == "incomplete");
    for (const auto& item : output) reader.read(item);
    if (answer.reply.blocks.empty() && answer.reply.stop_reason.empty())
        return std::unexpected("the response has neither output nor a status");
    if (reader.id_is_ours()) answer.response_id.clear();
    answer.reply.usage = read_usage(response);
    answer.reply.cache_usage = read_cache_usage(response);
    return answer;
}

std::expected<Answer, Failure> parse_response(const HttpResponse& response, base::Time now) {
    const auto invalid = [&](std::string message) {
        return std::unexpected(unreadable("response_body", response.status, std::move(message)));
    };
    const auto document = parse_received_json(response.body);
    const auto* error = document ? error_in(*document, is_success(response.status)) : nullptr;
    if (error || !is_success(response.status)) {
        const FailureKind kind = error ? kind_of_openai_error(response.status, *error)
                                       : kind_without_error(response.status);
        Failure failure = status_failure(response, kind, error, now);
        if (document) failure.usage = read_usage(*document);
        return std::unexpected(std::move(failure));
    }
    if (!document) return invalid(not_json_message(response));
    const auto* output = base::find(*document, "output");
    if (!output || !output->is_array())
        return invalid("the response has no output; is this a Responses API?");
    auto answer = read_response(*document, output->get_array(), response.body);
    if (!answer) return invalid(std::move(answer).error());
    return std::move(*answer);
}

bool names_previous_response(std::string_view error, std::string_view id) {
    if (!id.empty() && error.contains(id)) return true;
    std::string text(error);
    for (char& c : text)
        c = c == ' ' ? '_' : static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    return text.contains("previous_response");
}

bool refuses_previous_response(const HttpResponse& response, std::string_view id) {
    return response.status >= 400 && response.status <= 499 &&
           names_previous_response(response.body, id);
}

}  // namespace provider::openai_responses
