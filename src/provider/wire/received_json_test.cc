#include "provider/wire/received_json.h"

#include <gtest/gtest.h>

namespace provider {
namespace {

TEST(ReceivedJson, RepairsHalfCharacters) {
    const std::vector<std::pair<std::string_view, std::string_view>> rows{
        {R"("\ud83d\ude00")", "\xF0\x9F\x98\x80"},
        {R"("a\ud83d")", "a\uFFFD"},
        {R"("\ud83dz")", "\uFFFDz"},
        {R"("\ude00\ud83d")", "\uFFFD\uFFFD"},
        {R"("\ud83d\ud83d\ude00")", "\uFFFD\xF0\x9F\x98\x80"},
        {R"("\\ud83d")", "\\ud83d"},
        {"\"a\xff\xfe b\"", "a\uFFFD\uFFFD b"},
    };
    for (const auto& [text, value] : rows) {
        const auto parsed = parse_received_json(text);
        ASSERT_TRUE(parsed.has_value()) << text << parsed.error().message;
        EXPECT_EQ(std::string_view(parsed->as_string()), value) << text;
    }
}

TEST(ReceivedJson, DoesNotRepairWhatIsNotJson) {
    for (const std::string_view text : {"", "{", "\"\\", "\"\\u", "\"\\ud8", "nope", "\"\\uzzzz\""})
        EXPECT_FALSE(parse_received_json(text).has_value()) << text;
}

}  // namespace
}  // namespace provider
