#include "provider/openai_responses/codec.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "provider/conformance.h"
#include "tests/support/fake_model_server.h"
#include "tests/support/run_until.h"
#include "tests/support/transport_suite.h"

namespace provider {
namespace {

using conformance::question;
using test_support::Contract;
using test_support::FakeModelServer;
using test_support::run_until;
using test_support::ServerReply;
using testing::SizeIs;

const domain::ToolUseBlock kCall{"call_7", "Run", {{"cmd", "ls"}, {"a", 1}}};

ServerReply calls_run(std::string_view response_id) {
    return test_support::responds(
        {{{"type", "reasoning"}, {"id", "rs_1"}, {"summary", json::array()}},
         {{"type", "message"},
          {"id", "msg_1"},
          {"role", "assistant"},
          {"content", {{{"type", "output_text"}, {"text", "Looking."}, {"annotations", {1}}}}}},
         {{"type", "function_call"},
          {"id", "fc_1"},
          {"status", "completed"},
          {"call_id", "call_7"},
          {"name", "Run"},
          {"arguments", "{ \"cmd\": \"ls\", \"a\": 1 }"}}},
        response_id);
}

class OpenaiResponsesTest : public testing::Test {
protected:
    static Request first_round() {
        Request request = question();
        request.frame.cache = PromptCache{"main", "main:ctx:1", "f1"};
        request.tools.own().push_back({"Run", "Runs.", {{"type", "object"}}});
        return request;
    }
    // What a turn asks after the tool of calls_run() has answered.
    static Request second_round() {
        Request request = first_round();
        request.conversation.emplace_back(AssistantTurn{{domain::TextBlock{"Looking."}, kCall}});
        request.conversation.emplace_back(ToolResultsTurn{{{"call_7", "README", false}}});
        return request;
    }
    Outcome ask(const Request& request) {
        conformance::Asked asked;
        asked.ask(provider, request);
        EXPECT_TRUE(run_until(loop, [&] { return asked.is_done(); }));
        return asked.outcomes.at(0);
    }
    // The body of the last request, and why it was sent so.
    json::value body() const { return base::parse_json(server.requests().back().body).value(); }
    bool last_was_full() const {
        const json::value last = body();
        return !base::find(last, "previous_response_id") && last.at("input").as_array().size() > 1;
    }
    static std::string reason(const Outcome& outcome) {
        if (!outcome) return "failed: " + outcome.error().message;
        const json::value& said = outcome->request_diagnostics.at("incremental_continuation");
        return base::string_at(said, "fallback_reason", base::string_at(said, "status"));
    }

    FakeModelServer server;
    base::AsioLoop loop;
    base::SystemClock clock;
    HttpClient http{loop, {.proxy = ""}};
    HttpTransport provider{http, clock,
                           openai_responses::make_codec({.base_url = server.base_url() + "/v1",
                                                         .api_key = "sk-live-0123456789",
                                                         .keeps_state = true})};
};

TEST_F(OpenaiResponsesTest, SendsOneJsonDocumentWithTheKey) {
    server.enqueue(test_support::says("hello", Contract::Responses));
    const Outcome outcome = ask(first_round());
    ASSERT_TRUE(outcome.has_value()) << outcome.error().message;
    EXPECT_EQ(outcome->usage, (domain::TokenUsage{10, 5, 15}));
    const auto requests = server.requests();
    ASSERT_THAT(requests, SizeIs(1));
    EXPECT_EQ(requests[0].path, "/v1/responses");
    EXPECT_EQ(requests[0].headers.at("authorization"), "Bearer sk-live-0123456789");
    EXPECT_FALSE(body().as_object().contains("stream"));
    EXPECT_FALSE(body().as_object().contains("reasoning"));
    EXPECT_EQ(reason(outcome), "not_applicable_initial_request");
}

// contract: FRAME-18
TEST_F(OpenaiResponsesTest, ARoundThatOnlyAppendsSendsWhatIsNew) {
    server.enqueue(calls_run("resp_1"));
    server.enqueue(calls_run("resp_2"));
    server.enqueue(test_support::says("done", Contract::Responses));
    ASSERT_TRUE(ask(first_round()).has_value());
    const Outcome second = ask(second_round());
    ASSERT_EQ(reason(second), "hit");
    EXPECT_EQ(base::string_at(second->request_diagnostics, "request_lowering_mode"),
              "incremental_continuation");
    json::object expected = base::parse_json(server.requests()[0].body).value().as_object();
    expected["previous_response_id"] = "resp_1";
    expected["input"] = json::array{
        {{"type", "function_call_output"}, {"call_id", "call_7"}, {"output", "README"}}};
    EXPECT_EQ(body(), json::value(expected));

    Request edited = second_round();
    edited.conversation.emplace_back(AssistantTurn{{domain::TextBlock{"Looking."}, kCall}});
    edited.conversation.emplace_back(ToolResultsTurn{{{"call_7", "README", false}}});
    edited.frame.context_blocks[0].text = "Say something else.";
    EXPECT_EQ(reason(ask(edited)), "conversation_not_strict_append_only");
    EXPECT_TRUE(last_was_full());
}

// contract: FRAME-19
// contract: FRAME-20
// contract: FRAME-21
// contract: FRAME-22
TEST_F(OpenaiResponsesTest, AnotherShapeOrNoScopeIsAFullRequest) {
    using Edit = std::function<void(Request&)>;
    const std::vector<std::pair<std::string_view, Edit>> rows{
        {"missing_continuation_scope", [](auto& r) { r.frame.cache.reset(); }},
        {"not_applicable_initial_request",
         [](auto& r) { r.frame.cache->prompt_cache_key = "main:ctx:2"; }},
        {"request_shape_changed", [](auto& r) { r.model_ref = "test/model-2"; }},
        {"request_shape_changed", [](auto& r) { r.frame.system_blocks[0].text += "!"; }},
        {"request_shape_changed", [](auto& r) { r.tools.own()[0].input_schema["title"] = "x"; }},
        {"request_shape_changed", [](auto& r) { r.tools.own().clear(); }},
        {"request_shape_changed", [](auto& r) { r.max_output_tokens = 1; }},
        {"conversation_not_strict_append_only", [](auto& r) { r.conversation.resize(1); }},
        {"conversation_not_strict_append_only", [](auto& r) { r.frame.context_blocks.clear(); }},
        // A compaction: history rewritten, or, to be sure, only announced.
        {"conversation_compacted",
         [](auto& r) {
             ++r.frame.cache->compression_epoch;
             r.conversation[0] = UserTurn{{{Stability::TurnScoped, "Summary: it looked."}}};
             r.conversation[1] = UserTurn{{{Stability::TurnScoped, "Go on."}}};
         }},
        {"conversation_compacted", [](auto& r) { ++r.frame.cache->compression_epoch; }},
    };
    for (const auto& [expected, edit] : rows) {
        server.enqueue(calls_run("resp_1"));
        server.enqueue(test_support::says("done", Contract::Responses));
        ASSERT_TRUE(ask(first_round()).has_value());
        Request request = second_round();
        edit(request);
        EXPECT_EQ(reason(ask(request)), expected);
        EXPECT_TRUE(last_was_full()) << expected;
    }
}

// contract: FRAME-17
TEST_F(OpenaiResponsesTest, AgentsDoNotContinueEachOther) {
    for (const auto* id : {"resp_a", "resp_b", "resp_c", "resp_d"}) server.enqueue(calls_run(id));
    Request other_first = first_round(), other_second = second_round();
    other_first.frame.cache->agent_id = other_second.frame.cache->agent_id = "other";
    ASSERT_TRUE(ask(first_round()).has_value());
    ASSERT_TRUE(ask(other_first).has_value());
    ASSERT_TRUE(ask(second_round()).has_value());
    EXPECT_EQ(base::string_at(body(), "previous_response_id"), "resp_a");
    ASSERT_TRUE(ask(other_second).has_value());
    EXPECT_EQ(base::string_at(body(), "previous_response_id"), "resp_b");
}

// contract: FRAME-23
// contract: FRAME-29
TEST_F(OpenaiResponsesTest, AnyErrorForgetsTheContinuation) {
    server.enqueue(calls_run("resp_1"));
    server.enqueue(test_support::status_reply(500));
    server.enqueue(test_support::says("done", Contract::Responses));
    ASSERT_TRUE(ask(first_round()).has_value());
    ASSERT_FALSE(ask(second_round()).has_value());
    EXPECT_EQ(base::string_at(body(), "previous_response_id"), "resp_1");
    EXPECT_EQ(reason(ask(second_round())), "not_applicable_initial_request");
    EXPECT_TRUE(last_was_full());
}

// contract: FRAME-24
TEST_F(OpenaiResponsesTest, AResponseWithoutIdIsNotContinued) {
    server.enqueue(calls_run(""));
    server.enqueue(test_support::says("done", Contract::Responses));
    ASSERT_TRUE(ask(first_round()).has_value());
    EXPECT_EQ(reason(ask(second_round())), "not_applicable_initial_request");
    EXPECT_TRUE(last_was_full());
}

TEST_F(OpenaiResponsesTest, APreviousResponseThatIsUnknownIsSentInFullWithinTheSameExchange) {
    server.enqueue(calls_run("resp_1"));
    server.enqueue(
        test_support::error_reply(400, "invalid_request_error", "previous_response_not_found"));
    server.enqueue(test_support::says("done", Contract::Responses));
    ASSERT_TRUE(ask(first_round()).has_value());
    const Outcome outcome = ask(second_round());
    EXPECT_EQ(reason(outcome), "previous_response_unknown");
    EXPECT_EQ(base::string_at(outcome->request_diagnostics, "request_lowering_mode"),
              "full_request");
    EXPECT_TRUE(last_was_full());
    EXPECT_EQ(server.request_count(), 3U);
}

TEST_F(OpenaiResponsesTest, AFullRequestIsNotSentTwice) {
    server.always(
        test_support::error_reply(400, "invalid_request_error", "previous_response_not_found"));
    const Outcome outcome = ask(second_round());
    ASSERT_FALSE(outcome.has_value());
    EXPECT_EQ(outcome.error().kind, FailureKind::ContractError);
    EXPECT_EQ(server.request_count(), 1U);
}

// Servers that keep no state, as they answer: LiteLLM, a FastAPI server, one that is silent.
TEST_F(OpenaiResponsesTest, AServerThatRefusesAReferenceGetsAllInTheSameRoundAndFromThenOn) {
    server.enqueue(calls_run("resp_1"));
    server.enqueue({.status = 404,
                    .body = R"({"error":{"message":"Response with id resp_1 not found",)"
                            R"("type":"None","param":"None","code":"404"}})"});
    server.enqueue(test_support::says("done", Contract::Responses));
    ASSERT_TRUE(ask(first_round()).has_value());
    EXPECT_EQ(reason(ask(second_round())), "previous_response_unknown");
    EXPECT_TRUE(last_was_full());
    server.enqueue(calls_run("resp_1"));
    server.enqueue(test_support::says("done", Contract::Responses));
    ASSERT_TRUE(ask(first_round()).has_value());
    EXPECT_EQ(reason(ask(second_round())), "previous_response_not_kept");
    EXPECT_TRUE(last_was_full());
}

TEST_F(OpenaiResponsesTest, TheWholeConversationIsTheDefault) {
    HttpTransport stateless(http, clock,
                            openai_responses::make_codec({.base_url = server.base_url()}));
    const auto ask_stateless = [&](const Request& request) {
        conformance::Asked asked;
        asked.ask(stateless, request);
        EXPECT_TRUE(run_until(loop, [&] { return asked.is_done(); }));
        return asked.outcomes.at(0);
    };
    server.enqueue(calls_run("resp_1"));
    server.enqueue(test_support::says("done", Contract::Responses));
    ASSERT_TRUE(ask_stateless(first_round()).has_value());
    EXPECT_EQ(body().at("store"), false);
    EXPECT_EQ(reason(ask_stateless(second_round())), "provider_keeps_no_state");
    EXPECT_TRUE(last_was_full());
    EXPECT_EQ(body().at("store"), false);

    server.enqueue(test_support::says("done", Contract::Responses));
    ASSERT_TRUE(ask(first_round()).has_value());
    EXPECT_EQ(body().at("store"), true) << "a response can be continued only where it is kept";
}

TEST_F(OpenaiResponsesTest, CancelAlsoEndsTheSecondRequest) {
    server.enqueue(calls_run("resp_1"));
    server.enqueue(test_support::error_reply(404, "", "previous_response_not_found"));
    server.enqueue(test_support::hangs());
    ASSERT_TRUE(ask(first_round()).has_value());
    conformance::Asked asked;
    asked.ask(provider, second_round());
    ASSERT_TRUE(run_until(loop, [&] { return server.request_count() == 3; }));
    asked.cancel();
    ASSERT_TRUE(run_until(loop, [&] { return asked.is_done(); }));
    EXPECT_EQ(asked.outcomes.at(0).error().kind, FailureKind::Cancelled);
}

struct Transport {
    static constexpr Contract kContract = Contract::Responses;
    static constexpr std::string_view kPath = "/responses";
    std::unique_ptr<Codec> codec(const std::string& base_url, const std::string& key) {
        return openai_responses::make_codec({.base_url = base_url, .api_key = key});
    }
};
using Harness = test_support::TransportHarness<Transport>;

}  // namespace
}  // namespace provider

namespace test_support {
INSTANTIATE_TYPED_TEST_SUITE_P(OpenaiResponses, TransportSuite, provider::Transport);
}
namespace provider::conformance {
INSTANTIATE_TYPED_TEST_SUITE_P(OpenaiResponses, ProviderConformance, Harness);
}
