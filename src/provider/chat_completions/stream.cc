#include "provider/chat_completions/stream.h"

#include <algorithm>

#include "provider/chat_completions/wire.h"
#include "provider/http/received.h"
#include "provider/wire/openai_error.h"
#include "provider/wire/received_json.h"

namespace provider::chat_completions {
namespace {

constexpr std::int64_t kStreamStatus = 200;  // Events only come with a success.

EventReader::Step invalid(std::string message) {
    return {.end = std::unexpected(unreadable(kStreamStage, kStreamStatus, std::move(message)))};
}

EventReader::Step failed_by(const json::value& error) {
    const std::string text = error_text(error);
    return {.end = std::unexpected(failure_at(
                kStreamStage, kind_of_openai_error(kStreamStatus, error), kStreamStatus,
                fmt::format("the answer failed{}{}", text.empty() ? "" : ": ", excerpt(text))))};
}

const json::value* first_choice(const json::value& event) {
    const auto* choices = base::find(event, "choices");
    if (!choices || !choices->is_array() || choices->get_array().empty()) return nullptr;
    return &choices->get_array()[0];
}

}  // namespace

// The call that a piece belongs to: the one at its index, else the last one, unless the piece names
// another id. Null when there are too many.
StreamReader::Call* StreamReader::call_of(const json::value& piece) {
    const std::string id = base::string_at(piece, "id");
    const auto is_other = [&](const Call& call) {
        return !id.empty() && !call.id.empty() && id != call.id;
    };
    const auto count = static_cast<std::int64_t>(calls_.size());
    std::int64_t index = base::int_at(piece, "index", std::max<std::int64_t>(0, count - 1));
    if (index >= 0 && index < count && is_other(calls_[static_cast<std::size_t>(index)]))
        index = count;
    if (index < 0 || index >= static_cast<std::int64_t>(kStreamedCallsMax)) return nullptr;
    if (index >= count) calls_.resize(static_cast<std::size_t>(index) + 1);
    return &calls_[static_cast<std::size_t>(index)];
}

bool StreamReader::add_calls(const json::array& pieces) {
    for (const auto& piece : pieces) {
        Call* call = call_of(piece);
        if (!call) return false;
        if (call->id.empty()) call->id = base::string_at(piece, "id");
        const auto* function = base::find(piece, "function");
        if (!function) continue;
        if (call->name.empty()) call->name = base::string_at(*function, "name");
        const auto* arguments = base::find(*function, "arguments");
        if (arguments && arguments->is_string())
            call->arguments += std::string_view(arguments->get_string());
        else if (arguments && arguments->is_object())
            call->arguments = base::json_text(*arguments);
    }
    return true;
}

EventReader::Step StreamReader::take(std::string_view data) {
    if (data == "[DONE]") {
        if (!seen_choice_) return invalid("the stream ended before the answer did");
        return {.end = finish()};
    }
    const auto event = parse_received_json(data);
    if (!event || !event->is_object()) return invalid("an event of the stream is not valid JSON");
    // Gateways send what there is of an answer together with the error that cut it off.
    if (const auto* error = usable_error(base::find(*event, "error"))) return failed_by(*error);
    if (base::string_at(*event, "object") == "error") return failed_by(*event);
    const auto* choice = first_choice(*event);
    seen_event_ = true;
    if (completion_id_.empty()) completion_id_ = base::string_at(*event, "id");
    if (const auto* usage = base::find(*event, "usage"); usage && usage->is_object())
        usage_ = *usage;
    if (!choice) return {};
    seen_choice_ = true;
    if (auto reason = base::string_at(*choice, "finish_reason"); !reason.empty())
        finish_reason_ = std::move(reason);
    const auto* delta = base::find(*choice, "delta");
    if (!delta) return {};
    if (const auto* calls = base::find(*delta, "tool_calls"); calls && calls->is_array())
        if (!add_calls(calls->get_array()))
            return invalid(fmt::format("the answer has over {} tool calls", kStreamedCallsMax));
    const std::size_t shown = content_.text.size();
    content_.add(base::find(*delta, "content"));
    content_.reasoning += reasoning_in(*delta);
    return {.text_delta = content_.text.substr(shown)};
}

Outcome StreamReader::stop(const HttpResponse& head) {
    if (!finish_reason_.empty()) return finish();
    std::string message = "the stream ended before the answer did";
    if (!seen_event_)
        message = not_events_message(head);
    else if (!seen_choice_)
        message = "the stream has no choices; is this a Chat Completions API?";
    return std::unexpected(unreadable(kStreamStage, head.status, std::move(message)));
}

Outcome StreamReader::finish() const {
    json::object message{{"content", content_.text}, {"reasoning_content", content_.reasoning}};
    json::array calls;
    for (const auto& call : calls_) {
        if (call == Call{}) continue;  // Servers may count from one.
        calls.push_back(json::object{
            {"id", call.id}, {"function", {{"name", call.name}, {"arguments", call.arguments}}}});
    }
    if (!calls.empty()) message["tool_calls"] = std::move(calls);
    json::object choice{{"finish_reason", finish_reason_}};
    choice["message"] = std::move(message);
    json::object document{{"id", completion_id_}, {"usage", usage_}};
    document["choices"] = json::array{std::move(choice)};
    return read_completion(document, {.stage = kStreamStage, .status = kStreamStatus},
                           base::json_text(document));
}

}  // namespace provider::chat_completions
