#include "provider/scripted/scripted_provider.h"

#include <gtest/gtest.h>

#include "tests/support/fake_loop.h"

namespace provider {
namespace {

using namespace std::chrono_literals;

struct Heard {
    std::vector<std::string> words;
    std::vector<Outcome> outcomes;

    std::shared_ptr<Exchange> ask(Provider& provider, Request request = {}) {
        return provider.ask(
            std::move(request),
            [this](const News& news) { words.emplace_back(std::get<std::string_view>(news)); },
            [this](Outcome outcome) { outcomes.push_back(std::move(outcome)); });
    }
};

TEST(ScriptedProvider, StreamsWordByWord) {
    test_support::FakeLoop loop;
    ScriptedProvider provider({{Round{.text = "  a few\n words "}}}, loop);
    Heard heard;
    heard.ask(provider);
    loop.run();
    EXPECT_EQ(heard.words, (std::vector<std::string>{"  ", "a ", "few\n ", "words "}));
    EXPECT_EQ(heard.outcomes.size(), 1U);
}

TEST(ScriptedProvider, WaitsForItsDelay) {
    test_support::FakeLoop loop;
    ScriptedProvider provider({{Round{.text = "late", .delay_ms = 20}}}, loop);
    Heard heard;
    const auto asked_at = loop.now();
    heard.ask(provider);
    loop.run();
    EXPECT_EQ(heard.outcomes.size(), 1U);
    EXPECT_EQ(loop.now() - asked_at, 20ms);
}

TEST(ScriptedProvider, CountsItsFaultsAndThenSucceeds) {
    test_support::FakeLoop loop;
    const ScriptedFault fault{.kind = FailureKind::ServerError, .message = "down", .times = 2};
    ScriptedProvider provider({{Round{.text = "up", .fault = fault}}}, loop);
    Heard heard;
    for (int i = 0; i < 3; ++i) {
        heard.ask(provider);
        loop.run();
    }
    ASSERT_EQ(heard.outcomes.size(), 3U);
    EXPECT_FALSE(heard.outcomes[0].has_value());
    EXPECT_FALSE(heard.outcomes[1].has_value());
    EXPECT_TRUE(heard.outcomes[2].has_value());
}

TEST(ScriptedProvider, ANewOneGoesOnWhereTheOldOneStood) {
    test_support::FakeLoop loop;
    const Scenario scenario{{Round{.text = "one"}, Round{.text = "two"}}};
    const Request second{.conversation = {UserTurn{}, AssistantTurn{}, UserTurn{}}};
    Heard before, after;
    ScriptedProvider old_one(scenario, loop), new_one(scenario, loop);
    before.ask(old_one, second);
    after.ask(new_one, second);
    loop.run();
    EXPECT_EQ(before.outcomes, after.outcomes);
    EXPECT_EQ(after.words, std::vector<std::string>{"two"});
}

TEST(ScriptedProvider, CancelBetweenWordsStopsTheRest) {
    test_support::FakeLoop loop;
    ScriptedProvider provider({{Round{.text = "a b c"}}}, loop);
    Heard heard;
    const auto exchange = heard.ask(provider);
    ASSERT_TRUE(loop.run_until([&] { return heard.words.size() == 1; }));
    exchange->cancel();
    loop.run();
    EXPECT_EQ(heard.words, std::vector<std::string>{"a "});
    ASSERT_EQ(heard.outcomes.size(), 1U);
    EXPECT_EQ(heard.outcomes[0].error().kind, FailureKind::Cancelled);
}

}  // namespace
}  // namespace provider
