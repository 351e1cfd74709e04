#include "exec/tools/mcp/output.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/hash.h"
#include "exec/results/images.h"
#include "exec/tools/schema_check.h"

namespace mcp {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using testing::Pair;

class Kept final : public results::ArtifactSink {
public:
    base::Result<std::string> store(std::string_view role, std::string_view bytes) override {
        files.emplace_back(role, bytes);
        return "/kept/" + std::to_string(files.size());
    }
    std::filesystem::path reserve(std::string_view) override { return {}; }
    std::vector<std::pair<std::string, std::string>> files;
};

class McpOutput : public testing::Test {
protected:
    results::Envelope envelope(std::string_view result, std::int64_t tokens = 100) {
        auto done = completed("srv", "tool", base::parse_json(result).value().as_object(), sink);
        return results::project("mcp__srv__tool", done, sink,
                                {.output_tokens_default = tokens, .output_tokens_max = tokens});
    }
    Kept sink;
};

TEST_F(McpOutput, TextIsTheReceipt) {
    const auto result =
        envelope(R"({"content":[{"type":"text","text":"one"},{"type":"text","text":"two"}]})");
    ASSERT_TRUE(result.ok());
    EXPECT_EQ(render(result), "one\ntwo");
    EXPECT_EQ(result.summary_text(), "tool of srv answered: 2 pieces, 7 characters of text");
    EXPECT_EQ(envelope(R"({"content":[{"type":"text","text":"1"}]})").summary_text(),
              "tool of srv answered: 1 piece, 1 character of text");
    EXPECT_TRUE(tools::check_schema(base::schema_of<CallResult>(), result.result()).empty());
    EXPECT_TRUE(sink.files.empty());
}

TEST_F(McpOutput, StructuredContentIsKeptForPlansAndShownOnce) {
    const auto both =
        envelope(R"({"content":[{"type":"text","text":"3"}],"structuredContent":{"sum":3}})");
    EXPECT_EQ(render(both), "3");
    EXPECT_EQ(both.result().at("structured_content").at("sum"), json::value(3));
    EXPECT_THAT(render(envelope(R"({"structuredContent":{"sum":3}})")), HasSubstr("\"sum\": 3"));
}

TEST_F(McpOutput, WhatIsNoTextBecomesAnArtifact) {
    const auto result = envelope(R"({"content":[
        {"type":"image","mimeType":"image/png","data":"UE5H"},
        {"type":"resource","resource":{"uri":"file:///a","blob":"AQI="}},
        {"type":"resource_link","uri":"file:///b"}]})");
    EXPECT_THAT(sink.files, ElementsAre(Pair("content", "PNG"), Pair("content", "\x01\x02")));
    const std::string receipt = render(result);
    EXPECT_THAT(receipt, HasSubstr("[image, image/png, 3 bytes, kept as artifact 1, not shown: its "
                                   "bytes are no PNG, JPEG, GIF or WebP image]"));
    EXPECT_THAT(receipt, HasSubstr("[resource file:///a, 2 bytes, kept as artifact 2]"));
    EXPECT_THAT(receipt, HasSubstr("[resource_link file:///b]"));
    EXPECT_THAT(receipt, HasSubstr("/kept/2"));
}

const char* const kPng =  // One pixel.
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+"
    "M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

std::string pieces(const std::string& piece, int count) {
    std::string list;
    for (int i = 0; i < count; ++i) list += (i > 0 ? "," : "") + piece;
    return R"({"content":[)" + list + "]}";
}

TEST_F(McpOutput, AnImageIsNamedByItsFileAndDigestUnderTheTypeThatItsBytesHave) {
    const auto result = envelope(fmt::format(
        R"({{"content":[{{"type":"image","mimeType":"image/gif","data":"{0}"}},
            {{"type":"resource","resource":{{"uri":"file:///a","blob":"{0}"}}}},
            {{"type":"audio","mimeType":"audio/wav","data":"UklGRg=="}}]}})",
        kPng));
    ASSERT_TRUE(result.ok());
    EXPECT_EQ(sink.files.at(0).first, "image.png");
    const auto media =
        base::from_json<std::vector<domain::Media>>(*results::media_of(result.to_json())).value();
    ASSERT_EQ(media.size(), 2U);
    EXPECT_EQ(media[0],
              (domain::Media{"image/png", "1", base::sha256_hex(sink.files[0].second), 70, 1, 1}));
    EXPECT_EQ(media[1].file, "2");
    EXPECT_TRUE(tools::check_schema(base::schema_of<CallResult>(), result.result()).empty());
    const auto receipt = render(result);
    EXPECT_THAT(receipt, HasSubstr("[image, image/png, 70 bytes, kept as artifact 1]"));
    EXPECT_THAT(receipt,
                HasSubstr("[resource file:///a, image/png, 70 bytes, kept as artifact 2]"));
    EXPECT_THAT(receipt, HasSubstr("[audio, audio/wav, 4 bytes, kept as artifact 3]"));
    EXPECT_THAT(receipt, Not(HasSubstr(kPng)));
}

TEST_F(McpOutput, AServerThatLiesOrFloodsHasItsImagesKeptAndNotShown) {
    const auto liar = envelope(
        R"({"content":[{"type":"image","mimeType":"image/png","data":"PGh0bWw+"}],
            "media":[{"mime_type":"image/png","file":"x","sha256":"y","bytes":1,"width":1,"height":1}]})");
    EXPECT_EQ(results::media_of(liar.to_json()), nullptr);
    EXPECT_THAT(render(liar), HasSubstr("not shown: its bytes are no PNG"));
    const auto flood = envelope(
        pieces(fmt::format(R"({{"type":"image","mimeType":"image/png","data":"{}"}})", kPng), 60));
    EXPECT_EQ(results::media_of(flood.to_json())->as_array().size(), results::kResultImagesMax);
    EXPECT_EQ(sink.files.size(), 61U);
    EXPECT_THAT(render(flood), HasSubstr("at most 8 images of one result are shown"));
}

TEST_F(McpOutput, LongTextIsCutAndKeptWhole) {
    const std::string line = std::string(70, 'x') + "\n";
    std::string text;
    for (int i = 0; i < 100; ++i) text += line;
    const auto result =
        envelope(base::json_text(json::object{{"content", {{{"type", "text"}, {"text", text}}}},
                                              {"structuredContent", {{"all", text}}}}));
    ASSERT_EQ(sink.files.size(), 2u);
    EXPECT_EQ(sink.files[0].second, text);
    EXPECT_TRUE(base::bool_at(json::value(result.result()), "truncated"));
    EXPECT_LT(render(result).size(), 600u);
    EXPECT_FALSE(result.result().contains("structured_content"));
}

TEST_F(McpOutput, AFailureOfTheToolIsAnErrorWithItsText) {
    const auto failed =
        envelope(R"({"isError":true,"content":[{"type":"text","text":"disk\u001b[31m full"}]})");
    ASSERT_FALSE(failed.ok());
    EXPECT_EQ(failed.error().kind, "mcp_tool_error");
    EXPECT_EQ(failed.error().message, "The tool of the MCP server srv failed: disk[31m full");
    EXPECT_FALSE(failed.error().retryable);
    envelope(R"({"isError":true,"content":[{"type":"text","text":")" + std::string(2000, 'x') +
             R"("}]})");
    EXPECT_EQ(sink.files.size(), 1u);
}

TEST_F(McpOutput, OddResultsAreStillResults) {
    EXPECT_EQ(render(envelope("{}")), "The tool answered without text.");
    EXPECT_TRUE(
        envelope(R"({"content":[1,null,{"type":7},{"type":"image"},{"resource":5}]})").ok());
    EXPECT_THAT(render(envelope(R"({"content":[{"type":"text","text":"a\u001b[2Jb"}]})")),
                Not(HasSubstr("\x1b")));
    json::array many(1000, json::value{{"type", "text"}, {"text", "x"}});
    const auto cut = envelope(base::json_text(json::object{{"content", many}}), 10'000);
    EXPECT_EQ(cut.result().at("content").as_array().size(), kPiecesMax);
    EXPECT_TRUE(base::bool_at(json::value(cut.result()), "truncated"));
}

}  // namespace
}  // namespace mcp
