#include "provider/http/search/web_search.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace provider {
namespace {

using testing::HasSubstr;
using testing::Not;

json::value parsed(std::string_view text) {
    return base::parse_json(text).value();
}

// Declares each tool by its name; the answer is the text of the body, or "streamed".
class PlainCodec final : public Codec {
public:
    explicit PlainCodec(bool streams) : streams_(streams) {}
    std::expected<EncodedRequest, Failure> encode(const Request& request) override {
        json::array tools;
        for (const auto& tool : request.tools) tools.push_back(json::object{{"name", tool.name}});
        EncodedRequest encoded{.request_diagnostics = {{"request_lowering_mode", "plain"}}};
        encoded.body["tools"] = std::move(tools);
        encoded.decoder = make_decoder(&read, streams_ ? std::make_unique<Events>() : nullptr);
        return encoded;
    }

private:
    struct Events final : EventReader {
        Step take(std::string_view data) override {
            if (data != "end") return {};
            return {.end = Reply{.blocks = {domain::TextBlock{"streamed"}}}};
        }
        Outcome stop(const HttpResponse&) override { return std::unexpected(Failure{}); }
    };
    static Outcome read(const HttpResponse& response, base::Time) {
        if (response.status == 200) return Reply{.blocks = {domain::TextBlock{"answer"}}};
        return std::unexpected(Failure{.kind = FailureKind::ContractError, .message = "no"});
    }
    bool streams_;
};

std::unique_ptr<Codec> codec(SearchApi api, bool streams = false) {
    return with_web_search(std::make_unique<PlainCodec>(streams), api);
}
Request request() {
    return {.model_ref = "a/b",
            .tools = {{.name = "Run"}, {.name = "WebSearch", .web_search = true}, {.name = "Z"}}};
}
json::value tools_of(const EncodedRequest& encoded) {
    return encoded.body.at("tools");
}

TEST(NativeSearch, ReplacesOurToolInItsPlaceAndNothingElse) {
    EXPECT_EQ(tools_of(codec(SearchApi::Anthropic)->encode(request()).value()),
              parsed(R"([{"name":"Run"},
        {"type":"web_search_20250305","name":"web_search","max_uses":5},{"name":"Z"}])"));
    EXPECT_EQ(tools_of(codec(SearchApi::Responses)->encode(request()).value()).at(1),
              parsed(R"({"type":"web_search_preview"})"));
    EXPECT_EQ(tools_of(codec(SearchApi::Codex)->encode(request()).value()).at(1),
              parsed(R"({"type":"web_search"})"));
    // An agent that may not search gets no search of the model's either.
    const auto without = codec(SearchApi::Anthropic)->encode({.tools = {{.name = "Run"}}}).value();
    EXPECT_EQ(tools_of(without), parsed(R"([{"name":"Run"}])"));
    EXPECT_FALSE(without.request_diagnostics.contains("native_web_search"));
}

TEST(NativeSearch, ADocumentsSearchesAreRecordedAsExternalEvidence) {
    auto encoded = codec(SearchApi::Anthropic)->encode(request()).value();
    const auto outcome = encoded.decoder->decode({.status = 200, .body = R"({"content":[
        {"type":"server_tool_use","id":"s1","name":"web_search","input":{"query":"otters"}},
        {"type":"web_search_tool_result","tool_use_id":"s1","content":[
            {"type":"web_search_result","url":"https://a.example/","title":"Ot\u001b[31mters","encrypted_content":"x"},
            {"type":"web_search_result","url":"https://a.example/","title":"Ot\u001b[31mters"}]},
        {"type":"web_search_tool_result","content":{"type":"web_search_tool_result_error","error_code":"max_uses_exceeded"}},
        {"type":"text","text":"Otters."}]})"},
                                                 {});
    ASSERT_TRUE(outcome);
    const auto found = outcome->request_diagnostics.at("native_web_search");
    EXPECT_EQ(base::string_at(found, "label"), "external_evidence");
    EXPECT_EQ(found.at("queries"), parsed(R"(["otters"])"));
    EXPECT_EQ(found.at("results").as_array().size(), 1U);
    EXPECT_THAT(base::json_text(found), Not(HasSubstr("\\u001b")));
    EXPECT_EQ(found.at("errors"), parsed(R"(["max_uses_exceeded"])"));

    encoded = codec(SearchApi::Responses)->encode(request()).value();
    const auto response = encoded.decoder->decode({.status = 200, .body = R"({"output":[
        {"type":"web_search_call","status":"completed","action":{"type":"search","query":"otters"}},
        {"type":"message","content":[{"type":"output_text","text":"x","annotations":[
            {"type":"url_citation","url":"https://b.example/","title":"B"}]}]}]})"},
                                                  {});
    ASSERT_TRUE(response);
    EXPECT_EQ(response->request_diagnostics.at("native_web_search").at("results"),
              parsed(R"([{"title":"B","url":"https://b.example/"}])"));
}

TEST(NativeSearch, SearchesThatAreStreamedAreRecorded) {
    auto encoded = codec(SearchApi::Anthropic, true)->encode(request()).value();
    auto* events = encoded.decoder->events();
    ASSERT_NE(events, nullptr);
    for (
        const auto* event :
        {R"({"type":"content_block_start","index":1,"content_block":{"type":"server_tool_use","id":"s","name":"web_search","input":{}}})",
         R"({"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":"{\"query\":\"ot"}})",
         R"({"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":"ters\"}"}})",
         R"({"type":"content_block_stop","index":1})",
         R"({"type":"content_block_start","index":2,"content_block":{"type":"web_search_tool_result","content":[{"type":"web_search_result","url":"https://a.example/","title":"A"}]}})",
         R"({"type":"response.output_item.done","item":{"type":"web_search_call","action":{"query":"seals"}}})",
         "web_search but no JSON"})
        events->take(event);
    auto step = events->take("end");
    ASSERT_TRUE(step.end && *step.end);
    const auto found = (*step.end)->request_diagnostics.at("native_web_search");
    EXPECT_EQ(found.at("queries"), parsed(R"(["otters","seals"])"));
    EXPECT_EQ(found.at("results"), parsed(R"([{"title":"A","url":"https://a.example/"}])"));
}

TEST(NativeSearch, AFloodIsBounded) {
    SearchRecord record;
    for (int i = 0; i < 1000; ++i) {
        record.add_query(std::string(5'000, 'q') + std::to_string(i));
        record.add_query(std::to_string(i) + std::string(5'000, 'q'));
        record.add(parsed(fmt::format(
            R"({{"type":"web_search_tool_result","content":[{{"url":"https://{}.example/"}}]}})",
            i)));
    }
    const json::value all(record.to_json());
    EXPECT_EQ(all.at("queries").as_array().size(), kSearchQueriesMax);
    EXPECT_EQ(all.at("results").as_array().size(), kSearchResultsMax);
    EXPECT_LT(base::json_text(all).size(), 20'000U);
}

TEST(NativeSearch, AProviderThatRefusesItIsOfferedOursFromThenOn) {
    const auto searching = codec(SearchApi::Responses);
    auto encoded = searching->encode(request()).value();
    const HttpResponse refusal{
        .status = 400,
        .body = R"({"error":{"message":"Unsupported tool type: web_search_preview"}})"};
    const auto outcome = encoded.decoder->decode(refusal, {});
    const auto instead = encoded.decoder->replacement(outcome);
    ASSERT_TRUE(instead);
    EXPECT_EQ(tools_of(*instead).at(1), parsed(R"({"name":"WebSearch"})"));
    const auto later = searching->encode(request()).value();
    EXPECT_EQ(tools_of(later).at(1), parsed(R"({"name":"WebSearch"})"));
    EXPECT_EQ(base::string_at(later.request_diagnostics.at("native_web_search"), "fallback_reason"),
              "refused_by_provider");
    // Another failure is not about the search.
    const auto other = codec(SearchApi::Responses)->encode(request()).value();
    const auto failed = other.decoder->decode({.status = 400, .body = "bad model"}, {});
    EXPECT_FALSE(other.decoder->replacement(failed));
}

}  // namespace
}  // namespace provider
