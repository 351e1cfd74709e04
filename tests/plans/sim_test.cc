// Crashes everywhere, random plans, faults and cancels: what must hold of every run.
#include <algorithm>
#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/plans/world.h"

namespace plans_test {
namespace {

using domain::PlanRecordKind;
using domain::PlanRunStatus;
using testing::IsEmpty;

constexpr sim::Fault kFaults[] = {sim::Fault::CrashBeforeCommit, sim::Fault::CrashAfterCommit,
                                  sim::Fault::PowerLoss, sim::Fault::CommitFails};

std::string start_of(const json::object& plan, World& world, json::object policy = {}) {
    Life life(world);
    const auto created =
        life.plans().create({.text = base::json_text(plan), .policy = std::move(policy)}).value();
    CHECK(created.run.has_value(), "the plan is good");
    const std::string run = created.run->run_id.value;
    if (created.needs_approval)
        CHECK(life.plans().approve(run, "tester", std::chrono::hours(24 * 30)).has_value(),
              "it can be approved");
    return run;
}

// Executes the run in one process for each fault, and then to its end. True when it got there.
bool live_through(World& world, const std::string& run, const std::vector<sim::FaultPlan>& faults,
                  int& cancel_after) {
    for (std::size_t i = 0; i <= faults.size(); ++i) {
        Life life(world, i < faults.size() ? faults[i] : sim::FaultPlan{});
        Recorder recorder;
        recorder.on_each = [&](const domain::PlanRecord&) {
            if (--cancel_after == 0)
                life.loop().post([&] { life.plans().interrupt("the test says so"); });
        };
        try {
            const auto current = life.plans().run(run).value();
            if (!current.is_open()) return true;
            const auto ended = life.plans().execute(run, recorder.seen());
            if (ended && !ended->is_open()) return true;
        } catch (const sim::Crash&) {
        }
    }
    return false;
}
bool live_through(World& world, const std::string& run, const std::vector<sim::FaultPlan>& faults) {
    int never = 0;
    return live_through(world, run, faults, never);
}

// What must hold once a run has ended, whatever happened on the way.
void check_run(World& world, const std::string& run) {
    Life life(world);
    const auto records = life.plans().records(run, 0, 1'000'000).value();
    EXPECT_THAT(broken_promises(records), IsEmpty());
    EXPECT_THAT(life.plans().verify(run).value().faults, IsEmpty());
    const auto replay = life.plans().replay(run).value();
    EXPECT_THAT(replay.divergences, IsEmpty());
}

json::object plan_of(json::array steps, std::string_view risk = "writes") {
    return {{"version", "1.0"}, {"goal", "Sim"}, {"riskLevel", risk}, {"steps", std::move(steps)}};
}

// Three steps and a loop, of tools that may and may not be repeated.
json::object mixed_plan() {
    return plan_of(
        {{{"id", "list"}, {"tool", "test.list"}, {"args", {{"count", 3}}}},
         {{"id", "mark"}, {"tool", "test.mark"}, {"args", json::object()}, {"onError", "skip"}},
         {{"id", "loop"},
          {"tool", "test.mark"},
          {"onError", "skip"},
          {"foreach", {{"from", "$steps.list.items"}, {"itemName", "x"}, {"concurrency", 2}}},
          {"args", {{"n", "{x.n}"}}}},
         {{"id", "flaky"},
          {"tool", "test.fail"},
          {"args", {{"times", 2}}},
          {"onError", "retry"},
          {"retry", {{"maxAttempts", 4}, {"backoffMs", 10}}}},
         {{"id", "end"},
          {"tool", "test.echo"},
          {"dependsOn", json::array{"flaky"}},
          {"args", json::object()}}});
}

std::int64_t commits_of(const json::object& plan) {
    World world;
    EXPECT_TRUE(live_through(world, start_of(plan, world), {}));
    return world.disk.commits();
}

// The long tests run in parts, each a test of its own, so that CTest can spread them over shards.
constexpr int kParts = 4;
class PlanSimPart : public testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(Of4, PlanSimPart, testing::Range(0, kParts));

// contract: LOG-03, XEVT-03
TEST_P(PlanSimPart, ACrashAtAnyCommitRepeatsNothingThatMustNotBeRepeatedAndLosesNothing) {
    const std::int64_t commits = commits_of(mixed_plan());
    for (std::int64_t at = 1 + GetParam(); at <= commits; at += kParts)
        for (const auto fault : kFaults) {
            SCOPED_TRACE(fmt::format("fault {} at commit {}", static_cast<int>(fault), at));
            World world;
            const std::string run = start_of(mixed_plan(), world);
            ASSERT_TRUE(live_through(world, run, {{fault, at}}));
            check_run(world, run);
            // A call that may not be repeated did its work once, or not at all and is named.
            Life life(world);
            const auto results =
                of_kind(life.plans().records(run, 0, 1'000'000).value(), PlanRecordKind::Result);
            for (const auto& [key, times] : world.tools.done) EXPECT_EQ(times, 1);
            int unknown = 0;
            for (const auto& result : results)
                if (const auto* error = base::find(result, "error"))
                    if (const auto* details = base::find(*error, "details"))
                        unknown += base::string_at(*details, "outcome") == "unknown" ? 1 : 0;
            EXPECT_GE(std::ssize(world.tools.done) + unknown, 4);
            EXPECT_LE(unknown, 3);
            EXPECT_EQ(life.plans().run(run)->counts.unknown_outcomes, unknown);
            EXPECT_EQ(life.plans().verify(run)->unknown_outcomes.size(),
                      static_cast<std::size_t>(unknown));
        }
}

// contract: RUN-02
TEST(PlanSim, ALoopOfAThousandItemsKilledAHundredTimesDoesEveryItemOnce) {
    constexpr int kKills = 100;
    std::mt19937_64 random(7);
    World world;
    const std::string run = start_of(
        plan_of(
            {{{"id", "list"}, {"tool", "test.list"}, {"args", {{"count", 1000}}}},
             {{"id", "loop"},
              {"tool", "test.once"},
              {"foreach", {{"from", "$steps.list.items"}, {"itemName", "x"}, {"concurrency", 4}}},
              {"args", {{"n", "{x.n}"}}}}}),
        world);
    std::vector<sim::FaultPlan> faults;
    for (int i = 0; i < kKills; ++i)
        faults.push_back({kFaults[random() % 3], static_cast<std::int64_t>(1 + random() % 3)});
    ASSERT_TRUE(live_through(world, run, faults));
    EXPECT_GT(world.lives, kKills) << "it ended before it was killed so often";
    Life life(world);
    const auto ended = life.plans().run(run).value();
    EXPECT_EQ(ended.status, PlanRunStatus::Succeeded);
    EXPECT_EQ(world.tools.done.size(), 1000u);
    const auto records = life.plans().records(run, 0, 1'000'000).value();
    EXPECT_THAT(broken_promises(records), IsEmpty());
    std::set<std::int64_t> items;
    for (const auto& call : of_kind(records, PlanRecordKind::Call))
        if (const auto* iteration = base::find(call, "iteration"))
            EXPECT_TRUE(items.insert(base::int_at(*iteration, "index")).second);
    EXPECT_EQ(items.size(), 1000u);
    EXPECT_THAT(life.plans().verify(run)->faults, IsEmpty());
}

// A plan of a few steps with random tools, references, loops, rules and failures.
json::object random_plan(std::mt19937_64& random) {
    const auto pick = [&](auto... options) {
        const std::array list{std::string(options)...};
        return list[random() % list.size()];
    };
    json::array steps;
    const std::size_t count = 1 + random() % 7;
    for (std::size_t i = 0; i < count; ++i) {
        const std::string tool = pick("test.echo", "test.fail", "test.slow", "test.mark",
                                      "test.once", "test.stuck", "test.list", "test.liar");
        json::object args{{"times", static_cast<std::int64_t>(random() % 4)},
                          {"ms", static_cast<std::int64_t>(random() % 40)},
                          {"count", static_cast<std::int64_t>(random() % 4)}};
        json::object step{{"id", fmt::format("s{}", i)}, {"tool", tool}};
        if (i > 0 && random() % 2 == 0)
            step["dependsOn"] = json::array{fmt::format("s{}", random() % i)};
        // A loop gives a list of results.
        const auto result_of = [&](std::size_t other) {
            return fmt::format("$steps.s{}{}", other,
                               steps[other].get_object().contains("foreach") ? "[0]" : "");
        };
        if (i > 0 && random() % 4 == 0) args["ref"] = result_of(random() % i) + ".times";
        if (i > 0 && random() % 4 == 0)
            step["foreach"] = {{"from", result_of(random() % i) + ".items"},
                               {"itemName", "x"},
                               {"concurrency", static_cast<std::int64_t>(1 + random() % 3)}};
        if (random() % 2 == 0) step["onError"] = pick("stop", "skip", "retry");
        if (random() % 2 == 0)
            step["retry"] = {{"maxAttempts", static_cast<std::int64_t>(1 + random() % 4)},
                             {"backoffMs", static_cast<std::int64_t>(random() % 30)}};
        if (tool == "test.stuck" || random() % 3 == 0)
            step["timeoutMs"] = static_cast<std::int64_t>(1 + random() % 50);
        step["args"] = std::move(args);
        steps.push_back(std::move(step));
    }
    return plan_of(std::move(steps));
}

// contract: XEVT-03, RES-01, RUN-05, RUN-06
TEST_P(PlanSimPart, EveryCallOfARandomPlanStartsOnceAndEndsOnceWithOneResult) {
    for (auto seed = static_cast<std::uint64_t>(GetParam() + 1); seed <= 120; seed += kParts) {
        SCOPED_TRACE(fmt::format("seed {}", seed));
        std::mt19937_64 random(seed);
        World world;
        world.seed = seed;
        const std::string run = start_of(
            random_plan(random), world,
            {{"limits", {{"maxConcurrency", static_cast<std::int64_t>(1 + random() % 3)}}}});
        std::vector<sim::FaultPlan> faults;
        for (std::uint64_t crash = random() % 4; crash > 0; --crash)
            faults.push_back({kFaults[random() % 4], static_cast<std::int64_t>(1 + random() % 8)});
        int cancel_after = random() % 3 == 0 ? static_cast<int>(1 + random() % 20) : 0;
        ASSERT_TRUE(live_through(world, run, faults, cancel_after));
        ASSERT_EQ(world.tools.running, 0) << "a tool was left running";
        Life life(world);
        const auto records = life.plans().records(run, 0, 1'000'000).value();
        ASSERT_THAT(broken_promises(records), IsEmpty());
        ASSERT_THAT(life.plans().verify(run)->faults, IsEmpty());
        for (const auto& result : of_kind(records, PlanRecordKind::Result)) {
            const std::string status = base::string_at(result, "status");
            ASSERT_EQ(base::bool_at(result, "ok"), status == "ok");
            if (status != "ok" && status != "skipped") {
                ASSERT_TRUE(base::find(result, "error"));
            }
        }
    }
}

TEST(PlanSim, AFailedRunIsResumedForWhatIsLeftOnly) {
    World world;
    const std::string run =
        start_of(plan_of({{{"id", "good"}, {"tool", "test.mark"}, {"args", json::object()}},
                          {{"id", "bad"},
                           {"tool", "test.fail"},
                           {"dependsOn", json::array{"good"}},
                           {"args", {{"times", 1}}}},
                          {{"id", "end"},
                           {"tool", "test.mark"},
                           {"dependsOn", json::array{"bad"}},
                           {"args", json::object()}}}),
                 world);
    Life life(world);
    Recorder recorder;
    EXPECT_EQ(life.plans().execute(run, recorder.seen())->status, PlanRunStatus::Failed);
    const auto again = life.plans().execute(run, recorder.seen());
    ASSERT_TRUE(again) << again.error().message;
    EXPECT_EQ(again->status, PlanRunStatus::Succeeded);
    EXPECT_EQ(again->pass, 2);
    EXPECT_EQ(world.tools.ran, (std::map<std::string, int>{{"good", 1}, {"bad", 2}, {"end", 1}}));
    const auto calls = of_kind(recorder.records, PlanRecordKind::Call);
    ASSERT_EQ(calls.size(), 4u);
    EXPECT_EQ(base::int_at(calls[2], "attempt"), 2);
    check_run(world, run);
    EXPECT_EQ(life.plans().execute(run, recorder.seen()).error().code, base::ErrorCode::Conflict);
}

TEST(PlanSim, ACancelledRunThatNoProcessExecutesIsEndedByTheCancelCall) {
    World world;
    const std::string run = start_of(
        plan_of({{{"id", "a"}, {"tool", "test.stuck"}, {"args", json::object()}}}, "read-only"),
        world);
    try {
        Life life(world, {sim::Fault::CrashAfterCommit, 1});
        Recorder recorder;
        (void)life.plans().execute(run, recorder.seen());
        FAIL() << "it should have crashed";
    } catch (const sim::Crash&) {
    }
    Life life(world);
    EXPECT_EQ(life.plans().run(run)->status, PlanRunStatus::Running);
    const auto cancelled = life.plans().cancel(run, "no longer wanted");
    ASSERT_TRUE(cancelled) << cancelled.error().message;
    EXPECT_EQ(cancelled->status, PlanRunStatus::Cancelled);
    check_run(world, run);
    EXPECT_EQ(life.plans().cancel(run, "again").error().code, base::ErrorCode::Conflict);
}

}  // namespace
}  // namespace plans_test
