// Every (state, event) pair by name, and what a commit must survive.
#include "flow/turn/decide/decide.h"

#include <gtest/gtest.h>

#include "flow/turn/decide/test_facts.h"

namespace turn {
namespace {

using namespace test;

struct Pair {
    std::string_view name;
    Facts facts;
    Event event;
    std::string_view next;  // The tag of the next state.
    std::vector<Effect> effects{};
    bool recorded{true};  // False: the event changes nothing at all.
};

std::string_view tag_of(const domain::TurnState& state) {
    return std::visit([]<class T>(const T&) { return T::kTag; }, state);
}

Facts closed() {
    return after(thinking(), reply(1, {text("done")}));
}

ModelFailed limited(std::int64_t round, std::chrono::milliseconds retry_after) {
    return {.round = round,
            .failure = {.kind = provider::FailureKind::RateLimited,
                        .message = "slow down",
                        .retry_after = retry_after}};
}

Facts parked() {
    return after(thinking(2), limited(2, std::chrono::hours(1)));
}

TEST(Decide, NamesWhatEachEventDoesInEachState) {
    const Facts waiting = awaiting({{"a", "ExecCommand"}, {"b", "AgentGet"}});
    const Facts last = awaiting({{"a", "ExecCommand"}});
    const ModelFailed failed{.round = 1, .failure = {.message = "no"}};
    const std::vector<Pair> table{
        {"Thinking, ModelReplied without calls", thinking(), reply(1, {text("done")}), "closed"},
        {"Thinking, ModelReplied with calls",
         thinking(),
         reply(1, {use("a", "ExecCommand")}),
         "awaiting_tools",
         {RunTool{{"call-a"}}}},
        {"Thinking, ModelReplied of another round",
         thinking(2),
         reply(1, {text("late")}),
         "thinking",
         {},
         false},
        {"Thinking, ModelFailed", thinking(), failed, "closed"},
        {"Thinking, ModelFailed of another round", thinking(2), failed, "thinking", {}, false},
        {"Thinking, ToolFinished", thinking(2), done("a", "ExecCommand"), "thinking", {}, false},
        {"Thinking, Interrupted", thinking(), Interrupted{"stop"}, "closed"},
        {"Thinking, Resumed", thinking(3), Resumed{}, "thinking", {AskModel{3}}},
        {"Thinking, ModelFailed by a limit that resets later",
         thinking(2),
         limited(2, std::chrono::hours(1)),
         "parked",
         {WaitUntil{2, kNow + std::chrono::hours(1)}}},
        {"Thinking, ModelFailed by a limit a retry could wait for", thinking(),
         limited(1, std::chrono::seconds(5)), "closed"},
        {"Thinking, ModelFailed by a limit too far off", thinking(),
         limited(1, kParkMax + std::chrono::seconds(1)), "closed"},
        {"Thinking, WaitOver", thinking(), WaitOver{1}, "thinking", {}, false},
        {"Parked, ModelReplied", parked(), reply(2, {text("late")}), "parked", {}, false},
        {"Parked, ModelFailed", parked(), limited(2, std::chrono::hours(1)), "parked", {}, false},
        {"Parked, ToolFinished", parked(), done("a", "ExecCommand"), "parked", {}, false},
        {"Parked, WaitOver", parked(), WaitOver{2}, "thinking", {AskModel{2}}},
        {"Parked, WaitOver of another round", parked(), WaitOver{1}, "parked", {}, false},
        {"Parked, Interrupted", parked(), Interrupted{"stop"}, "closed"},
        {"Parked, Resumed",
         parked(),
         Resumed{},
         "parked",
         {WaitUntil{2, kNow + std::chrono::hours(1)}}},
        {"AwaitingTools, WaitOver", waiting, WaitOver{1}, "awaiting_tools", {}, false},
        {"AwaitingTools, ModelReplied",
         waiting,
         reply(1, {text("again")}),
         "awaiting_tools",
         {},
         false},
        {"AwaitingTools, ModelFailed", waiting, failed, "awaiting_tools", {}, false},
        {"AwaitingTools, ToolFinished with one to go",
         waiting,
         done("a", "ExecCommand"),
         "awaiting_tools",
         {RunTool{{"call-b"}}}},
        {"AwaitingTools, ToolFinished of the last one",
         last,
         done("a", "ExecCommand"),
         "thinking",
         {AskModel{2}}},
        {"AwaitingTools, ToolFinished of another call",
         waiting,
         done("b", "AgentGet"),
         "awaiting_tools",
         {},
         false},
        {"AwaitingTools, Interrupted", waiting, Interrupted{"stop"}, "closed"},
        {"AwaitingTools, Resumed with a call to repeat",
         waiting,
         Resumed{},
         "awaiting_tools",
         {RunTool{{"call-a"}}}},
        {"AwaitingTools, Resumed with an unknown outcome",
         last,
         Resumed{.unknown = broke("a", "ExecCommand")},
         "thinking",
         {AskModel{2}}},
        {"Closed, ModelReplied", closed(), reply(1, {text("more")}), "closed", {}, false},
        {"Closed, ModelFailed", closed(), failed, "closed", {}, false},
        {"Closed, ToolFinished", closed(), done("a", "ExecCommand"), "closed", {}, false},
        {"Closed, WaitOver", closed(), WaitOver{1}, "closed", {}, false},
        {"Closed, Interrupted", closed(), Interrupted{"stop"}, "closed", {}, false},
        {"Closed, Resumed", closed(), Resumed{}, "closed", {}, false},
    };
    for (const auto& row : table) {
        SCOPED_TRACE(row.name);
        const Step step = decide(row.facts, row.event, input());
        EXPECT_NE(step.statistics, row.facts.statistics) << "unchanged ones are left out";
        EXPECT_EQ(tag_of(step.attempt.state), row.next);
        EXPECT_EQ(step.effects, row.effects);
        EXPECT_EQ(step.closed(), row.next == "closed");
        EXPECT_EQ(step.events.empty(), !row.recorded);
        if (row.recorded) continue;
        EXPECT_EQ(step.attempt, row.facts.attempt);
        EXPECT_EQ(step.agent, row.facts.agent);
        EXPECT_EQ(step.statistics, std::nullopt);
        EXPECT_TRUE(step.executions.empty() && step.transcript.empty() && step.briefs.empty() &&
                    step.mutations.empty() && !step.release);
    }
}

TEST(Decide, EqualFactsAndEventsGiveEqualSteps) {
    const Facts facts = thinking();
    const Event event = reply(1, {text("t"), use("a", "ExecCommand")});
    const Step one = decide(facts, event, input());
    const Step two = decide(facts, event, input());
    EXPECT_EQ(one.attempt, two.attempt);
    EXPECT_EQ(one.executions, two.executions);
    EXPECT_EQ(one.transcript, two.transcript);
    EXPECT_EQ(one.events, two.events);
}

TEST(Decide, OnlyAnEndOrACallThatMustNotRunTwiceNeedsTheDisk) {
    struct Row {
        std::string_view name;
        Facts facts;
        Event event;
        bool disk;
    };
    const std::vector<Row> table{
        {"the turn ends", thinking(), reply(1, {text("done")}), true},
        {"the turn fails", thinking(), ModelFailed{.round = 1}, true},
        {"the turn is interrupted", thinking(), Interrupted{"stop"}, true},
        {"a command starts", thinking(), reply(1, {use("a", "ExecCommand")}), true},
        {"a read starts", thinking(), reply(1, {use("a", "AgentGet")}), false},
        {"a read starts, a command comes later", thinking(),
         reply(1, {use("a", "AgentGet"), use("b", "ExecCommand")}), false},
        {"the later command starts", awaiting({{"a", "AgentGet"}, {"b", "ExecCommand"}}),
         done("a", "AgentGet"), true},
        {"a command ended, a read starts", awaiting({{"a", "ExecCommand"}, {"b", "AgentGet"}}),
         done("a", "ExecCommand"), false},
        {"the model is asked again", awaiting({{"a", "ExecCommand"}}), done("a", "ExecCommand"),
         false},
        {"a text is continued", thinking(), reply(1, {text("half")}, "max_tokens"), false},
        {"a turn is picked up", thinking(), Resumed{}, false},
        {"a turn is parked", thinking(), limited(1, std::chrono::hours(1)), false},
    };
    for (const auto& row : table)
        EXPECT_EQ(needs_disk(decide(row.facts, row.event, input()), input()), row.disk) << row.name;
}

}  // namespace
}  // namespace turn
