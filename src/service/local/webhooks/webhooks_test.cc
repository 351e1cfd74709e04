// Webhooks from their creation to a message, on made-up time.
#include <gmock/gmock.h>

#include "base/hash.h"
#include "service/local/webhooks/sealed.h"
#include "tests/service/fixture.h"

namespace service {
namespace {

using domain::SignatureScheme;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

class WebhooksTest : public ServiceTest {
protected:
    WebhookView make(WebhookRequest request = {}) {
        auto made = service_->create_webhook("main", request, operator_);
        EXPECT_TRUE(made) << made.error().message;
        return made.value_or(WebhookView{});
    }
    static std::string token_of(const WebhookView& view) {
        const std::string url = view.webhook_url.value_or("");
        return url.substr(url.rfind('/') + 1);
    }
    base::Result<WebhookDelivered> send(const WebhookView& view, std::string body = "{}",
                                        std::map<std::string, std::string, std::less<>> with = {}) {
        return service_->deliver_webhook(
            {.token = token_of(view), .headers = std::move(with), .body = std::move(body)});
    }
    static std::string kind_of(const base::Result<WebhookDelivered>& result) {
        return result ? "accepted" : result.error().kind;
    }
    static std::string github_signature(const WebhookView& view, std::string_view body) {
        return "sha256=" + base::hmac_sha256_hex(view.secret.value_or(""), body);
    }
};

TEST_F(WebhooksTest, ADeliveryBecomesAMessageOfAnIntegration) {
    serve_main();
    const auto view = make();
    EXPECT_EQ(view.name, "generic_webhook");
    EXPECT_EQ(view.secret, std::nullopt);
    EXPECT_THAT(*view.webhook_url,
                testing::MatchesRegex("http://127.0.0.1:7878/webhooks/wh_[0-9a-f]+"));
    EXPECT_EQ(token_of(view).size(), 3U + 32U);
    const auto delivered = send(view, R"({"build":"red"})");
    ASSERT_TRUE(delivered) << delivered.error().message;
    ASSERT_EQ(messages().size(), 1U);
    const auto message = messages()[0].message;
    EXPECT_EQ(message.id.value, delivered->message_id);
    EXPECT_EQ(message.origin, domain::Origin(domain::WebhookOrigin{.source = "generic_webhook"}));
    EXPECT_EQ(message.trust, domain::TrustLevel::TrustedIntegration);
    EXPECT_EQ(message.authority_class, domain::AuthorityClass::IntegrationSignal);
    EXPECT_EQ(message.delivery_surface, domain::DeliverySurface::HttpWebhook);
    EXPECT_EQ(service_->webhooks("main")->at(0).delivery_count, 1);
}

TEST_F(WebhooksTest, NothingSecretIsStoredOrShownAgain) {
    serve_main();
    const auto view = make({.signature = SignatureScheme::Github});
    ASSERT_TRUE(view.secret);
    ASSERT_TRUE(store_->read([&](store::Tx& tx) -> base::Status {
        const auto stored = base::json_text(base::to_json(TRY(tx.webhooks({"main"}, 9)).at(0)));
        EXPECT_THAT(stored, Not(HasSubstr(*view.secret)));
        EXPECT_THAT(stored, Not(HasSubstr(token_of(view))));
        return {};
    }));
    const auto listed = service_->webhooks("main")->at(0);
    EXPECT_EQ(listed.webhook_url, std::nullopt);
    EXPECT_EQ(listed.secret, std::nullopt);
    for (const auto& event : events_of("webhook_changed")) {
        EXPECT_THAT(base::json_text(event.data), Not(HasSubstr(*view.secret)));
        EXPECT_EQ(base::string_at(event.data, "change"), "created");
    }
}

TEST_F(WebhooksTest, ASignedOneAcceptsOnlyWhatIsSignedWithItsSecret) {
    serve_main();
    const auto view = make({.signature = SignatureScheme::Github});
    const std::string body = R"({"ref":"refs/heads/main"})";
    EXPECT_EQ(kind_of(send(view, body)), "signature_missing");
    EXPECT_EQ(kind_of(send(view, body, {{"x-hub-signature-256", "sha256=00"}})), "signature_wrong");
    EXPECT_EQ(
        kind_of(send(view, body + " ", {{"x-hub-signature-256", github_signature(view, body)}})),
        "signature_wrong");
    EXPECT_THAT(messages(), IsEmpty());
    EXPECT_EQ(kind_of(send(view, body,
                           {{"x-hub-signature-256", github_signature(view, body)},
                            {"x-github-event", "push"},
                            {"x-github-delivery", "d-1"}})),
              "accepted");
    ASSERT_EQ(messages().size(), 1U);
    EXPECT_EQ(messages()[0].message.origin,
              domain::Origin(domain::WebhookOrigin{.source = "github", .event_type = "push"}));
}

// A recorded request that is sent again does nothing.
TEST_F(WebhooksTest, TheSameDeliveryTwiceIsOneMessage) {
    serve_main();
    const auto view = make({.signature = SignatureScheme::Github});
    const std::map<std::string, std::string, std::less<>> headers{
        {"x-hub-signature-256", github_signature(view, "{}")}, {"x-github-delivery", "d-1"}};
    const auto first = send(view, "{}", headers);
    ASSERT_TRUE(first);
    EXPECT_EQ(send(view, "{}", headers)->message_id, first->message_id);
    EXPECT_EQ(messages().size(), 1U);
}

TEST_F(WebhooksTest, StripeChoosesTheSecretAndAnOldDeliveryIsRefused) {
    serve_main();
    EXPECT_EQ(service_->create_webhook("main", {.signature = SignatureScheme::Stripe}, operator_)
                  .error()
                  .code,
              base::ErrorCode::InvalidInput);
    const auto view = make({.signature = SignatureScheme::Stripe, .secret = "whsec_0123456789"});
    const std::string body = R"({"id":"evt_1","type":"invoice.paid"})";
    const auto signed_at = [&](std::int64_t seconds) {
        return std::map<std::string, std::string, std::less<>>{
            {"stripe-signature",
             fmt::format(
                 "t={},v1={}", seconds,
                 base::hmac_sha256_hex("whsec_0123456789", fmt::format("{}.{}", seconds, body)))}};
    };
    const std::int64_t now = base::to_micros(loop_.now()) / 1'000'000;
    EXPECT_EQ(kind_of(send(view, body, signed_at(now - 301))), "signature_expired");
    EXPECT_EQ(kind_of(send(view, body, signed_at(now))), "accepted");
    // The sender's own secret survives a rotation that brings no other.
    const auto rotated = service_->rotate_webhook("main", "stripe", std::nullopt, operator_);
    ASSERT_TRUE(rotated) << rotated.error().message;
    EXPECT_EQ(rotated->secret, "whsec_0123456789");
    EXPECT_NE(rotated->webhook_url, view.webhook_url);
}

TEST_F(WebhooksTest, RotatingAndRevokingCloseTheOldURL) {
    serve_main();
    const auto first = make({.signature = SignatureScheme::Gitlab});
    const auto second = service_->rotate_webhook("main", "gitlab", std::nullopt, operator_).value();
    EXPECT_EQ(second.webhook_id, first.webhook_id);
    EXPECT_NE(second.secret, first.secret);
    EXPECT_EQ(kind_of(send(first, "{}", {{"x-gitlab-token", *first.secret}})), "webhook_refused");
    EXPECT_EQ(kind_of(send(second, "{}", {{"x-gitlab-token", *first.secret}})), "signature_wrong");
    EXPECT_EQ(kind_of(send(second, "{}", {{"x-gitlab-token", *second.secret}})), "accepted");
    ASSERT_TRUE(service_->revoke_webhook("main", "gitlab", operator_));
    EXPECT_EQ(kind_of(send(second, "{}", {{"x-gitlab-token", *second.secret}})), "webhook_refused");
    // Its id still names it, and its name is free again.
    EXPECT_TRUE(service_->revoke_webhook("main", first.webhook_id, operator_));
    EXPECT_EQ(
        service_->rotate_webhook("main", first.webhook_id, std::nullopt, operator_).error().code,
        base::ErrorCode::Conflict);
    make({.signature = SignatureScheme::Gitlab});
    EXPECT_EQ(service_->webhooks("main")->size(), 2U);
}

TEST_F(WebhooksTest, EachHasItsOwnRate) {
    serve_main();
    const auto busy = make({.name = "busy", .rate_per_minute = 2});
    const auto other = make({.name = "other"});
    EXPECT_EQ(kind_of(send(busy)), "accepted");
    EXPECT_EQ(kind_of(send(busy)), "accepted");
    const auto third = send(busy);
    EXPECT_EQ(kind_of(third), "rate_limited");
    EXPECT_EQ(base::int_at(third.error().details, "retry_after_s"), 30);
    EXPECT_EQ(kind_of(send(other)), "accepted");
    loop_.set_clock(loop_.now() + std::chrono::seconds(30));
    EXPECT_EQ(kind_of(send(busy)), "accepted");
    EXPECT_EQ(kind_of(send(busy)), "rate_limited");
}

// Else everyone who learns the URL could keep the real sender out.
TEST_F(WebhooksTest, WhatIsNotSignedDoesNotUseUpTheRate) {
    serve_main();
    const auto view = make({.signature = SignatureScheme::Gitlab, .rate_per_minute = 1});
    for (int n = 0; n < 5; ++n) EXPECT_EQ(kind_of(send(view)), "signature_missing");
    EXPECT_EQ(kind_of(send(view, "{}", {{"x-gitlab-token", *view.secret}})), "accepted");
}

TEST_F(WebhooksTest, EachHasItsOwnBoundOfBytes) {
    serve_main();
    const auto small = make({.name = "small", .body_bytes_max = 10});
    const auto other = make({.name = "other"});
    const std::string body = R"({"a":"0123456789"})";
    EXPECT_EQ(kind_of(send(small, body)), "payload_too_large");
    EXPECT_EQ(kind_of(send(other, body)), "accepted");
    EXPECT_EQ(send(other, "no json").error().code, base::ErrorCode::InvalidInput);
}

TEST_F(WebhooksTest, RequestsThatMakeNoSenseAreRefused) {
    serve_main();
    const auto code = [&](const WebhookRequest& request) {
        return service_->create_webhook("main", request, operator_).error().code;
    };
    EXPECT_EQ(code({.name = "a b"}), base::ErrorCode::InvalidInput);
    EXPECT_EQ(code({.name = ""}), base::ErrorCode::InvalidInput);
    EXPECT_EQ(code({.secret = "0123456789"}), base::ErrorCode::InvalidInput);
    EXPECT_EQ(code({.signature = SignatureScheme::Github, .secret = "short"}),
              base::ErrorCode::InvalidInput);
    EXPECT_EQ(code({.rate_per_minute = 0}), base::ErrorCode::InvalidInput);
    EXPECT_EQ(code({.body_bytes_max = 1 << 30}), base::ErrorCode::InvalidInput);
    make();
    EXPECT_EQ(code({}), base::ErrorCode::Conflict);
    EXPECT_EQ(service_->create_webhook("nobody", {}, operator_).error().code,
              base::ErrorCode::NotFound);
    const Caller stranger{domain::AdmissionContext::PublicUnauthenticated, std::nullopt};
    EXPECT_EQ(service_->create_webhook("main", {.name = "x"}, stranger).error().code,
              base::ErrorCode::Refused);
}

TEST_F(WebhooksTest, AStoppedAgentRefusesAndNothingIsCounted) {
    serve_main();
    const auto view = make();
    ASSERT_TRUE(service_->set_lifecycle("main", LifecycleAction::Stop, operator_));
    EXPECT_EQ(kind_of(send(view)), "agent_stopped");
    EXPECT_EQ(service_->webhooks("main")->at(0).delivery_count, 0);
}

TEST(Sealed, OpensUnderItsKeyAndNameOnly) {
    const std::string sealed = seal("key", "name", "the secret");
    EXPECT_EQ(unseal("key", "name", sealed), "the secret");
    EXPECT_NE(seal("key", "name", "the secret"), sealed);
    EXPECT_FALSE(unseal("another", "name", sealed));
    EXPECT_FALSE(unseal("key", "another", sealed));
    for (std::size_t at = 0; at < sealed.size(); ++at) {
        std::string changed = sealed;
        changed[at] = changed[at] == '0' ? '1' : '0';
        EXPECT_FALSE(unseal("key", "name", changed)) << at;
    }
    EXPECT_FALSE(unseal("key", "name", ""));
    EXPECT_FALSE(unseal("key", "name", "xyz"));
}

}  // namespace
}  // namespace service
