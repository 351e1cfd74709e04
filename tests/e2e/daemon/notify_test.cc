// What reaches the operator outside of the program: a real command, a real HTTP server, real kills.
#include <csignal>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/hash.h"
#include "tests/e2e/daemon/daemon_world.h"
#include "tests/support/fake_model_server.h"

namespace e2e {
namespace {

using test_support::eventually;
using test_support::FakeModelServer;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr std::string_view kSecret = "signs-deliveries-7f3a";

void set(DaemonWorld& world, const std::string& key, const std::string& value) {
    const auto done = world.run({"config", "set", key, value});
    ASSERT_EQ(done.exit_code, 0) << done.err;
}

// A program that appends each delivery, and the id from its environment, to a file.
std::filesystem::path notifier(DaemonWorld& world, std::string_view after = "") {
    const auto program = world.folder() / "notifier";
    world.write(program,
                fmt::format("#!/bin/sh\n{{ cat; echo \"id $HOLON_DELIVERY_ID\"; }} >> {}\n{}\n",
                            (world.folder() / "notified").string(), after));
    std::filesystem::permissions(program, std::filesystem::perms::owner_all);
    return program;
}

std::string notified(DaemonWorld& world) {
    const auto file = world.folder() / "notified";
    return std::filesystem::exists(file) ? world.read(file) : "";
}

void use_webhook(DaemonWorld& world, const FakeModelServer& server) {
    const auto stored =
        world.run_after(fmt::format("exec < {}",
                                    [&] {
                                        const auto file = world.folder() / "secret";
                                        world.write(file, kSecret);
                                        return file.string();
                                    }()),
                        {"config", "credentials", "set", "hook", "--kind", "api_key", "--stdin"});
    ASSERT_EQ(stored.exit_code, 0) << stored.err;
    set(world, "notify.webhook_credential", "hook");
    set(world, "notify.webhook", server.base_url() + "/hook");
}

TEST(Notify, ACommandReceivesTheNotificationOfARunWithoutADaemon) {
    DaemonWorld world;
    world.script({calls("NotifyOperator", {{"message", "Which branch?\nmain or next"}}),
                  says("I have asked.")});
    set(world, "notify.command", notifier(world).string());
    const auto done = world.run({"run", "--agent", "main", "--create-agent", "ask me"});
    ASSERT_EQ(done.exit_code, 0) << done.err;
    const auto text = notified(world);
    const auto sent = base::parse_json(text.substr(0, text.find('\n')));
    ASSERT_TRUE(sent) << text;
    EXPECT_EQ(base::string_at(*sent, "text"), "Which branch?\nmain or next");
    EXPECT_EQ(base::string_at(*sent, "visibility"), "action_required");
    EXPECT_THAT(text, HasSubstr("id " + base::string_at(*sent, "delivery_id")));
    const auto status = world.json_of({"status", "--agent", "main", "--json"});
    const auto& shown = status.at("recent_operator_notifications").as_array();
    ASSERT_EQ(shown.size(), 1U);
    EXPECT_EQ(base::string_at(shown[0], "summary"), "Which branch?");
    const auto& over = status.at("recent_operator_deliveries").as_array();
    ASSERT_EQ(over.size(), 1U);
    EXPECT_EQ(base::string_at(over[0], "status"), "accepted_by_transport");
}

TEST(Notify, AWebhookReceivesFinishedWorkSignedAndARepetitionHasTheSameIdAndBytes) {
    DaemonWorld world;
    FakeModelServer server;
    server.enqueue({.status = 503});
    server.always({.status = 200, .body = "{}"});
    use_webhook(world, server);
    world.script({calls("PickWorkItem", {{"work_item_id", "$work_item"}}),
                  calls("CompleteWorkItem", {{"work_item_id", "$work_item"}}, "It is shipped."),
                  says("Done.")});
    world.daemon({"start"});
    world.json_of({"work", "add", "ship it", "--json"});
    ASSERT_TRUE(server.wait_for_requests(2));
    const auto requests = server.requests();
    for (const auto& request : requests) {
        EXPECT_EQ(request.path, "/hook");
        EXPECT_EQ(request.headers.at("x-holon-signature-256"),
                  "sha256=" + base::hmac_sha256_hex(kSecret, request.body));
    }
    EXPECT_EQ(requests[0].body, requests[1].body);
    EXPECT_EQ(requests[0].headers.at("x-holon-delivery"),
              requests[1].headers.at("x-holon-delivery"));
    const auto sent = base::parse_json(requests[0].body).value();
    EXPECT_EQ(base::string_at(sent, "text"), "It is shipped.");
    EXPECT_EQ(base::string_at(sent, "visibility"), "work_done");
    ASSERT_TRUE(eventually(
        [&] { return world.events("main", "operator_delivery_completed").size() == 1; }));
    EXPECT_EQ(server.request_count(), 2U);
    // The secret is in nothing that is kept.
    for (const auto& event : world.events("main"))
        EXPECT_FALSE(base::json_text(event).contains(kSecret));
}

TEST(Notify, AKillDuringTheAttemptLosesNothingAndTheNextDaemonRepeatsItUnderTheSameId) {
    DaemonWorld world;
    FakeModelServer server;
    server.enqueue(test_support::hangs());
    server.always({.status = 200, .body = "{}"});
    use_webhook(world, server);
    set(world, "notify.timeout_ms", "1000");
    world.script({calls("NotifyOperator", {{"message", "Look."}}), says("Asked.")});
    world.daemon({"start"});
    ASSERT_TRUE(world.by_socket().post("/control/agents/main/prompt", {{"text", "go"}}));
    ASSERT_TRUE(server.wait_for_requests(1));
    const pid_t first = world.pid();
    ASSERT_EQ(kill(first, SIGKILL), 0);
    ASSERT_TRUE(ends_within(first, kPatience));
    world.daemon({"start"});
    ASSERT_TRUE(server.wait_for_requests(2, 2 * kPatience));
    const auto requests = server.requests();
    EXPECT_EQ(requests[0].headers.at("x-holon-delivery"),
              requests[1].headers.at("x-holon-delivery"));
    EXPECT_EQ(requests[0].body, requests[1].body);
    EXPECT_EQ(requests[1].headers.at("x-holon-attempt"), "2");
}

TEST(Notify, WhatNoProcessCouldSendIsSentByTheNextDaemon) {
    DaemonWorld world;
    world.script({calls("NotifyOperator", {{"message", "Look."}}), says("Asked.")});
    set(world, "notify.command", notifier(world, "exit 1").string());
    ASSERT_EQ(world.run({"run", "--agent", "main", "--create-agent", "ask"}).exit_code, 0);
    notifier(world);  // It works from now on.
    world.daemon({"start"});
    ASSERT_TRUE(eventually([&] {
        const auto over = world.events("main", "operator_delivery_completed");
        return over.size() == 1 &&
               base::string_at(over[0].at("data"), "status") == "accepted_by_transport";
    }));
}

TEST(Notify, ATransportIsBoundReceivesANotificationAndAnswersAsTheOperator) {
    DaemonWorld world;
    FakeModelServer chat;
    chat.always({.status = 200, .body = R"({"transport_delivery_id":"m-1"})"});
    world.script({calls("NotifyOperator", {{"message", "Which branch?"}}), says("I wait."),
                  says("Then main it is.")});
    world.daemon({"start"});
    auto client = world.by_socket();
    const auto bound = client.post(
        "/control/agents/main/operator-bindings",
        json::object{{"binding_id", "chat-1"},
                     {"transport", "chat"},
                     {"operator_actor_id", "ada"},
                     {"default_route_id", "room"},
                     {"delivery_callback_url", chat.base_url() + "/deliver"},
                     {"delivery_auth", {{"kind", "bearer"}, {"bearer_token", "chat-token-55"}}},
                     {"capabilities", {{"text", true}}}});
    ASSERT_TRUE(bound) << bound.error().message;
    const auto say = [&](const std::string& text, const std::string& actor) {
        return client.post("/control/agents/main/operator-ingress",
                           json::object{{"text", text},
                                        {"actor_id", actor},
                                        {"binding_id", "chat-1"},
                                        {"reply_route_id", "thread-9"},
                                        {"provider_message_ref", "msg " + text}});
    };
    EXPECT_FALSE(say("go", "mallory"));
    const auto first = say("go", "ada");
    ASSERT_TRUE(first) << first.error().message;
    ASSERT_TRUE(chat.wait_for_requests(1));
    const auto delivered = chat.requests().at(0);
    EXPECT_EQ(delivered.headers.at("authorization"), "Bearer chat-token-55");
    const auto sent = base::parse_json(delivered.body).value();
    EXPECT_EQ(base::string_at(sent, "text"), "Which branch?");
    EXPECT_EQ(base::string_at(sent, "route_id"), "thread-9");
    // The same message again is the same message.
    EXPECT_EQ(base::string_at(*say("go", "ada"), "message_id"),
              base::string_at(*first, "message_id"));
    ASSERT_TRUE(
        client.post("/control/agents/main/operator-bindings/chat-1/revoke", json::object{}));
    EXPECT_FALSE(say("more", "ada"));
    EXPECT_FALSE(world.read(world.home() / "holon.db").contains("chat-token-55"));
}

}  // namespace
}  // namespace e2e
