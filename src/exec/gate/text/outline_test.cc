#include "exec/gate/text/outline.h"

#include <random>

#include <gtest/gtest.h>

namespace gate {
namespace {

constexpr std::size_t kBlock = Outline::kBlockBytes;

TEST(Outline, MarksTheBlocksThatHaveAQuoteAndNoOthers) {
    for (const char quote : {'"', '\'', '`', '\\', '<'})
        for (std::size_t at = 0; at < 5 * kBlock + 3; at += 7) {
            std::string text(5 * kBlock + 3, '.');
            text[at] = quote;
            const Outline outline(text);
            EXPECT_EQ(outline.next_quote(0), at / kBlock * kBlock);
            EXPECT_EQ(outline.next_quote((at / kBlock + 1) * kBlock), text.size());
        }
}

TEST(Outline, MarksEveryRunThatIsLongEnoughWhereverItBegins) {
    constexpr std::string_view kDigits = "AZaz09+/-_";
    for (std::size_t at = 0; at + Outline::kRunBytes <= 4 * kBlock; ++at) {
        std::string text(4 * kBlock + at % kBlock, ' ');
        for (std::size_t i = 0; i < Outline::kRunBytes; ++i)
            text[at + i] = kDigits[(at + i) % kDigits.size()];
        const auto found = Outline(text).next_run(0);
        EXPECT_GE(found, at + sizeof(std::uint64_t)) << at;
        EXPECT_LT(found, at + Outline::kRunBytes) << at;
        EXPECT_EQ(Outline(text).next_run(at + Outline::kRunBytes), text.size()) << at;
    }
}

TEST(Outline, MarksNoRunInWordsAndLettersBeyondAscii) {
    std::string text;
    while (text.size() < 9 * kBlock) text += "an ordinary sentence: déjà vu@example.org! ";
    text += std::string(200, '\xe9');
    EXPECT_EQ(Outline(text).next_run(0), text.size());
}

TEST(Outline, TakesAnyTextAndAnEmptyOne) {
    EXPECT_EQ(Outline("").next_quote(0), 0U);
    std::mt19937 random(5);
    for (std::size_t size = 1; size < 300; ++size) {
        std::string text;
        for (std::size_t i = 0; i < size; ++i) text += static_cast<char>(random() % 256);
        const Outline outline(text);
        std::size_t at = 0;
        for (std::size_t i = 0; i < size; ++i) {
            if (!std::string_view("\"'`\\<").contains(text[i])) continue;
            at = outline.next_quote(i);
            EXPECT_EQ(at, i);
        }
    }
}

}  // namespace
}  // namespace gate
