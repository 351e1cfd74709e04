#include "provider/openai_responses/stream.h"
#include "provider/http/received.h"
#include "provider/wire/openai_error.h"
#include "provider/wire/received_json.h"

namespace provider::openai_responses {
namespace {

constexpr std::int64_t kStreamStatus = 200;  // Events only come with a success.

Failure invalid(std::string message) {
    return unreadable(kStreamStage, kStreamStatus, std::move(message));
}

Failure failed(FailureKind kind, std::string message, const json::value* response) {
    Failure failure = failure_at(kStreamStage, kind, kStreamStatus, std::move(message));
    if (response) failure.usage = read_usage(*response);
    return failure;
}

const json::array* items_in(const json::value& response) {
    const auto* output = base::find(response, "output");
    return output ? output->if_array() : nullptr;
}

std::string incomplete_reason(const json::value& response) {
    const auto* details = base::find(response, "incomplete_details");
    return details ? base::string_at(*details, "reason") : "";
}

}  // namespace

// `error` is the object that names what went wrong, or what stands in its place.
Failure StreamReader::failed_by(const json::value* error, const json::value* response) {
    if (!error || !error->is_object())
        return failed(FailureKind::ServerError, "the response failed without a reason", response);
    error_ = base::json_text(*error);
    const std::string code = base::string_at(*error, "code", base::string_at(*error, "type"));
    const std::string text = base::string_at(*error, "message");
    return failed(kind_of_openai_error(kStreamStatus, *error),
                  fmt::format("the response failed ({}){}{}", excerpt(code),
                              text.empty() ? "" : ": ", excerpt(text)),
                  response);
}

Outcome StreamReader::finish(const json::value& response) {
    const auto* output = items_in(response);
    const bool is_usable = output && !output->empty();
    auto answer = read_response(response, is_usable ? *output : items_,
                                base::string_at(response, "id", "stream"));
    if (!answer) return std::unexpected(invalid(std::move(answer).error()));
    response_id_ = std::move(answer->response_id);
    return std::move(answer->reply);
}

StreamReader::Step StreamReader::take(std::string_view data) {
    const auto ended = [](Outcome outcome) { return Step{.end = std::move(outcome)}; };
    const auto fails = [&](Failure failure) { return ended(std::unexpected(std::move(failure))); };
    if (data == "[DONE]") return fails(invalid("the stream ended before the response did"));
    const auto event = parse_received_json(data);
    if (!event) return fails(invalid("an event of the stream is not valid JSON"));
    seen_event_ = true;
    const std::string type = base::string_at(*event, "type");
    if (type == "error") {
        const auto* error = base::find(*event, "error");
        return fails(failed_by(error && error->is_object() ? error : &*event, nullptr));
    }
    if (type == "response.output_text.delta")
        return {.text_delta = base::string_at(*event, "delta")};
    if (type == "response.output_item.done") {
        const auto* item = base::find(*event, "item");
        if (!item || !item->is_object())
            return fails(invalid("an output_item.done event has no item"));
        if (items_.size() == kOutputItemsMax)
            return fails(invalid(fmt::format("the response has over {} items", kOutputItemsMax)));
        items_.push_back(*item);
        return {};
    }
    const auto* response = base::find(*event, "response");
    const json::value none(nullptr);
    const json::value& held = response ? *response : none;
    const std::string status = base::string_at(held, "status");
    if (type == "response.failed" || status == "failed")
        return fails(failed_by(base::find(held, "error"), &held));
    if (type == "response.incomplete" || status == "incomplete") {
        const std::string reason = incomplete_reason(held);
        if (reason == "max_output_tokens")
            if (auto outcome = finish(held); outcome && !outcome->blocks.empty())
                return ended(std::move(outcome));
        return fails(failed(FailureKind::ContractError,
                            fmt::format("the response is incomplete ({})",
                                        reason.empty() ? "no reason given" : excerpt(reason)),
                            &held));
    }
    if (status == "cancelled")
        return fails(failed(FailureKind::ServerError, "the server cancelled the response", &held));
    if (type == "response.completed" || status == "completed") return ended(finish(held));
    return {};
}

Outcome StreamReader::stop(const HttpResponse& head) {
    return std::unexpected(unreadable(
        kStreamStage, head.status,
        seen_event_ ? "the stream ended before the response did" : not_events_message(head)));
}

}  // namespace provider::openai_responses
