// Retries and fallback as a server sees them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "provider/chain.h"
#include "provider/chat_completions/codec.h"
#include "provider/conformance.h"
#include "provider/http/transport.h"
#include "tests/support/fake_model_server.h"
#include "tests/support/run_until.h"

namespace provider {
namespace {

using domain::AttemptOutcome;
using test_support::FakeModelServer;
using test_support::run_until;
using test_support::ServerReply;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::SizeIs;

// Short waits; how long they are by default is the table of retry_test.cc.
constexpr RetryPolicy kQuick{.backoff_step = 5ms, .jitter_max = 3ms, .retry_after_max = 40ms};

class ChainOverHttp : public testing::Test {
protected:
    Candidate at(std::string model_ref, const std::string& base_url,
                 std::chrono::milliseconds first_byte = 20s) {
        return {std::move(model_ref),
                std::make_shared<HttpTransport>(
                    http, clock, chat_completions::make_codec({.base_url = base_url}),
                    HttpTransportOptions{.timeouts = {.first_byte = first_byte}})};
    }
    Outcome ask(std::vector<Candidate> candidates, RetryPolicy policy = kQuick) {
        Chain chain(std::move(candidates),
                    {.loop = loop, .clock = clock, .ids = ids, .policy = policy});
        conformance::Asked asked;
        asked.ask(chain, conformance::question());
        EXPECT_TRUE(run_until(loop, [&] { return asked.is_done(); }));
        return asked.outcomes.at(0);
    }
    // One candidate, against `first`.
    Outcome ask_one() { return ask({at("a/one", first.base_url())}); }

    static const domain::AttemptTimeline& timeline(const Outcome& outcome) {
        return outcome ? outcome->timeline : outcome.error().timeline;
    }
    static std::vector<AttemptOutcome> outcomes(const Outcome& outcome) {
        std::vector<AttemptOutcome> list;
        for (const auto& attempt : timeline(outcome).attempts) list.push_back(attempt.outcome);
        return list;
    }

    FakeModelServer first;
    FakeModelServer second;
    base::AsioLoop loop;
    base::SystemClock clock;
    base::RandomIds ids{clock};
    HttpClient http{loop, {.proxy = ""}};
};

// contract: PROV-20
TEST_F(ChainOverHttp, EachAttemptIsClassifiedByItself) {
    first.enqueue(test_support::status_reply(500));
    first.enqueue(test_support::status_reply(401));
    EXPECT_THAT(outcomes(ask_one()),
                ElementsAre(AttemptOutcome::Retrying, AttemptOutcome::FailFastAborted));
}

// contract: PROV-21
// contract: PROV-34
TEST_F(ChainOverHttp, TheFallbackComesAfterAllRetries) {
    first.always(test_support::status_reply(503));
    second.always(test_support::says("hello"));
    const Outcome outcome = ask({at("a/one", first.base_url()), at("b/two", second.base_url())});
    ASSERT_TRUE(outcome.has_value()) << outcome.error().message;
    EXPECT_THAT(outcomes(outcome),
                ElementsAre(AttemptOutcome::Retrying, AttemptOutcome::Retrying,
                            AttemptOutcome::RetriesExhausted, AttemptOutcome::Succeeded));
    const auto& attempts = outcome->timeline.attempts;
    EXPECT_TRUE(attempts[2].advanced_to_fallback);
    EXPECT_EQ(first.request_count(), 3U);
    EXPECT_EQ(second.request_count(), 1U);
    EXPECT_LE(*attempts[2].completed_at, *attempts[3].started_at);
    EXPECT_EQ(base::string_at(base::parse_json(second.requests()[0].body).value(), "model"), "two");
}

// contract: PROV-25
TEST_F(ChainOverHttp, AServerThatStaysDownGetsThreeRequests) {
    first.always(test_support::status_reply(503));
    EXPECT_THAT(outcomes(ask_one()), SizeIs(3));
    EXPECT_EQ(first.request_count(), 3U);
}

// contract: PROV-22
// contract: PROV-26
TEST_F(ChainOverHttp, AServerThatNeverAnswersIsAskedAgainAndThenSaysSo) {
    first.always(test_support::hangs());
    const Outcome outcome = ask({at("a/one", first.base_url(), 60ms)});
    ASSERT_FALSE(outcome.has_value());
    EXPECT_THAT(outcomes(outcome), ElementsAre(AttemptOutcome::Retrying, AttemptOutcome::Retrying,
                                               AttemptOutcome::RetriesExhausted));
    EXPECT_EQ(timeline(outcome).attempts[0].failure_kind, "timeout");
    EXPECT_THAT(outcome.error().message,
                HasSubstr("a/one: retries_exhausted after 3 attempts (timeout)"));
}

// contract: PROV-19
TEST_F(ChainOverHttp, AServerThatAlwaysLimitsGetsAFiniteNumberOfRequestsEachOnRecord) {
    first.always(test_support::rate_limited());
    const Outcome outcome = ask_one();
    ASSERT_FALSE(outcome.has_value());
    EXPECT_EQ(first.request_count(), 3U);
    ASSERT_THAT(timeline(outcome).attempts, SizeIs(3));
    for (const auto& attempt : timeline(outcome).attempts) {
        EXPECT_EQ(attempt.failure_kind, "rate_limited");
        EXPECT_EQ(attempt.transport_diagnostics->status, 429);
    }
}

// contract: PROV-41, PROV-42, PROV-51
TEST_F(ChainOverHttp, DiagnosticsTellTimeoutConnectAndBodyFailuresApart) {
    const auto diagnostics = [&](const Outcome& outcome) {
        const json::value record = base::to_json(timeline(outcome).attempts.at(0));
        return record.at("transport_diagnostics").as_object();
    };
    const auto flags = [](const json::object& of) { return of.at("reqwest").as_object(); };
    std::string gone;
    {
        const FakeModelServer closed;
        gone = closed.base_url();
    }
    const auto connect = diagnostics(ask({at("a/one", gone)}));
    EXPECT_EQ(json::value(connect).at("stage"), "request_send");
    for (const auto& member : connect)
        EXPECT_THAT((std::vector<std::string>{"stage", "provider", "model_ref", "url", "status",
                                              "reqwest", "source_chain"}),
                    testing::Contains(std::string(member.key())));
    EXPECT_FALSE(connect.contains("status")) << "what is not known is left out";
    EXPECT_TRUE(connect.at("source_chain").is_array());
    EXPECT_EQ(flags(connect), (json::object{{"is_timeout", false},
                                            {"is_connect", true},
                                            {"is_request", true},
                                            {"is_body", false},
                                            {"is_decode", false},
                                            {"is_redirect", false}}));

    first.always(test_support::hangs());
    const auto timeout = diagnostics(ask({at("a/one", first.base_url(), 60ms)}));
    EXPECT_EQ(flags(timeout).at("is_timeout"), true);
    EXPECT_EQ(flags(timeout).at("is_connect"), false);
    EXPECT_EQ(flags(timeout).size(), 6U);

    auto cut = test_support::says("cut");
    cut.truncate_after = 20;
    second.always(cut);
    const auto body = diagnostics(ask({at("b/two", second.base_url())}));
    EXPECT_EQ(body.at("stage"), "response_body");
    EXPECT_EQ(body.at("status"), 200);
    EXPECT_EQ(flags(body).at("is_body"), true);
    EXPECT_EQ(flags(body).at("is_timeout"), false);
    EXPECT_EQ(flags(body).at("status"), 200);
}

// contract: PROV-27
TEST_F(ChainOverHttp, AClosedPortIsTriedAgain) {
    std::string gone;
    {
        const FakeModelServer closed;
        gone = closed.base_url();
    }
    const Outcome outcome = ask({at("a/one", gone)});
    EXPECT_EQ(outcomes(outcome).at(0), AttemptOutcome::Retrying);
    EXPECT_EQ(timeline(outcome).attempts[0].failure_kind, "connection");
}

// contract: PROV-28
TEST_F(ChainOverHttp, TooManyRequestsIsTriedAgainAfterTheWaitItAsksFor) {
    first.enqueue(test_support::rate_limited());
    first.enqueue(test_support::says("hello"));
    EXPECT_THAT(outcomes(ask_one()),
                ElementsAre(AttemptOutcome::Retrying, AttemptOutcome::Succeeded));
    // A limit further off than that ends the candidate; the caller may wait so long.
    first.enqueue(test_support::rate_limited("3600"));
    const Outcome limited = ask_one();
    ASSERT_FALSE(limited.has_value());
    EXPECT_EQ(limited.error().kind, FailureKind::RateLimited);
    EXPECT_EQ(limited.error().retry_after, std::chrono::hours(1));
    EXPECT_THAT(outcomes(limited), ElementsAre(AttemptOutcome::RetriesExhausted));
}

// contract: PROV-29
TEST_F(ChainOverHttp, EligibleServerErrorsAreTriedAgain) {
    for (const int status : {500, 502, 503, 504}) {
        first.enqueue(test_support::status_reply(status));
        first.enqueue(test_support::says("hello"));
        EXPECT_THAT(outcomes(ask_one()),
                    ElementsAre(AttemptOutcome::Retrying, AttemptOutcome::Succeeded));
    }
    for (const int status : {501, 505}) {
        first.enqueue(test_support::status_reply(status));
        EXPECT_THAT(outcomes(ask_one()), ElementsAre(AttemptOutcome::FailFastAborted));
    }
}

// contract: PROV-30
// contract: PROV-31
TEST_F(ChainOverHttp, WhatCannotGetBetterIsAskedOnce) {
    const std::vector<ServerReply> replies{
        test_support::status_reply(401), test_support::status_reply(403),
        test_support::status_reply(400), test_support::status_reply(404)};
    for (const auto& reply : replies) {
        first.enqueue(reply);
        const std::size_t before = first.request_count();
        EXPECT_THAT(outcomes(ask_one()), ElementsAre(AttemptOutcome::FailFastAborted));
        EXPECT_EQ(first.request_count(), before + 1);
    }
}

// Ruling 19 replaces PROV-32: an answer that cannot be read may be readable a moment later.
TEST_F(ChainOverHttp, AnAnswerThatCannotBeReadIsAskedForAgain) {
    for (const auto& reply :
         {test_support::with_body("{\"choices\""), test_support::with_body(R"({"output":[]})"),
          test_support::wrong_content_type(), test_support::status_reply(408),
          test_support::status_reply(409), test_support::status_reply(425)}) {
        first.enqueue(reply);
        first.enqueue(test_support::says("hello"));
        EXPECT_THAT(outcomes(ask_one()),
                    ElementsAre(AttemptOutcome::Retrying, AttemptOutcome::Succeeded))
            << reply.body;
    }
}

// contract: PROV-35
TEST_F(ChainOverHttp, AFailFastErrorEndsItsCandidateOnly) {
    first.always(test_support::status_reply(401));
    second.always(test_support::says("hello"));
    const Outcome outcome = ask({at("a/one", first.base_url()), at("b/two", second.base_url())});
    ASSERT_TRUE(outcome.has_value()) << outcome.error().message;
    EXPECT_THAT(outcomes(outcome),
                ElementsAre(AttemptOutcome::FailFastAborted, AttemptOutcome::Succeeded));
    EXPECT_TRUE(outcome->timeline.attempts[0].advanced_to_fallback);
    EXPECT_EQ(outcome->timeline.winning_model_ref, "b/two");
}

// contract: PROV-45
TEST_F(ChainOverHttp, TheWaitIsNotPartOfTheAttempt) {
    constexpr RetryPolicy kLongWait{.backoff_step = 600ms, .jitter_max = 0ms};
    first.enqueue(test_support::status_reply(503));
    first.enqueue(test_support::says("hello"));
    const Outcome outcome = ask({at("a/one", first.base_url())}, kLongWait);
    ASSERT_TRUE(outcome.has_value()) << outcome.error().message;
    const auto& attempts = outcome->timeline.attempts;
    EXPECT_EQ(attempts[0].backoff_ms, 600);
    EXPECT_LT(*attempts[0].duration_ms, 600);
    EXPECT_GE(*attempts[1].started_at - *attempts[0].completed_at, 600ms);
}

// contract: PROV-46
TEST_F(ChainOverHttp, AnAttemptLastsUntilTheLastByte) {
    ServerReply slow = test_support::says("hello");
    slow.last_byte_delay = 300ms;
    first.enqueue(slow);
    const Outcome outcome = ask_one();
    ASSERT_TRUE(outcome.has_value()) << outcome.error().message;
    EXPECT_GE(*outcome->timeline.attempts[0].duration_ms, 300);
}

TEST_F(ChainOverHttp, CancelClosesTheConnectionOfTheAttempt) {
    first.always(test_support::hangs());
    Chain chain({at("a/one", first.base_url()), at("b/two", second.base_url())},
                {.loop = loop, .clock = clock, .ids = ids, .policy = kQuick});
    conformance::Asked asked;
    asked.ask(chain, conformance::question());
    ASSERT_TRUE(run_until(loop, [&] { return first.request_count() == 1; }));
    asked.cancel();
    ASSERT_TRUE(run_until(loop, [&] { return asked.is_done(); }));
    EXPECT_EQ(asked.outcomes[0].error().kind, FailureKind::Cancelled);
    EXPECT_TRUE(run_until(loop, [&] { return first.disconnect_count() == 1; }));
    EXPECT_EQ(first.request_count() + second.request_count(), 1U);
}

TEST_F(ChainOverHttp, DiagnosticsOfEachAttemptAreKept) {
    first.always(test_support::status_reply(503));
    const Outcome outcome = ask_one();
    for (const auto& attempt : timeline(outcome).attempts) {
        ASSERT_TRUE(attempt.transport_diagnostics.has_value());
        EXPECT_EQ(attempt.transport_diagnostics->stage, "response_status");
        EXPECT_EQ(attempt.transport_diagnostics->status, 503);
        EXPECT_TRUE(attempt.duration_ms.has_value());
    }
}

}  // namespace
}  // namespace provider
