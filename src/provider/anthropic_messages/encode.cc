#include <algorithm>
#include <cctype>
#include <set>

#include "base/text.h"
#include "provider/anthropic_messages/wire.h"
#include "provider/images/shown.h"
#include "provider/wire/outgoing.h"
#include "provider/wire/schema_emission.h"

namespace provider::anthropic_messages {
namespace {

constexpr std::string_view kVersionPath = "/v1";
constexpr std::string_view kPath = "/messages";
constexpr std::ptrdiff_t kMarksMax = 4;                   // As many as the server takes.
constexpr std::ptrdiff_t kFrameMarksMax = kMarksMax - 1;  // One is for the end of the conversation.

void mark(json::value& block) {
    block.get_object()["cache_control"] = json::object{{"type", "ephemeral"}};
}

json::object text_block(std::string_view text) {
    return {{"type", "text"}, {"text", wire_text(text)}};
}

bool is_breakpoint(const PromptBlock& block) {
    return block.cache_breakpoint && !is_blank(block.text);
}

// Writes the blocks of a frame, with the marks that its breakpoints ask for. The server takes few;
// the last ones cover the most.
class FrameBlocks {
public:
    explicit FrameBlocks(const PromptFrame& frame) {
        const auto asked = std::ranges::count_if(frame.system_blocks, is_breakpoint) +
                           std::ranges::count_if(frame.context_blocks, is_breakpoint);
        unmarked_ = std::max<std::ptrdiff_t>(0, asked - kFrameMarksMax);
    }

    json::array encode(const std::vector<PromptBlock>& blocks) {
        json::array out;
        for (const auto& block : blocks) {
            if (is_blank(block.text)) continue;
            out.push_back(text_block(block.text));
            if (is_breakpoint(block) && --unmarked_ < 0) mark(out.back());
        }
        return out;
    }

private:
    std::ptrdiff_t unmarked_;
};

// Other servers give calls names that this API refuses ("functions.Run:0").
std::string wire_id(std::string_view id) {
    std::string out(id);
    for (char& c : out)
        if (std::isalnum(static_cast<unsigned char>(c)) == 0 && c != '-') c = '_';
    return out;
}

json::value encode_block(const domain::TextBlock& block) {
    return is_blank(block.text) ? json::value(nullptr) : json::value(text_block(block.text));
}
json::value encode_block(const domain::ToolUseBlock& block) {
    json::object out{
        {"type", "tool_use"}, {"id", wire_id(block.id)}, {"name", wire_name(block.name)}};
    out["input"] = wire_input(block.input);
    return out;
}
json::value encode_block(const domain::ThinkingBlock& block) {
    json::object out{{"type", "thinking"}, {"thinking", base::to_utf8(block.text)}};
    if (!block.signature.empty()) out["signature"] = block.signature;
    return out;
}
json::value encode_block(const domain::RedactedThinkingBlock& block) {
    return {{"type", "redacted_thinking"}, {"data", block.data}};
}

json::array encode_content(const UserTurn& turn, const Request&) {
    json::array content;
    for (const auto& block : turn.blocks)
        if (!is_blank(block.text)) content.push_back(text_block(block.text));
    return content;
}
// A message that only thought is refused, so it is not sent.
json::array encode_content(const AssistantTurn& turn, const Request&) {
    json::array content;
    bool says_something = false;
    for (const auto& block : turn.blocks) {
        json::value encoded =
            std::visit([](const auto& held) { return encode_block(held); }, block);
        if (encoded.is_null()) continue;
        says_something = says_something || std::holds_alternative<domain::TextBlock>(block) ||
                         std::holds_alternative<domain::ToolUseBlock>(block);
        content.push_back(std::move(encoded));
    }
    return says_something ? content : json::array();
}
// Text alone, or blocks where there are images.
json::value result_content(const ToolAnswer& result, const Request& request) {
    const auto images = shown_images(request, result);
    if (images.empty()) return wire_text(result.content);
    json::array blocks;
    if (!is_blank(result.content)) blocks.push_back(text_block(result.content));
    for (const auto& image : images) {
        json::object block{{"type", "image"}};
        block["source"] = {
            {"type", "base64"}, {"media_type", image.mime_type}, {"data", image.base64}};
        blocks.push_back(std::move(block));
    }
    return blocks;
}
json::array encode_content(const ToolResultsTurn& turn, const Request& request) {
    json::array content;
    for (const auto& result : turn.results) {
        json::object block{{"type", "tool_result"}, {"tool_use_id", wire_id(result.tool_use_id)}};
        block["content"] = result_content(result, request);
        block["is_error"] = result.is_error;
        content.push_back(std::move(block));
    }
    return content;
}

// Neighbours of one role become one message: some servers insist that roles alternate.
void append(json::array& messages, std::string_view role, json::array content) {
    if (content.empty()) return;
    if (!messages.empty() && base::string_at(messages.back(), "role") == role) {
        auto& before = messages.back().get_object()["content"].get_array();
        for (auto& block : content) before.push_back(std::move(block));
        return;
    }
    json::object message{{"role", role}};
    message["content"] = std::move(content);
    messages.push_back(std::move(message));
}

bool is_cacheable(const json::value& block) {
    const std::string type = base::string_at(block, "type");
    return type == "text" || type == "tool_use" || type == "tool_result";
}

void mark_last(json::array& messages) {
    for (auto message = messages.rbegin(); message != messages.rend(); ++message) {
        auto& content = message->get_object()["content"].get_array();
        const auto found = std::find_if(content.rbegin(), content.rend(), is_cacheable);
        if (found != content.rend()) return mark(*found);
    }
}

void append(json::array& messages, const ConversationTurn& turn, const Request& request) {
    append(messages, std::holds_alternative<AssistantTurn>(turn) ? "assistant" : "user",
           std::visit([&](const auto& held) { return encode_content(held, request); }, turn));
}

// In the order of each_turn(), with the marks of the context blocks.
json::array encode_messages(FrameBlocks& blocks, const Request& request) {
    std::vector<PromptBlock> kept, own;
    for (const auto& block : request.frame.context_blocks)
        (block.stability == Stability::TurnScoped ? own : kept).push_back(block);
    json::array messages;
    append(messages, "user", blocks.encode(kept));
    for (const auto& turn : request.history.turns()) append(messages, *turn, request);
    append(messages, "user", blocks.encode(own));
    for (const auto& turn : request.conversation) append(messages, turn, request);
    mark_last(messages);
    return messages;
}

json::object encode_context(const ContextManagement& context) {
    json::object edit{
        {"type", "clear_tool_uses_20250919"},
        {"trigger", {{"type", "input_tokens"}, {"value", context.trigger_input_tokens}}},
        {"keep", {{"type", "tool_uses"}, {"value", context.keep_recent_tool_uses}}}};
    edit["exclude_tools"] = json::array(context.exclude_tools.begin(), context.exclude_tools.end());
    if (context.clear_at_least_input_tokens)
        edit["clear_at_least"] = {{"type", "input_tokens"},
                                  {"value", *context.clear_at_least_input_tokens}};
    json::object out;
    out["edits"] = json::array{std::move(edit)};
    return out;
}

std::size_t marks_in(const json::array& blocks) {
    return static_cast<std::size_t>(std::ranges::count_if(
        blocks, [](const auto& block) { return base::find(block, "cache_control") != nullptr; }));
}

json::object cache_diagnostics(const json::object& body) {
    std::size_t blocks = 0, marks = 0;
    const auto& messages = body.at("messages").as_array();
    for (const auto& message : messages) {
        const auto& content = message.at("content").as_array();
        blocks += content.size();
        marks += marks_in(content);
    }
    const auto& system = body.at("system").as_array();
    return {{"cache_strategy", "messages_native"},
            {"model", body.at("model")},
            {"betas", json::array()},
            {"tools_count", body.at("tools").as_array().size()},
            {"system_block_count", system.size()},
            {"conversation_message_count", messages.size()},
            {"conversation_content_block_count", blocks},
            {"system_cache_control_count", marks_in(system)},
            {"message_cache_control_count", marks},
            {"automatic_cache_control_requested", false}};
}

// The results that the server may clear: all but those of the last calls and of excluded tools.
json::object context_diagnostics(const Request& request, const ContextManagement& context) {
    std::set<std::string> excluded;
    std::vector<const ToolAnswer*> results;
    each_turn(request, [&](const ConversationTurn& turn) {
        if (const auto* said = std::get_if<AssistantTurn>(&turn)) {
            for (const auto& block : said->blocks)
                if (const auto* call = std::get_if<domain::ToolUseBlock>(&block))
                    if (std::ranges::count(context.exclude_tools, call->name) > 0)
                        excluded.insert(call->id);
        } else if (const auto* answered = std::get_if<ToolResultsTurn>(&turn)) {
            for (const auto& result : answered->results)
                if (!excluded.contains(result.tool_use_id)) results.push_back(&result);
        }
    });
    const auto kept =
        static_cast<std::size_t>(std::max<std::int64_t>(0, context.keep_recent_tool_uses));
    results.resize(results.size() - std::min(results.size(), kept));
    std::size_t bytes = 0;
    for (const auto* result : results) bytes += result->content.size();
    return {{"enabled", true},
            {"trigger_input_tokens", context.trigger_input_tokens},
            {"keep_recent_tool_uses", context.keep_recent_tool_uses},
            {"eligible_tool_result_count", results.size()},
            {"eligible_tool_result_bytes", bytes}};
}

}  // namespace

std::string endpoint_url(std::string_view base_url) {
    while (base_url.ends_with('/')) base_url.remove_suffix(1);
    std::string url(base_url);
    if (url.ends_with(std::string(kVersionPath).append(kPath))) return url;
    if (!url.ends_with(kVersionPath)) url += kVersionPath;
    return url.append(kPath);
}

json::object encode_request(const Request& request, const std::optional<ContextManagement>& context,
                            bool stream) {
    json::array tools;
    for (const auto& tool : request.tools) {
        auto schema = offered_schema(tool, SchemaMode::Open);
        if (!schema) continue;
        json::object entry{{"name", tool.name}, {"description", tool.description}};
        entry["input_schema"] = std::move(*schema);
        tools.push_back(std::move(entry));
    }
    json::object body;
    body["model"] = request.model_ref.substr(request.model_ref.find('/') + 1);
    body["max_tokens"] = request.max_output_tokens;
    if (stream) body["stream"] = true;
    body["tools"] = std::move(tools);
    if (context) body["context_management"] = encode_context(*context);
    FrameBlocks blocks(request.frame);
    body["system"] = blocks.encode(request.frame.system_blocks);
    body["messages"] = encode_messages(blocks, request);
    return body;
}

json::object request_diagnostics(const Request& request, const json::object& body,
                                 const std::optional<ContextManagement>& context) {
    json::object out{{"request_lowering_mode", "prompt_cache_blocks"}};
    out["anthropic_cache"] = cache_diagnostics(body);
    if (context) out["anthropic_context_management"] = context_diagnostics(request, *context);
    return out;
}

}  // namespace provider::anthropic_messages
