#include "base/hash.h"

#include <utility>

#include <gmock/gmock.h>

namespace base {
namespace {

// From FIPS 180-4.
constexpr std::string_view kEmpty =
    "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
constexpr std::string_view kAbc =
    "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
constexpr std::string_view kMillionA =
    "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0";

TEST(Sha256, GivesTheKnownDigests) {
    EXPECT_EQ(sha256_hex(""), kEmpty);
    EXPECT_EQ(sha256_hex("abc"), kAbc);
    EXPECT_EQ(sha256_hex(std::string(1'000'000, 'a')), kMillionA);
}

TEST(Sha256, GivesTheSameDigestInPieces) {
    Sha256 hash;
    for (int i = 0; i < 1'000; ++i) hash.add(std::string(1'000, 'a'));
    EXPECT_EQ(hash.finish_hex(), kMillionA);
}

TEST(Sha256, ContinuesAfterAMove) {
    Sha256 first;
    first.add("a");
    Sha256 second(std::move(first));
    second.add("b");
    Sha256 third;
    third = std::move(second);
    third.add("c");
    EXPECT_EQ(third.finish_hex(), kAbc);
}

// RFC 4231, test case 2.
TEST(Hmac, HasTheDigestOfThePublishedExample) {
    EXPECT_EQ(hmac_sha256_hex("Jefe", "what do ya want for nothing?"),
              "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
    EXPECT_NE(hmac_sha256_hex("jefe", "what do ya want for nothing?"),
              hmac_sha256_hex("Jefe", "what do ya want for nothing?"));
}

}  // namespace
}  // namespace base
