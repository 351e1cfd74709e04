#include <gtest/gtest.h>

#include "provider/anthropic_messages/wire.h"
#include "provider/images/with_images_for_test.h"

namespace provider::anthropic_messages {
namespace {

json::value parsed(std::string_view text) {
    return base::parse_json(text).value();
}

TEST(EncodeRequest, ImagesAreInTheResultOfTheirCall) {
    const auto messages = [](const Request& request) {
        return encode_request(request).at("messages").as_array().at(1).at("content");
    };
    auto request = with_images();
    EXPECT_EQ(messages(request), parsed(R"([
        {"type": "tool_result", "tool_use_id": "c1", "is_error": false, "content": [
            {"type": "text", "text": "two"},
            {"type": "image", "source": {"type": "base64", "media_type": "image/png",
                                         "data": "QUJD"}}]},
        {"type": "tool_result", "tool_use_id": "c2", "content": "text", "is_error": false,
         "cache_control": {"type": "ephemeral"}}])"));
    request.images.clear();
    EXPECT_EQ(messages(request).at(0).at("content"), json::value("two"));
}

TEST(EndpointUrl, HasEachPartOnce) {
    for (const auto* base :
         {"https://host/api", "https://host/api/v1/", "https://host/api/v1/messages"})
        EXPECT_EQ(endpoint_url(base), "https://host/api/v1/messages");
}

// contract: FRAME-26
// contract: FRAME-28
// contract: FRAME-31
TEST(EncodeRequest, AFullConversationKeepsItsOrderPairsAndThinking) {
    const Request request{
        .model_ref = "anthropic/claude-1",
        .frame = {.system_blocks = {{Stability::Stable, "Be terse."},
                                    {Stability::Stable, "Be true.", true},
                                    {Stability::AgentScoped, "You are main.", true},
                                    {Stability::AgentScoped, "", true},
                                    {Stability::AgentScoped, "Runtime: x"},
                                    {Stability::TurnScoped, "now"}},
                  .context_blocks = {{Stability::AgentScoped, "context", true},
                                     {Stability::TurnScoped, ""},
                                     {Stability::TurnScoped, "prompt"}},
                  .cache = PromptCache{.prompt_cache_key = "main:ctx:1"}},
        .conversation = {AssistantTurn{{domain::ThinkingBlock{"hm", "sig"},
                                        domain::RedactedThinkingBlock{"enc"},
                                        domain::ThinkingBlock{"unsigned", ""},
                                        domain::TextBlock{"one"}, domain::TextBlock{""},
                                        domain::ToolUseBlock{"f.Run:0", "Run", {{"b", 1}}},
                                        domain::ToolUseBlock{"c2", "Look", "bare"}}},
                         ToolResultsTurn{{{"f.Run:0", "done", false}, {"c2", "no\xff", true}}},
                         AssistantTurn{}, UserTurn{{{Stability::TurnScoped, "go on"}}},
                         AssistantTurn{{domain::ThinkingBlock{"last", "sig"}}}},
        .tools = {{"Run", "Runs.", parsed(R"({"oneOf":[{"type":"object"}]})").as_object()}},
        .max_output_tokens = 100};
    EXPECT_EQ(json::value(encode_request(request)), parsed(R"({
        "model": "claude-1", "max_tokens": 100,
        "tools": [{"name": "Run", "description": "Runs.",
                   "input_schema": {"type": "object"}}],
        "system": [
            {"type": "text", "text": "Be terse."},
            {"type": "text", "text": "Be true.", "cache_control": {"type": "ephemeral"}},
            {"type": "text", "text": "You are main.", "cache_control": {"type": "ephemeral"}},
            {"type": "text", "text": "Runtime: x"},
            {"type": "text", "text": "now"}],
        "messages": [
            {"role": "user", "content": [
                {"type": "text", "text": "context", "cache_control": {"type": "ephemeral"}},
                {"type": "text", "text": "prompt"}]},
            {"role": "assistant", "content": [
                {"type": "thinking", "thinking": "hm", "signature": "sig"},
                {"type": "redacted_thinking", "data": "enc"},
                {"type": "thinking", "thinking": "unsigned"},
                {"type": "text", "text": "one"},
                {"type": "tool_use", "id": "f_Run_0", "name": "Run", "input": {"b": 1}},
                {"type": "tool_use", "id": "c2", "name": "Look", "input": {"input": "bare"}}]},
            {"role": "user", "content": [
                {"type": "tool_result", "tool_use_id": "f_Run_0", "content": "done",
                 "is_error": false},
                {"type": "tool_result", "tool_use_id": "c2", "content": "no\ufffd",
                 "is_error": true},
                {"type": "text", "text": "go on", "cache_control": {"type": "ephemeral"}}]}]})"));
}

TEST(EncodeRequest, BlankTextIsNotSentAndControlCharactersAreVisible) {
    const Request request{
        .model_ref = "anthropic/claude-1",
        .frame = {.system_blocks = {{Stability::Stable, " \n", true}, {Stability::Stable, "Be."}},
                  .context_blocks = {{Stability::TurnScoped, "\t"},
                                     {Stability::TurnScoped, "prompt"}}},
        .conversation = {AssistantTurn{{domain::TextBlock{"\n\n"},
                                        domain::ToolUseBlock{"c1", "a b.c", json::object()}}},
                         ToolResultsTurn{{{"c1", std::string("a\0\x1b[31m", 7), false}}},
                         AssistantTurn{{domain::TextBlock{"  "}}}}};
    const json::object body = encode_request(request);
    EXPECT_EQ(body.at("system"), parsed(R"([{"type": "text", "text": "Be."}])"));
    EXPECT_EQ(body.at("messages"), parsed(R"([
        {"role": "user", "content": [{"type": "text", "text": "prompt"}]},
        {"role": "assistant", "content": [
            {"type": "tool_use", "id": "c1", "name": "a_b_c", "input": {}}]},
        {"role": "user", "content": [
            {"type": "tool_result", "tool_use_id": "c1", "content": "a\\x00\\x1b[31m",
             "is_error": false, "cache_control": {"type": "ephemeral"}}]}])"));
}

// contract: FRAME-27
TEST(EncodeRequest, EveryBreakpointBecomesAMarkInItsPlaceUpToTheNumberAServerTakes) {
    const auto marked = [](const Request& request) {
        std::vector<std::string> texts;
        const json::object body = encode_request(request);
        const auto collect = [&](const json::value& blocks) {
            for (const auto& block : blocks.as_array())
                if (base::find(block, "cache_control"))
                    texts.push_back(base::string_at(block, "text"));
        };
        collect(body.at("system"));
        for (const auto& message : body.at("messages").as_array()) collect(message.at("content"));
        return texts;
    };
    Request request{.model_ref = "anthropic/claude-1",
                    .frame = {.system_blocks = {{Stability::Stable, "a", true},
                                                {Stability::Stable, "b"},
                                                {Stability::AgentScoped, "c"}},
                              .context_blocks = {{Stability::AgentScoped, "d", true},
                                                 {Stability::TurnScoped, "e"}}}};
    EXPECT_THAT(marked(request), testing::ElementsAre("a", "d", "e"));
    for (auto& block : request.frame.system_blocks) block.cache_breakpoint = true;
    EXPECT_THAT(marked(request), testing::ElementsAre("b", "c", "d", "e"));
    for (auto& block : request.frame.system_blocks) block.cache_breakpoint = false;
    request.frame.context_blocks[0].cache_breakpoint = false;
    EXPECT_THAT(marked(request), testing::ElementsAre("e"));
}

Request with_results() {
    Request request{.model_ref = "anthropic/claude-1",
                    .conversation = {UserTurn{{{Stability::TurnScoped, "go"}}}}};
    for (const auto* name : {"Run", "ApplyPatch", "Run", "Run"}) {
        const std::string id = std::to_string(request.conversation.size());
        request.conversation.emplace_back(
            AssistantTurn{{domain::ToolUseBlock{id, name, json::object()}}});
        request.conversation.emplace_back(ToolResultsTurn{{{id, "sk-secret!", false}}});
    }
    return request;
}

// contract: FRAME-32
// contract: FRAME-33
TEST(EncodeRequest, ContextManagementAddsItsOptionsAndNothingElse) {
    const Request request = with_results();
    json::object body = encode_request(
        request, ContextManagement{.clear_at_least_input_tokens = 5000, .exclude_tools = {"A"}});
    EXPECT_EQ(body.at("context_management"), parsed(R"({"edits": [{
        "type": "clear_tool_uses_20250919",
        "trigger": {"type": "input_tokens", "value": 100000},
        "keep": {"type": "tool_uses", "value": 3}, "exclude_tools": ["A"],
        "clear_at_least": {"type": "input_tokens", "value": 5000}}]})"));
    body.erase("context_management");
    EXPECT_EQ(json::value(body), json::value(encode_request(request)));
}

// contract: FRAME-34
TEST(RequestDiagnostics, AreCountsAndSizesOnly) {
    const Request request = with_results();
    const std::optional<ContextManagement> context{{.keep_recent_tool_uses = 1}};
    EXPECT_EQ(json::value(request_diagnostics(request, encode_request(request, context), context)),
              parsed(R"({
        "request_lowering_mode": "prompt_cache_blocks",
        "anthropic_cache": {"cache_strategy": "messages_native", "model": "claude-1", "betas": [],
            "tools_count": 0, "system_block_count": 0, "conversation_message_count": 9,
            "conversation_content_block_count": 9, "system_cache_control_count": 0,
            "message_cache_control_count": 1, "automatic_cache_control_requested": false},
        "anthropic_context_management": {"enabled": true, "trigger_input_tokens": 100000,
            "keep_recent_tool_uses": 1, "eligible_tool_result_count": 2,
            "eligible_tool_result_bytes": 20}})"));
}

// contract: REPO-05
TEST(EncodeRequest, APatchToolKeepsItsJsonForm) {
    const auto schema = parsed(R"({"type": "object", "properties": {"patch": {"type": "string"}},
        "required": ["patch"], "additionalProperties": false})");
    const Request request{.model_ref = "anthropic/claude-1",
                          .tools = {{"ApplyPatch", "A unified diff.", schema.as_object()}}};
    const json::value encoded = encode_request(request);
    const auto& tool = encoded.at("tools").at(0);
    EXPECT_EQ(base::string_at(tool, "name"), "ApplyPatch");
    EXPECT_EQ(tool.at("input_schema"), schema);
}

}  // namespace
}  // namespace provider::anthropic_messages
