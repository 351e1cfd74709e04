#include "base/scan/redact.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/scan/engine/encodings.h"

namespace scan {
namespace {

constexpr std::string_view kSecret = "s3cr3t-of-the-house";

std::string in_pieces(const Redactor& redactor, std::string_view text, std::size_t size) {
    Redactor::Stream stream(redactor);
    std::string out;
    for (std::size_t i = 0; i < text.size(); i += size) out += stream.feed(text.substr(i, size));
    return out + stream.finish();
}

TEST(Redactor, ReplacesKnownCredentialsAndNothingElse) {
    const auto redactor = Redactor::make({std::string(kSecret)}, Suspects::Keep).value();
    EXPECT_EQ(redactor.redact("key=s3cr3t-of-the-house; ok"),
              "key=[redacted:known-credential]; ok");
    EXPECT_EQ(redactor.redact("nothing here"), "nothing here");
    EXPECT_EQ(redactor.redact("Basic " + hex(kSecret)), "Basic [redacted:known-credential]");
    EXPECT_EQ(redactor.redact(""), "");
}

TEST(Redactor, ReplacesSuspectsOnlyOnRequest) {
    const std::string text = "token " + example(secret_rules()[0].good[0]) + " end";
    EXPECT_EQ(Redactor::make({}, Suspects::Keep).value().redact(text), text);
    EXPECT_EQ(Redactor::make({}, Suspects::Redact).value().redact(text),
              "token [redacted:github-ghp] end");
}

TEST(Redactor, GivesTheSameForPiecesOfAnySize) {
    const auto redactor = Redactor::make({std::string(kSecret)}, Suspects::Redact).value();
    std::string text;
    for (std::size_t i = 0; i < secret_rules().size(); i += 3)
        text +=
            "before " + example(secret_rules()[i].good.back()) + " " + std::string(kSecret) + "\n";
    const std::string whole = redactor.redact(text);
    EXPECT_EQ(whole.find(kSecret), whole.npos);
    for (const std::size_t size : {3U, 100U, 5000U, 1'000'000U})
        EXPECT_EQ(in_pieces(redactor, text, size), whole) << size;
}

TEST(Redactor, LagsBehindByNoMoreThanTheLongestSpelling) {
    const auto redactor = Redactor::make({std::string(kSecret)}, Suspects::Keep).value();
    Redactor::Stream stream(redactor);
    std::size_t out = 0;
    for (int i = 0; i < 1000; ++i) out += stream.feed("0123456789").size();
    EXPECT_GE(out + 6 * kSecret.size() + 10, 10'000U);  // Six bytes for one: \u0041.
    EXPECT_EQ(out + stream.finish().size(), 10'000U);
}

}  // namespace
}  // namespace scan
