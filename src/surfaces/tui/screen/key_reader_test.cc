#include "surfaces/tui/screen/key_reader.h"

#include <gtest/gtest.h>

namespace tui {
namespace {

std::vector<Key> read(std::string_view bytes) {
    KeyReader reader;
    return reader.feed(bytes);
}

TEST(KeyReader, KnowsTheKeysOfTheComposer) {
    EXPECT_EQ(read("a"), (std::vector<Key>{{.text = "a"}}));
    EXPECT_EQ(read(" "), (std::vector<Key>{{.text = " "}}));
    EXPECT_EQ(read("漢"), (std::vector<Key>{{.text = "漢"}}));
    EXPECT_EQ(read("\r"), (std::vector<Key>{{.name = KeyName::Enter}}));
    EXPECT_EQ(read("\x1b\r"), (std::vector<Key>{{.name = KeyName::Enter, .alt = true}}));
    EXPECT_EQ(read("\x03"), (std::vector<Key>{{.text = "c", .ctrl = true}}));
    EXPECT_EQ(read("\n"), (std::vector<Key>{{.text = "j", .ctrl = true}}));
    EXPECT_EQ(read("\x1b[1;5D"), (std::vector<Key>{{.name = KeyName::Left, .ctrl = true}}));
    EXPECT_EQ(read("\x08"), (std::vector<Key>{{.name = KeyName::Backspace}}));
    EXPECT_EQ(read("\x1b[Z"), (std::vector<Key>{{.name = KeyName::Tab, .shift = true}}));
    EXPECT_EQ(read("\x1b[O"), (std::vector<Key>{{.name = KeyName::FocusOut}}));
}

TEST(KeyReader, KnowsTheDisambiguatedKeysOfKitty) {
    EXPECT_EQ(read("\x1b[27u"), (std::vector<Key>{{.name = KeyName::Escape}}));
    EXPECT_EQ(read("\x1b[13;2u"), (std::vector<Key>{{.name = KeyName::Enter, .shift = true}}));
    EXPECT_EQ(read("\x1b[99;5u"), (std::vector<Key>{{.text = "c", .ctrl = true}}));
}

TEST(KeyReader, TakesALoneEscapeOnceNothingFollows) {
    KeyReader reader;
    EXPECT_TRUE(reader.feed("\x1b").empty());
    EXPECT_TRUE(reader.is_waiting());
    EXPECT_EQ(reader.expire(), (std::vector<Key>{{.name = KeyName::Escape}}));
    EXPECT_FALSE(reader.is_waiting());
    EXPECT_EQ(reader.feed("x"), (std::vector<Key>{{.text = "x"}}));
}

TEST(KeyReader, MakesOneKeyOfAPasteInPieces) {
    KeyReader reader;
    EXPECT_TRUE(reader.feed("\x1b[200~one\r").empty());
    EXPECT_TRUE(reader.feed("two\r\nthree\x1b[31m\x07").empty());
    EXPECT_EQ(reader.feed("!\x1b[201~x"),
              (std::vector<Key>{{.name = KeyName::Paste, .text = "one\ntwo\nthree[31m!"},
                                {.text = "x"}}));
}

TEST(KeyReader, FindsTheEndOfAPasteWhereverItIsCut) {
    const std::string bytes = "\x1b[200~ab\x1b[201~c";
    for (std::size_t cut = 1; cut < bytes.size(); ++cut) {
        KeyReader reader;
        auto keys = reader.feed(bytes.substr(0, cut));
        for (auto& key : reader.feed(bytes.substr(cut))) keys.push_back(std::move(key));
        EXPECT_EQ(keys, (std::vector<Key>{{.name = KeyName::Paste, .text = "ab"}, {.text = "c"}}))
            << cut;
    }
}

TEST(KeyReader, CleansWhatIsPasted) {
    EXPECT_EQ(cleaned_paste("a\tb\x1b[2Jc\x7f\xff"), "a\tb[2Jc\uFFFD");
}

TEST(KeyReader, BoundsAPaste) {
    KeyReader reader;
    reader.feed("\x1b[200~");
    for (int i = 0; i < 6; ++i) reader.feed(std::string(1024 * 1024, 'x'));
    const auto keys = reader.feed("\x1b[201~");
    ASSERT_EQ(keys.size(), 1U);
    EXPECT_EQ(keys[0].text.size(), kPasteBytesMax);
}

}  // namespace
}  // namespace tui
