// What every transport must do, as one test suite that each of them runs.
//
// A harness H is default-constructible and brings the world a transport lives in:
//
//     base::Loop& loop();
//     bool run_until(std::function<bool()>);          bounded in time; false when it gave up
//     std::shared_ptr<Provider> that_says(std::string text);
//     std::shared_ptr<Provider> that_calls(domain::ToolUseBlock call);
//     std::shared_ptr<Provider> that_fails(FailureKind kind);   server_error or auth_error
//     std::shared_ptr<Provider> that_hangs();
//     void wait_until_asked();                        the hanging one has got its question
//
// Each provider gives its answer as often as it is asked.
#pragma once

#include <functional>
#include <memory>

#include <gtest/gtest.h>

#include "base/os/loop.h"
#include "provider/provider.h"

namespace provider::conformance {

inline Request question() {
    return {.request_id = "req-1",
            .model_ref = "test/model-1",
            .frame = {.system_blocks = {{Stability::Stable, "You are terse."}},
                      .context_blocks = {{Stability::TurnScoped, "Say something."}}}};
}

// A question in the middle of a turn: one call made, and answered.
inline Request question_with_results() {
    Request request = question();
    request.conversation.emplace_back(
        AssistantTurn{{domain::TextBlock{"Looking."},
                       domain::ToolUseBlock{"call_7", "ExecCommand", {{"cmd", "ls"}}}}});
    request.conversation.emplace_back(ToolResultsTurn{{{"call_7", "README", false}}});
    return request;
}

// Asks and keeps what came back.
class Asked {
public:
    void ask(Provider& provider, Request request, bool with_progress = true) {
        asking_ = true;
        Progress progress;
        if (with_progress) {
            progress = [this](const News& news) {
                EXPECT_FALSE(asking_) << "progress inside ask()";
                EXPECT_TRUE(outcomes.empty()) << "progress after done";
                if (const auto* text = std::get_if<std::string_view>(&news)) streamed += *text;
            };
        }
        exchange = provider.ask(std::move(request), std::move(progress), [this](Outcome outcome) {
            EXPECT_FALSE(asking_) << "done inside ask()";
            EXPECT_FALSE(cancelling_) << "done inside cancel()";
            outcomes.push_back(std::move(outcome));
        });
        asking_ = false;
    }
    void cancel() {
        cancelling_ = true;
        exchange->cancel();
        cancelling_ = false;
    }
    bool is_done() const { return !outcomes.empty(); }

    std::shared_ptr<Exchange> exchange;
    std::string streamed;
    std::vector<Outcome> outcomes;

private:
    bool asking_{false};
    bool cancelling_{false};
};

template <class H>
class ProviderConformance : public testing::Test {
protected:
    void run_until_done(const Asked& asked) {
        ASSERT_TRUE(harness.run_until([&] { return asked.is_done(); })) << "no outcome in time";
        settle();
    }
    // Runs what was posted before, so that a second outcome would be seen.
    void settle() {
        bool settled = false;
        harness.loop().post([&] { harness.loop().post([&] { settled = true; }); });
        ASSERT_TRUE(harness.run_until([&] { return settled; }));
    }
    static void expect_cancelled(const Asked& asked) {
        ASSERT_EQ(asked.outcomes.size(), 1U);
        ASSERT_FALSE(asked.outcomes[0].has_value());
        EXPECT_EQ(asked.outcomes[0].error().kind, FailureKind::Cancelled);
    }

    H harness;
};
TYPED_TEST_SUITE_P(ProviderConformance);

TYPED_TEST_P(ProviderConformance, AnswersOnceAndNotInsideAsk) {
    const auto provider = this->harness.that_says("All is well.");
    Asked asked;
    asked.ask(*provider, question());
    this->run_until_done(asked);
    ASSERT_EQ(asked.outcomes.size(), 1U);
    ASSERT_TRUE(asked.outcomes[0].has_value()) << asked.outcomes[0].error().message;
    EXPECT_EQ(asked.outcomes[0]->blocks,
              (std::vector<domain::Block>{domain::TextBlock{"All is well."}}));
    EXPECT_FALSE(asked.outcomes[0]->stop_reason.empty());
}

TYPED_TEST_P(ProviderConformance, ProgressComesFirstAndAddsUpToTheText) {
    const auto provider = this->harness.that_says("one two  three\nfour");
    Asked asked;
    asked.ask(*provider, question());
    this->run_until_done(asked);
    EXPECT_EQ(asked.streamed, "one two  three\nfour");
}

TYPED_TEST_P(ProviderConformance, WorksWithoutProgress) {
    const auto provider = this->harness.that_says("All is well.");
    Asked asked;
    asked.ask(*provider, question(), false);
    this->run_until_done(asked);
    ASSERT_EQ(asked.outcomes.size(), 1U);
    EXPECT_TRUE(asked.outcomes[0].has_value());
}

TYPED_TEST_P(ProviderConformance, ToolCallsKeepIdNameAndInput) {
    const domain::ToolUseBlock call{
        "call_a", "ExecCommand", {{"cmd", "echo \"ü\""}, {"tail", json::array{1, nullptr}}}};
    const auto provider = this->harness.that_calls(call);
    Asked asked;
    asked.ask(*provider, question());
    this->run_until_done(asked);
    ASSERT_TRUE(asked.outcomes[0].has_value()) << asked.outcomes[0].error().message;
    EXPECT_EQ(asked.outcomes[0]->blocks, (std::vector<domain::Block>{call}));
}

TYPED_TEST_P(ProviderConformance, ContinuesAfterToolResults) {
    const auto provider = this->harness.that_says("It is README.");
    Asked asked;
    asked.ask(*provider, question_with_results());
    this->run_until_done(asked);
    ASSERT_TRUE(asked.outcomes[0].has_value()) << asked.outcomes[0].error().message;
}

TYPED_TEST_P(ProviderConformance, AFailureArrivesOnceWithItsKind) {
    for (const auto kind : {FailureKind::ServerError, FailureKind::AuthError}) {
        const auto provider = this->harness.that_fails(kind);
        Asked asked;
        asked.ask(*provider, question());
        this->run_until_done(asked);
        ASSERT_EQ(asked.outcomes.size(), 1U);
        ASSERT_FALSE(asked.outcomes[0].has_value());
        EXPECT_EQ(asked.outcomes[0].error().kind, kind);
        EXPECT_FALSE(asked.outcomes[0].error().message.empty());
        EXPECT_EQ(asked.streamed, "");
    }
}

TYPED_TEST_P(ProviderConformance, CancelRightAfterAskGivesCancelled) {
    const auto provider = this->harness.that_says("too late");
    Asked asked;
    asked.ask(*provider, question());
    asked.cancel();
    this->run_until_done(asked);
    this->expect_cancelled(asked);
    EXPECT_EQ(asked.streamed, "");
}

TYPED_TEST_P(ProviderConformance, CancelInFlightGivesCancelled) {
    const auto provider = this->harness.that_hangs();
    Asked asked;
    asked.ask(*provider, question());
    this->harness.wait_until_asked();
    asked.cancel();
    asked.cancel();
    this->run_until_done(asked);
    this->expect_cancelled(asked);
}

TYPED_TEST_P(ProviderConformance, CancelAfterDoneChangesNothing) {
    const auto provider = this->harness.that_says("All is well.");
    Asked asked;
    asked.ask(*provider, question());
    this->run_until_done(asked);
    asked.cancel();
    this->settle();
    ASSERT_EQ(asked.outcomes.size(), 1U);
    EXPECT_TRUE(asked.outcomes[0].has_value());
}

TYPED_TEST_P(ProviderConformance, DroppingTheExchangeStopsNothing) {
    const auto provider = this->harness.that_says("All is well.");
    Asked asked;
    asked.ask(*provider, question());
    asked.exchange.reset();
    this->run_until_done(asked);
    ASSERT_EQ(asked.outcomes.size(), 1U);
    EXPECT_TRUE(asked.outcomes[0].has_value());
}

TYPED_TEST_P(ProviderConformance, TheTransportKeepsAnExchangeUntilItIsDone) {
    const auto provider = this->harness.that_hangs();
    Asked asked;
    asked.ask(*provider, question());
    const std::weak_ptr<Exchange> exchange = asked.exchange;
    asked.exchange.reset();
    this->harness.wait_until_asked();
    ASSERT_FALSE(exchange.expired());
    exchange.lock()->cancel();
    this->run_until_done(asked);
    this->expect_cancelled(asked);
}

// Only a leak checker sees what this is about: exchange and callback may not keep each other alive.
TYPED_TEST_P(ProviderConformance, AQuestionDroppedWithItsLoopIsFreed) {
    const auto provider = this->harness.that_hangs();
    Asked asked;
    asked.ask(*provider, question());
    this->harness.wait_until_asked();
    EXPECT_FALSE(asked.is_done());
}

TYPED_TEST_P(ProviderConformance, TheOutcomeReleasesCallbacksThatHoldTheExchange) {
    const auto provider = this->harness.that_says("All is well.");
    auto held = std::make_shared<std::shared_ptr<Exchange>>();
    *held = provider->ask(question(), [held](const News&) {}, [held](const Outcome&) {});
    const std::weak_ptr<Exchange> exchange = *held;
    held.reset();
    EXPECT_TRUE(this->harness.run_until([&] { return exchange.expired(); }));
}

TYPED_TEST_P(ProviderConformance, QuestionsAtTheSameTimeDoNotDisturbEachOther) {
    const auto provider = this->harness.that_says("All is well.");
    Asked first, second, third;
    first.ask(*provider, question());
    second.ask(*provider, question());
    third.ask(*provider, question());
    second.cancel();
    this->run_until_done(first);
    this->run_until_done(second);
    this->run_until_done(third);
    EXPECT_TRUE(first.outcomes[0].has_value());
    this->expect_cancelled(second);
    EXPECT_TRUE(third.outcomes[0].has_value());
}

TYPED_TEST_P(ProviderConformance, TheNextQuestionMayBeAskedFromDone) {
    const auto provider = this->harness.that_says("All is well.");
    int answers = 0;
    std::shared_ptr<Exchange> exchange;
    std::function<void()> ask_again = [&] {
        exchange = provider->ask(question(), {}, [&](Outcome outcome) {
            EXPECT_TRUE(outcome.has_value());
            if (++answers < 3) ask_again();
        });
    };
    ask_again();
    ASSERT_TRUE(this->harness.run_until([&] { return answers == 3; }));
}

REGISTER_TYPED_TEST_SUITE_P(
    ProviderConformance, AnswersOnceAndNotInsideAsk, ProgressComesFirstAndAddsUpToTheText,
    WorksWithoutProgress, ToolCallsKeepIdNameAndInput, ContinuesAfterToolResults,
    AFailureArrivesOnceWithItsKind, CancelRightAfterAskGivesCancelled, CancelInFlightGivesCancelled,
    CancelAfterDoneChangesNothing, DroppingTheExchangeStopsNothing,
    TheTransportKeepsAnExchangeUntilItIsDone, AQuestionDroppedWithItsLoopIsFreed,
    TheOutcomeReleasesCallbacksThatHoldTheExchange, QuestionsAtTheSameTimeDoNotDisturbEachOther,
    TheNextQuestionMayBeAskedFromDone);

}  // namespace provider::conformance
