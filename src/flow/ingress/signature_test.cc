#include "flow/ingress/signature.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace ingress {
namespace {

using domain::SignatureScheme;
using std::chrono::seconds;
using testing::HasSubstr;
using testing::Not;

constexpr std::int64_t kSignedAt = 1'492'774'577;

std::string kind_of(const base::Status& status) {
    return status ? "right" : status.error().kind;
}

base::Time at(std::int64_t unix_seconds) {
    return base::from_micros(unix_seconds * 1'000'000);
}

base::Status github(std::string_view secret, std::string_view body, const std::string& signature) {
    const Headers headers{{"x-hub-signature-256", signature}};
    return check_signature(
        {.scheme = SignatureScheme::Github, .secret = secret, .headers = headers, .body = body});
}

// The example with which GitHub's documentation lets people test their own check.
TEST(Signature, AcceptsThePublishedExampleOfGitHub) {
    constexpr std::string_view kSecret = "It's a Secret to Everybody";
    const std::string signature =
        "sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17";
    EXPECT_EQ(kind_of(github(kSecret, "Hello, World!", signature)), "right");
    EXPECT_EQ(kind_of(github(kSecret, "Hello, World?", signature)), "signature_wrong");
    EXPECT_EQ(kind_of(github("another secret", "Hello, World!", signature)), "signature_wrong");
    EXPECT_EQ(kind_of(github(kSecret, "Hello, World!", signature.substr(7))), "signature_wrong");
    EXPECT_EQ(kind_of(github(kSecret, "Hello, World!", "sha256=")), "signature_wrong");
    EXPECT_EQ(kind_of(github(kSecret, "Hello, World!", "")), "signature_missing");
}

TEST(Signature, AcceptsTheTokenThatGitLabSends) {
    const auto gitlab = [](const std::string& token) {
        const Headers headers{{"x-gitlab-token", token}};
        return kind_of(check_signature({.scheme = SignatureScheme::Gitlab,
                                        .secret = "mysecret",
                                        .headers = headers,
                                        .body = "{}"}));
    };
    EXPECT_EQ(gitlab("mysecret"), "right");
    EXPECT_EQ(gitlab("mysecret2"), "signature_wrong");
    EXPECT_EQ(gitlab("MYSECRET"), "signature_wrong");
    EXPECT_EQ(gitlab(""), "signature_missing");
}

// The signature is that of Python's hmac module over "<t>.<body>", as Stripe documents it; v0 is
// the scheme of its test events.
constexpr std::string_view kStripeSecret = "whsec_test_secret";
constexpr std::string_view kStripeBody = R"({"id":"evt_1","object":"event","type":"invoice.paid"})";
constexpr std::string_view kStripeSignature =
    "4d38cd5139c7f60e624bf8299775d217793a8e4af46b24f70e9099b0eafff76c";

base::Status stripe(std::string header, std::int64_t now, std::string_view body = kStripeBody) {
    const Headers headers{{"stripe-signature", std::move(header)}};
    return check_signature({.scheme = SignatureScheme::Stripe,
                            .secret = kStripeSecret,
                            .headers = headers,
                            .body = body,
                            .now = at(now),
                            .tolerance = seconds(300)});
}

TEST(Signature, AcceptsWhatStripeSignsWithinTheTolerance) {
    const std::string right = fmt::format("t={},v1={}", kSignedAt, kStripeSignature);
    EXPECT_EQ(kind_of(stripe(right, kSignedAt + 300)), "right");
    EXPECT_EQ(kind_of(stripe(right, kSignedAt - 300)), "right");
    EXPECT_EQ(kind_of(stripe(right, kSignedAt + 301)), "signature_expired");
    EXPECT_EQ(kind_of(stripe(right, kSignedAt - 301)), "signature_expired");
    EXPECT_EQ(kind_of(stripe(right, kSignedAt, "{}")), "signature_wrong");
    // Another time than the signed one.
    EXPECT_EQ(
        kind_of(stripe(fmt::format("t={},v1={}", kSignedAt + 1, kStripeSignature), kSignedAt)),
        "signature_wrong");
    // During a rotation there are two, and other schemes do not count.
    EXPECT_EQ(kind_of(stripe(fmt::format("t={},v1=00,v1={},v0=00", kSignedAt, kStripeSignature),
                             kSignedAt)),
              "right");
    EXPECT_EQ(kind_of(stripe(fmt::format("t={},v0={}", kSignedAt, kStripeSignature), kSignedAt)),
              "signature_wrong");
    for (const char* bad : {"v1=00", "t=,v1=00", "t=x,v1=00", ",,,", "t", "t=99999999999999999999"})
        EXPECT_EQ(kind_of(stripe(bad, kSignedAt)), "signature_wrong") << bad;
}

TEST(Signature, AnErrorHasNothingOfTheSecret) {
    const auto wrong = github("the-very-secret", "body", "sha256=00");
    ASSERT_FALSE(wrong);
    EXPECT_THAT(wrong.error().message, Not(HasSubstr("the-very-secret")));
    EXPECT_THAT(wrong.error().message, Not(HasSubstr("sha256=")));
}

TEST(Signature, LabelsComeFromWhereEachSenderPutsThem) {
    const Headers headers{{"x-github-event", "push"},
                          {"x-github-delivery", "72d3162e"},
                          {"x-gitlab-event", "Push Hook"},
                          {"x-gitlab-event-uuid", "13792a34"}};
    const json::value body = json::object{{"id", "evt_1"}, {"type", "invoice.paid"}};
    EXPECT_EQ(labels_of(SignatureScheme::Github, headers, body),
              (DeliveryLabels{"push", "72d3162e"}));
    EXPECT_EQ(labels_of(SignatureScheme::Gitlab, headers, body),
              (DeliveryLabels{"Push Hook", "13792a34"}));
    EXPECT_EQ(labels_of(SignatureScheme::Stripe, headers, body),
              (DeliveryLabels{"invoice.paid", "evt_1"}));
    EXPECT_EQ(labels_of(SignatureScheme::None, headers, body), DeliveryLabels{});
}

}  // namespace
}  // namespace ingress
