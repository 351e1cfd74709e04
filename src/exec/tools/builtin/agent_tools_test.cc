#include <thread>

#include "exec/results/artifacts.h"
#include "exec/tools/builtin/fixture_for_test.h"

namespace builtin {
namespace {

using domain::SleepRequest;
using tools::FollowUp;
using tools::Mutation;
using Mutations = std::vector<Mutation>;

using SleepTest = BuiltinTest;
using EnqueueTest = BuiltinTest;
using AgentGetTest = BuiltinTest;

TEST_F(SleepTest, AsksForSleepAndConfirmsIt) {
    const auto end = run("Sleep", {{"reason", "  waiting for CI "}, {"duration_ms", 1500}});
    EXPECT_EQ(end.mutations,
              (Mutations{SleepRequest{.reason = "waiting for CI", .duration_ms = 1500}}));
    EXPECT_EQ(end.receipt,
              "Will sleep for 1500 ms when nothing else is to be done: waiting for CI");
    EXPECT_EQ(end.envelope.result(),
              (json::object{{"reason", "waiting for CI"}, {"duration_ms", 1500}}));
}

TEST_F(SleepTest, SleepsUntilWokenWithoutADuration) {
    const auto end = run("Sleep", json::object{});
    EXPECT_EQ(end.mutations,
              (Mutations{SleepRequest{.reason = "waiting for something to wake me"}}));
    EXPECT_EQ(end.receipt,
              "Will sleep until woken when nothing else is to be done: waiting for something "
              "to wake me");
    EXPECT_EQ(end.envelope.result(), (json::object{{"reason", "waiting for something to wake me"},
                                                   {"duration_ms", nullptr}}));
}

// IDENT-42 as ruling 27 has it: 0 is accepted and means no duration.
// contract: SLEEP-19, IDENT-42
TEST_F(SleepTest, TakesZeroForNoDuration) {
    const auto zero = run("Sleep", {{"duration_ms", 0}});
    const auto omitted = run("Sleep", json::object{});
    EXPECT_EQ(zero.envelope, omitted.envelope);
    EXPECT_EQ(zero.mutations, omitted.mutations);
    EXPECT_EQ(run("Sleep", {{"duration_ms", nullptr}}).mutations, omitted.mutations);
}

// contract: SLEEP-20
TEST_F(SleepTest, TellsModelsToOmitTheDuration) {
    const json::value schema(registry_.find("Sleep")->spec().input_schema);
    EXPECT_EQ(schema.at_pointer("/properties/duration_ms"),
              (json::value{{"type", "integer"},
                           {"description",
                            "Wake after this many milliseconds. Omit it to sleep until something "
                            "happens; do not send 0."},
                           {"minimum", 0},
                           {"maximum", 31'536'000'000}}));
}

TEST_F(SleepTest, RefusesNegativeAndEndlessDurations) {
    for (const std::int64_t duration : {std::int64_t{-1}, INT64_MAX, std::int64_t{31'536'000'001}})
        EXPECT_EQ(run("Sleep", {{"duration_ms", duration}}).result.error->code, "VALIDATION_ERROR")
            << duration;
}

TEST_F(SleepTest, ShortensAReasonThatIsAStory) {
    const auto end = run("Sleep", {{"reason", std::string(10'000, 'z')}});
    EXPECT_EQ(end.mutations.at(0).as<SleepRequest>()->reason, std::string(499, 'z') + "…");
}

TEST_F(EnqueueTest, AsksForAFollowUpAndConfirmsIt) {
    const auto end = run("Enqueue", {{"text", " write\nthe tests "}, {"priority", "background"}});
    EXPECT_EQ(end.mutations, (Mutations{FollowUp{.text = "write\nthe tests",
                                                 .priority = domain::Priority::Background}}));
    EXPECT_EQ(end.receipt, "Queued a follow-up with priority background: write the tests");
    EXPECT_EQ(end.envelope.result(), (json::object{{"enqueued", true},
                                                   {"priority", "background"},
                                                   {"follow_up_text", "write\nthe tests"}}));
    EXPECT_EQ(run("Enqueue", {{"text", "x"}}).mutations,
              (Mutations{FollowUp{.text = "x", .priority = domain::Priority::Next}}));
}

TEST_F(EnqueueTest, KeepsTheWholeTextOfALongFollowUp) {
    const std::string text(10'000, 'x');
    const auto end = run("Enqueue", {{"text", text}});
    EXPECT_EQ(end.mutations, (Mutations{FollowUp{.text = text}}));
    EXPECT_EQ(base::string_at(end.envelope.result(), "follow_up_text"),
              std::string(1999, 'x') + "…");
}

TEST_F(EnqueueTest, RefusesBlankTextAndUnknownPriorities) {
    for (const json::value& args :
         {json::value{{"text", ""}}, json::value{{"text", " \n\t"}}, json::value(json::object{}),
          json::value{{"text", "x"}, {"priority", "urgent"}}}) {
        const auto end = run("Enqueue", args);
        EXPECT_EQ(end.envelope.error().kind, "invalid_tool_input") << base::json_text(args);
        EXPECT_EQ(end.mutations, Mutations{}) << base::json_text(args);
    }
}

// contract: IDENT-51
TEST_F(AgentGetTest, ShowsTheLinesAModelNeedsAndKeepsTheWholeSummary) {
    const json::object summary{
        {"identity", {{"agent_id", "default"}}},
        {"agent", {{"status", "awake_running"}, {"pending", 2}, {"turn_index", 7}}},
        {"closure", {{"outcome", "continuable"}, {"waiting_reason", nullptr}}},
        {"model", {{"effective_model", "anthropic/m"}}},
        {"execution",
         {{"workspace_id", "ws-1"}, {"execution_root", "/repo"}, {"cwd", "/repo/src"}}},
        {"token_usage", {{"total", {{"total_tokens", 123}}}, {"total_model_rounds", 4}}}};
    std::thread::id read_by;
    const auto tool = agent_get(loop_, [&](const domain::AgentId&) {
        read_by = std::this_thread::get_id();
        return summary;
    });
    std::optional<tools::Outcome> outcome;
    results::FileArtifacts sink(folder_.path(), "agent-get", ids_);
    const auto keep = [&](tools::Outcome end) {
        outcome = std::move(end);
        loop_.stop();
    };
    EXPECT_EQ(tool->start({}, place_, sink, keep), nullptr);
    while (!outcome) loop_.run();
    EXPECT_NE(read_by, std::this_thread::get_id()) << "it reads files: not on the loop";
    const auto envelope = results::project("AgentGet", outcome->completed, sink, {});
    EXPECT_EQ(envelope, results::Envelope::success("AgentGet", "The agent as its operator sees it",
                                                   {{"agent", summary}}));
    EXPECT_EQ(results::render(envelope, tool->spec().render),
              "Agent: default\n"
              "Status: awake_running\n"
              "Closure: continuable, waiting for: none\n"
              "Pending messages: 2\n"
              "Turn: 7\n"
              "Model: anthropic/m\n"
              "Workspace: ws-1, root /repo, cwd /repo/src\n"
              "Tokens: 123 in 4 rounds");
}

// contract: TERR-07
TEST_F(AgentGetTest, AsksForTheAgentOfTheCallAndReportsItsAbsence) {
    place_.agent_id = {"gone"};
    EXPECT_EQ(run("AgentGet", json::object{}).envelope,
              results::Envelope::failure("AgentGet", {.kind = "tool_execution_failed",
                                                      .message = "no such agent",
                                                      .retryable = true}));
}

}  // namespace
}  // namespace builtin
