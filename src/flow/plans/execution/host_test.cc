// Runs of plans in a daemon: several at once, left open when it ends, resumed by the next one.
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "store/sql/sqlite/temp_database.h"
#include "tests/plans/world.h"
#include "tests/support/eventually.h"
#include "tests/support/lock_holder.h"

namespace plans_test {
namespace {

using base::ErrorCode;
using domain::PlanRecordKind;
using domain::PlanRunStatus;
using testing::Each;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;

json::object loop_plan(std::string_view tool, std::int64_t count) {
    json::array steps{
        {{"id", "list"}, {"tool", "test.list"}, {"args", {{"count", count}}}},
        {{"id", "each"},
         {"tool", tool},
         {"foreach", {{"from", "$steps.list.items"}, {"itemName", "item"}, {"concurrency", 4}}},
         {"args", {{"name", "{item.name}"}, {"ms", 10}}}}};
    return {{"version", "1.0"},
            {"goal", "Go over them"},
            {"riskLevel", "read-only"},
            {"steps", std::move(steps)}};
}

std::string create(Life& life, const json::object& plan) {
    const auto created = life.plans().create({.text = base::json_text(plan)}).value();
    CHECK(created.run.has_value(), "the plan is good");
    return created.run->run_id.value;
}

struct Seen {
    std::optional<domain::PlanRun> begun{};
    std::vector<domain::PlanRecord> records{};
    std::optional<base::Result<domain::PlanRun>> ended{};

    plans::ExecutionCallbacks calls() {
        return {
            .on_begun = [this](const domain::PlanRun& run) { begun = run; },
            .on_record = [this](const domain::PlanRecord& record) { records.push_back(record); },
            .on_end = [this](base::Result<domain::PlanRun> how) { ended = std::move(how); }};
    }
    std::size_t results() const { return of_kind(records, PlanRecordKind::Result).size(); }
};

TEST(PlanHost, ExecutesSeveralRunsAtOnce) {
    World world;
    Life life(world);
    auto& host = life.plans().host();
    Seen seen[2];
    std::vector<std::string> runs;
    for (auto& one : seen) {
        runs.push_back(create(life, loop_plan("test.slow", 8)));
        ASSERT_TRUE(host.execute({runs.back()}, one.calls()));
        EXPECT_TRUE(host.is_executing({runs.back()}));
    }
    EXPECT_EQ(host.execute({runs[0]}, {}).error().code, ErrorCode::Conflict);
    life.loop().run_until([&] { return seen[0].ended && seen[1].ended; });
    EXPECT_GT(world.tools.running_max, 4) << "they ran one after the other";
    for (std::size_t i = 0; i < 2; ++i) {
        EXPECT_EQ((*seen[i].ended)->status, PlanRunStatus::Succeeded);
        EXPECT_EQ((*seen[i].ended)->run_id.value, runs[i]);
        EXPECT_THAT(broken_promises(seen[i].records), IsEmpty());
        EXPECT_FALSE(host.is_executing({runs[i]}));
        EXPECT_TRUE(life.plans().verify(runs[i])->ok);
    }
}

TEST(PlanHost, LosesNoStepToACommitThatFails) {
    constexpr std::int64_t kItems = 6;
    std::int64_t commits = 2;  // Known once a run has ended.
    for (std::int64_t at = 1; at <= commits; ++at) {
        World world;
        Life life(world, {sim::Fault::CommitFails, at});
        const auto made =
            life.plans().create({.text = base::json_text(loop_plan("test.slow", kItems))});
        if (!made) continue;  // The one that stores the run: its caller received the error.
        Seen seen;
        ASSERT_TRUE(life.plans().host().execute(made->run->run_id, seen.calls()));
        life.loop().run_until([&] { return seen.ended.has_value(); });
        ASSERT_TRUE(seen.ended && *seen.ended) << "commit " << at;
        EXPECT_EQ((*seen.ended)->status, PlanRunStatus::Succeeded) << "commit " << at;
        EXPECT_EQ((*seen.ended)->counts.calls, kItems + 1) << "commit " << at;
        EXPECT_THAT(broken_promises(seen.records), IsEmpty());
        commits = world.disk.commits();
    }
    EXPECT_GT(commits, 3) << "each of them failed once";
}

TEST(PlanHost, WaitsForAnotherProcessThatHoldsTheStore) {
    const sqlite::TempDatabase database;
    test_support::LockHolder other(database.file());
    auto store = std::make_unique<test_support::ContendedStore>(database.file());
    auto& contended = *store;
    World world;
    Life life(world, std::move(store));
    const std::string run = create(life, loop_plan("test.slow", 12));
    contended.on_failure = [&](int failures) {
        if (failures == 4) other.release();
    };
    Seen seen;
    ASSERT_TRUE(life.plans().host().execute({run}, seen.calls()));
    ASSERT_TRUE(life.loop().run_until([&] { return seen.results() >= 3; }));
    other.hold();
    life.loop().run_until([&] { return seen.ended.has_value(); });
    EXPECT_GE(contended.failures, 4) << "it met the lock, and tried again";
    ASSERT_TRUE(seen.ended && *seen.ended);
    EXPECT_EQ((*seen.ended)->status, PlanRunStatus::Succeeded);
    EXPECT_EQ((*seen.ended)->counts.failed, 0);
    EXPECT_EQ((*seen.ended)->counts.calls, 13);
    EXPECT_THAT(broken_promises(seen.records), IsEmpty());
}

TEST(PlanHost, ReportsEveryCommitAndTheEndToWatchers) {
    World world;
    Life life(world);
    const std::string run = create(life, loop_plan("test.slow", 3));
    std::vector<std::int64_t> numbers;
    bool is_executing_at_end = true;
    const auto token = life.plans().watch(run, [&](std::int64_t newest) {
        numbers.push_back(newest);
        is_executing_at_end = life.plans().host().is_executing({run});
    });
    const auto ended = life.plans().execute(run).value();
    ASSERT_GT(numbers.size(), 2U);
    EXPECT_TRUE(std::ranges::is_sorted(numbers));
    EXPECT_EQ(numbers.back(), ended.last_seq);
    EXPECT_FALSE(is_executing_at_end) << "the last report came before the run was released";
}

TEST(PlanHost, DrainsByLettingCallsEndAndLeavesTheRunOpen) {
    World world;
    Seen seen;
    std::string run;
    {
        Life life(world);
        auto& host = life.plans().host();
        ASSERT_TRUE(host.stay());
        run = create(life, loop_plan("test.slow", 20));
        ASSERT_TRUE(host.execute({run}, seen.calls()));
        life.loop().run_until([&] { return seen.results() >= 6; });
        bool drained = false;
        host.drain([&] { drained = true; });
        ASSERT_TRUE(life.loop().run_until([&] { return drained; }));
        ASSERT_TRUE(seen.ended);
        EXPECT_EQ(seen.ended->error().kind, "runtime_ending");
        EXPECT_EQ(of_kind(seen.records, PlanRecordKind::Call).size(), seen.results())
            << "a call was cut off";
        EXPECT_LT(seen.results(), 21U);
        EXPECT_EQ(life.plans().run(run)->status, PlanRunStatus::Running);
        EXPECT_EQ(host.execute({run}, {}).error().code, ErrorCode::Unavailable);
    }
    Life next(world);
    ASSERT_TRUE(next.plans().host().stay());
    next.loop().run();
    EXPECT_EQ(next.plans().run(run)->status, PlanRunStatus::Succeeded);
    EXPECT_THAT(world.tools.ran, Each(Pair(testing::_, 1)));
    EXPECT_TRUE(next.plans().verify(run)->ok);
    EXPECT_THAT(next.plans().replay(run)->divergences, IsEmpty());
}

TEST(PlanHost, ARunThatHasNotBegunWhenTheDaemonEndsDoesNotBegin) {
    World world;
    Life life(world);
    auto& host = life.plans().host();
    Seen seen;
    const std::string run = create(life, loop_plan("test.slow", 1));
    ASSERT_TRUE(host.execute({run}, seen.calls()));
    bool drained = false;
    host.drain([&] { drained = true; });
    EXPECT_FALSE(drained);
    ASSERT_TRUE(life.loop().run_until([&] { return drained; }));
    ASSERT_TRUE(seen.ended);
    EXPECT_EQ(seen.ended->error().kind, "runtime_ending");
    EXPECT_FALSE(seen.begun);
    EXPECT_FALSE(host.is_executing({run}));
    EXPECT_EQ(life.plans().run(run)->pass, 0);
    EXPECT_THAT(world.tools.ran, IsEmpty());
}

TEST(PlanHost, ACallerThatWaitsForAPreviewLearnsThatTheDaemonEnds) {
    World world;
    Life life(world);
    auto& host = life.plans().host();
    ASSERT_TRUE(host.stay());
    life.loop().run();
    const domain::PlanRequest request{.text = base::json_text(loop_plan("test.stuck", 1))};
    base::Result<json::object> answer;
    bool drained = false;
    {
        const std::jthread waits([&] { answer = life.plans().preview(request); });
        // What it posts, it posts before it is counted; from there on the loop is ours.
        ASSERT_TRUE(test_support::eventually([&] { return host.attended_count() > 0; }));
        ASSERT_TRUE(life.loop().run_until([&] { return world.tools.running == 1; }));
        const auto began = life.loop().now();
        host.drain([&] { drained = true; });
        EXPECT_FALSE(drained) << "somebody still waits for the loop";
        ASSERT_TRUE(life.loop().run_until([&] { return drained; }));
        EXPECT_EQ(life.loop().now(), began) << "it was left to its own time";
    }
    ASSERT_FALSE(answer);
    EXPECT_EQ(answer.error().code, ErrorCode::Unavailable);
    EXPECT_EQ(answer.error().kind, "runtime_ending");
    EXPECT_EQ(host.attended_count(), 0U);
    const auto late = life.plans().preview(request);
    ASSERT_FALSE(late);
    EXPECT_EQ(late.error().kind, "runtime_ending");
    EXPECT_EQ(world.tools.ran.size(), 2U) << "the list and one call, of the first preview";
}

TEST(PlanHost, ReleasesCallsThatDoNotEndInTime) {
    World world;
    Life life(world);
    auto& host = life.plans().host();
    ASSERT_TRUE(host.stay());
    Seen seen;
    const std::string run = create(life, loop_plan("test.stuck", 1));
    ASSERT_TRUE(host.execute({run}, seen.calls()));
    life.loop().run_until([&] { return world.tools.running == 1; });
    const auto began = life.loop().now();
    bool drained = false;
    host.drain([&] { drained = true; });
    ASSERT_TRUE(life.loop().run_until([&] { return drained; }));
    EXPECT_EQ(life.loop().now() - began, plans::kDrainGrace);
    EXPECT_EQ(life.plans().run(run)->status, PlanRunStatus::Running);
}

TEST(PlanHost, ResumesRunsOfADaemonAndLeavesThoseOfACommand) {
    World world;
    std::string of_runtime;
    std::string of_command;
    {
        Life life(world);
        of_command = create(life, loop_plan("test.stuck", 1));
        ASSERT_TRUE(life.plans().host().execute({of_command}, {}));
        life.loop().run_until([&] { return world.tools.running == 1; });
    }
    {
        Life life(world);
        ASSERT_TRUE(life.plans().host().stay());
        of_runtime = create(life, loop_plan("test.slow", 4));
        Seen seen;
        ASSERT_TRUE(life.plans().host().execute({of_runtime}, seen.calls()));
        life.loop().run_until([&] { return seen.begun.has_value(); });
    }
    Life life(world);
    ASSERT_TRUE(life.plans().host().stay());
    life.loop().run();
    EXPECT_EQ(life.plans().run(of_runtime)->status, PlanRunStatus::Succeeded);
    EXPECT_EQ(life.plans().run(of_command)->status, PlanRunStatus::Running);
    EXPECT_FALSE(*life.plans().is_executing(of_command));
}

TEST(PlanHost, CancelsOneRunAndNotAnother) {
    World world;
    Life life(world);
    auto& host = life.plans().host();
    Seen seen[2];
    std::vector<std::string> runs;
    for (auto& one : seen) {
        runs.push_back(create(life, loop_plan("test.stuck", 1)));
        ASSERT_TRUE(host.execute({runs.back()}, one.calls()));
    }
    life.loop().run_until([&] { return world.tools.running == 2; });
    bool has_ended = false;
    EXPECT_TRUE(host.cancel({runs[0]}, "enough", [&] { has_ended = true; }));
    ASSERT_TRUE(life.loop().run_until([&] { return has_ended; }));
    EXPECT_EQ((*seen[0].ended)->status, PlanRunStatus::Cancelled);
    EXPECT_FALSE(seen[1].ended);
    EXPECT_FALSE(host.cancel({runs[0]}, "again"));
}

TEST(PlanHost, BoundsHowManyRunsItExecutes) {
    World world;
    Life life(world);
    auto& host = life.plans().host();
    for (std::size_t i = 0; i < plans::kRunsExecutingMax; ++i)
        ASSERT_TRUE(host.execute({create(life, loop_plan("test.slow", 1))}, {}));
    const std::string late = create(life, loop_plan("test.slow", 1));
    const auto refused = host.execute({late}, {});
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().kind, "overloaded");
    life.loop().run();
    EXPECT_EQ(host.executing_count(), 0U);
    EXPECT_TRUE(host.execute({late}, {}));
}

TEST(PlanHost, BeginsNothingForOthersWhereNoDaemonServes) {
    World world;
    Life life(world);
    const auto begun = life.plans().begin(create(life, loop_plan("test.slow", 1)));
    ASSERT_FALSE(begun);
    EXPECT_EQ(begun.error().code, ErrorCode::Refused);
    EXPECT_THAT(begun.error().message, HasSubstr("holon daemon start"));
}

}  // namespace
}  // namespace plans_test
