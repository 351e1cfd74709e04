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

std::expected<json::value, std::string> read_input(const json::value& item, std::string_view type,
                                                   std::string_view name) {
    if (type == "function_call") return read_arguments(base::find(item, "arguments"), name);
    const auto* input = base::find(item, "input");
    if (!input || !input->is_string())
        return std::unexpected(fmt::format("the input of tool call {} is not text", excerpt(name)));
    // The only tools that are offered as free text are those that take a patch.
    return json::value{{"patch", *input}};
}

class Output {
public:
    Output(Answer& answer, std::string_view seed, bool cut_off)
        : answer_(answer), ids_(seed), cut_off_(cut_off) {}

    std::expected<void, std::string> read(const json::value& item) {
        const std::string type = base::string_at(item, "type");
        if (type == "message") read_message(item, answer_.reply.blocks);
        if (type != "function_call" && type != "custom_tool_call") return {};
        const std::string name = base::string_at(item, "name");
        if (name.empty()) return std::unexpected("a tool call has no name");
        auto input = read_input(item, type, name);
        // The limit struck within the arguments: what came before is the answer.
        if (!input && cut_off_) return {};
        if (!input) return std::unexpected(std::move(input).error());
        std::string given = base::string_at(item, "call_id");
        if (given.empty()) given = base::string_at(item, "id");
        std::string id = ids_.take(given);
        if (id != given) id_is_ours_ = true;
        answer_.reply.blocks.emplace_back(
            domain::ToolUseBlock{std::move(id), name, std::move(*input)});
        return {};
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
    for (const auto* name : {"input_tokens_details", "prompt_tokens_details"})
        if (const auto* details = base::find(*usage, name); details && details->is_object())
            return domain::CacheUsage{.read_input_tokens = tokens_at(*details, "cached_tokens")};
    return std::nullopt;
}

bool is_previous_response(std::string text) {
    for (char& c : text)
        c = c == ' ' ? '_' : static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    return text.contains("previous_response");
}

const json::value* error_in(const base::Result<json::value>& document) {
    return document ? usable_error(base::find(*document, "error")) : nullptr;
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
    for (const auto& item : output)
        if (auto read = reader.read(item); !read) return std::unexpected(std::move(read).error());
    if (answer.reply.blocks.empty())
        return std::unexpected(fmt::format("the response has no text and no tool call (ended: {})",
                                           excerpt(answer.reply.stop_reason)));
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
    const auto* error = error_in(document);
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

bool names_previous_response(const json::value& error) {
    if (error.is_string()) return is_previous_response(std::string(error.get_string()));
    for (const auto* name : {"code", "param", "message"})
        if (is_previous_response(base::string_at(error, name))) return true;
    return false;
}

bool refuses_previous_response(const HttpResponse& response) {
    if (response.status != 400 && response.status != 404) return false;
    const auto document = parse_received_json(response.body);
    const auto* error = error_in(document);
    if (!error) return false;
    return names_previous_response(*error);
}

}  // namespace provider::openai_responses
