// Reverts, by the operations that service::Plans builds from others.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "service/local/local_plans.h"
#include "tests/plans/plans_fixture.h"

namespace plans_test {
namespace {

using base::ErrorCode;
using domain::PlanRunStatus;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

class RevertTest : public PlansTest {
protected:
    base::Result<service::PlanReverted> revert(const std::string& run) {
        service::PlanObserver nobody;
        return service::LocalPlans(life.plans()).revert(run, "ada", nobody);
    }
};

TEST_F(RevertTest, RevertTakesEveryChangeBackByteForByte) {
    world.put("change.md", std::string("before\0\xff", 8));
    world.put("gone.md", "was here");
    world.put("old.md", "moved");
    const auto before = world.files();
    const std::string id =
        run(plan_of({step("dir", "test.mkdir", {{"path", "Folder"}}),
                     {{"id", "new"},
                      {"tool", "test.write"},
                      {"dependsOn", json::array{"dir"}},
                      {"args", {{"path", "Folder/new.md"}, {"content", "x"}}}},
                     write_step("change", "change.md", "after"),
                     {{"id", "twice"},
                      {"tool", "test.write"},
                      {"dependsOn", json::array{"change"}},
                      {"args", {{"path", "change.md"}, {"content", "after that"}}}},
                     step("gone", "test.remove", {{"path", "gone.md"}}),
                     step("move", "test.move", {{"from", "old.md"}, {"to", "$$steps.md"}})}));
    EXPECT_NE(world.files(), before);
    const auto reverted = revert(id).value();
    EXPECT_THAT(reverted.not_restored, IsEmpty());
    EXPECT_THAT(reverted.no_way_back, IsEmpty());
    EXPECT_EQ(world.files(), before);
    EXPECT_EQ(reverted.run->reverts, domain::RunId{id});
    EXPECT_EQ(first_fault(reverted.run->run_id.value), "");

    // A revert is a run, so it can be taken back as well.
    ASSERT_TRUE(revert(reverted.run->run_id.value));
    EXPECT_EQ(world.files().at("change.md"), "after that");
    EXPECT_EQ(world.files().at("$steps.md"), "moved");
    EXPECT_EQ(world.files().at("Folder/new.md"), "x");
}

TEST_F(RevertTest, WhatIsLeftOfARunIsNotDoneOnceTheRestIsTakenBack) {
    const std::string id = run(plan_of({write_step("w", "a.md", "x"),
                                        {{"id", "f"},
                                         {"tool", "test.fail"},
                                         {"dependsOn", json::array{"w"}},
                                         {"args", {{"times", 1}, {"code", "NOT_FOUND"}}}}}));
    const auto reverted = revert(id).value();
    const auto refused = life.plans().execute(id);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, ErrorCode::Conflict);
    EXPECT_THAT(refused.error().message,
                HasSubstr("taken back by run " + reverted.run->run_id.value));
    // With the revert taken back it stands as it did.
    ASSERT_TRUE(revert(reverted.run->run_id.value));
    EXPECT_EQ(execute(id).status, PlanRunStatus::Succeeded);
}

TEST_F(RevertTest, ARevertIsFoundBehindThousandsOfNewerRuns) {
    const std::string id = run(plan_of({write_step("w", "a.md", "x"),
                                        {{"id", "f"},
                                         {"tool", "test.fail"},
                                         {"dependsOn", json::array{"w"}},
                                         {"args", {{"times", 1}, {"code", "NOT_FOUND"}}}}}));
    ASSERT_TRUE(revert(id));
    const auto newer = life.loop().now() + std::chrono::seconds(1);
    const auto added =
        life.store().write(store::Durability::Process, [&](store::Tx& tx) -> base::Status {
            for (int i = 0; i < 2000; ++i)
                TRY(tx.add_plan_run({.run_id = {fmt::format("later-{}", i)},
                                     .status = PlanRunStatus::Succeeded,
                                     .created_at = newer},
                                    "{}"));
            return {};
        });
    ASSERT_TRUE(added);
    const auto refused = life.plans().execute(id);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, ErrorCode::Conflict);
}

TEST_F(RevertTest, RevertLeavesAloneWhatChangedSinceAndSaysSo) {
    world.put("a.md", "one");
    world.put("b.md", "one");
    const std::string id =
        run(plan_of({write_step("a", "a.md", "two"), write_step("b", "b.md", "two"),
                     write_step("c", "c.md", "two")}));
    world.put("a.md", "three");
    std::filesystem::remove(world.vault() / "c.md");
    const auto reverted = revert(id).value();
    ASSERT_THAT(reverted.not_restored, SizeIs(1));
    EXPECT_THAT(reverted.not_restored[0], HasSubstr("a.md has changed since"));
    EXPECT_EQ(reverted.restored.size(), 2u);
    EXPECT_EQ(world.files(),
              (std::map<std::string, std::string>{{"a.md", "three"}, {"b.md", "one"}}));
}

TEST_F(RevertTest, ADamagedOrForeignArtifactIsNotWrittenIntoTheVault) {
    world.put("a.md", "one");
    const std::string id = run(plan_of({write_step("a", "a.md", "two")}));
    for (const auto& entry :
         std::filesystem::directory_iterator(world.home() / "plans" / id / "tool-artifacts"))
        write(entry.path(), "forged");
    EXPECT_THAT(revert(id)->not_restored.at(0), HasSubstr("has lost the copy"));
    write(world.home() / "secret", "s");
    const std::string undo =
        run(plan_of({step("u", "plan.undo",
                          {{"action", "delete"},
                           {"path", "b.md"},
                           {"beforeArtifact", (world.home() / "secret").string()}})}));
    EXPECT_EQ(life.plans().run(undo)->failure->code, "POLICY_DENIED");
    EXPECT_EQ(world.files(), (std::map<std::string, std::string>{{"a.md", "two"}}));
}

}  // namespace
}  // namespace plans_test
