#include "exec/tools/vault/text/spelling.h"

#include <gmock/gmock.h>

namespace vault {
namespace {

TEST(Spelling, IsTheSameForComposedAndDecomposedText) {
    EXPECT_EQ(spelling("Caf\u00e9"), spelling("Cafe\u0301"));
    EXPECT_EQ(spelling("\u1ea5"), spelling("a\u0302\u0301")) << "two marks";
    EXPECT_EQ(spelling("\u0419"), spelling("\u0418\u0306")) << "Cyrillic";
    EXPECT_EQ(spelling("\u304c"), spelling("\u304b\u3099")) << "Kana";
    EXPECT_EQ(spelling("\ud55c"), spelling("\u1112\u1161\u11ab")) << "Hangul";
}

TEST(Spelling, KeepsOtherTextAndAnyBytes) {
    EXPECT_EQ(spelling("Plain name.md"), "Plain name.md");
    EXPECT_EQ(spelling("\U0001F600"), "\U0001F600");
    EXPECT_NE(spelling("Cafe"), spelling("Caf\u00e9"));
    EXPECT_NO_THROW(spelling("\xff\xc3"));
}

}  // namespace
}  // namespace vault
