#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "provider/images/with_images_for_test.h"
#include "provider/openai_responses/patch_grammar.h"
#include "provider/openai_responses/wire.h"

namespace provider::openai_responses {
namespace {

using testing::HasSubstr;
using testing::Not;

json::value parsed(std::string_view text) {
    return base::parse_json(text).value();
}

const ToolDeclaration kRun{"Run", "Runs.",
                           parsed(R"({"type":"object","properties":{"cmd":{"type":"string"}},
                                      "required":["cmd"],"oneOf":[]})")
                               .as_object()};
const ToolDeclaration kPatch{"ApplyPatch", "A unified diff.",
                             parsed(R"({"type":"object","properties":{"patch":{"type":"string"}},
                                        "required":["patch"]})")
                                 .as_object(),
                             true};

TEST(EncodeInput, ImagesArePartsOfTheOutputOfTheirCall) {
    auto request = with_images();
    EXPECT_EQ(encode_input(request, PatchForm::Function).at(2), parsed(R"({
        "type": "function_call_output", "call_id": "c1", "output": [
            {"type": "input_text", "text": "two"},
            {"type": "input_image", "image_url": "data:image/png;base64,QUJD"}]})"));
    EXPECT_EQ(encode_input(request, PatchForm::Function).at(3).at("output"), json::value("text"));
    request.images.clear();
    EXPECT_EQ(encode_input(request, PatchForm::Function).at(2).at("output"), json::value("two"));
}

TEST(EndpointUrl, EndsInResponsesOnce) {
    for (const auto* base : {"https://host/v1", "https://host/v1/", "https://host/v1/responses/"})
        EXPECT_EQ(endpoint_url(base), "https://host/v1/responses");
}

TEST(EncodeFrame, HoldsEverythingButTheInput) {
    Request request{.model_ref = "relay/vendor/model-1",
                    .frame = {.system_blocks = {{Stability::Stable, "Be terse."},
                                                {Stability::AgentScoped, ""},
                                                {Stability::AgentScoped, "You are m\xff."}}},
                    .tools = {kRun, kPatch},
                    .max_output_tokens = 100};
    EXPECT_EQ(json::value(encode_frame(request)), parsed(R"({
        "model": "vendor/model-1", "instructions": "Be terse.\n\nYou are m\ufffd.",
        "tools": [{"type": "function", "name": "Run", "description": "Runs.", "strict": false,
                   "parameters": {"type": "object", "properties": {"cmd": {"type": "string"}},
                                  "required": ["cmd"], "additionalProperties": false}},
                  {"type": "function", "name": "ApplyPatch", "description": "A unified diff.",
                   "strict": false,
                   "parameters": {"type": "object", "properties": {"patch": {"type": "string"}},
                                  "required": ["patch"], "additionalProperties": false}}],
        "tool_choice": "auto", "parallel_tool_calls": false, "store": false,
        "max_output_tokens": 100})"));
}

// contract: FRAME-16
TEST(EncodeFrame, TheCacheKeyIsSentWhenThereIsOne) {
    EXPECT_FALSE(encode_frame({}).contains("prompt_cache_key"));
    EXPECT_EQ(encode_frame({.frame = {.cache = PromptCache{.prompt_cache_key = "main:ctx:1"}}})
                  .at("prompt_cache_key"),
              "main:ctx:1");
}

Request conversation() {
    return {.conversation =
                {UserTurn{{{Stability::AgentScoped, "context"},
                           {Stability::TurnScoped, ""},
                           {Stability::TurnScoped, "prompt"}}},
                 AssistantTurn{{domain::ThinkingBlock{"hm", "sig"}, domain::TextBlock{"one"},
                                domain::TextBlock{"two"},
                                domain::ToolUseBlock{"c1", "Run", {{"b", 1}, {"a", "x"}}},
                                domain::TextBlock{"three"},
                                domain::ToolUseBlock{"c2", "ApplyPatch", {{"patch", "***"}}},
                                domain::ToolUseBlock{"c3", "ApplyPatch", {{"odd", 1}}}}},
                 ToolResultsTurn{{{"c1", "done", false}, {"c2", "no\xff", true}, {"c3", "", true}}},
                 AssistantTurn{{domain::RedactedThinkingBlock{"x"}}}, UserTurn{}},
            .tools = {kRun, kPatch}};
}

TEST(EncodeInput, AFullConversationKeepsItsOrderAndPairs) {
    EXPECT_EQ(json::value(encode_input(conversation(), PatchForm::Function)), parsed(R"([
        {"type": "message", "role": "user", "content": [
            {"type": "input_text", "text": "context"}, {"type": "input_text", "text": "prompt"}]},
        {"type": "message", "role": "assistant", "content": [
            {"type": "output_text", "text": "one"}, {"type": "output_text", "text": "two"}]},
        {"type": "function_call", "call_id": "c1", "name": "Run",
         "arguments": "{\"a\":\"x\",\"b\":1}"},
        {"type": "message", "role": "assistant", "content": [
            {"type": "output_text", "text": "three"}]},
        {"type": "function_call", "call_id": "c2", "name": "ApplyPatch",
         "arguments": "{\"patch\":\"***\"}"},
        {"type": "function_call", "call_id": "c3", "name": "ApplyPatch",
         "arguments": "{\"odd\":1}"},
        {"type": "function_call_output", "call_id": "c1", "output": "done"},
        {"type": "function_call_output", "call_id": "c2", "output": "no\ufffd"},
        {"type": "function_call_output", "call_id": "c3", "output": ""}])"));
}

TEST(EncodeInput, AFreeformPatchAndItsResultGoOutAsCustomItems) {
    const auto items = encode_input(conversation(), PatchForm::Freeform);
    EXPECT_EQ(items.at(4), parsed(R"({"type": "custom_tool_call", "call_id": "c2",
                                      "name": "ApplyPatch", "input": "***"})"));
    EXPECT_EQ(base::string_at(items.at(5), "type"), "function_call");
    EXPECT_EQ(base::string_at(items.at(6), "type"), "function_call_output");
    EXPECT_EQ(items.at(7), parsed(R"({"type": "custom_tool_call_output", "call_id": "c2",
                                      "output": "no\ufffd"})"));
    EXPECT_EQ(base::string_at(items.at(8), "type"), "function_call_output");
}

// contract: REPO-04
TEST(EncodeTools, APatchToolIsFreeTextUnderAGrammarWhereThatExists) {
    const auto tools = encode_tools({kRun, kPatch}, PatchForm::Freeform).value();
    EXPECT_EQ(base::string_at(tools.at(0), "type"), "function");
    EXPECT_EQ(base::string_at(tools.at(1), "type"), "custom");
    EXPECT_EQ(tools.at(1).at("format").at("syntax"), "lark");
    // Every mark of the dialect has its rule, and the description does not ask for a diff.
    for (const auto* mark :
         {"*** Begin Patch", "*** End Patch", "*** Add File: ", "*** Delete File: ",
          "*** Update File: ", "*** Move to: ", "@@", "*** End of File"})
        EXPECT_THAT(base::string_at(tools.at(1).at("format"), "definition"), HasSubstr(mark));
    EXPECT_THAT(base::string_at(tools.at(1), "description"), Not(HasSubstr("diff")));
}

}  // namespace
}  // namespace provider::openai_responses
