#include "provider/openai_codex/wire.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "provider/openai_responses/stream.h"

namespace provider::openai_codex {
namespace {

using testing::HasSubstr;

json::value parsed(std::string_view text) {
    return base::parse_json(text).value();
}

TEST(EndpointUrl, HasEachPartOnce) {
    for (const auto* base :
         {"https://host/api", "https://host/api/codex/", "https://host/api/codex/responses"})
        EXPECT_EQ(endpoint_url(base), "https://host/api/codex/responses");
}

// contract: PROV-08
// contract: PROV-09
// contract: PROV-10
TEST(EncodeRequest, HasNoOutputLimitAndExplicitReasoning) {
    Request request{.model_ref = "openai-codex/gpt-5",
                    .frame = {.system_blocks = {{Stability::Stable, "Be terse."}},
                              .context_blocks = {{Stability::TurnScoped, "Hi"}},
                              .cache = PromptCache{.prompt_cache_key = "main:ctx:1"}},
                    .max_output_tokens = 100};
    const json::value expected = parsed(R"({
        "model": "gpt-5", "instructions": "Be terse.", "tools": [], "tool_choice": "auto",
        "parallel_tool_calls": false, "store": false, "prompt_cache_key": "main:ctx:1",
        "stream": true, "reasoning": null, "include": [],
        "input": [{"type": "message", "role": "user",
                   "content": [{"type": "input_text", "text": "Hi"}]}]})");
    EXPECT_EQ(json::value(encode_request(request, std::nullopt)), expected);
    json::object with_effort = expected.as_object();
    with_effort["reasoning"] = {{"effort", "low"}};
    with_effort["include"] = json::array{"reasoning.encrypted_content"};
    EXPECT_EQ(json::value(encode_request(request, "low")), json::value(with_effort));
}

TEST(RequestDiagnostics, SayWhatWasAskedFor) {
    EXPECT_EQ(json::value(request_diagnostics({.conversation = {AssistantTurn{}}}, "high")),
              parsed(R"({"request_lowering_mode": "full_request",
        "incremental_continuation": {"status": "fallback_full_request",
            "fallback_reason": "codex_incremental_continuation_unsupported"},
        "openai_request_controls": {"reasoning_sent": true, "reasoning_effort": "high",
            "include_reasoning_encrypted_content": true, "max_output_tokens_sent": false,
            "max_output_tokens_unsupported": true}})"));
}

// Gives the events until one ends the stream; a broken-off one otherwise.
Outcome read(const std::vector<std::string_view>& events) {
    openai_responses::StreamReader reader;
    for (const auto event : events)
        if (auto step = reader.take(event); step.end) return std::move(*step.end);
    return reader.stop({.status = 200});
}

constexpr std::string_view kTextItem =
    R"({"type":"response.output_item.done","item":{"type":"message","content":[
        {"type":"output_text","text":"Looking."}]}})";
constexpr std::string_view kCallItem =
    R"({"type":"response.output_item.done","item":{"type":"function_call","call_id":"c1",
        "name":"Run","arguments":"{\"a\":1}"}})";

// contract: PROV-07
TEST(StreamReader, TheTerminalEventGivesTheBlocksOfAPlainResponse) {
    const std::string document = R"({"id":"r","status":"completed","output":[
        {"type":"message","content":[{"type":"output_text","text":"Looking."}]},
        {"type":"function_call","call_id":"c1","name":"Run","arguments":"{\"a\":1}"}],
        "usage":{"input_tokens":10,"output_tokens":5}})";
    const std::string terminal = R"({"type":"response.completed","response":)" + document + "}";
    const auto plain = openai_responses::parse_response({200, {}, document}, base::Time{});
    ASSERT_TRUE(plain.has_value()) << plain.error().message;
    EXPECT_EQ(read({R"({"type":"response.created","response":{"status":"in_progress"}})",
                    R"({"type":"response.output_text.delta","delta":"Look"})",
                    R"({"type":"response.hologram"})", "17", terminal}),
              Outcome(plain->reply));
}

// contract: PROV-11
TEST(StreamReader, OutputThatTheTerminalEventLacksIsRebuiltFromItems) {
    for (const std::string_view terminal :
         {R"({"type":"response.completed","response":{"status":"completed","output":[]}})",
          R"({"type":"response.completed","response":{"output":null}})",
          R"({"type":"response.done","response":{"status":"completed"}})"}) {
        const Outcome outcome = read({kTextItem, kCallItem, terminal});
        ASSERT_TRUE(outcome.has_value()) << outcome.error().message;
        EXPECT_EQ(outcome->blocks,
                  (std::vector<domain::Block>{domain::TextBlock{"Looking."},
                                              domain::ToolUseBlock{"c1", "Run", {{"a", 1}}}}));
    }
}

TEST(StreamReader, AFreeformPatchBecomesTheInputOfTheTool) {
    const Outcome outcome = read(
        {R"({"type":"response.output_item.done","item":{"type":"custom_tool_call","call_id":"c1",
             "name":"ApplyPatch","input":"*** Begin Patch\n*** End Patch"}})",
         R"({"type":"response.completed","response":{}})"});
    ASSERT_TRUE(outcome.has_value()) << outcome.error().message;
    EXPECT_EQ(outcome->blocks,
              (std::vector<domain::Block>{domain::ToolUseBlock{
                  "c1", "ApplyPatch", {{"patch", "*** Begin Patch\n*** End Patch"}}}}));
}

// contract: PROV-12
// contract: PROV-13
TEST(StreamReader, EveryEndIsClassified) {
    struct Row {
        std::string_view event;
        FailureKind kind;
        std::string_view message;
    };
    const std::vector<Row> rows{
        {R"({"type":"response.failed","response":{"error":{"code":"rate_limit_exceeded",
             "message":"slower"}}})",
         FailureKind::RateLimited, "the response failed (rate_limit_exceeded): slower"},
        {R"({"type":"response.failed","response":{"error":{"code":"server_is_overloaded"}}})",
         FailureKind::ServerError, ""},
        {R"({"type":"x","response":{"status":"failed","error":{"code":"slow_down"}}})",
         FailureKind::ServerError, ""},
        {R"({"type":"response.failed","response":{"error":{"code":"insufficient_quota"}}})",
         FailureKind::AuthError, ""},
        {R"({"type":"response.failed","response":{"error":{"code":"context_length_exceeded"}}})",
         FailureKind::ContextLengthExceeded, ""},
        {R"({"type":"response.failed","response":{"error":{"code":"invalid_prompt"}}})",
         FailureKind::ContractError, ""},
        {R"({"type":"response.failed"})", FailureKind::ServerError, "without a reason"},
        {R"({"type":"error","error":{"type":null,"code":"500","message":"m"}})",
         FailureKind::ServerError, ""},
        {R"({"type":"error","error":{"type":null,"code":null,"message":"m"}})",
         FailureKind::ServerError, ""},
        {R"({"type":"error","error":{"code":"server_error","message":"m"}})",
         FailureKind::ServerError, ""},
        {R"({"type":"error","code":"rate_limit_exceeded","message":"m"})", FailureKind::RateLimited,
         ""},
        {R"({"type":"response.incomplete","response":{"incomplete_details":
             {"reason":"content_filter"}}})",
         FailureKind::ContractError, "incomplete (content_filter)"},
        {R"({"type":"response.incomplete","response":{"incomplete_details":
             {"reason":"max_output_tokens"}}})",
         FailureKind::ContractError, "incomplete (max_output_tokens)"},
        {R"({"type":"response.incomplete"})", FailureKind::ContractError, "no reason given"},
        {R"({"type":"x","response":{"status":"cancelled"}})", FailureKind::ServerError,
         "cancelled"},
        {"[DONE]", FailureKind::InvalidResponse, "ended before the response did"},
        {"{oops", FailureKind::InvalidResponse, "not valid JSON"},
        {R"({"type":"response.output_item.done"})", FailureKind::InvalidResponse, "no item"},
        {R"({"type":"response.completed"})", FailureKind::InvalidResponse, "neither output"},
        {R"({"type":"response.created"})", FailureKind::InvalidResponse,
         "ended before the response did"},
    };
    for (const auto& row : rows) {
        const Outcome outcome = read({row.event});
        ASSERT_FALSE(outcome.has_value()) << row.event;
        EXPECT_EQ(outcome.error().kind, row.kind) << row.event;
        EXPECT_THAT(outcome.error().message, HasSubstr(std::string(row.message)));
        EXPECT_EQ(outcome.error().diagnostics->stage, "streaming_response_body");
    }
    EXPECT_THAT(read({}).error().message, HasSubstr("not an event stream"));
}

TEST(StreamReader, TextUpToTheOutputLimitIsAnAnswer) {
    const Outcome outcome =
        read({kTextItem, R"({"type":"response.incomplete","response":{"status":"incomplete",
                            "incomplete_details":{"reason":"max_output_tokens"}}})"});
    ASSERT_TRUE(outcome.has_value()) << outcome.error().message;
    EXPECT_EQ(outcome->stop_reason, "max_output_tokens");
}

TEST(StreamReader, AFailureKeepsItsUsage) {
    EXPECT_EQ(read({R"({"type":"response.failed","response":{"error":{},
                        "usage":{"input_tokens":3,"output_tokens":1}}})"})
                  .error()
                  .usage,
              (domain::TokenUsage{3, 1, 4}));
}

TEST(StreamReader, ItemsAreBounded) {
    openai_responses::StreamReader reader;
    for (std::size_t i = 0; i < openai_responses::kOutputItemsMax; ++i)
        EXPECT_FALSE(reader.take(kTextItem).end);
    const auto step = reader.take(kTextItem);
    ASSERT_TRUE(step.end && !*step.end);
    EXPECT_EQ(step.end->error().kind, FailureKind::InvalidResponse);
}

TEST(ParseRefusal, ReadsTheErrorAndTheDetailOfTheGateway) {
    EXPECT_EQ(parse_refusal({400, {}, R"({"detail":"Unsupported model"})"}, {}).message,
              "HTTP 400: Unsupported model");
    EXPECT_EQ(parse_refusal({429, {}, R"({"error":{"type":"usage_limit_reached"}})"}, {}).kind,
              FailureKind::RateLimited);
}

}  // namespace
}  // namespace provider::openai_codex
