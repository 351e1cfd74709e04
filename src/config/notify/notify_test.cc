#include "config/notify/notify.h"

#include <gtest/gtest.h>

namespace config {
namespace {

TEST(Notify, ASectionThatSaysNothingSetsNoChannel) {
    EXPECT_TRUE(check_notify({}));
    EXPECT_EQ(notify_of({}, {{"hook", "s"}}), Notify{});
}

TEST(Notify, TheSecretIsThatOfTheNamedProfile) {
    const NotifySection section{.command = std::vector<std::string>{"tell"},
                                .webhook = "https://hooks.example/holon",
                                .webhook_credential = "hook",
                                .timeout_ms = 500,
                                .max_attempts = 3};
    EXPECT_TRUE(check_notify(section));
    EXPECT_EQ(notify_of(section, {{"hook", "s3"}, {"other", "x"}}),
              (Notify{.command = {"tell"},
                      .webhook = "https://hooks.example/holon",
                      .webhook_credential = "hook",
                      .webhook_secret = "s3",
                      .timeout_ms = 500,
                      .max_attempts = 3}));
    EXPECT_EQ(notify_of(section, {}).webhook_secret, "");
}

TEST(Notify, WhatCannotBeUsedIsAnErrorThatNamesTheSetting) {
    const std::vector<std::pair<NotifySection, std::string>> table{
        {{.command = std::vector<std::string>{}}, "/notify/command"},
        {{.command = std::vector<std::string>{""}}, "/notify/command"},
        {{.webhook = "https://hooks.example"}, "notify.webhook_credential"},
        {{.webhook = "ftp://hooks.example", .webhook_credential = "hook"}, "/notify/webhook"},
        {{.webhook = "https://ada:pw@hooks.example", .webhook_credential = "hook"}, "password"},
        {{.webhook = "https://", .webhook_credential = "hook"}, "/notify/webhook"},
        {{.timeout_ms = 0}, "/notify/timeout_ms"},
        {{.max_attempts = kNotifyAttemptsMax + 1}, "/notify/max_attempts"}};
    for (const auto& [section, word] : table) {
        const auto checked = check_notify(section);
        ASSERT_FALSE(checked) << word;
        EXPECT_EQ(checked.error().code, base::ErrorCode::InvalidInput);
        EXPECT_TRUE(checked.error().message.contains(word)) << checked.error().message;
    }
}

}  // namespace
}  // namespace config
