#include "record/telemetry/otlp.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "domain/events/turn.h"
#include "tests/support/fake_model_server.h"

namespace telemetry {
namespace {

using test_support::FakeModelServer;
using testing::SizeIs;
using namespace std::chrono_literals;

class OtlpTest : public testing::Test {
protected:
    void end_turns(int count) {
        std::vector<events::Committed> batch;
        for (int i = 0; i < count; ++i) {
            domain::events::TurnTerminal turn;
            turn.run_id = {"run-" + std::to_string(i)};
            batch.push_back({{"main"},
                             {.kind = std::string(domain::events::TurnTerminal::kKind),
                              .data = base::to_json(turn)}});
        }
        feed.publish(batch);
    }
    // Runs the loop until the collector has had `count` requests and the exporter their answers.
    void run_until_requests(std::size_t count) {
        std::function<void()> check = [&] {
            if (server.request_count() >= count) return loop.stop();
            loop.after(5ms, [&] { check(); });
        };
        loop.post([&] { check(); });
        loop.run();
    }
    json::array spans_in(std::size_t request) {
        return base::parse_json(server.requests().at(request).body)
            .value()
            .at_pointer("/resourceSpans/0/scopeSpans/0/spans")
            .as_array();
    }

    FakeModelServer server;
    base::AsioLoop loop;
    provider::HttpClient client{loop, {.proxy = ""}};
    events::Feed feed;
    std::optional<OtlpExporter> exporter{std::in_place,
                                         OtlpOptions{.url = server.base_url() + "/v1/traces",
                                                     .headers = {{"x-key", "k"}},
                                                     .service_name = "mine",
                                                     .flush_interval = 1ms,
                                                     .http = {.proxy = ""}},
                                         client, feed};
};

TEST_F(OtlpTest, SendsABatchInTheFormThatCollectorsTake) {
    server.always(test_support::with_body("{}"));
    end_turns(3);
    run_until_requests(1);
    const auto request = server.requests().at(0);
    EXPECT_TRUE(request.path.ends_with("/v1/traces"));
    EXPECT_EQ(request.headers.at("x-key"), "k");
    EXPECT_EQ(request.headers.at("content-type"), "application/json");
    EXPECT_THAT(spans_in(0), SizeIs(3));
    const auto body = base::parse_json(request.body).value();
    EXPECT_EQ(body.at_pointer("/resourceSpans/0/resource/attributes/0/value/stringValue"), "mine");
    const auto span = spans_in(0)[0];
    EXPECT_TRUE(span.at("startTimeUnixNano").is_string());
    EXPECT_FALSE(span.as_object().contains("parentSpanId"));
}

TEST_F(OtlpTest, AFailingCollectorIsAskedAgainAndLosesNothing) {
    server.enqueue(test_support::status_reply(503));
    server.always(test_support::with_body("{}"));
    end_turns(2);
    run_until_requests(2);
    EXPECT_THAT(spans_in(1), SizeIs(2));
    EXPECT_EQ(exporter->dropped(), 0U);
}

TEST_F(OtlpTest, WhatIsLeftAtTheEndIsStillSent) {
    server.always(test_support::with_body("{}"));
    end_turns(2);
    exporter.reset();
    ASSERT_EQ(server.request_count(), 1U);
    EXPECT_THAT(spans_in(0), SizeIs(2));
}

TEST_F(OtlpTest, WhatDoesNotFitIsDroppedAndCounted) {
    server.always(test_support::with_body("{}"));
    end_turns(static_cast<int>(kWaitingSpansMax) + 10);
    EXPECT_EQ(exporter->dropped(), 10U);
    run_until_requests(1);
    EXPECT_THAT(spans_in(0), SizeIs(kBatchSpansMax));
}

TEST_F(OtlpTest, ABatchThatIsRefusedIsNotSentAgain) {
    server.enqueue(test_support::status_reply(400));
    server.always(test_support::with_body("{}"));
    end_turns(1);
    run_until_requests(1);
    end_turns(2);
    run_until_requests(2);
    EXPECT_THAT(spans_in(1), SizeIs(2));
    EXPECT_EQ(exporter->dropped(), 1U);
}

}  // namespace
}  // namespace telemetry
