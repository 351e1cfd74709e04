#include "exec/tasks/host.h"

#include "base/os/files.h"
#include "exec/tasks/snapshot/snapshot.h"
#include "tests/support/host_fixture.h"

namespace tasks {
namespace {

using domain::TaskStatus;
using supervisor::Ended;
using testing::ElementsAre;
using testing::HasSubstr;

TEST_F(HostTest, KeepsAsMuchOutputAsIsConfiguredAndTheDiskAllows) {
    output_bytes_max_ = 1000;
    restart();
    start(request());
    EXPECT_EQ(machine_.commands.at("t1").spec.log_bytes_max, 1000U);
    output_bytes_max_ = std::numeric_limits<std::uint64_t>::max();
    restart();
    start(request("t2"));
    EXPECT_LE(machine_.commands.at("t2").spec.log_bytes_max,
              std::filesystem::space(folder_).capacity / kFreeDiskShare);
}

TEST_F(HostTest, ACallLearnsTheEndOfItsCommand) {
    start(request());
    supervisor_->end("t1", Ended{.exit_code = 0});
    loop_.run();
    EXPECT_THAT(ends_, ElementsAre(supervisor::End(Ended{.exit_code = 0})));
    EXPECT_FALSE(find("t1"));
    EXPECT_TRUE(messages().empty());
}

// contract: TASK-18, TASK-38, AUDIT-09
TEST_F(HostTest, TheEndOfATaskIsOneCommitWithItsMessage) {
    a_task();
    supervisor_->end("t1", Ended{.exit_code = 3});
    loop_.run();
    EXPECT_TRUE(ends_.empty()) << "the call hears nothing any more";
    EXPECT_EQ(task().status, TaskStatus::Failed);
    ASSERT_EQ(messages().size(), 1U);
    EXPECT_EQ(messages()[0].message.kind, domain::MessageKind::TaskResult);
    EXPECT_EQ(messages()[0].entry.status, domain::QueueStatus::Queued);
    EXPECT_THAT(woken_, ElementsAre("main"));
    EXPECT_THAT(task_events(), ElementsAre("task_created", "command_task_running_persisted",
                                           "command_task_terminal_persisted", "task_status_updated",
                                           "task_result_received"));
    EXPECT_TRUE(machine_.commands.empty()) << "the supervisor has forgotten it";
}

TEST_F(HostTest, AnEndDuringThePromotionIsTheTasks) {
    start(request());
    promote();
    supervisor_->end("t1", Ended{.exit_code = 0});
    loop_.run();
    EXPECT_THAT(promoted_, ElementsAre("running"));
    EXPECT_TRUE(ends_.empty());
    EXPECT_EQ(task().status, TaskStatus::Completed);
    EXPECT_EQ(messages().size(), 1U);
}

TEST_F(HostTest, AnEndBeforeThePromotionIsTheCalls) {
    start(request());
    supervisor_->end("t1", Ended{.exit_code = 0});
    loop_.run();
    promote();
    loop_.run();
    EXPECT_THAT(promoted_, ElementsAre(nullptr));
    EXPECT_EQ(ends_.size(), 1U);
    EXPECT_FALSE(find("t1"));
}

// contract: TASK-01, TASK-15, TASK-16, TASK-18, TASK-19
TEST_F(HostTest, ANewProcessReattachesToWhatRunsAndEndsWhatIsLost) {
    a_task("t1");
    a_task("t2");
    a_task("t3");
    a_task("t4");
    supervisor_->end("t4", Ended{.exit_code = 0});
    loop_.run();
    restart();
    machine_.commands.at("t2").end = Ended{.exit_code = 2};  // It ended while nobody was there.
    machine_.commands.erase("t3");
    host_->recover({agent_});
    loop_.run();
    EXPECT_EQ(task("t1").status, TaskStatus::Running);
    EXPECT_EQ(task("t2").status, TaskStatus::Failed);
    EXPECT_EQ(detail_of(task("t2")).exit_status, 2);
    EXPECT_EQ(task("t3").status, TaskStatus::Failed);
    EXPECT_EQ(detail_of(task("t3")).error, "nothing is known of it");
    EXPECT_EQ(messages().size(), 3U);
    supervisor_->end("t1", Ended{.exit_code = 0});
    loop_.run();
    EXPECT_EQ(task("t1").status, TaskStatus::Completed);
    EXPECT_EQ(messages().size(), 4U);
    EXPECT_THAT(woken_, testing::SizeIs(4));
}

TEST_F(HostTest, AStopThatMayNotHaveGoneOutIsOrderedAgain) {
    a_task();
    host_->stop(agent_, {"t1"}, [](const auto&) {});
    restart();  // The commit is there; whether the order went out, nobody knows.
    loop_.run();
    machine_.commands.at("t1").stops.clear();
    host_->recover({agent_});
    loop_.run();
    EXPECT_EQ(task().status, TaskStatus::Cancelling);
    EXPECT_THAT(machine_.commands.at("t1").stops, ElementsAre(kStopGrace));
    host_->stop(agent_, {"t1"}, [](const auto&) {});
    loop_.run();
    EXPECT_THAT(machine_.commands.at("t1").stops,
                ElementsAre(kStopGrace, std::chrono::milliseconds(0)));
    supervisor_->end("t1", Ended{.signal = 9, .stopped = true, .forced = true});
    loop_.run();
    EXPECT_EQ(task().status, TaskStatus::Cancelled);
}

TEST_F(HostTest, ATaskThatEndsBeforeItsStopKeepsItsOwnOutcome) {
    a_task();
    supervisor_->end("t1", Ended{.exit_code = 0});
    std::optional<base::Result<StopReceipt>> receipt;
    host_->stop(agent_, {"t1"}, [&](auto result) { receipt = std::move(result); });
    loop_.run();
    EXPECT_EQ(task().status, TaskStatus::Completed);
    EXPECT_EQ(messages().size(), 1U);
}

TEST_F(HostTest, ATaskWithoutAProcessIsCancelledAtOnce) {
    a_task();
    restart();
    host_->stop(agent_, {"t1"}, [](const auto&) {});
    loop_.run();
    EXPECT_EQ(task().status, TaskStatus::Cancelled);
    EXPECT_EQ(messages().size(), 1U);
}

// contract: TASK-20, TASK-22, TASK-23, TASK-24
TEST_F(HostTest, WhatIsOverStaysOverWhateverComesLater) {
    a_task();
    supervisor_->end("t1", Ended{.exit_code = 0});
    loop_.run();
    const auto over = task();
    machine_.commands["t1"] = {.end = Ended{.exit_code = 9}};
    restart();
    host_->recover({agent_});
    loop_.run();
    EXPECT_EQ(task(), over);
    EXPECT_EQ(messages().size(), 1U);
}

TEST_F(HostTest, TasksOfAKindThatNobodyRunsAnyMoreFailWithAReason) {
    ASSERT_TRUE(store_->write(store::Durability::Disk, [&](store::Tx& tx) -> base::Status {
        TRY(tx.put_task({.id = {"old"},
                         .agent_id = agent_,
                         .kind = domain::TaskKind::SleepJob,
                         .status = TaskStatus::Running}));
        return tx.put_task({.id = {"child"},
                            .agent_id = agent_,
                            .kind = domain::TaskKind::SubagentTask,
                            .status = TaskStatus::Running});
    }));
    host_->recover({agent_});
    loop_.run();
    EXPECT_EQ(task("old").status, TaskStatus::Failed);
    EXPECT_EQ(task("child").status, TaskStatus::Running) << "children are resumed elsewhere";
}

TEST_F(HostTest, CreatesATaskFromItsFirstMoment) {
    std::optional<base::Result<domain::Task>> created;
    host_->create(request(), [&](auto task) { created = std::move(task); });
    loop_.run();
    ASSERT_TRUE(created && *created);
    EXPECT_FALSE(detail_of(**created).promoted_from_exec_command);
    supervisor_->end("t1", Ended{.exit_code = 0});
    loop_.run();
    EXPECT_EQ(task().status, TaskStatus::Completed);
    machine_.fails_to_start = true;
    host_->create(request("t2"), [](const auto&) {});
    loop_.run();
    EXPECT_EQ(task("t2").status, TaskStatus::Failed);
    EXPECT_EQ(messages().size(), 2U);
}

TEST_F(HostTest, CommandsThatNoTurnWillComeBackForAreEnded) {
    machine_.commands["call"] = {.spec = {.id = "call"}};
    machine_.commands["strange"] = {.spec = {.id = "strange"}};
    ASSERT_TRUE(store_->write(store::Durability::Disk, [&](store::Tx& tx) {
        domain::ToolExecution finished{.call = {.call_id = {"call"}, .agent_id = agent_}};
        finished.state = domain::CallState::Finished;
        return tx.put_tool_execution(finished);
    }));
    host_->recover({agent_});
    loop_.run();
    EXPECT_THAT(machine_.commands.at("call").stops, ElementsAre(kCancelGrace));
    EXPECT_TRUE(machine_.commands.at("strange").stops.empty()) << "another process may own it";
    supervisor_->end("call", Ended{.signal = 15, .stopped = true});
    loop_.run();
    EXPECT_FALSE(machine_.commands.contains("call"));
}

TEST_F(HostTest, AnEndIsReportedOnceToThoseWhoWaitForIt) {
    a_task();
    int told = 0, dropped = 0;
    const auto token = host_->await_end({"t1"}, [&] { ++told; });
    (void)host_->await_end({"t1"}, [&] { ++dropped; }).use_count();
    loop_.run();
    EXPECT_EQ(told, 0) << "it still runs";
    supervisor_->end("t1", Ended{.exit_code = 0});
    loop_.run();
    EXPECT_EQ(told, 1);
    EXPECT_EQ(dropped, 0);
    const auto late = host_->await_end({"t1"}, [&] { ++told; });
    loop_.run();
    EXPECT_EQ(told, 2) << "it was over already";
}

class GatedHost : public HostTest {
protected:
    GatedHost() { gate_.wanted = domain::GatePolicy::Enforce; }
    void print(std::string_view text) {
        ASSERT_TRUE(base::write_file_atomic(folder_ / "t1.log", text, 0600));
    }
    std::string shown() { return base::string_at(output_snapshot(task()), "output_preview"); }
    std::string told() { return domain::readable(messages().at(0).message.body); }
};

TEST_F(GatedHost, NothingIsShownBeforeTheVerdictAndAllOfItAfterwards) {
    print("top secret");
    a_task();
    EXPECT_EQ(shown(), kOutputWithheld);
    EXPECT_FALSE(detail_of(task()).initial_output);
    supervisor_->end("t1", Ended{.exit_code = 0});
    loop_.run();
    EXPECT_THAT(gate_.judged, ElementsAre("t1"));
    EXPECT_EQ(shown(), "top secret");
    EXPECT_THAT(told(), HasSubstr("top secret"));
    EXPECT_TRUE(detail_of(task()).gate);
}

TEST_F(GatedHost, OfARejectedOutputOnlyTheRejectionIsKept) {
    print("top secret");
    a_task();
    gate_.instead = "It was rejected as TS-1.";
    supervisor_->end("t1", Ended{.exit_code = 0});
    loop_.run();
    EXPECT_EQ(shown(), "It was rejected as TS-1.");
    EXPECT_THAT(told(), HasSubstr("It was rejected as TS-1."));
    EXPECT_EQ(told().find("evidence-"), std::string::npos);
    EXPECT_EQ(base::json_text(base::to_json(task())).find("top secret"), std::string::npos);
    EXPECT_FALSE(std::filesystem::exists(folder_ / "t1.log"));
}

TEST_F(GatedHost, ATaskThatBeganBeforeIsWithheldFromTheNextStartOn) {
    gate_.wanted = domain::GatePolicy::Off;
    print("top secret");
    a_task();
    EXPECT_EQ(shown(), "top secret");
    gate_.wanted = domain::GatePolicy::Enforce;
    restart();
    host_->recover({agent_});
    loop_.run();
    EXPECT_EQ(shown(), kOutputWithheld);
}

TEST_F(GatedHost, ReportWithholdsNothing) {
    gate_.wanted = domain::GatePolicy::Report;
    print("top secret");
    a_task();
    EXPECT_EQ(shown(), "top secret");
    supervisor_->end("t1", Ended{.exit_code = 0});
    loop_.run();
    EXPECT_EQ(detail_of(task()).gate->policy, domain::GatePolicy::Report);
}

}  // namespace
}  // namespace tasks
