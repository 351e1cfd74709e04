#include "base/scan/engine/encodings.h"

#include <gtest/gtest.h>

namespace scan {
namespace {

TEST(Encodings, Base64IsReadBackInBothAlphabetsAndOverLines) {
    const std::string bytes("\x00\xff\xfe~?>\x10 plain", 13);
    for (std::size_t size = 0; size <= bytes.size(); ++size) {
        const auto part = std::string_view(bytes).substr(0, size);
        EXPECT_EQ(decode_base64(base64(part), 100), part);
        EXPECT_EQ(decode_base64(base64(part, Alphabet::Url), 100), part);
    }
    EXPECT_EQ(decode_base64("aGVs\n  bG8=", 100), "hello");
    EXPECT_EQ(decode_base64("aGVsbG8!!", 100), "hello");
    EXPECT_EQ(decode_base64("aGVsbG8=", 2), "he");
}

TEST(Encodings, HexIsReadInTheFormsOfPrograms) {
    for (const char* text : {"7f454c46", "7F 45 4C 46", R"(\x7f\x45\x4c\x46)",
                             "0x7f, 0x45, 0x4c, 0x46", "%7f%45%4C%46", "7f:45:4c:46"})
        EXPECT_EQ(decode_hex(text, 100),
                  "\x7f"
                  "ELF")
            << text;
    EXPECT_EQ(decode_hex("7", 100), "");
    EXPECT_EQ(decode_hex("zz", 100), "");
}

TEST(Encodings, InflateStopsAtTheBoundAndAtDamage) {
    // gzip of 100,000 zero bytes would be a small bomb; two bytes of it are enough here.
    EXPECT_EQ(inflate("not packed at all", 100), "");
    const std::string packed = decode_hex("78dacb48cdc9c90700062c0215", 100);  // zlib of "hello".
    EXPECT_EQ(inflate(packed, 100), "hello");
    EXPECT_EQ(inflate(packed, 2), "he");
}

TEST(Encodings, EntropyIsInBitsPerByte) {
    EXPECT_DOUBLE_EQ(entropy("aaaa"), 0);
    EXPECT_DOUBLE_EQ(entropy("abababab"), 1);
    EXPECT_DOUBLE_EQ(entropy("abcd"), 2);
    EXPECT_DOUBLE_EQ(entropy(""), 0);
}

}  // namespace
}  // namespace scan
