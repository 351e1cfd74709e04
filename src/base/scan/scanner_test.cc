#include "base/scan/scanner.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/scan/engine/encodings.h"
#include "base/text.h"

namespace scan {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr std::string_view kSecret = "correct horse/battery+staple\"7";

std::shared_ptr<const Scanner> knowing(std::string_view secret) {
    return Scanner::make({.known = {std::string(secret)}}).value();
}

std::shared_ptr<const Scanner> with_rule(const std::string& pattern) {
    return Scanner::make({.rules = {{.id = "r", .description = "d", .pattern = pattern}}}).value();
}

std::vector<Finding> in_pieces(const Scanner& scanner, std::string_view text, std::size_t size) {
    Scanner::Stream stream(scanner);
    std::vector<Finding> found;
    for (std::size_t i = 0; i < text.size(); i += size) {
        stream.feed(text.substr(i, size));
        std::ranges::copy(stream.take(), std::back_inserter(found));
    }
    stream.finish();
    std::ranges::copy(stream.take(), std::back_inserter(found));
    scanner.drop_yielding(found);
    return merged(std::move(found));
}

TEST(Scanner, FindsAKnownCredentialInEverySpelling) {
    const auto scanner = knowing(kSecret);
    const std::string secret(kSecret);
    std::string backwards(secret.rbegin(), secret.rend());
    std::string upper = hex(secret);
    for (char& c : upper) c = static_cast<char>(std::toupper(c));
    for (const auto& text :
         {secret, backwards, base64(secret), base64("x" + secret + "yz"),
          base64("user:" + secret + "\n", Alphabet::Url), base64("ab" + secret), hex(secret), upper,
          base::percent_encoded(secret), json_escaped(secret)}) {
        EXPECT_THAT(scanner->scan("before " + text + " after"),
                    ElementsAre(testing::Field(&Finding::rule, kKnownRule)))
            << text;
    }
    EXPECT_THAT(scanner->scan("correct horse, battery staple"), IsEmpty());
}

TEST(Scanner, DoesNotLookForWordsTooShortToBeCredentials) {
    EXPECT_THAT(knowing("abcde")->scan("abcde abcde"), IsEmpty());
}

TEST(Scanner, TakesAllOfALongKnownCredential) {
    std::string secret;
    for (int i = 0; i < 600; ++i) secret += fmt::format("{:05}", i * 7919 % 99991);
    const auto found = knowing(secret)->scan("a " + secret + " b");
    ASSERT_EQ(found.size(), 1U);
    EXPECT_EQ(found[0].begin, 2U);
    EXPECT_EQ(found[0].end, 2 + secret.size());
}

TEST(Scanner, SaysWhereTheValueOfARuleIs) {
    const auto scanner = with_rule(R"(key=([a-z]{3,8})(?:[^a-z]|\z))");
    EXPECT_THAT(scanner->scan("..key=abcd; key=xyz"),
                ElementsAre(Finding{"r", "secret", 6, 10}, Finding{"r", "secret", 16, 19}));
}

TEST(Scanner, TakesTheLongestOfManyEnds) {
    EXPECT_THAT(with_rule("k[0-9]{2,40}")->scan("k0123456789 k1"),
                ElementsAre(Finding{"r", "secret", 0, 11}));
}

TEST(Scanner, FindsTheSameInPiecesOfAnySize) {
    std::string text = "start ";
    for (const auto& rule : secret_rules()) text += example(rule.good[0]) + "\nfiller text here\n";
    text += kSecret;
    const auto scanner = Scanner::make({.rules = {secret_rules().begin(), secret_rules().end()},
                                        .known = {std::string(kSecret)}})
                             .value();
    const auto whole = scanner->scan(text);
    EXPECT_GT(whole.size(), secret_rules().size() / 2);
    for (const std::size_t size : {1U, 7U, 64U, 1000U, 65536U})
        EXPECT_EQ(in_pieces(*scanner, text, size), whole) << size;
}

TEST(Scanner, FollowsAPrivateKeyToItsEnd) {
    const auto scanner =
        Scanner::make({.rules = {secret_rules().begin(), secret_rules().end()}}).value();
    std::string body;
    for (int i = 0; i < 30; ++i) body += base64(fmt::format("{:048}", i * 104729)) + "\n";
    const std::string kind = "RSA PRIVATE KEY";
    const std::string key = "-----BEGIN " + kind + "-----\n" + body + "-----END " + kind + "-----";
    const std::string text = "a\n" + key + "\nb";
    for (const auto& found : {scanner->scan(text), in_pieces(*scanner, text, 10)}) {
        const auto pem = std::ranges::find(found, "pem-rsa", &Finding::rule);
        ASSERT_NE(pem, found.end());
        EXPECT_EQ(pem->begin, 2U);
        EXPECT_EQ(pem->end, 2 + key.size());
    }
}

TEST(Scanner, WithoutRulesFindsNothing) {
    const auto scanner = Scanner::make({}).value();
    EXPECT_THAT(scanner->scan("anything"), IsEmpty());
    EXPECT_THAT(in_pieces(*scanner, "anything", 3), IsEmpty());
}

}  // namespace
}  // namespace scan
