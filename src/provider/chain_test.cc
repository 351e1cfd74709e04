#include "provider/chain.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "provider/conformance.h"
#include "provider/scripted/scripted_provider.h"
#include "tests/support/fake_loop.h"

namespace provider {
namespace {

using domain::AttemptOutcome;
using testing::SizeIs;

constexpr std::uint64_t kSeed = 7;

ScriptedFault fault(FailureKind kind, std::int64_t times, std::optional<std::int64_t> status = {}) {
    return {.kind = kind, .message = "no luck", .status = status, .times = times};
}

// Keeps the requests that reach it.
class Listening final : public Provider {
public:
    explicit Listening(std::shared_ptr<Provider> provider) : provider_(std::move(provider)) {}
    std::shared_ptr<Exchange> ask(Request request, Progress progress,
                                  std::move_only_function<void(Outcome)> done) override {
        requests.push_back(request);
        return provider_->ask(std::move(request), std::move(progress), std::move(done));
    }
    std::vector<Request> requests;

private:
    std::shared_ptr<Provider> provider_;
};

class ChainTest : public testing::Test {
protected:
    std::shared_ptr<Listening> playing(Round round) {
        return std::make_shared<Listening>(
            std::make_shared<ScriptedProvider>(Scenario{{std::move(round)}, true}, loop));
    }
    Chain chain(std::vector<Candidate> candidates, RetryPolicy policy = {.jitter_max = 0ms}) {
        return {std::move(candidates), {.loop = loop, .clock = loop, .ids = ids, .policy = policy}};
    }
    Outcome ask(Provider& provider, std::string model_ref = "a/one") {
        std::optional<Outcome> outcome;
        provider.ask({.model_ref = std::move(model_ref)}, {},
                     [&](Outcome got) { outcome = std::move(got); });
        loop.run();
        return outcome.value();
    }

    test_support::FakeLoop loop;
    base::RandomIds ids{loop, kSeed};
};

TEST_F(ChainTest, ThoseWhoWatchSeeEachRetryAndTheMoveToTheNextModel) {
    const auto failing = playing({.fault = fault(FailureKind::ServerError, 3, 503)});
    const auto answering = playing({.text = "hello"});
    auto subject = chain({{"a/one", failing}, {"b/two", answering}});
    std::vector<Retry> retries;
    std::string text;
    subject.ask(
        {.model_ref = "a/one"},
        [&](const News& news) {
            if (const auto* retry = std::get_if<Retry>(&news))
                retries.push_back(*retry);
            else
                text += std::get<std::string_view>(news);
        },
        [](const Outcome&) {});
    loop.run();
    const auto retry = [](std::string next, std::int64_t attempt, std::chrono::milliseconds wait) {
        return Retry{.model_ref = "a/one",
                     .next_model_ref = std::move(next),
                     .attempt = attempt,
                     .attempts_max = 3,
                     .wait = wait,
                     .reason = "no luck"};
    };
    EXPECT_THAT(retries, testing::ElementsAre(retry("a/one", 1, 200ms), retry("a/one", 2, 400ms),
                                              retry("b/two", 3, 0ms)));
    EXPECT_EQ(text, "hello");
}

// contract: PROV-44
// contract: PROV-47
TEST_F(ChainTest, ASuccessKeepsTheFailuresBeforeItWithTheirTimes) {
    const base::Time start = loop.now();
    const auto model = playing({.text = "hello",
                                .usage = ScriptedUsage{10, 2},
                                .delay_ms = 30,
                                .fault = fault(FailureKind::ServerError, 2, 503)});
    auto subject = chain({{"a/one", model}});
    const Outcome outcome = ask(subject);
    ASSERT_TRUE(outcome.has_value()) << outcome.error().message;

    const auto failed = [&](std::int64_t attempt, base::Time at, std::int64_t backoff_ms) {
        return domain::ProviderAttempt{.provider = "a",
                                       .model_ref = "a/one",
                                       .attempt = attempt,
                                       .max_attempts = 3,
                                       .started_at = at,
                                       .completed_at = at + 30ms,
                                       .duration_ms = 30,
                                       .failure_kind = "server_error",
                                       .disposition = "retryable",
                                       .outcome = AttemptOutcome::Retrying,
                                       .backoff_ms = backoff_ms};
    };
    const base::Time third = start + 30ms + 200ms + 30ms + 400ms;
    const domain::AttemptTimeline expected{
        .attempts = {failed(1, start, 200),
                     failed(2, start + 230ms, 400),
                     {.provider = "a",
                      .model_ref = "a/one",
                      .attempt = 3,
                      .max_attempts = 3,
                      .started_at = third,
                      .completed_at = third + 30ms,
                      .duration_ms = 30,
                      .outcome = AttemptOutcome::Succeeded,
                      .token_usage = domain::TokenUsage{10, 2, 12}}},
        .requested_model_ref = "a/one",
        .active_model_ref = "a/one",
        .winning_model_ref = "a/one",
        .aggregated_token_usage = domain::TokenUsage{10, 2, 12}};
    EXPECT_EQ(outcome->timeline, expected);
}

TEST_F(ChainTest, AFallbackIsAskedWithinTheSameRound) {
    const auto down = playing({.fault = fault(FailureKind::ServerError, 99, 503)});
    const auto up = playing({.text = "hello"});
    auto subject = chain({{"a/one", down}, {"b/two", up}});
    const Outcome outcome = ask(subject);
    ASSERT_TRUE(outcome.has_value()) << outcome.error().message;
    ASSERT_THAT(outcome->timeline.attempts, SizeIs(4));
    const auto& last_of_a = outcome->timeline.attempts[2];
    EXPECT_EQ(last_of_a.outcome, AttemptOutcome::RetriesExhausted);
    EXPECT_TRUE(last_of_a.advanced_to_fallback);
    EXPECT_FALSE(outcome->timeline.attempts[1].advanced_to_fallback);
    EXPECT_EQ(outcome->timeline.attempts[3].attempt, 1);
    EXPECT_EQ(outcome->timeline.requested_model_ref, "a/one");
    EXPECT_EQ(outcome->timeline.active_model_ref, "b/two");
    EXPECT_EQ(outcome->timeline.winning_model_ref, "b/two");
}

TEST_F(ChainTest, EachCandidateIsToldWhichModelItIs) {
    const auto denied = playing({.fault = fault(FailureKind::AuthError, 99, 401)});
    const auto up = playing({.text = "hello"});
    auto subject = chain({{"a/one", denied}, {"b/two", up}});
    ASSERT_TRUE(ask(subject).has_value());
    ASSERT_THAT(denied->requests, SizeIs(1));
    EXPECT_EQ(denied->requests[0].model_ref, "a/one");
    EXPECT_EQ(denied->requests[0].frame.system_blocks.back().text, "Runtime: active_model=a/one");
    ASSERT_THAT(up->requests, SizeIs(1));
    EXPECT_EQ(up->requests[0].model_ref, "b/two");
    EXPECT_EQ(up->requests[0].frame.system_blocks.back().text,
              "Runtime: active_model=b/two requested_model=a/one");
}

// contract: PROV-16
TEST_F(ChainTest, ACandidateThatCannotBeAskedIsAnAttemptWithoutARequest) {
    const auto up = playing({.text = "hello"});
    const Failure refusal{.kind = FailureKind::UnsupportedTransport, .message = "no such contract"};
    Chain both = chain({{.model_ref = "a/one", .refusal = refusal}, {"b/two", up}});
    const Outcome outcome = ask(both);
    ASSERT_TRUE(outcome.has_value()) << outcome.error().message;
    EXPECT_EQ(outcome->timeline.winning_model_ref, "b/two");
    ASSERT_EQ(outcome->timeline.attempts.size(), 2U);
    EXPECT_EQ(outcome->timeline.attempts[0],
              (domain::ProviderAttempt{.provider = "a",
                                       .model_ref = "a/one",
                                       .failure_kind = "unsupported_transport",
                                       .disposition = "fail_fast",
                                       .outcome = AttemptOutcome::FailFastAborted,
                                       .advanced_to_fallback = true}));
}

TEST_F(ChainTest, WhereNobodyCanBeAskedTheFailureSaysWhyForEach) {
    Chain neither =
        chain({{.model_ref = "a/one",
                .refusal = Failure{.kind = FailureKind::AuthError, .message = "no key"}},
               {.model_ref = "b/two",
                .refusal = Failure{.kind = FailureKind::ContractError, .message = "unknown"}}});
    const Outcome outcome = ask(neither);
    ASSERT_FALSE(outcome.has_value());
    EXPECT_EQ(outcome.error().message,
              "a/one: fail_fast (auth_error): no key; b/two: fail_fast (contract_error): unknown");
    EXPECT_EQ(outcome.error().timeline.attempts.size(), 2U);
    EXPECT_EQ(outcome.error().timeline.active_model_ref, std::nullopt);
}

// contract: PROV-50
TEST_F(ChainTest, AFailedRoundKeepsItsTimelineAndNamesEveryCandidate) {
    const auto down = playing({.fault = fault(FailureKind::ServerError, 99, 503)});
    const auto denied = playing({.fault = fault(FailureKind::AuthError, 99, 401)});
    auto subject = chain({{"a/one", down}, {"b/two", denied}});
    const Outcome outcome = ask(subject);
    ASSERT_FALSE(outcome.has_value());
    EXPECT_EQ(outcome.error().message,
              "a/one: retries_exhausted after 3 attempts (server_error, status=503): no luck; "
              "b/two: fail_fast (auth_error, status=401): no luck");
    EXPECT_EQ(outcome.error().kind, FailureKind::AuthError);
    EXPECT_EQ(outcome.error().status, 401);
    EXPECT_THAT(outcome.error().timeline.attempts, SizeIs(4));
    EXPECT_EQ(outcome.error().timeline.winning_model_ref, std::nullopt);
}

TEST_F(ChainTest, TheWaitIsReportedApartFromTheAttempt) {
    auto slow_down = fault(FailureKind::RateLimited, 1, 429);
    slow_down.retry_after_ms = 9000;
    const auto model = playing({.text = "hello", .fault = slow_down});
    auto subject = chain({{"a/one", model}});
    const Outcome outcome = ask(subject);
    ASSERT_TRUE(outcome.has_value());
    EXPECT_EQ(outcome->timeline.attempts[0].duration_ms, 0);
    EXPECT_EQ(outcome->timeline.attempts[0].backoff_ms, 9000);
    EXPECT_EQ(
        *outcome->timeline.attempts[1].started_at - *outcome->timeline.attempts[0].completed_at,
        9000ms);
}

// contract: PROV-49
TEST_F(ChainTest, EachAttemptKeepsItsOwnUsage) {
    auto metered = fault(FailureKind::ServerError, 1);
    metered.usage = ScriptedUsage{5, 0};
    const auto model = playing({.text = "hello", .usage = ScriptedUsage{10, 2}, .fault = metered});
    auto subject = chain({{"a/one", model}});
    const Outcome outcome = ask(subject);
    ASSERT_TRUE(outcome.has_value());
    EXPECT_EQ(outcome->timeline.attempts[0].token_usage, (domain::TokenUsage{5, 0, 5}));
    EXPECT_EQ(outcome->timeline.attempts[1].token_usage, (domain::TokenUsage{10, 2, 12}));
    EXPECT_EQ(outcome->timeline.aggregated_token_usage, (domain::TokenUsage{15, 2, 17}));
}

TEST_F(ChainTest, JitterStaysBelowItsBound) {
    for (int i = 0; i < 50; ++i) {
        const auto model = playing({.text = "hello", .fault = fault(FailureKind::ServerError, 1)});
        auto subject = chain({{"a/one", model}}, RetryPolicy{});
        const Outcome outcome = ask(subject);
        ASSERT_TRUE(outcome.has_value());
        EXPECT_GE(outcome->timeline.attempts[0].backoff_ms, 200);
        EXPECT_LT(outcome->timeline.attempts[0].backoff_ms, 300);
    }
}

TEST_F(ChainTest, APromptTooLongIsNotSentToTheNextCandidate) {
    const auto full = playing({.fault = fault(FailureKind::ContextLengthExceeded, 99, 400)});
    const auto up = playing({.text = "hello"});
    auto subject = chain({{"a/one", full}, {"b/two", up}});
    const Outcome outcome = ask(subject);
    ASSERT_FALSE(outcome.has_value());
    EXPECT_EQ(outcome.error().kind, FailureKind::ContextLengthExceeded);
    EXPECT_THAT(up->requests, SizeIs(0));
}

TEST_F(ChainTest, CancelEndsTheWaitBeforeARetry) {
    const auto down = playing({.fault = fault(FailureKind::ServerError, 99, 503)});
    auto subject = chain({{"a/one", down}});
    conformance::Asked asked;
    const base::Time start = loop.now();
    asked.ask(subject, conformance::question());
    ASSERT_TRUE(loop.run_one());  // The first attempt fails, and the wait begins.
    asked.cancel();
    loop.run();
    ASSERT_THAT(asked.outcomes, SizeIs(1));
    EXPECT_EQ(asked.outcomes[0].error().kind, FailureKind::Cancelled);
    EXPECT_THAT(asked.outcomes[0].error().timeline.attempts, SizeIs(1));
    EXPECT_EQ(loop.now(), start);
    EXPECT_THAT(down->requests, SizeIs(1));
}

// contract: PROV-40
TEST(AttemptRecord, LeavesOutWhatIsUnsetAndKeepsItsNames) {
    const domain::ProviderAttempt least{.provider = "a", .model_ref = "a/one"};
    EXPECT_EQ(base::json_text(base::to_json(least)),
              R"({"provider":"a","model_ref":"a/one","attempt":1,"max_attempts":1,)"
              R"("outcome":"succeeded","advanced_to_fallback":false})");
    const base::Time time = base::from_micros(0);
    const domain::ProviderAttempt full{
        .provider = "a",
        .model_ref = "a/one",
        .attempt = 2,
        .max_attempts = 3,
        .started_at = time,
        .completed_at = time + 5ms,
        .duration_ms = 5,
        .failure_kind = "timeout",
        .disposition = "retryable",
        .outcome = AttemptOutcome::Retrying,
        .advanced_to_fallback = true,
        .backoff_ms = 200,
        .token_usage = domain::TokenUsage{1, 2, 3},
        .transport_diagnostics = domain::TransportDiagnostics{.stage = "request_send"}};
    EXPECT_EQ(base::json_text(base::to_json(full)),
              R"({"provider":"a","model_ref":"a/one","attempt":2,"max_attempts":3,)"
              R"("started_at":"1970-01-01T00:00:00.000000Z",)"
              R"("completed_at":"1970-01-01T00:00:00.005000Z","duration_ms":5,)"
              R"("failure_kind":"timeout","disposition":"retryable","outcome":"retrying",)"
              R"("advanced_to_fallback":true,"backoff_ms":200,)"
              R"("token_usage":{"input_tokens":1,"output_tokens":2,"total_tokens":3},)"
              R"("transport_diagnostics":{"stage":"request_send"}})");
}

// contract: PROV-43
TEST_F(ChainTest, OnlyAWonTimelineNamesAWinner) {
    const auto up = playing({.text = "hello", .usage = ScriptedUsage{1, 1}});
    const auto denied = playing({.fault = fault(FailureKind::AuthError, 99, 401)});
    const auto keys = [](const domain::AttemptTimeline& timeline) {
        std::vector<std::string> names;
        for (const auto& member : base::to_json(timeline).as_object())
            names.emplace_back(member.key());
        return names;
    };
    auto winning = chain({{"a/one", up}});
    EXPECT_EQ(keys(ask(winning)->timeline),
              (std::vector<std::string>{"attempts", "requested_model_ref", "active_model_ref",
                                        "winning_model_ref", "aggregated_token_usage"}));
    auto losing = chain({{"a/one", denied}});
    EXPECT_EQ(keys(ask(losing).error().timeline),
              (std::vector<std::string>{"attempts", "requested_model_ref", "active_model_ref"}));
}

// contract: PROV-39
TEST_F(ChainTest, TheFourOutcomesAreAllThereAre) {
    const auto flaky = playing({.text = "hi", .fault = fault(FailureKind::Timeout, 1)});
    const auto denied = playing({.fault = fault(FailureKind::AuthError, 99)});
    const auto down = playing({.fault = fault(FailureKind::Timeout, 99)});
    auto subject = chain({{"a/one", denied}, {"b/two", down}, {"c/three", flaky}});
    std::set<std::string> seen;
    for (const auto& attempt : ask(subject)->timeline.attempts)
        seen.emplace(base::enum_name(attempt.outcome));
    const std::set<std::string> all{"retrying", "retries_exhausted", "fail_fast_aborted",
                                    "succeeded"};
    EXPECT_EQ(seen, all);
    const auto names = base::typed::type_of<AttemptOutcome>().names;
    EXPECT_EQ(std::set<std::string>(names.begin(), names.end()), all);
}

}  // namespace

namespace conformance {
namespace {

// A chain is a Provider too, and so is held to the same promise.
class ChainHarness {
public:
    base::Loop& loop() { return loop_; }
    bool run_until(const std::function<bool()>& condition) { return loop_.run_until(condition); }
    std::shared_ptr<Provider> that_says(std::string text) { return around({.text = text}); }
    std::shared_ptr<Provider> that_calls(const domain::ToolUseBlock& call) {
        return around({.tool_calls = {{call.name, call.input, call.id}}});
    }
    std::shared_ptr<Provider> that_fails(FailureKind kind) {
        return around({.fault = ScriptedFault{.kind = kind, .message = "scripted", .times = 99}});
    }
    std::shared_ptr<Provider> that_hangs() { return around({.delay_ms = kScenarioDelayMsMax}); }
    void wait_until_asked() {}

private:
    std::shared_ptr<Provider> around(Round round) {
        auto model = std::make_shared<ScriptedProvider>(Scenario{{std::move(round)}, true}, loop_);
        return std::make_shared<Chain>(std::vector<Candidate>{{"test/model-1", std::move(model)}},
                                       Chain::Parts{.loop = loop_, .clock = loop_, .ids = ids_});
    }
    test_support::FakeLoop loop_;
    base::RandomIds ids_{loop_, kSeed};
};

INSTANTIATE_TYPED_TEST_SUITE_P(Chain, ProviderConformance, ChainHarness);

}  // namespace
}  // namespace conformance
}  // namespace provider
