// Objectives that a daemon works through by itself, as operators give them.
#include <csignal>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/e2e/daemon/daemon_world.h"

namespace e2e {
namespace {

using test_support::eventually;
using testing::HasSubstr;
using testing::SizeIs;

json::object with_item(std::string_view tool, std::string_view text = "") {
    return calls(tool, {{"work_item_id", "$work_item"}}, text);
}

std::vector<json::value> items(DaemonWorld& world, const std::string& filter = "all") {
    const auto page = world.json_of({"work", "list", "--filter", filter, "--json"});
    std::vector<json::value> list;
    for (const auto& item : page.at("work_items").as_array()) list.push_back(item);
    return list;
}

std::string add(DaemonWorld& world, const std::string& objective) {
    return base::string_at(world.json_of({"work", "add", objective, "--json"}), "id");
}

// The item that this turn was begun for: its command knows no id, so the script names it again.
json::array patient_worker(const Signpost& begun, const Signpost& go_on) {
    return {
        with_item("PickWorkItem"),
        calls("ExecCommand", {{"cmd", fmt::format("echo begun > {}; read line < {}",
                                                  begun.path().string(), go_on.path().string())},
                              {"yield_time_ms", 600'000}}),
        calls("ListWorkItems", {{"filter", "current"}}),
        with_item("CompleteWorkItem", "It is done."), says("Next.")};
}

// contract: WORK-114
TEST(WorkItems, ThreeObjectivesAreWorkedThroughAfterAKillInTheMiddle) {
    DaemonWorld world;
    Signpost begun(world.folder() / "begun");
    Signpost go_on(world.folder() / "go-on");
    world.script(patient_worker(begun, go_on));
    world.daemon({"start"});
    for (const char* objective : {"first", "second", "third"}) add(world, objective);
    ASSERT_EQ(begun.wait(), "begun");
    const pid_t first = world.pid();
    ASSERT_EQ(kill(first, SIGKILL), 0);
    ASSERT_TRUE(ends_within(first, kPatience));
    world.daemon({"start"});
    go_on.send("1");
    for (const char* line : {"2", "3"}) {
        ASSERT_EQ(begun.wait(), "begun");
        go_on.send(line);
    }
    ASSERT_TRUE(eventually([&] { return items(world, "completed").size() == 3; }));
    EXPECT_THAT(items(world, "open"), SizeIs(0));
    for (const auto& item : items(world))
        EXPECT_EQ(base::string_at(item.at("completion_report"), "text"), "It is done.");
    // Nobody prompted it, and it has stopped.
    ASSERT_TRUE(eventually([&] {
        const auto status = world.json_of({"status", "--json"});
        return base::string_at(status.at("closure"), "outcome") == "completed" &&
               base::string_at(status.at("agent"), "status") != "awake_running";
    }));
    EXPECT_EQ(world.events("main", "turn_started").size(), 3U);
}

TEST(WorkItems, AnOperatorBlocksUnblocksAndCompletesThemOverTheDaemonAndWithout) {
    DaemonWorld world;
    world.script({says("I look at it.")});
    world.daemon({"start"});
    ASSERT_EQ(world.run({"agent", "stop", "main"}).exit_code, 0);
    const auto id = add(world, "the objective");
    EXPECT_EQ(base::string_at(world.json_of({"work", "show", id, "--json"}), "readiness"),
              "runnable");
    const auto blocked = world.json_of({"work", "block", id, "the review", "--json"});
    EXPECT_EQ(base::string_at(blocked, "blocked_by"), "the review");
    const auto waits = world.json_of({"wait", "list", "--json"});
    ASSERT_EQ(waits.as_array().size(), 1U);
    EXPECT_EQ(base::string_at(waits.as_array()[0], "waiting_for"), "the review");
    world.daemon({"stop"});
    EXPECT_EQ(base::string_at(world.json_of({"work", "unblock", id, "--json"}), "readiness"),
              "runnable");
    EXPECT_EQ(world.json_of({"wait", "list", "--json"}).as_array().size(), 0U);
    const auto plan = world.json_of({"work", "plan", id, "--json"});
    EXPECT_THAT(base::string_at(plan, "path"), HasSubstr(id));
    EXPECT_EQ(base::string_at(world.json_of({"work", "pick", id, "--json"}), "focus"), "current");
    EXPECT_EQ(base::string_at(world.json_of({"status", "--json"}).at("current_work_item"), "id"),
              id);
    EXPECT_EQ(base::string_at(world.json_of({"work", "done", id, "--json"}), "state"), "completed");
    const auto again = world.run({"work", "block", id, "x"});
    EXPECT_NE(again.exit_code, 0);
    EXPECT_THAT(again.err, HasSubstr("is completed"));
    EXPECT_NE(world.run({"work", "show", "work_none"}).exit_code, 0);
}

// contract: WORK-111
TEST(WorkItems, AnItemWaitsForTheTaskThatItsTurnLeftRunning) {
    DaemonWorld world;
    Signpost begun(world.folder() / "begun");
    Signpost go_on(world.folder() / "go-on");
    world.script(
        {with_item("PickWorkItem"),
         calls("ExecCommand", {{"cmd", fmt::format("echo begun > {}; read line < {}",
                                                   begun.path().string(), go_on.path().string())},
                               {"yield_time_ms", 1},
                               {"duplicate_policy", "start_new"}}),
         says("I wait for it.")});
    world.daemon({"start"});
    const auto id = add(world, "build it");
    std::string first;
    for (int turn = 0; turn < 2; ++turn) {
        ASSERT_EQ(begun.wait(), "begun");
        ASSERT_TRUE(eventually([&] {
            const auto item = world.json_of({"work", "show", id, "--json"});
            return base::string_at(item, "blocked_by") == "waiting for the result of a task";
        }));
        const auto waits = world.json_of({"wait", "list", "--json"});
        ASSERT_EQ(waits.as_array().size(), 1U);
        const auto& wait = waits.as_array()[0];
        EXPECT_EQ(base::string_at(wait, "kind"), "task");
        EXPECT_EQ(base::string_at(wait, "work_item_id"), id);
        EXPECT_NE(base::string_at(wait, "id"), first);
        first = base::string_at(wait, "id");
        EXPECT_EQ(
            base::string_at(world.json_of({"status", "--json"}).at("closure"), "waiting_reason"),
            "awaiting_task_result");
        go_on.send("go on");
    }
}

// contract: WORK-33, WORK-34
TEST(WorkItems, ARunReportsWhatItsWorkItemReported) {
    DaemonWorld world;
    world.script({calls("CreateWorkItem", {{"objective", "ship"}}),
                  with_item("CompleteWorkItem", "The report."), says("Bye.")});
    const auto result = world.json_of({"run", "--json", "--agent", "k", "--create-agent", "go"});
    EXPECT_EQ(base::string_at(result, "final_text"), "The report.");
    EXPECT_EQ(base::string_at(result, "raw_final_text"), "Bye.");
    EXPECT_EQ(base::string_at(result, "final_status"), "completed");
}

}  // namespace
}  // namespace e2e
