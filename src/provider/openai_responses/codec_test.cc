// The codec by values: what goes out after which answer. No HTTP.
#include "provider/openai_responses/codec.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "provider/conformance.h"

namespace provider::openai_responses {
namespace {

using testing::ElementsAre;

constexpr std::string_view kUnknown =
    R"({"error":{"code":"previous_response_not_found","message":"gone"}})";

HttpResponse says(std::string_view text, std::string_view id) {
    return {.status = 200,
            .body = fmt::format(R"({{"id":"{}","status":"completed","output":[{{"type":"message",
                "content":[{{"type":"output_text","text":"{}"}}]}}]}})",
                                id, text)};
}

Request first_round() {
    Request request = conformance::question();
    request.frame.cache = PromptCache{"main", "main:ctx:1", "f1"};
    return request;
}
Request second_round() {
    Request request = first_round();
    request.conversation.emplace_back(AssistantTurn{{domain::TextBlock{"one"}}});
    request.conversation.emplace_back(UserTurn{{{Stability::TurnScoped, "more"}}});
    return request;
}

json::value body_of(const EncodedRequest& request) {
    return request.body;
}
std::string reason(const EncodedRequest& request) {
    const json::value& said = request.request_diagnostics.at("incremental_continuation");
    return base::string_at(said, "fallback_reason", base::string_at(said, "status"));
}

class ResponsesCodecTest : public testing::Test {
protected:
    EncodedRequest encode(const Request& request) { return codec->encode(request).value(); }
    // Encodes and answers the first round, after which a second can continue.
    void answer_first() {
        const EncodedRequest first = encode(first_round());
        const Outcome outcome = first.decoder->decode(says("one", "resp_1"), {});
        ASSERT_TRUE(outcome.has_value());
        EXPECT_FALSE(first.decoder->replacement(outcome).has_value());
    }

    std::unique_ptr<Codec> codec =
        make_codec({.base_url = "http://h/v1/", .api_key = " k-1\n", .keeps_state = true});
};

TEST_F(ResponsesCodecTest, EncodesTheEndpointAndTheKey) {
    const EncodedRequest request = encode(first_round());
    EXPECT_EQ(request.url, "http://h/v1/responses");
    EXPECT_THAT(request.headers, ElementsAre(HttpHeader{"Content-Type", "application/json"},
                                             HttpHeader{"Authorization", "Bearer k-1"}));
    EXPECT_EQ(request.secret, "k-1");
    EXPECT_EQ(request.decoder->events(), nullptr);
    EXPECT_EQ(reason(request), "not_applicable_initial_request");
}

TEST_F(ResponsesCodecTest, AnAnswerIsContinuedOnce) {
    answer_first();
    const EncodedRequest second = encode(second_round());
    EXPECT_EQ(reason(second), "hit");
    EXPECT_EQ(body_of(second).at("previous_response_id"), "resp_1");
    EXPECT_EQ(body_of(second).at("input").as_array().size(), 1U);
    // The snapshot is gone until the second answer is in.
    EXPECT_EQ(reason(encode(second_round())), "not_applicable_initial_request");
}

TEST_F(ResponsesCodecTest, ARefusedContinuationIsReplacedByTheWholeRequest) {
    answer_first();
    const EncodedRequest second = encode(second_round());
    const Outcome refused =
        second.decoder->decode({.status = 404, .body = std::string(kUnknown)}, {});
    ASSERT_FALSE(refused.has_value());
    const auto whole = second.decoder->replacement(refused);
    ASSERT_TRUE(whole.has_value());
    EXPECT_EQ(reason(*whole), "previous_response_unknown");
    EXPECT_FALSE(body_of(*whole).as_object().contains("previous_response_id"));
    EXPECT_EQ(body_of(*whole).at("input").as_array().size(), 3U);
    // Only a shortcut is replaced: the same refusal of the whole request is final.
    const Outcome again =
        whole->decoder->decode({.status = 404, .body = std::string(kUnknown)}, {});
    EXPECT_FALSE(whole->decoder->replacement(again).has_value());
}

TEST_F(ResponsesCodecTest, ADecoderOutlivesItsCodec) {
    answer_first();
    const EncodedRequest second = encode(second_round());
    codec.reset();
    const Outcome outcome = second.decoder->decode(says("two", "resp_2"), {});
    ASSERT_TRUE(outcome.has_value());
    EXPECT_FALSE(second.decoder->replacement(outcome).has_value());
}

}  // namespace
}  // namespace provider::openai_responses
