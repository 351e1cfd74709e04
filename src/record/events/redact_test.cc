#include "record/events/redact.h"

#include <gtest/gtest.h>

namespace events {
namespace {

json::value redacted(json::value data) {
    redact_secrets(data);
    return data;
}

TEST(Redact, LeavesOutWhatIsNamedLikeACredentialAtAnyDepth) {
    EXPECT_EQ(redacted({{"binding", {{"delivery_auth", {{"bearer_token", "s3cret"}}}}},
                        {"headers", json::array{json::object{{"X-Api-Key", "k"}}}},
                        {"trigger_url", "https://h/callbacks/wake/x"}}),
              (json::value{{"binding", {{"delivery_auth", {{"bearer_token", "[redacted]"}}}}},
                           {"headers", json::array{json::object{{"X-Api-Key", "[redacted]"}}}},
                           {"trigger_url", "[redacted]"}}));
}

TEST(Redact, HidesTheSecretOfAWakeUrlInAnyText) {
    const std::string secret(32, 'a');
    const json::value text(
        json::string("curl http://h/callbacks/wake/cb_" + secret + " and cb_" + secret + "0"));
    EXPECT_EQ(redacted(text), "curl http://h/callbacks/wake/cb_[redacted] and cb_[redacted]0");
}

TEST(Redact, KeepsEverythingElse) {
    const json::value data{{"token_usage", {{"input_tokens", 5}}},
                           {"token", nullptr},
                           {"password", ""},
                           {"text", "my password is not known here; cb_1234"}};
    EXPECT_EQ(redacted(data), data);
}

}  // namespace
}  // namespace events
