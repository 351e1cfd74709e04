// What every transport that streams does. `Transport` is as in transport_suite.h, with kDocument,
// what the server sends when it does not stream, and kLastEvent, how the end of a stream begins.
#pragma once

#include "provider/http/transport.h"
#include "tests/support/transport_suite.h"

namespace test_support {

template <class Transport>
class StreamSuite : public testing::Test {
protected:
    void ask(ServerReply reply) {
        server_.always(std::move(reply));
        provider_ = world_.connect(Transport{}.codec(server_.base_url(), "key-0123456789"));
        asked_.ask(*provider_, provider::conformance::question());
    }

    FakeModelServer server_;
    TransportWorld world_{.timeouts = provider::kStreamTimeouts};
    std::shared_ptr<provider::Provider> provider_;
    provider::conformance::Asked asked_;
};
TYPED_TEST_SUITE_P(StreamSuite);

TYPED_TEST_P(StreamSuite, TextArrivesWhileTheAnswerIsOnItsWay) {
    ServerReply slow = says("one two three", TypeParam::kContract);
    slow.last_byte_delay = std::chrono::seconds(10);
    slow.body.resize(slow.body.find(TypeParam::kLastEvent) + 1);
    this->ask(slow);
    EXPECT_TRUE(
        run_until(this->world_.loop, [&] { return this->asked_.streamed == "one two three"; }));
    EXPECT_FALSE(this->asked_.is_done());
    this->asked_.cancel();
    EXPECT_TRUE(run_until(this->world_.loop, [&] { return this->asked_.is_done(); }));
    EXPECT_EQ(base::parse_json(this->server_.requests().at(0).body).value().at("stream"),
              json::value(true));
}

TYPED_TEST_P(StreamSuite, AServerThatSendsOneDocumentAllTheSameIsUnderstood) {
    this->ask(says("All at once.", TypeParam::kDocument));
    ASSERT_TRUE(run_until(this->world_.loop, [&] { return this->asked_.is_done(); }));
    const auto& outcome = this->asked_.outcomes.at(0);
    ASSERT_TRUE(outcome.has_value()) << outcome.error().message;
    EXPECT_EQ(this->asked_.streamed, "All at once.");
    EXPECT_EQ(outcome->usage, (domain::TokenUsage{10, 5, 15}));
}

REGISTER_TYPED_TEST_SUITE_P(StreamSuite, TextArrivesWhileTheAnswerIsOnItsWay,
                            AServerThatSendsOneDocumentAllTheSameIsUnderstood);

}  // namespace test_support
