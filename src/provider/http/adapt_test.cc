#include "provider/http/adapt.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "provider/conformance.h"
#include "provider/http/transport.h"
#include "tests/support/fake_model_server.h"
#include "tests/support/run_until.h"

namespace provider {
namespace {

using test_support::FakeModelServer;
using test_support::run_until;
using test_support::ServerReply;

json::object parsed_body(std::string_view text) {
    return base::parse_json(text).value().as_object();
}

TEST(Fit, AddsOmitsAndRenames) {
    const json::object body = parsed_body(R"({"model":"m","max_tokens":5,"prompt_cache_key":"k",
        "tools":[{"type":"function","function":{"name":"Run","strict":false}}],"messages":[]})");
    EXPECT_EQ(fit(body, {}, {}), body);
    EXPECT_EQ(json::value(fit(body,
                              {.extra_body = {{"seed", 1}, {"model", "other"}},
                               .omit = {"prompt_cache_key"},
                               .max_completion_tokens = true},
                              {.nested = {"strict"}})),
              json::value(parsed_body(R"({"model":"other","max_completion_tokens":5,
        "tools":[{"type":"function","function":{"name":"Run"}}],"messages":[],"seed":1})")));
}

TEST(Fit, SendsAsMuchThinkingBackAsTheServerTakes) {
    const json::object chat = parsed_body(R"({"messages":[
        {"role":"assistant","reasoning_content":"hm","tool_calls":[]},
        {"role":"assistant","tool_calls":[]},{"role":"assistant","content":"x"}]})");
    EXPECT_EQ(json::value(fit(chat, {.reasoning = ReasoningReplay::All}, {})),
              json::value(parsed_body(R"({"messages":[
        {"role":"assistant","reasoning_content":"hm","tool_calls":[]},
        {"role":"assistant","tool_calls":[],"reasoning_content":" "},
        {"role":"assistant","content":"x"}]})")));
    EXPECT_EQ(json::value(fit(chat, {}, {})),
              json::value(parsed_body(R"({"messages":[{"role":"assistant","tool_calls":[]},
        {"role":"assistant","tool_calls":[]},{"role":"assistant","content":"x"}]})")));
    const json::object messages = parsed_body(R"({"messages":[{"role":"assistant","content":[
        {"type":"thinking","thinking":"a","signature":"s"},{"type":"thinking","thinking":"b"},
        {"type":"redacted_thinking","data":"c"},{"type":"text","text":"x"}]}]})");
    const auto left = [&](ReasoningReplay replay) {
        const json::object body = fit(messages, {.reasoning = replay}, {});
        return body.at("messages").at(0).at("content").as_array().size();
    };
    EXPECT_EQ(left(ReasoningReplay::All), 4U);
    EXPECT_EQ(left(ReasoningReplay::Signed), 3U);
    EXPECT_EQ(left(ReasoningReplay::None), 1U);
}

TEST(Learn, ReadsWhichFieldAServerRefuses) {
    const json::object body = parsed_body(R"({"model":"m","max_tokens":5,"prompt_cache_key":"k",
        "stream_options":{},"store":false,"parallel_tool_calls":false,"messages":[]})");
    const std::vector<std::pair<std::string_view, Refusals>> rows{
        {"litellm.unsupportedparamserror: anthropic does not support parameters: "
         "['prompt_cache_key', 'parallel_tool_calls'], for model=claude",
         {.fields = {"prompt_cache_key", "parallel_tool_calls"}}},
        {R"({"error":{"message":"property 'prompt_cache_key' is unsupported"}})",
         {.fields = {"prompt_cache_key"}}},
        {R"({"detail":[{"type":"extra_forbidden","loc":["body","stream_options"]}]})",
         {.fields = {"stream_options"}}},
        {R"(invalid json payload received. unknown name "store": cannot find field.)",
         {.fields = {"store"}}},
        {"tools.0.function.strict: extra inputs are not permitted", {.nested = {"strict"}}},
        {"unsupported parameter: 'max_tokens' is not supported with this model. use "
         "'max_completion_tokens' instead.",
         {.max_completion_tokens = true}},
        {"missing `reasoning_content` field in the assistant message at message index 2",
         {.reasoning = ReasoningReplay::All}},
        {"the data store is down", {}},
        {"max_tokens: 70000 > 64000", {}},
        {"model m does not exist", {}},
        {"reasoning_effort is not supported", {}},  // It was not sent.
    };
    for (const auto& [refusal, expected] : rows) {
        Refusals refusals;
        EXPECT_EQ(learn(refusals, refusal, body, {}), expected != Refusals{}) << refusal;
        EXPECT_EQ(refusals, expected) << refusal;
        EXPECT_FALSE(learn(refusals, refusal, body, {})) << "a second time: " << refusal;
    }
}

TEST(Learn, ThinkingThatIsRefusedIsLeftOutStepByStep) {
    const json::object body = parsed_body(R"({"messages":[{"role":"assistant","content":[
        {"type":"thinking","thinking":"a"}]}]})");
    Refusals refusals;
    EXPECT_TRUE(learn(refusals, "messages.1.content.0.thinking.signature: field required", body,
                      {.reasoning = ReasoningReplay::All}));
    EXPECT_EQ(refusals.reasoning, ReasoningReplay::Signed);
    Refusals other;
    EXPECT_TRUE(learn(other, "invalid `signature` in `thinking` block", body, {}));
    EXPECT_EQ(other.reasoning, ReasoningReplay::None);
}

TEST(Learn, AFieldThatTheOperatorAddedStays) {
    Refusals refusals;
    EXPECT_FALSE(learn(refusals, "unknown field 'reasoning_effort'", {{"reasoning_effort", "high"}},
                       {.extra_body = {{"reasoning_effort", "high"}}}));
}

// A codec whose body is always the same.
class FixedCodec final : public Codec {
public:
    FixedCodec(std::string url, json::object body) : url_(std::move(url)), body_(std::move(body)) {}
    std::expected<EncodedRequest, Failure> encode(const Request&) override {
        return EncodedRequest{.url = url_,
                              .headers = {{"Content-Type", "application/json"}},
                              .body = body_,
                              .decoder = make_decoder(&decode, nullptr)};
    }

private:
    static Outcome decode(const HttpResponse& response, base::Time) {
        if (response.status == 200) return Reply{.stop_reason = "stop"};
        return std::unexpected(
            Failure{.kind = FailureKind::ContractError, .message = response.body});
    }
    std::string url_;
    json::object body_;
};

class AdaptOverHttp : public testing::Test {
protected:
    Outcome ask(Provider& provider) {
        conformance::Asked asked;
        asked.ask(provider, conformance::question());
        EXPECT_TRUE(run_until(loop, [&] { return asked.is_done(); }));
        return asked.outcomes.at(0);
    }
    HttpTransport provider(Adaptation adaptation = {}) {
        return {http, clock,
                adapt(std::make_unique<FixedCodec>(server.base_url(),
                                                   json::object{{"prompt_cache_key", "k"},
                                                                {"parallel_tool_calls", false},
                                                                {"model", "m"}}),
                      std::move(adaptation), refusals)};
    }
    static ServerReply refuses(std::string_view field, int status = 400) {
        return {
            .status = status,
            .body = fmt::format(R"({{"error":{{"message":"Unknown parameter: '{}'."}}}})", field)};
    }
    std::vector<std::string> bodies() const {
        std::vector<std::string> list;
        for (const auto& request : server.requests()) list.push_back(request.body);
        return list;
    }

    FakeModelServer server;
    base::AsioLoop loop;
    base::SystemClock clock;
    HttpClient http{loop, {.proxy = ""}};
    std::shared_ptr<Refusals> refusals = std::make_shared<Refusals>();
};

TEST_F(AdaptOverHttp, ARefusedFieldIsLeftOutInTheSameExchangeAndFromThenOn) {
    server.enqueue(refuses("prompt_cache_key"));
    server.enqueue(refuses("parallel_tool_calls", 422));
    server.always(test_support::with_body("{}"));
    auto transport = provider();
    EXPECT_TRUE(ask(transport).has_value());
    auto other_model = provider();
    EXPECT_TRUE(ask(other_model).has_value());
    EXPECT_THAT(bodies(), testing::ElementsAre(
                              R"({"prompt_cache_key":"k","parallel_tool_calls":false,"model":"m"})",
                              R"({"parallel_tool_calls":false,"model":"m"})", R"({"model":"m"})",
                              R"({"model":"m"})"));
}

TEST_F(AdaptOverHttp, ARefusalThatNamesNothingOptionalIsFinal) {
    server.always(refuses("model"));
    auto transport = provider();
    EXPECT_FALSE(ask(transport).has_value());
    EXPECT_EQ(server.request_count(), 1U);
    server.always(refuses("prompt_cache_key", 500));
    EXPECT_FALSE(ask(transport).has_value());
    EXPECT_EQ(server.request_count(), 2U);
}

TEST_F(AdaptOverHttp, AServerThatRefusesWithoutEndIsAskedAFiniteNumberOfTimes) {
    server.always(
        {.status = 400, .body = "prompt_cache_key parallel_tool_calls reasoning_content"});
    auto transport = provider();
    EXPECT_FALSE(ask(transport).has_value());
    EXPECT_EQ(server.request_count(), 2U);
}

TEST_F(AdaptOverHttp, HeadersOfTheOperatorReplaceOurs) {
    server.always(test_support::with_body("{}"));
    auto transport = provider({.headers = {{"X-Team", "blue"}, {"content-type", "text/json"}}});
    EXPECT_TRUE(ask(transport).has_value());
    EXPECT_EQ(server.requests()[0].headers.at("x-team"), "blue");
    EXPECT_EQ(server.requests()[0].headers.at("content-type"), "text/json");
}

}  // namespace
}  // namespace provider
