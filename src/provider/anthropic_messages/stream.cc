#include "provider/anthropic_messages/stream.h"

#include "provider/anthropic_messages/wire.h"
#include "provider/http/received.h"
#include "provider/wire/received_json.h"

namespace provider::anthropic_messages {
namespace {

constexpr std::int64_t kStreamStatus = 200;  // Events only come with a success.

EventReader::Step invalid(std::string message) {
    return {.end = std::unexpected(unreadable(kStreamStage, kStreamStatus, std::move(message)))};
}

// Once, at the end: a block that grew with every delta would be copied as often.
void append(json::object& block, std::string_view name, const std::string& text) {
    if (text.empty()) return;
    block[json::string_view(name.data(), name.size())] = base::string_at(block, name) + text;
}

}  // namespace

void StreamReader::merge_usage(const json::value& holder) {
    const auto* usage = base::find(holder, "usage");
    if (!usage || !usage->is_object()) return;
    json::value& merged = message_["usage"];
    if (!merged.is_object()) merged.emplace_object();
    for (const auto& member : usage->get_object())
        if (!member.value().is_null()) merged.get_object()[member.key()] = member.value();
}

// Returns the text to show.
std::string StreamReader::add_delta(const json::value& event) {
    const auto found = parts_.find(base::int_at(event, "index", -1));
    const auto* delta = base::find(event, "delta");
    if (found == parts_.end() || !delta) return "";
    Part& part = found->second;
    const std::string type = base::string_at(*delta, "type");
    if (type == "text_delta") {
        std::string text = base::string_at(*delta, "text");
        part.text += text;
        return text;
    }
    if (type == "input_json_delta") part.input_json += base::string_at(*delta, "partial_json");
    if (type == "thinking_delta") part.thinking += base::string_at(*delta, "thinking");
    if (type == "signature_delta") part.signature += base::string_at(*delta, "signature");
    return "";
}

EventReader::Step StreamReader::take(std::string_view data) {
    const auto event = parse_received_json(data);
    if (!event) return invalid("an event of the stream is not valid JSON");
    const std::string type = base::string_at(*event, "type");
    if (const auto* error = base::find(*event, "error"); type == "error" || (error && type.empty()))
        return {.end = std::unexpected(stream_failure(error))};
    seen_event_ = true;
    if (type == "ping") return {.is_keep_alive = true};
    if (type == "message_start") {
        seen_message_ = true;
        if (const auto* message = base::find(*event, "message")) {
            message_["id"] = base::string_at(*message, "id");
            merge_usage(*message);
        }
    } else if (type == "content_block_start") {
        const auto* block = base::find(*event, "content_block");
        const std::int64_t index = base::int_at(*event, "index", -1);
        if (!block || !block->is_object() || index < 0)
            return invalid("a content block has no content or no index");
        if (index >= kStreamedBlocksMax)
            return invalid(
                fmt::format("the message has over {} content blocks", kStreamedBlocksMax));
        parts_[index] = {.block = block->get_object()};
        return {.text_delta = base::string_at(*block, "text")};
    } else if (type == "content_block_delta") {
        return {.text_delta = add_delta(*event)};
    } else if (type == "message_delta") {
        merge_usage(*event);
        if (const auto* delta = base::find(*event, "delta"))
            if (auto reason = base::string_at(*delta, "stop_reason"); !reason.empty())
                message_["stop_reason"] = reason;
    } else if (type == "message_stop" && seen_message_) {
        return {.end = finish()};
    }
    return {};
}

Outcome StreamReader::stop(const HttpResponse& head) {
    if (message_.contains("stop_reason")) return finish();
    std::string message = "the stream ended before the message did";
    if (!seen_event_)
        message = not_events_message(head);
    else if (!seen_message_)
        message = "the stream has no message; is this a Messages API?";
    return std::unexpected(unreadable(kStreamStage, head.status, std::move(message)));
}

Outcome StreamReader::finish() const {
    json::array content;
    for (const auto& [index, part] : parts_) {
        json::object block = part.block;
        append(block, "text", part.text);
        append(block, "thinking", part.thinking);
        append(block, "signature", part.signature);
        if (!part.input_json.empty()) block["input"] = part.input_json;
        content.push_back(std::move(block));
    }
    json::object document = message_;
    document["content"] = std::move(content);
    auto reply = read_message(document, base::json_text(document));
    if (!reply)
        return std::unexpected(unreadable(kStreamStage, kStreamStatus, std::move(reply).error()));
    return std::move(*reply);
}

}  // namespace provider::anthropic_messages
