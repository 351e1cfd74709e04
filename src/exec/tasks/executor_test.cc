// Tasks of another kind than commands, the ends that a failing store delays, and what is asked
// while a recovery is on its way.
#include "exec/tasks/executor.h"

#include "exec/tasks/plan_task.h"
#include "tests/support/host_fixture.h"

namespace tasks {
namespace {

using domain::TaskStatus;
using supervisor::Ended;
using testing::ElementsAre;
using testing::IsEmpty;

// Notes what the Host asks of it.
class FakeExecutor final : public Executor {
public:
    domain::TaskKind kind() const override { return domain::TaskKind::PlanTask; }
    StopDecision decide_stop(domain::Task task, base::Time now) const override {
        return decide_plan_stop(std::move(task), now);
    }
    void stop(const domain::Task& task, bool force) override {
        asked.push_back(fmt::format("stop {} {} {}", task.id, base::enum_name(task.status),
                                    force ? "by force" : "softly"));
    }
    void resume(const domain::Task& task) override {
        asked.push_back(fmt::format("resume {} {}", task.id, base::enum_name(task.status)));
    }
    std::vector<std::string> asked;
};

class ExecutorTest : public HostTest {
protected:
    ExecutorTest() { host_->add(executor_); }
    void put(const std::string& id, domain::TaskKind kind) {
        ASSERT_TRUE(store_->write(store::Durability::Disk, [&](store::Tx& tx) {
            return tx.put_task({.id = {id},
                                .agent_id = agent_,
                                .kind = kind,
                                .status = TaskStatus::Running,
                                .detail = base::to_json(PlanDetail{.run_id = id})});
        }));
    }
    base::Result<StopReceipt> stop(const std::string& id) {
        std::optional<base::Result<StopReceipt>> receipt;
        host_->stop(agent_, {id}, [&](auto result) { receipt = std::move(result); });
        loop_.run_until([&] { return receipt.has_value(); });
        return *receipt;
    }
    FakeExecutor executor_;
};

TEST_F(ExecutorTest, AStopIsDecidedAndCommittedBeforeTheExecutorActs) {
    put("plan", domain::TaskKind::PlanTask);
    host_->stop(agent_, {"plan"}, [](const auto&) {});
    EXPECT_THAT(executor_.asked, IsEmpty()) << "the loop has not heard of the commit";
    loop_.run();
    EXPECT_EQ(task("plan").status, TaskStatus::Cancelling);
    EXPECT_THAT(executor_.asked, ElementsAre("stop plan cancelling softly"));
    const auto again = stop("plan");
    ASSERT_TRUE(again);
    EXPECT_TRUE(again->force_stop_requested);
    EXPECT_THAT(executor_.asked,
                ElementsAre("stop plan cancelling softly", "stop plan cancelling by force"));
}

TEST_F(ExecutorTest, AStopThatIsNotCommittedReachesNobody) {
    put("plan", domain::TaskKind::PlanTask);
    store_->writes_to_fail = 1'000'000;
    EXPECT_FALSE(stop("plan"));
    EXPECT_THAT(executor_.asked, IsEmpty());
    EXPECT_EQ(task("plan").status, TaskStatus::Running);
}

TEST_F(ExecutorTest, AStopWhoseCommitFailsIsRetriedAndThenObeyed) {
    put("plan", domain::TaskKind::PlanTask);
    store_->writes_to_fail = 3;
    const auto before = loop_.now();
    EXPECT_TRUE(stop("plan"));
    EXPECT_THAT(executor_.asked, ElementsAre("stop plan cancelling softly"));
    EXPECT_EQ(task("plan").status, TaskStatus::Cancelling);
    EXPECT_GE(loop_.now() - before, 7 * events::kCommitRetryFirst) << "the pauses grow";
}

TEST_F(ExecutorTest, ATaskThatIsOverIsNotStopped) {
    put("plan", domain::TaskKind::PlanTask);
    ASSERT_TRUE(store_->write(store::Durability::Disk, [&](store::Tx& tx) -> base::Status {
        auto over = *TRY(tx.task({"plan"}));
        over.status = TaskStatus::Completed;
        return tx.put_task(over);
    }));
    const auto receipt = stop("plan");
    ASSERT_FALSE(receipt);
    EXPECT_EQ(receipt.error().code, base::ErrorCode::Conflict);
    EXPECT_THAT(executor_.asked, IsEmpty());
}

TEST_F(ExecutorTest, AKindThatNothingRunsCannotBeStopped) {
    put("child", domain::TaskKind::SubagentTask);
    const auto receipt = stop("child");
    ASSERT_FALSE(receipt);
    EXPECT_EQ(receipt.error(), (base::Error{.code = base::ErrorCode::InvalidInput,
                                            .message = "task child cannot be stopped"}));
    EXPECT_EQ(task("child").status, TaskStatus::Running);
    EXPECT_THAT(executor_.asked, IsEmpty());
}

TEST_F(ExecutorTest, ANewProcessHandsEachOpenTaskToTheExecutorOfItsKind) {
    put("plan", domain::TaskKind::PlanTask);
    put("stopping", domain::TaskKind::PlanTask);
    put("child", domain::TaskKind::SubagentTask);
    ASSERT_TRUE(stop("stopping"));
    restart();
    executor_.asked.clear();
    host_->add(executor_);
    host_->recover({agent_});
    EXPECT_THAT(executor_.asked, IsEmpty()) << "nothing is loaded on the loop";
    loop_.run();
    EXPECT_THAT(executor_.asked,
                testing::UnorderedElementsAre("resume plan running", "resume stopping cancelling"));
}

TEST_F(ExecutorTest, TheOwnerOfAnEndReportsItOnce) {
    put("plan", domain::TaskKind::PlanTask);
    int reported = 0;
    const auto token = host_->await_end({"plan"}, [&] { ++reported; });
    loop_.run();
    host_->has_ended(agent_, {"plan"});
    host_->has_ended(agent_, {"plan"});
    loop_.run();
    EXPECT_EQ(reported, 1);
}

TEST_F(ExecutorTest, AKindHasOneExecutor) {
    EXPECT_THROW(host_->add(executor_), base::Bug);
}

TEST_F(HostTest, AnEndIsReportedOnceAfterItsCommitHasFailedThreeTimes) {
    a_task();
    int reported = 0;
    const auto token = host_->await_end({"t1"}, [&] { ++reported; });
    loop_.run();
    store_->writes_to_fail = 3;
    store_->writes = 0;
    const auto before = loop_.now();
    supervisor_->end("t1", Ended{.exit_code = 0});
    loop_.run();
    EXPECT_EQ(store_->writes, 4);
    EXPECT_GE(loop_.now() - before, 7 * events::kCommitRetryFirst) << "the pauses grow";
    EXPECT_EQ(task().status, TaskStatus::Completed);
    EXPECT_EQ(messages().size(), 1U);
    EXPECT_THAT(woken_, ElementsAre("main"));
    EXPECT_EQ(reported, 1);
    EXPECT_EQ(stuck_, "") << "nobody has to do anything about it";
}

TEST_F(HostTest, AnEndWhoseRecordCannotBeLoadedYetIsNotLost) {
    a_task();
    store_->reads_to_fail = 2;
    supervisor_->end("t1", Ended{.exit_code = 0});
    loop_.run();
    EXPECT_EQ(task().status, TaskStatus::Completed);
    EXPECT_EQ(messages().size(), 1U);
}

TEST_F(HostTest, ATaskThatIsStoppedDuringARecoveryIsNotTakenForLost) {
    a_task();
    restart();
    std::optional<base::Result<StopReceipt>> receipt;
    // Its commit is heard of before the recovery has loaded anything.
    host_->stop(agent_, {"t1"}, [&](auto result) { receipt = std::move(result); });
    host_->recover({agent_});
    loop_.run();
    ASSERT_TRUE(receipt && *receipt);
    EXPECT_EQ(task().status, TaskStatus::Cancelling);
    EXPECT_THAT(machine_.commands.at("t1").stops, testing::Not(IsEmpty()));
    supervisor_->end("t1", Ended{.signal = 15, .stopped = true});
    loop_.run();
    EXPECT_EQ(task().status, TaskStatus::Cancelled);
    EXPECT_EQ(messages().size(), 1U);
}

TEST_F(HostTest, ATaskThatIsCreatedDuringARecoveryIsStartedAndNotReattachedTo) {
    host_->recover_all(10);
    host_->create(request(), [](const auto&) {});
    loop_.run();
    EXPECT_EQ(task().status, TaskStatus::Running);
    EXPECT_EQ(machine_.starts.size(), 1U);
}

TEST_F(HostTest, ATaskThatIsStoppedBeforeItsProcessExistsIsStoppedAtOnce) {
    host_->create(request(), [](const auto&) {});  // Committed; the folder is not made yet.
    host_->stop(agent_, {"t1"}, [](const auto&) {});
    loop_.run();
    EXPECT_THAT(machine_.commands.at("t1").stops, ElementsAre(kStopGrace));
}

TEST_F(HostTest, ACommandThatIsCancelledBeforeItStartsIsNotStarted) {
    std::optional<base::Status> started;
    host_->start(
        request(), [&](supervisor::End end) { ends_.push_back(std::move(end)); },
        [&](base::Status status) { started = std::move(status); });
    host_->cancel({"t1"});
    loop_.run();
    ASSERT_TRUE(started && !*started);
    EXPECT_EQ(started->error().code, base::ErrorCode::Conflict);
    EXPECT_THAT(machine_.commands, IsEmpty());
    EXPECT_THAT(ends_, IsEmpty());
}

TEST_F(HostTest, AnAgentWhoseTasksCannotBeLoadedIsReportedAndTheOthersAreResumed) {
    a_task();
    restart();
    store_->reads_to_fail = 1;
    host_->recover({{"other"}, agent_});
    loop_.run();
    EXPECT_THAT(stuck_, testing::HasSubstr("does not answer"));
    supervisor_->end("t1", Ended{.exit_code = 0});
    loop_.run();
    EXPECT_EQ(task().status, TaskStatus::Completed);
}

TEST_F(HostTest, KnowsCommandsByTheirProcessAndTasksByTheirRecord) {
    const auto knows = [&](const std::string& id) {
        std::optional<bool> answer;
        host_->knows({id}, [&](bool known) { answer = known; });
        loop_.run_until([&] { return answer.has_value(); });
        return answer;
    };
    EXPECT_EQ(knows("t1"), false);
    start(request());
    restart();
    EXPECT_EQ(knows("t1"), true) << "its process runs";
    a_task("t2");
    supervisor_->end("t2", Ended{.exit_code = 0});
    loop_.run();
    EXPECT_EQ(knows("t2"), true) << "it has a record";
    store_->reads_to_fail = 1;
    EXPECT_EQ(knows("t2"), false) << "nobody can say";
}

}  // namespace
}  // namespace tasks
