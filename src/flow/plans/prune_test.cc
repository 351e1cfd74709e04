// How long runs are kept, and that what stays is whole.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "agent/identity/agent_lock.h"
#include "tests/plans/world.h"

namespace plans_test {
namespace {

using std::chrono::hours;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

class PruneTest : public testing::Test {
protected:
    // A run that writes one file and has ended, made in a process of its own.
    std::string run(const std::string& path, std::string_view tool = "test.write") {
        Life life(world);
        const json::object plan{
            {"version", "1.0"},
            {"goal", "Tidy"},
            {"riskLevel", "writes"},
            {"steps",
             json::array{json::object{
                 {"id", "w"}, {"tool", tool}, {"args", {{"path", path}, {"content", "x"}}}}}}};
        const auto created = life.plans().create({.text = base::json_text(plan)}).value();
        const std::string id = created.run->run_id.value;
        if (created.needs_approval) EXPECT_TRUE(life.plans().approve(id, "ada", hours(1)));
        EXPECT_TRUE(life.plans().execute(id));
        return id;
    }
    std::vector<std::string> kept() {
        Life life(world);
        std::vector<std::string> ids;
        for (const auto& run : life.plans().runs(100, {}).value()) ids.push_back(run.run_id.value);
        std::ranges::reverse(ids);
        return ids;
    }
    bool has_folder(const std::string& id) {
        return std::filesystem::exists(world.home() / "plans" / id);
    }

    World world;
};

TEST_F(PruneTest, TheEndOfARunRemovesTheOldestBeyondTheNumberAndTheRestStillProves) {
    world.settings.retention.max_runs = 2;
    const std::string a = run("a.md");
    const std::string b = run("a.md");
    const std::string c = run("c.md");
    EXPECT_THAT(kept(), ElementsAre(b, c));
    EXPECT_FALSE(has_folder(a));
    Life life(world);
    for (const auto& id : {b, c}) {
        EXPECT_THAT(life.plans().verify(id)->faults, IsEmpty());
        EXPECT_THAT(life.plans().replay(id)->divergences, IsEmpty());
    }
    EXPECT_EQ(life.plans().run(a).error().code, base::ErrorCode::NotFound);
    EXPECT_THAT(life.plans().records(c, 0, 100).value(), testing::Not(IsEmpty()));
}

TEST_F(PruneTest, RoomIsMadeFromTheOldest) {
    const std::string a = run("a.md");
    world.settings.retention.max_bytes = 1;
    const std::string b = run("b.md");
    EXPECT_FALSE(has_folder(a));
    EXPECT_FALSE(has_folder(b)) << "the budget holds exactly";
}

TEST_F(PruneTest, NothingThatIsStillNeededGoes) {
    world.settings.retention.max_age_days = 5;
    const std::string origin = run("a.md");
    const std::string failed = run("b.md", "test.remove");
    const std::string executing = run("c.md");
    const std::string plain = run("d.md");
    std::string waiting;
    {
        Life life(world);
        ASSERT_TRUE(life.plans().save("again", "", origin, std::nullopt));
        waiting = life.plans()
                      .create({.text = R"({"version": "1.0", "goal": "g", "riskLevel": "writes",
                          "steps": [{"id": "w", "tool": "test.write", "args": {"path": "w", "content": ""}}]})"})
                      .value()
                      .run->run_id.value;
        ASSERT_TRUE(life.plans().approve(failed, "ada", hours(24 * 20)));
    }
    const auto lock = identity::lock_folder(world.home() / "plans" / executing, "run").value();
    Life life(world);
    life.loop().after(hours(24 * 10), [] {});
    life.loop().run();
    const auto would = life.plans().prune(std::nullopt, true).value();
    EXPECT_TRUE(has_folder(plain)) << "only asked";
    const auto pruned = life.plans().prune(std::nullopt, false).value();
    EXPECT_THAT(pruned.removed, ElementsAre(plain));
    EXPECT_THAT(would.removed, testing::Contains(plain));
    EXPECT_GT(pruned.bytes, 0);
    EXPECT_THAT(kept(), ElementsAre(origin, failed, executing, waiting));
    EXPECT_THAT(life.plans().prune(std::nullopt, false)->removed, IsEmpty());
}

TEST_F(PruneTest, WhatAPersonAsksForGoesByAgeAloneAndOffMeansOff) {
    world.settings.retention = {.enabled = false, .max_runs = 1};
    const std::string a = run("a.md");
    const std::string b = run("b.md");
    EXPECT_THAT(kept(), SizeIs(2));
    Life life(world);
    EXPECT_EQ(life.plans().prune(std::nullopt, false).error().code, base::ErrorCode::Refused);
    EXPECT_THAT(life.plans().prune(hours(24), false)->removed, IsEmpty());
    EXPECT_THAT(life.plans().prune(hours(0), false)->removed, SizeIs(2));
    EXPECT_THAT(kept(), IsEmpty());
}

TEST_F(PruneTest, ARemovalThatACrashCutOffIsMadeGood) {
    world.settings.retention.enabled = false;
    const std::string a = run("a.md");
    const std::string b = run("b.md");
    for (const std::int64_t at : {1, 2}) {
        Life life(world, {sim::Fault::CrashAfterCommit, at});
        try {
            (void)life.plans().prune(hours(0), false);
        } catch (const sim::Crash&) {
        }
    }
    Life life(world);
    ASSERT_TRUE(life.plans().prune(hours(0), false));
    EXPECT_THAT(kept(), IsEmpty());
    std::size_t rows = 0;
    ASSERT_TRUE(life.store().read([&](store::Tx& tx) -> base::Status {
        for (const auto& id : {a, b}) rows += TRY(tx.plan_records({id}, 0, 100)).size();
        rows += static_cast<std::size_t>(TRY(tx.plan_run_count()));
        return {};
    }));
    EXPECT_EQ(rows, 0u);
}

}  // namespace
}  // namespace plans_test
