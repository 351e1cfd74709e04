#include "provider/wire/outgoing.h"

#include <gtest/gtest.h>

#include "provider/wire/overflow.h"

namespace provider {
namespace {

TEST(WireText, ControlCharactersAreVisibleAndLinesStay) {
    EXPECT_EQ(wire_text("plain \xC3\xBC\ttab\r\n"), "plain \xC3\xBC\ttab\r\n");
    EXPECT_EQ(wire_text(std::string_view("a\0b\x1b[31mc\x7f\xff", 11)),
              "a\\x00b\\x1b[31mc\\x7f\xEF\xBF\xBD");
}

TEST(WireText, EveryCharacterIsSeenWhereverItStands) {
    for (const std::size_t size : {1, 63, 64, 65, 128, 200})
        for (std::size_t at = 0; at < size; ++at) {
            std::string text(size, 'x');
            text[at] = '\x1b';
            std::string visible = text;
            visible.replace(at, 1, "\\x1b");
            ASSERT_EQ(wire_text(text), visible) << at << " of " << size;
            text[at] = '\n';
            ASSERT_EQ(wire_text(text), text) << at << " of " << size;
        }
}

TEST(WireName, IsOneThatEveryServerTakes) {
    EXPECT_EQ(wire_name("ExecCommand"), "ExecCommand");
    EXPECT_EQ(wire_name("mcp__files-2__read"), "mcp__files-2__read");
    EXPECT_EQ(wire_name("functions.Run now"), "functions_Run_now");
    EXPECT_EQ(wire_name(std::string(100, 'x')), std::string(kNameCharsMax, 'x'));
    EXPECT_EQ(wire_name(""), "_");
}

TEST(WireInput, IsAlwaysAnObject) {
    EXPECT_EQ(wire_input({{"a", 1}}), (json::object{{"a", 1}}));
    EXPECT_EQ(wire_input("{oops"), (json::object{{"input", "{oops"}}));
    EXPECT_EQ(wire_input(nullptr), (json::object{{"input", nullptr}}));
    EXPECT_EQ(wire_arguments({{"b", 1}, {"a", "\xff"}}), "{\"a\":\"\xEF\xBF\xBD\",\"b\":1}");
    EXPECT_EQ(wire_arguments("{oops"), R"({"input":"{oops"})");
}

TEST(Overflow, IsRecognisedInTheWordsOfEachServer) {
    for (const std::string_view text :
         {"context_length_exceeded",
          "This model's maximum context length is 8192 tokens. However, you requested 9000 tokens.",
          "Your input exceeds the context window of this model. Please adjust your input.",
          "prompt is too long: 210000 tokens > 200000 maximum",
          "input length and `max_tokens` exceed context limit: 190000 + 20000 > 200000",
          "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).",
          "The decoder prompt (length 9000) is longer than the maximum model length of 8192.",
          "litellm.ContextWindowExceededError: litellm.BadRequestError: too long",
          "Input is too long for requested model.",
          "This model's maximum prompt length is 131072 but the request contains 140000 tokens.",
          "Invalid request: Your request exceeded model token limit: 131072",
          "the request exceeds the available context size, try increasing it"})
        EXPECT_TRUE(says_prompt_too_long(text)) << text;
    for (const std::string_view text :
         {"", "rate limit exceeded", "max_tokens: 70000 > 64000, the maximum for this model",
          "the request timed out", "context"})
        EXPECT_FALSE(says_prompt_too_long(text)) << text;
}

}  // namespace
}  // namespace provider
