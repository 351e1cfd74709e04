#include "exec/plan/run/decide.h"

#include <gmock/gmock.h>

#include "exec/plan/language/wire.h"
#include "exec/plan/record/chain.h"
#include "exec/tools/fake_tool_for_test.h"

namespace plan {
namespace {

using domain::PlanRunStatus;
using domain::ResultStatus;
using testing::ElementsAre;
using testing::IsEmpty;

class DecideTest : public testing::Test {
protected:
    DecideTest() {
        registry.add(std::make_unique<tools::FakeTool>("Echo"));
        registry.add(std::make_unique<tools::FakeTool>("Twice"));
    }

    State state(json::array steps) {
        const json::object document{{"version", "1.0"},
                                    {"goal", "Test"},
                                    {"riskLevel", "writes"},
                                    {"steps", std::move(steps)}};
        const auto checked = check(document, registry);
        CHECK(checked.has_value(), "the plan is good");
        domain::PlanRun run{.run_id = {"run"}, .goal = "Test"};
        run.policy.limits.max_concurrency = 2;
        return State(run, *checked);
    }

    Delta decide(State& state, const Event& event) {
        now += std::chrono::milliseconds(1);
        const Input input{
            .now = now,
            .describe =
                [](tools::Asked asked) {
                    domain::ToolCall call{.call_id = asked.call_id,
                                          .run_id = asked.run_id,
                                          .step_id = asked.step_id,
                                          .tool = asked.tool,
                                          .args = asked.args};
                    call.args_hash = domain::args_hash(call.args);
                    return call;
                },
            .not_run =
                [this](const domain::ToolCall& call, domain::ToolError error, ResultStatus status) {
                    auto result = ended(call, status);
                    result.error =
                        domain::ResultError{"VALIDATION_ERROR", error.message, error.details};
                    return result;
                },
            .repeatable = [](const std::string& tool) { return tool == "Twice"; }};
        Delta delta;
        plan::decide(state, event, input, delta);
        for (const auto& draft : delta.drafts) journal.push_back(draft);
        return delta;
    }

    domain::ToolResult ended(const domain::ToolCall& call, ResultStatus status) const {
        domain::ToolResult result{.call_id = call.call_id,
                                  .run_id = call.run_id,
                                  .step_id = call.step_id,
                                  .tool = call.tool,
                                  .attempt = call.attempt,
                                  .status = status,
                                  .ok = status == ResultStatus::Ok,
                                  .started_at = now,
                                  .ended_at = now};
        if (result.ok) result.data = json::object{{"text", "t"}};
        return result;
    }
    CallEnded ok(const CallPtr& call) const { return {ended(*call, ResultStatus::Ok)}; }
    CallEnded fails(const CallPtr& call, const std::string& code = "INTERNAL_ERROR") const {
        auto result = ended(*call, ResultStatus::Error);
        result.error = domain::ResultError{code, "no"};
        return {result};
    }

    static std::vector<CallPtr> dispatched(const Delta& delta) {
        std::vector<CallPtr> calls;
        for (const auto& effect : delta.effects)
            if (const auto* one = std::get_if<Dispatch>(&effect)) calls.push_back(one->call);
        return calls;
    }
    static std::vector<std::string> steps(const std::vector<CallPtr>& calls) {
        std::vector<std::string> ids;
        for (const auto& call : calls) ids.push_back(call->step_id);
        return ids;
    }

    // The same run as another process would read it from the journal.
    State read_back(const State& from) {
        std::vector<domain::PlanRecord> records;
        std::int64_t seq = 0;
        std::string hash;
        for (const auto& draft : journal)
            if (const auto* call = std::get_if<CallPtr>(&draft))
                records.push_back(seal(seq, hash, domain::PlanRecordKind::Call, call_json(**call)));
            else if (const auto* event = std::get_if<RunEvent>(&draft))
                records.push_back(
                    seal(seq, hash, domain::PlanRecordKind::Event, event_json({"run"}, *event)));
            else
                records.push_back(seal(seq, hash, domain::PlanRecordKind::Result,
                                       result_json(std::get<domain::ToolResult>(draft))));
        return State::from_journal(from.run, from.checked, records).value();
    }

    tools::Registry registry;
    base::Time now{base::from_micros(1'000'000)};
    std::vector<Draft> journal;
};

std::vector<CallPtr> cut_off(const Delta& delta) {
    std::vector<CallPtr> calls;
    for (const auto& effect : delta.effects)
        if (const auto* one = std::get_if<Recover>(&effect)) calls.push_back(one->call);
    return calls;
}

json::object step(std::string_view id, std::string_view tool = "Echo") {
    return {{"id", id}, {"tool", tool}, {"args", {{"text", "hi"}}}};
}

// contract: RUN-01
TEST_F(DecideTest, StartsWhatIsReadyWithinTheLimitAndTheRestAsRoomAppears) {
    auto run = state({step("a"), step("b"), step("c")});
    const auto first = dispatched(decide(run, Begin{}));
    EXPECT_THAT(steps(first), ElementsAre("a", "b"));
    const auto second = dispatched(decide(run, ok(first[1])));
    EXPECT_THAT(steps(second), ElementsAre("c"));
    decide(run, ok(second[0]));
    EXPECT_EQ(run.run.status, PlanRunStatus::Running);
    const auto last = decide(run, ok(first[0]));
    EXPECT_EQ(run.run.status, PlanRunStatus::Succeeded);
    EXPECT_TRUE(std::holds_alternative<Ended>(last.effects.back()));
    EXPECT_TRUE(last.needs_disk);
}

TEST_F(DecideTest, OnlyACallThatMustNotRunTwiceAsksForTheDisk) {
    auto run = state({step("a", "Twice"),
                      {{"id", "b"},
                       {"tool", "Twice"},
                       {"dependsOn", json::array{"a"}},
                       {"args", {{"text", "x"}}}},
                      {{"id", "c"},
                       {"tool", "Echo"},
                       {"dependsOn", json::array{"b"}},
                       {"args", {{"text", "x"}}}}});
    const auto a = dispatched(decide(run, Begin{}));
    const auto second = decide(run, ok(a[0]));
    EXPECT_FALSE(second.needs_disk);
    EXPECT_TRUE(decide(run, ok(dispatched(second)[0])).needs_disk);
}

TEST_F(DecideTest, AResultThatComesTwiceOrLateChangesNothing) {
    auto run = state({step("a"), step("b")});
    const auto calls = dispatched(decide(run, Begin{}));
    decide(run, ok(calls[0]));
    EXPECT_THAT(decide(run, ok(calls[0])).drafts, IsEmpty());
    decide(run, ok(calls[1]));
    EXPECT_THAT(decide(run, fails(calls[1])).drafts, IsEmpty());
    EXPECT_THAT(decide(run, CancelAsked{"late"}).drafts, IsEmpty());
    EXPECT_EQ(run.run.status, PlanRunStatus::Succeeded);
}

// contract: RUN-07
TEST_F(DecideTest, StopLetsRunningCallsEndAndStartsNoOther) {
    auto run = state({step("a"), step("b"), step("c")});
    const auto calls = dispatched(decide(run, Begin{}));
    EXPECT_THAT(decide(run, fails(calls[0])).effects, IsEmpty());
    EXPECT_EQ(run.run.status, PlanRunStatus::Running);
    decide(run, ok(calls[1]));
    EXPECT_EQ(run.run.status, PlanRunStatus::Failed);
    EXPECT_EQ(run.run.failure, (domain::PlanFailure{"a", "INTERNAL_ERROR", "no"}));
}

TEST_F(DecideTest, CancellingEndsEveryRunningCallAndIsOverWhenTheyAre) {
    auto run = state({step("a"), step("b"), step("c")});
    const auto calls = dispatched(decide(run, Begin{}));
    EXPECT_EQ(decide(run, CancelAsked{"enough"}).effects.size(), 2u);
    EXPECT_THAT(decide(run, CancelAsked{"really"}).effects, IsEmpty());
    decide(run, fails(calls[0], "CANCELLED"));
    EXPECT_EQ(run.run.status, PlanRunStatus::Running);
    decide(run, fails(calls[1], "CANCELLED"));
    EXPECT_EQ(run.run.status, PlanRunStatus::Cancelled);
    EXPECT_EQ(run.run.cancel_reason, "enough");
}

// contract: RUN-04
TEST_F(DecideTest, RetriesWaitLongerEachTimeWithinTheirBounds) {
    auto one = step("a");
    one["onError"] = "retry";
    one["retry"] = {{"maxAttempts", 4}, {"backoffMs", 100}};
    auto run = state({one});
    run.run.policy.limits.max_backoff_ms = 250;
    auto call = dispatched(decide(run, Begin{}))[0];
    std::vector<std::int64_t> waits;
    for (int i = 0; i < 3; ++i) {
        const auto failed = fails(call);
        const auto delta = decide(run, failed);
        ASSERT_FALSE(delta.effects.empty());
        const auto at = std::get<WakeAt>(delta.effects.back()).at;
        waits.push_back(base::millis_between(failed.result.ended_at, at));
        EXPECT_THAT(dispatched(decide(run, Tick{})), IsEmpty()) << "it is not due yet";
        now = at;
        const auto again = dispatched(decide(run, Tick{}));
        ASSERT_EQ(again.size(), 1u);
        EXPECT_EQ(again[0]->attempt, i + 2);
        EXPECT_EQ(again[0]->idempotency_key, call->idempotency_key);
        call = again[0];
    }
    EXPECT_GE(waits[0], 75);
    EXPECT_LE(waits[0], 125);
    EXPECT_GE(waits[1], 150);
    EXPECT_EQ(waits[2], 250);
    decide(run, fails(call));
    EXPECT_EQ(run.run.status, PlanRunStatus::Failed);
}

TEST_F(DecideTest, TheJournalReadAgainGivesTheSameState) {
    auto loop = step("loop");
    loop["foreach"] = {{"from", "$steps.a.list"}, {"itemName", "x"}, {"concurrency", 2}};
    loop["onError"] = "skip";
    auto run = state({step("a", "Twice"), loop, step("b", "Twice")});
    const auto calls = dispatched(decide(run, Begin{}));
    auto result = ok(calls[0]);
    result.result.data = json::object{{"list", json::array{1, 2, 3}}};
    const auto items = dispatched(decide(run, result));
    ASSERT_EQ(items.size(), 1u);
    decide(run, fails(items[0]));

    auto again = read_back(run);
    EXPECT_EQ(again.in_flight.size(), run.in_flight.size());
    EXPECT_EQ(again.ready, run.ready);
    EXPECT_EQ(again.run.counts, run.run.counts);
    for (std::size_t i = 0; i < run.steps.size(); ++i) {
        EXPECT_EQ(again.steps[i].phase, run.steps[i].phase) << i;
        EXPECT_EQ(again.steps[i].units.size(), run.steps[i].units.size()) << i;
        EXPECT_EQ(again.steps[i].waits_for, run.steps[i].waits_for) << i;
    }
    // What may be repeated is made again; the tool is asked about what may not.
    const auto asked = decide(again, Restarted{});
    EXPECT_THAT(steps(dispatched(asked)), testing::Contains("b"));
    ASSERT_THAT(cut_off(asked), testing::SizeIs(1));
    const auto resumed = decide(again, CallRecovered{.call_id = cut_off(asked)[0]->call_id});
    int unknown = 0;
    for (const auto& draft : resumed.drafts)
        if (const auto* one = std::get_if<domain::ToolResult>(&draft))
            unknown += is_unknown_outcome(*one) ? 1 : 0;
    EXPECT_EQ(unknown, 1);
}

// contract: LOG-03
TEST_F(DecideTest, ACallThatACrashCutOffIsSettledByWhatItsToolFinds) {
    using How = tools::Recovery::How;
    auto run = state({step("once")});
    const auto call = dispatched(decide(run, Begin{})).at(0);
    const auto begun = journal;
    const auto answered = [&](How how) {
        journal = begun;
        auto again = read_back(run);
        const auto asked = decide(again, Restarted{});
        EXPECT_THAT(dispatched(asked), IsEmpty());
        EXPECT_EQ(cut_off(asked).at(0)->call_id, call->call_id);
        CallRecovered found{.call_id = call->call_id, .how = how};
        if (how == How::Made) found.result = ok(call).result;
        found.undo = json::array{json::object{{"action", "create"}, {"path", "a.md"}}};
        const auto delta = decide(again, found);
        return std::pair(delta, again);
    };
    EXPECT_EQ(answered(How::Made).second.run.status, PlanRunStatus::Succeeded);
    const auto [not_made, open] = answered(How::NotMade);
    EXPECT_THAT(steps(dispatched(not_made)), ElementsAre("once"));
    EXPECT_TRUE(not_made.needs_disk) << "it may not run twice";
    EXPECT_EQ(open.run.status, PlanRunStatus::Running);
    const auto [unknown, failed] = answered(How::Unknown);
    EXPECT_EQ(failed.run.status, PlanRunStatus::Failed);
    const auto& result = std::get<domain::ToolResult>(unknown.drafts.at(0));
    EXPECT_TRUE(is_unknown_outcome(result));
    EXPECT_EQ(result.error->details->at("undo").as_array().size(), 1u) << "for a revert";
}

// A call that changes a file would hide whether another one had changed it.
TEST_F(DecideTest, NothingIsMadeAfterACrashBeforeItIsKnownOfAllCallsWhetherTheyWereMade) {
    using How = tools::Recovery::How;
    auto run = state({step("a"), step("b"), step("c")});
    run.run.policy.limits.max_concurrency = 2;
    ASSERT_THAT(steps(dispatched(decide(run, Begin{}))), ElementsAre("a", "b"));
    auto again = read_back(run);
    again.run.policy.limits.max_concurrency = 3;
    const auto asked = decide(again, Restarted{});
    ASSERT_EQ(cut_off(asked).size(), 2u);
    EXPECT_THAT(dispatched(asked), IsEmpty()) << "there is room for the third";
    const auto first =
        decide(again, CallRecovered{.call_id = cut_off(asked)[0]->call_id, .how = How::NotMade});
    EXPECT_THAT(dispatched(first), IsEmpty());
    const auto second =
        decide(again, CallRecovered{.call_id = cut_off(asked)[1]->call_id, .how = How::NotMade});
    EXPECT_THAT(steps(dispatched(second)), ElementsAre("a", "b", "c"));
}

TEST_F(DecideTest, ARestartPastTheDeadlineStartsNothingMore) {
    auto run = state({step("once"), step("again", "Twice"), step("later")});
    run.run.policy.limits.run_timeout_ms = 1000;
    ASSERT_THAT(steps(dispatched(decide(run, Begin{}))), ElementsAre("once", "again"));
    auto late = read_back(run);
    auto in_time = read_back(run);
    EXPECT_THAT(steps(dispatched(decide(in_time, Restarted{}))), ElementsAre("again"));
    now += std::chrono::milliseconds(1000);
    auto delta = decide(late, Restarted{});
    EXPECT_THAT(dispatched(delta), IsEmpty());
    const auto settled = decide(late, CallRecovered{.call_id = cut_off(delta).at(0)->call_id});
    std::ranges::copy(settled.drafts, std::back_inserter(delta.drafts));
    EXPECT_EQ(late.run.status, PlanRunStatus::Failed);
    ASSERT_TRUE(late.run.failure);
    EXPECT_EQ(late.run.failure->code, "TIMEOUT");
    std::map<std::string, ResultStatus> results;
    for (const auto& draft : delta.drafts)
        if (const auto* one = std::get_if<domain::ToolResult>(&draft))
            results[one->step_id] = one->status;
    EXPECT_THAT(results, testing::ElementsAre(testing::Pair("again", ResultStatus::Timeout),
                                              testing::Pair("once", ResultStatus::Error)));
}

// contract: CALL-01, CALL-03, CALL-04
TEST_F(DecideTest, ALoopsCallsCarryTheirItemAndShareALoop) {
    auto loop = step("loop");
    loop["foreach"] = {{"from", "$steps.a.list"}, {"itemName", "x"}, {"concurrency", 2}};
    loop["timeoutMs"] = 50;
    auto run = state({step("a"), loop});
    auto result = ok(dispatched(decide(run, Begin{}))[0]);
    result.result.data = json::object{{"list", json::array{"p", "q"}}};
    const auto items = dispatched(decide(run, result));
    ASSERT_EQ(items.size(), 2u);
    EXPECT_EQ(items[0]->iteration, (domain::Iteration{0, "x", "p"}));
    EXPECT_EQ(items[1]->iteration, (domain::Iteration{1, "x", "q"}));
    EXPECT_EQ(items[0]->loop_id, items[1]->loop_id);
    EXPECT_TRUE(items[0]->loop_id);
    EXPECT_NE(items[0]->call_id, items[1]->call_id);
    EXPECT_NE(items[0]->idempotency_key, items[1]->idempotency_key);
    EXPECT_EQ(items[0]->timeout_ms, 50);
    EXPECT_EQ(items[0]->deadline_at, now + std::chrono::milliseconds(50));
    EXPECT_EQ(items[0]->attempt, 1);
    EXPECT_EQ(items[0]->run_id, run.run.run_id);
}

TEST_F(DecideTest, RecordsComeBackFromTheWireAsTheyWere) {
    domain::ToolCall call{.call_id = {"c"}, .run_id = {"r"}, .step_id = "s", .tool = "t"};
    call.agent_id = {"plan"};
    call.source = domain::CallSource::PlanStep;
    call.args = json::object{{"camelCase", json::object{{"snake_case", 1}}}};
    call.args_hash = domain::args_hash(call.args);
    call.iteration = domain::Iteration{2, "item", json::object{{"some_key", "v"}}};
    call.loop_id = "l";
    call.timeout_ms = 9;
    call.policy.max_risk_level = domain::RiskLevel::ReadOnly;
    call.policy.sandbox.deny_patterns = {"x"};
    call.risk_level = domain::RiskLevel::ReadOnly;
    call.category = "test";
    EXPECT_EQ(call_from(call_json(call)).value(), call);

    domain::ToolResult result = ended(call, ResultStatus::Error);
    result.error = domain::ResultError{"CONFLICT", "m", json::object{{"snake_key", 1}}, true};
    result.effects = {.observed = false, .side_effects_observed = true};
    result.effects.modified.push_back({"p", domain::PathKind::File, "b", "a"});
    result.duration_ms = 5;
    EXPECT_EQ(result_from(result_json(result)).value(), result);

    const RunEvent event{.type = EventType::StepFailed,
                         .timestamp = now,
                         .level = EventLevel::Error,
                         .message = "m",
                         .call_id = {"c"},
                         .step_id = "s",
                         .tool = "t",
                         .payload = {{"a_b", 1}}};
    EXPECT_EQ(event_from(event_json({"r"}, event)).value(), event);
    EXPECT_EQ(policy_from(policy_json(call.policy)).value(), call.policy);
    const auto refusal = [](json::object limits) {
        const auto policy = policy_from(json::object{{"limits", std::move(limits)}});
        return policy ? "" : policy.error().message;
    };
    EXPECT_EQ(refusal({{"maxConcurency", 3}}),
              "the policy: /limits/maxConcurency: is not a known field; did you mean "
              "'maxConcurrency'?");
    EXPECT_EQ(refusal({{"maxConcurrency", 0}}),
              "the policy: /limits/maxConcurrency must be at least 1, got 0");
    EXPECT_EQ(refusal({{"runTimeoutMs", -5}}),
              "the policy: /limits/runTimeoutMs must be at least 1, got -5");
    EXPECT_EQ(refusal({{"maxBackoffMs", 0}, {"maxForeachItems", 0}}), "");
}

TEST_F(DecideTest, TheSameValuesGiveTheSameDecision) {
    const auto decided = [&] {
        auto one = state({step("a"), step("b")});
        now = base::from_micros(1'000'000);
        const auto calls = dispatched(decide(one, Begin{}));
        std::vector<std::string> ids;
        for (const auto& call : calls) ids.push_back(call->call_id.value);
        return ids;
    };
    const auto first = decided();
    ASSERT_EQ(first.size(), 2U);
    EXPECT_EQ(first, decided());
    EXPECT_NE(first[0], first[1]);
}

TEST(CallId, IsAUuidThatSortsByTimeAndIsItsCallsOwn) {
    const auto early = base::from_micros(1'700'000'000'000'000);
    const auto later = early + std::chrono::milliseconds(1);
    const auto id = call_id({"run"}, 0, early);
    EXPECT_THAT(id.value, testing::MatchesRegex(
                              "[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-8[0-9a-f]{3}-[0-9a-f]{12}"));
    EXPECT_EQ(id, call_id({"run"}, 0, early));
    EXPECT_NE(id, call_id({"run"}, 1, early));
    EXPECT_NE(id, call_id({"other"}, 0, early));
    EXPECT_LT(call_id({"run"}, 4095, early), call_id({"run"}, 0, later));
    EXPECT_EQ(id.value.substr(0, 13), "018bcfe5-6800");
}

}  // namespace
}  // namespace plan
