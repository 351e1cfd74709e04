#include "flow/turn/compaction/compacting.h"

#include <gmock/gmock.h>

#include "flow/turn/decide/test_facts.h"

namespace turn {
namespace {

using namespace test;
using testing::ElementsAre;

constexpr ContextLimits kLimits{
    .prompt_budget = 1'000, .compaction_trigger = 750, .compaction_target = 350};

Input limited() {
    auto with = input();
    with.limits = kLimits;
    return with;
}

context::Compaction made(std::int64_t before, std::int64_t after) {
    return {.covers_through = 9,
            .epoch = 3,
            .rounds = 4,
            .entries = 8,
            .tokens_before = before,
            .tokens_after = after};
}

Facts compacting(domain::Compacting state) {
    Facts facts = thinking(state.round, 400);
    facts.attempt.state = state;
    facts.attempt.context_tokens = 800;
    return facts;
}

TEST(Compacting, IsDueByReportedTokensFirstAndEstimatesOfWhatCameSince) {
    Facts facts = awaiting({{"a", "AgentGet"}});
    EXPECT_EQ(facts.attempt.context_tokens, 15) << "as reported";
    facts.attempt.context_tokens = 748;
    auto finished = done("a", "AgentGet");
    EXPECT_EQ(decide(facts, finished, limited()).attempt.state,
              domain::TurnState(domain::Compacting{.round = 2}));
    EXPECT_EQ(decide(facts, finished, limited()).effects, std::vector<Effect>{Compact{2}});
    facts.attempt.context_tokens = 700;
    EXPECT_EQ(decide(facts, finished, limited()).effects, std::vector<Effect>{AskModel{2}});
    finished.dispatched.receipt = std::string(400, 'r');
    EXPECT_EQ(decide(facts, finished, limited()).effects, std::vector<Effect>{Compact{2}});
    EXPECT_EQ(decide(facts, finished, input()).effects, std::vector<Effect>{AskModel{2}})
        << "no window is known";
}

TEST(Compacting, HappensAtMostOnceInTenRounds) {
    domain::Attempt attempt{.context_tokens = 900};
    EXPECT_TRUE(is_compaction_due(attempt, 1, kLimits));
    attempt.compacted_round = 20;
    EXPECT_FALSE(is_compaction_due(attempt, 29, kLimits));
    EXPECT_TRUE(is_compaction_due(attempt, 30, kLimits));
}

// contract: STATE-19
TEST(Compacting, RecordsTheCompactionAndAsksForTheSameRound) {
    const Facts facts = compacting({.round = 12, .continues_text = true});
    const Step step = decide(facts, Compacted{12, made(1'000, 400)}, limited());
    EXPECT_EQ(step.attempt.state, domain::TurnState(domain::Thinking{12, true}));
    EXPECT_EQ(step.effects, std::vector<Effect>{AskModel{12}});
    EXPECT_TRUE(step.is_compacted);
    ASSERT_EQ(step.transcript.size(), 1U);
    EXPECT_EQ(context::read_compaction(step.transcript[0]).value(), made(1'000, 400));
    EXPECT_EQ(step.attempt.context_tokens, 320);
    EXPECT_EQ(step.attempt.compactions, 1);
    EXPECT_EQ(step.attempt.compacted_round, 12);
    ASSERT_TRUE(step.statistics);
    EXPECT_EQ(step.statistics->compacted_message_count, 8);
    EXPECT_THAT(kinds(step), ElementsAre("turn_local_compaction_applied"));
    // The same again changes nothing.
    const Step late = decide(after(facts, step), Compacted{12, made(1'000, 400)}, limited());
    EXPECT_TRUE(late.transcript.empty() && late.effects.empty());
}

TEST(Compacting, APromptThatTheProviderRefusesIsCompactedAndAskedAgain) {
    const provider::Failure too_long{.kind = provider::FailureKind::ContextLengthExceeded,
                                     .message = "too long"};
    const Facts facts = thinking(3);
    const Step step = decide(facts, ModelFailed{3, too_long}, input());
    EXPECT_EQ(step.attempt.state,
              domain::TurnState(domain::Compacting{.round = 3, .is_forced = true}));
    EXPECT_EQ(step.effects, std::vector<Effect>{Compact{3}});
    EXPECT_THAT(kinds(step), ElementsAre("turn_context_length_exceeded"));
    EXPECT_EQ(decide(after(facts, step), Compacted{3, made(1'000, 400)}, input()).effects,
              std::vector<Effect>{AskModel{3}});
}

TEST(Compacting, OneThatFreesTooLittleIsTriedStrictlyAndThenEndsTheTurnWithAReason) {
    const Facts facts = compacting({.round = 3, .is_forced = true});
    const Step first = decide(facts, Compacted{3, made(1'000, 900)}, limited());
    EXPECT_THAT(kinds(first), ElementsAre("turn_local_compaction_failed"));
    EXPECT_TRUE(first.transcript.empty()) << "it was not applied";
    EXPECT_EQ(first.effects, std::vector<Effect>{Compact{3}});
    EXPECT_EQ(std::get<domain::Compacting>(first.attempt.state).exact_rounds, kExactRoundsStrict);
    const Step second = decide(after(facts, first), Compacted{3, made(1'000, 900)}, limited());
    EXPECT_TRUE(second.closed());
    EXPECT_EQ(second.attempt.terminal->reason, "context_length_exceeded");
    ASSERT_EQ(second.briefs.size(), 1U);
    EXPECT_THAT(second.briefs[0].text, testing::HasSubstr("could not be made small enough"));
}

TEST(Compacting, OneThatFailedBeforeTheProviderRefusedIsNoReasonNotToAsk) {
    Facts facts = compacting({.round = 11});
    const Step step = decide(facts, Compacted{11, made(1'000, 900)}, limited());
    EXPECT_EQ(step.effects, std::vector<Effect>{AskModel{11}});
    facts.attempt.compaction_failures = 1;
    facts.attempt.context_tokens = 1'001;
    const Step over = decide(facts, Compacted{11, made(1'000, 900)}, limited());
    ASSERT_TRUE(over.closed());
    EXPECT_EQ(over.attempt.terminal->reason, domain::kReasonCompactionFailed);
}

Input summarising() {
    auto with = limited();
    with.summarises = true;
    return with;
}

ModelReplied summary_reply(std::int64_t round, std::string words) {
    auto replied = reply(round, {text(std::move(words))});
    replied.is_summary = true;
    return replied;
}

TEST(Compacting, AsksForASummaryOnceWhereThatIsConfigured) {
    const Facts facts = compacting({.round = 12});
    const Step asked = decide(facts, Compacted{12, made(1'000, 400)}, summarising());
    EXPECT_EQ(asked.effects, std::vector<Effect>{Summarise{12}});
    EXPECT_EQ(asked.attempt.state, facts.attempt.state);
    EXPECT_TRUE(asked.transcript.empty()) << "nothing is covered yet";

    const Step answered =
        decide(after(facts, asked), summary_reply(12, "a summary"), summarising());
    EXPECT_EQ(answered.effects,
              std::vector<Effect>(
                  1, Compact{.round = 12, .is_summary_tried = true, .summary = "a summary"}));
    EXPECT_TRUE(answered.transcript.empty()) << "it is no round of the turn";
    EXPECT_EQ(answered.attempt.token_usage.input_tokens,
              facts.attempt.token_usage.input_tokens + 10);
    EXPECT_GT(answered.statistics->total_input_tokens, facts.statistics.total_input_tokens);

    const Step done =
        decide(after(facts, answered),
               Compacted{12, made(1'000, 400), true, "it is no JSON object"}, summarising());
    EXPECT_EQ(done.effects, std::vector<Effect>{AskModel{12}});
    const auto& event = done.events.front();
    EXPECT_EQ(base::string_at(event.data, "summary"), "not used: it is no JSON object");
}

TEST(Compacting, ASummaryThatFailedIsNotAskedForAgain) {
    const Facts facts = compacting({.round = 12});
    ModelFailed failed{12, {.kind = provider::FailureKind::ServerError, .message = "down"}};
    EXPECT_TRUE(decide(facts, failed, summarising()).effects.empty()) << "not of the summary";
    failed.is_summary = true;
    EXPECT_EQ(decide(facts, failed, summarising()).effects,
              std::vector<Effect>(1, Compact{.round = 12, .is_summary_tried = true}));
}

TEST(Compacting, NoSummaryIsAskedForWhereNothingIsCoveredOrUntrustedInputAsks) {
    auto nothing = made(1'000, 400);
    nothing.entries = 0;
    EXPECT_EQ(decide(compacting({.round = 12}), Compacted{12, nothing}, summarising()).effects,
              std::vector<Effect>{AskModel{12}});
    Facts external = compacting({.round = 12});
    external.message.authority_class = domain::AuthorityClass::ExternalEvidence;
    EXPECT_EQ(decide(external, Compacted{12, made(1'000, 400)}, summarising()).effects,
              std::vector<Effect>{AskModel{12}});
}

TEST(Compacting, ALateSummaryChangesNothing) {
    const Facts facts = thinking(12);
    const Step step = decide(facts, summary_reply(12, "late"), summarising());
    EXPECT_EQ(step.attempt, facts.attempt);
    EXPECT_TRUE(step.effects.empty() && step.transcript.empty());
}

TEST(Compacting, AfterARestartTheSummaryIsAskedForAgainOrUsed) {
    const Facts facts = compacting({.round = 5});
    for (const Effect& pending :
         {Effect(Summarise{5}),
          Effect(Compact{.round = 5, .is_summary_tried = true, .summary = "kept"})})
        EXPECT_EQ(decide(facts, Resumed{.pending = {pending}}, summarising()).effects,
                  std::vector<Effect>{pending});
}

TEST(Compacting, IsResumedAndInterruptedLikeAnyOtherState) {
    const Facts facts = compacting({.round = 5});
    EXPECT_EQ(decide(facts, Resumed{}, limited()).effects, std::vector<Effect>{Compact{5}});
    EXPECT_TRUE(decide(facts, Interrupted{"stop"}, limited()).closed());
    for (const Event& late :
         {Event(reply(5, {text("late")})), Event(WaitOver{5}), Event(done("a", "AgentGet"))})
        EXPECT_EQ(decide(facts, late, limited()).attempt.state, facts.attempt.state);
}

}  // namespace
}  // namespace turn
