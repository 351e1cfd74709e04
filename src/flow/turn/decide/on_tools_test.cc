// A call has come back.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "agent/workspace/workspace.h"
#include "flow/turn/decide/decide.h"
#include "flow/turn/decide/test_facts.h"

namespace turn {
namespace {

using namespace test;
using domain::TranscriptKind;
using testing::ElementsAre;
using testing::IsEmpty;

TEST(OnTools, CallsRunOneAfterTheOtherInTheOrderTheyWereAskedFor) {
    Facts facts = awaiting({{"a", "ExecCommand"}, {"b", "AgentGet"}, {"c", "ExecCommand"}});
    const std::vector<std::string> order{"a", "b", "c"};
    for (std::size_t i = 0; i + 1 < order.size(); ++i) {
        const Step step = decide(facts, done(order[i], facts.executions[i].call.tool), input());
        EXPECT_EQ(step.effects, (std::vector<Effect>{RunTool{{"call-" + order[i + 1]}}}));
        EXPECT_THAT(step.transcript, IsEmpty());
        facts = after(facts, step);
        EXPECT_EQ(facts.executions[i].state, domain::CallState::Finished);
        EXPECT_EQ(facts.executions[i + 1].state, domain::CallState::Started);
        EXPECT_EQ(facts.executions[i + 1].started_at, kNow);
        EXPECT_EQ(std::get<domain::AwaitingTools>(facts.attempt.state),
                  (domain::AwaitingTools{
                      1, {{"call-a"}, {"call-b"}, {"call-c"}}, static_cast<std::int64_t>(i) + 1}));
    }
    const Step last = decide(facts, broke("c", "ExecCommand", "command_failed"), input());
    EXPECT_EQ(last.effects, (std::vector<Effect>{AskModel{2}}));
    EXPECT_EQ(last.attempt.state, domain::TurnState(domain::Thinking{2}));
    EXPECT_THAT(answers(last),
                ElementsAre(std::pair("a", "receipt of a"), std::pair("b", "receipt of b"),
                            std::pair("c", "error: command_failed")));
    const auto& results = last.transcript[0].data.at("results").as_array();
    EXPECT_EQ(results.at(0).at("is_error"), false);
    EXPECT_EQ(results.at(2).at("is_error"), true);
    EXPECT_EQ(base::string_at(results.at(2).at("error"), "kind"), "command_failed");
    EXPECT_EQ(last.transcript[0].round, 1);
}

// The binding is committed with the result, and the next call of the round is already made there.
TEST(OnTools, AWorkspaceIsEnteredInTheCommitOfItsResult) {
    Facts facts = awaiting({{"a", "UseWorkspace"}, {"b", "ExecCommand"}});
    facts.agent.active_workspace_entry = workspace::agent_home({"main"}, "/h/agents/main");
    ToolFinished finished = done("a", "UseWorkspace");
    const auto entry = workspace::entry_of_folder("/p");
    finished.dispatched.mutations = {tools::WorkspaceUse{entry}};
    const Step step = decide(facts, finished, input());
    EXPECT_EQ(step.agent.active_workspace_entry, entry);
    EXPECT_THAT(step.agent.attached_workspaces, ElementsAre(entry.workspace_id));
    EXPECT_THAT(step.mutations, ElementsAre(tools::WorkspaceUse{entry}));
    std::vector<std::string> kinds;
    for (const auto& event : step.events) kinds.push_back(event.kind);
    EXPECT_THAT(kinds, ElementsAre("tool_executed", "workspace_attached", "workspace_entered",
                                   "workspace_used", "process_execution_requested"));
    EXPECT_EQ(base::string_at(step.events.back().data, "execution_root"), "/p");
}

// In the commit of the result: an audit that could be lost without it would be none.
TEST(OnTools, WhatTheBoundaryDeniedIsOnRecordWithTheResult) {
    const Facts facts = awaiting({{"a", "ExecCommand"}});
    ToolFinished finished = done("a", "ExecCommand");
    finished.dispatched.denials = {{sandbox::Rule::Network, "example.com:443", 3}};
    const Step step = decide(facts, finished, input());
    const auto denied = std::ranges::find(step.events, "sandbox_denied", &EventDraft::kind);
    ASSERT_NE(denied, step.events.end());
    EXPECT_EQ(denied->data, (json::object{{"agent_id", "main"},
                                          {"turn_index", 1},
                                          {"run_id", "run"},
                                          {"round", 1},
                                          {"work_item_id", nullptr},
                                          {"tool", "ExecCommand"},
                                          {"tool_call_id", "call-a"},
                                          {"rule", "network"},
                                          {"what", "example.com:443"},
                                          {"count", 3}}));
    EXPECT_EQ(step.executions.back().state, domain::CallState::Finished);
}

TEST(OnTools, AFinishedCallIsKeptWithItsResultEnvelopeAndReceipt) {
    const Facts facts = awaiting({{"a", "ExecCommand"}});
    const ToolFinished finished = done("a", "ExecCommand");
    const Step step = decide(facts, finished, input());
    domain::ToolExecution expected = facts.executions[0];
    expected.state = domain::CallState::Finished;
    expected.result = finished.dispatched.result;
    expected.envelope = finished.dispatched.envelope.to_json();
    expected.receipt = "receipt of a";
    EXPECT_THAT(step.executions, ElementsAre(expected));
}

TEST(OnTools, AResultThatComesTwiceChangesNothing) {
    const Facts facts = after(awaiting({{"a", "ExecCommand"}, {"b", "AgentGet"}}),
                              done("a", "ExecCommand", {tools::FollowUp{"again"}}));
    const Step step = decide(facts, done("a", "ExecCommand", {tools::FollowUp{"again"}}), input());
    EXPECT_EQ(step.attempt, facts.attempt);
    EXPECT_EQ(step.agent, facts.agent);
    EXPECT_TRUE(step.executions.empty() && step.events.empty() && step.effects.empty() &&
                step.mutations.empty());
}

TEST(OnTools, ARoundOfSleepOnlyEndsTheTurnAndKeepsTheSleepRequest) {
    const domain::SleepRequest request{"waiting for the build", 200};
    const Facts facts = after(thinking(), reply(1, {text("Resting."), use("s", "Sleep")}));
    const Step step = decide(facts, done("s", "Sleep", {request}), input());
    EXPECT_EQ(step.attempt.sleep_request, request);
    EXPECT_EQ(step.attempt.terminal->kind, domain::TerminalKind::Completed);
    EXPECT_EQ(step.briefs[0].text, "Resting.");
    EXPECT_THAT(entries(step), ElementsAre(TranscriptKind::ToolResults));
    EXPECT_THAT(step.effects, IsEmpty());
}

TEST(OnTools, ARoundThatAlsoDoesSomethingElseContinuesAndKeepsTheSleepRequest) {
    const domain::SleepRequest request{"later"};
    Facts facts =
        after(awaiting({{"s", "Sleep"}, {"a", "ExecCommand"}}), done("s", "Sleep", {request}));
    const Step step = decide(facts, done("a", "ExecCommand"), input());
    EXPECT_EQ(step.effects, (std::vector<Effect>{AskModel{2}}));
    EXPECT_EQ(step.attempt.sleep_request, request);
    const Step end = decide(after(facts, step), reply(2, {text("done")}), input());
    EXPECT_TRUE(end.closed());
    EXPECT_EQ(end.attempt.sleep_request, request);
}

TEST(OnTools, ASleepThatFailedDoesNotEndTheTurn) {
    const Step step =
        decide(awaiting({{"s", "Sleep"}}), broke("s", "Sleep", "invalid_tool_input"), input());
    EXPECT_EQ(step.effects, (std::vector<Effect>{AskModel{2}}));
    EXPECT_EQ(step.attempt.sleep_request, std::nullopt);
}

TEST(OnTools, ARequestToEnqueueBecomesAFollowUpOfTheSameCommit) {
    const tools::FollowUp follow_up{"check the build", domain::Priority::Background};
    const Step step =
        decide(awaiting({{"q", "Enqueue"}}), done("q", "Enqueue", {follow_up}), input());
    EXPECT_THAT(step.mutations, ElementsAre(follow_up));
    EXPECT_EQ(step.effects, (std::vector<Effect>{AskModel{2}}));
}

// contract: STATE-23
TEST(OnTools, EachToolHasItsOwnTimes) {
    Facts facts = awaiting({{"a", "ExecCommand"}, {"b", "AgentGet"}, {"c", "ExecCommand"}});
    facts = after(facts, done("a", "ExecCommand", {}, 20));
    facts = after(facts, done("b", "AgentGet", {}, 3));
    facts = after(facts, done("c", "ExecCommand", {}, 30));
    EXPECT_THAT(facts.statistics.tool_latency,
                ElementsAre(domain::ToolLatency{"ExecCommand", 2, 50, 30},
                            domain::ToolLatency{"AgentGet", 1, 3, 3}));
}

TEST(OnTools, NamesThatNoToolHasAreCountedTogether) {
    Input known = input();
    known.spec_of = [all = known.spec_of](const std::string& tool) {
        return tool == "AgentGet" ? all(tool) : nullptr;
    };
    Facts facts = awaiting({{"a", "NoSuchTool"}, {"b", "AgentGet"}, {"c", "NorThis"}});
    facts = after(facts, decide(facts, done("a", "NoSuchTool", {}, 20), known));
    facts = after(facts, decide(facts, done("b", "AgentGet", {}, 3), known));
    facts = after(facts, decide(facts, done("c", "NorThis", {}, 30), known));
    EXPECT_THAT(facts.statistics.tool_latency,
                ElementsAre(domain::ToolLatency{std::string(domain::kOtherTools), 2, 50, 30},
                            domain::ToolLatency{"AgentGet", 1, 3, 3}));
}

// Ruling 20: such a call is an answer to the model, a bounded number of times.
TEST(OnTools, CallsThatCannotBeReadAreReturnedABoundedNumberOfTimes) {
    const domain::ToolError unknown{.kind = "tool_not_exposed_for_round", .message = "none"};
    const domain::ToolError unreadable{.kind = "invalid_tool_input",
                                       .message = "no",
                                       .details = json::object{{"parse_error", "no JSON"}}};
    const domain::ToolError refused{.kind = "invalid_tool_input", .message = "no such file"};
    const auto finish = [](const Facts& facts, const domain::ToolError& error) {
        const auto& call = facts.executions.at(0).call;
        return decide(facts, ToolFinished{call.call_id, failed(call, error)}, input());
    };
    Facts facts = thinking(1, 1000);
    for (std::int64_t round = 1; round <= kUnusableCallsMax; ++round) {
        facts = after(facts, reply(round, {use(std::to_string(round), "Odd")}));
        const Step step = finish(facts, round % 2 == 0 ? unknown : unreadable);
        ASSERT_EQ(step.attempt.state, domain::TurnState{domain::Thinking{round + 1}});
        facts = after(facts, step);
    }
    facts = after(facts, reply(kUnusableCallsMax + 1, {use("last", "Odd")}));
    EXPECT_FALSE(finish(facts, refused).closed()) << "the tool itself refused this one";
    const Step given_up = finish(facts, unreadable);
    ASSERT_TRUE(given_up.closed());
    EXPECT_EQ(given_up.attempt.terminal->reason, "unusable_tool_calls");
}

ToolFinished completed_item(const std::string& block, bool moved = true) {
    auto finished = done(block, "CompleteWorkItem");
    finished.dispatched.envelope =
        results::Envelope::success("CompleteWorkItem", "done", {{"completed_transition", moved}});
    return finished;
}

// The facts of a turn whose first round said `words` and completes these items.
Facts completing(const std::string& words, const std::vector<std::string>& items) {
    std::vector<domain::Block> blocks;
    if (!words.empty()) blocks.push_back(text(words));
    for (const auto& item : items)
        blocks.push_back(use(item, "CompleteWorkItem", {{"work_item_id", item}}));
    return after(thinking(), reply(1, std::move(blocks), "tool_use"));
}

// contract: WORK-26, WORK-27, WORK-29, WORK-31, WORK-70
TEST(OnTools, TheTextOfARoundIsTheReportOfTheOneItemThatItCompletes) {
    const auto facts = completing("It works.", {"w"});
    const Step step = decide(facts, completed_item("w"), input());
    EXPECT_THAT(step.mutations,
                ElementsAre(tools::Mutation(work::Promote{.id = {"w"},
                                                          .text = "It works.",
                                                          .turn_index = 1,
                                                          .round = 1,
                                                          .brief_id = {"call-w"}})));
    ASSERT_EQ(step.briefs.size(), 1U);
    EXPECT_EQ(step.briefs[0].text, "It works.");
    EXPECT_EQ(step.briefs[0].visibility, domain::BriefVisibility::WorkDone);
    EXPECT_EQ(step.briefs[0].work_item_id, domain::WorkItemId{"w"});
    // Without text, without a transition, after a failure, and for two at once: no report.
    EXPECT_THAT(decide(completing("", {"w"}), completed_item("w"), input()).mutations, IsEmpty());
    EXPECT_THAT(decide(facts, completed_item("w", false), input()).mutations, IsEmpty());
    EXPECT_THAT(decide(facts, broke("w", "CompleteWorkItem"), input()).mutations, IsEmpty());
    const auto first = after(completing("Both.", {"w", "v"}), completed_item("w"));
    const Step second = decide(first, completed_item("v"), input());
    EXPECT_THAT(second.mutations, IsEmpty());
    EXPECT_THAT(second.briefs, IsEmpty());
}

TEST(OnTools, ACallThatChangesSomethingMayBeProgress) {
    const auto digest = [](const std::string& tool, bool fails = false) {
        const auto facts = awaiting({{"a", tool}});
        return decide(facts, fails ? broke("a", tool) : done("a", tool), input())
            .attempt.progress_digest;
    };
    EXPECT_EQ(digest("AgentGet"), std::nullopt);
    EXPECT_EQ(digest("Sleep"), std::nullopt);
    EXPECT_EQ(digest("ApplyPatch", true), std::nullopt);
    ASSERT_TRUE(digest("ApplyPatch"));
    EXPECT_EQ(digest("ApplyPatch"), digest("ApplyPatch"));
    EXPECT_NE(digest("ApplyPatch"), digest("UpdateWorkItem"));
}

// contract: WORK-89
TEST(OnTools, OnlyASuccessfulWriteOfAWorkItemStartsTheCountOfRoundsAnew) {
    auto facts = awaiting({{"a", "UpdateWorkItem"}});
    facts.attempt.rounds_without_work_update = 4;
    EXPECT_EQ(
        decide(facts, done("a", "UpdateWorkItem"), input()).attempt.rounds_without_work_update, 0);
    EXPECT_EQ(
        decide(facts, broke("a", "UpdateWorkItem"), input()).attempt.rounds_without_work_update, 5);
    // The tool of a stored call may be gone.
    auto without = input();
    without.spec_of = [](const std::string&) { return nullptr; };
    EXPECT_EQ(
        decide(facts, done("a", "UpdateWorkItem"), without).attempt.rounds_without_work_update, 5);
}

}  // namespace
}  // namespace turn
