#include "flow/notify/channels.h"

#include <fstream>

#include <gmock/gmock.h>

#include "base/hash.h"
#include "base/os/process_runner.h"
#include "tests/support/fake_model_server.h"

namespace notify {
namespace {

using testing::HasSubstr;
using namespace std::chrono_literals;

class ChannelsTest : public testing::Test {
protected:
    Outcome send(const Send& channel) {
        std::optional<Outcome> outcome;
        channel(outgoing_, [&](Outcome got) {
            outcome = std::move(got);
            loop_.stop();
        });
        if (!outcome) loop_.run();
        return outcome.value();
    }
    CommandOptions shell(const std::string& script) {
        return {.argv = {"sh", "-c", script, "sh"},
                .cwd = testing::TempDir(),
                .environment = {{"PATH", "/usr/bin:/bin"}}};
    }
    std::string why(const Send& channel) {
        const auto outcome = send(channel);
        const auto* failed = std::get_if<Failed>(&outcome);
        return failed ? failed->why : "delivered";
    }

    base::AsioLoop loop_;
    base::SystemProcessRunner processes_{loop_};
    provider::HttpClient http_{loop_, {.proxy = ""}};
    test_support::FakeModelServer server_;
    Outgoing outgoing_{.delivery = {.delivery_intent_id = "odi_7", .attempts = 2},
                       .body = R"({"delivery_id":"odi_7","text":"look $(id); `id`"})"};
};

TEST_F(ChannelsTest, ACommandReadsTheBodyAndFindsTheIdInItsEnvironment) {
    const auto file = testing::TempDir() + "holon-notified";
    const auto channel = command_channel(
        processes_,
        shell("cat > '" + file + "'; echo \"$HOLON_DELIVERY_ID $HOLON_DELIVERY_ATTEMPT $#\" >> '" +
              file + "'"));
    EXPECT_EQ(send(channel), Outcome(Delivered{}));
    std::ifstream written(file);
    const std::string text(std::istreambuf_iterator<char>(written), {});
    EXPECT_EQ(text, outgoing_.body + "\nodi_7 2 0\n");
}

TEST_F(ChannelsTest, ACommandThatFailsSaysHow) {
    EXPECT_EQ(why(command_channel(processes_, shell("echo one >&2; echo no network >&2; exit 3"))),
              "the program exited with 3: no network");
    EXPECT_EQ(why(command_channel(processes_, shell("kill -9 $$"))),
              "the program was ended by signal 9");
    auto slow = shell("exec sleep 1000");
    slow.timeout = 50ms;
    EXPECT_EQ(why(command_channel(processes_, slow)), "the program did not end within 50 ms");
    auto missing = shell("");
    missing.argv = {"no-such-program"};
    EXPECT_THAT(why(command_channel(processes_, missing)), HasSubstr("was not found"));
}

TEST_F(ChannelsTest, ACommandThatPrintsWithoutEndIsBounded) {
    auto loud = shell("yes >&2");
    loud.timeout = 300ms;
    EXPECT_EQ(why(command_channel(processes_, loud)), "the program did not end within 300 ms");
}

TEST_F(ChannelsTest, AWebhookIsSignedOverTheBytesOfItsBody) {
    server_.enqueue({.status = 202, .body = "{}"});
    const auto channel = webhook_channel(
        http_, {.url = server_.base_url() + "/hook", .secret = "s3cret", .credential = "hook"});
    EXPECT_EQ(send(channel), Outcome(Delivered{}));
    const auto request = server_.requests().at(0);
    EXPECT_EQ(request.method, "POST");
    EXPECT_EQ(request.body, outgoing_.body);
    EXPECT_EQ(request.headers.at("x-holon-signature-256"),
              "sha256=" + base::hmac_sha256_hex("s3cret", request.body));
    EXPECT_EQ(request.headers.at("x-holon-delivery"), "odi_7");
    EXPECT_EQ(request.headers.at("idempotency-key"), "odi_7");
    EXPECT_EQ(request.headers.at("x-holon-attempt"), "2");
    EXPECT_EQ(request.headers.at("content-type"), "application/json");
}

TEST_F(ChannelsTest, AWebhookWithoutItsSecretIsNotSent) {
    EXPECT_THAT(why(webhook_channel(http_, {.url = server_.base_url(), .credential = "hook"})),
                HasSubstr("holon config credentials set hook"));
    EXPECT_EQ(server_.request_count(), 0U);
}

TEST_F(ChannelsTest, AReceiverThatIsDownOrSilentIsAFailureThatMayPass) {
    server_.always(test_support::hangs());
    const auto silent =
        send(webhook_channel(http_, {.url = server_.base_url(), .secret = "s", .timeout = 100ms}));
    EXPECT_FALSE(std::get<Failed>(silent).is_final);
    const auto down = send(webhook_channel(http_, {.url = "http://127.0.0.1:1/", .secret = "s"}));
    EXPECT_FALSE(std::get<Failed>(down).is_final);
}

TEST_F(ChannelsTest, ATransportReceivesItsTokenAndMayNameTheDelivery) {
    server_.enqueue({.status = 200, .body = R"({"transport_delivery_id":"m-5"})"});
    outgoing_.binding = domain::OperatorBinding{
        .binding_id = "b", .delivery_callback_url = server_.base_url() + "/deliver"};
    const auto channel = transport_channel(
        http_, [](const domain::OperatorBinding&) { return base::Result<std::string>("t0ken"); });
    EXPECT_EQ(send(channel), Outcome(Delivered{"m-5"}));
    EXPECT_EQ(server_.requests().at(0).headers.at("authorization"), "Bearer t0ken");
    EXPECT_EQ(server_.requests().at(0).headers.at("idempotency-key"), "odi_7");
    outgoing_.binding->status = domain::BindingStatus::Revoked;
    EXPECT_EQ(send(channel), Outcome(Failed{"the transport is no longer bound", true}));
    EXPECT_EQ(server_.request_count(), 1U);
}

}  // namespace
}  // namespace notify
