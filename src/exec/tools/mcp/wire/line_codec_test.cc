#include "exec/tools/mcp/wire/line_codec.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

namespace mcp {
namespace {

using testing::ElementsAre;

struct Heard {
    std::vector<std::string> lines;
    int too_long{0};
};

Heard hear(const std::vector<std::string>& pieces, std::size_t max) {
    Heard heard;
    LineCodec codec(max);
    for (const auto& piece : pieces)
        codec.add(
            piece, [&](std::string_view line) { heard.lines.emplace_back(line); },
            [&] { ++heard.too_long; });
    return heard;
}

TEST(LineCodec, JoinsPiecesAndLeavesOutBlankLines) {
    EXPECT_THAT(hear({"a", "b\n\n \r\nc", "\nrest"}, 10).lines, ElementsAre("ab", "c"));
}

TEST(LineCodec, SkipsALineThatIsTooLongAndContinuesAfterIt) {
    for (const auto& pieces :
         std::vector<std::vector<std::string>>{{"ok\n123456\nnext\n"},
                                               {"ok\n1234", "56", "78", "90\nnext\n"},
                                               {"ok\n123456", "\nnext\n"}}) {
        const auto heard = hear(pieces, 5);
        EXPECT_THAT(heard.lines, ElementsAre("ok", "next"));
        EXPECT_EQ(heard.too_long, 1);
    }
}

TEST(LineCodec, TakesALineOfExactlyTheBound) {
    EXPECT_THAT(hear({"123", "45", "\n"}, 5).lines, ElementsAre("12345"));
}

}  // namespace
}  // namespace mcp
