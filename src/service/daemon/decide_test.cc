#include "service/daemon/decide.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace service {
namespace {

using testing::HasSubstr;

const std::string kPrint = "f1";

DaemonFacts running() {
    return {.control = Control::Answers,
            .runtime = {{"ok", true}, {"pid", 41}, {"config_fingerprint", kPrint}},
            .lock_held = true,
            .holder = 41,
            .left_behind = {"holon.pid", "daemon.json", "holon.sock"}};
}
// After a crash: files, and a free lock.
DaemonFacts crashed() {
    return {.left_behind = {"holon.pid", "daemon.json", "holon.sock"}};
}
DaemonFacts foreign(Control control) {
    return {.control = control, .left_behind = {"holon.sock"}};
}
DaemonFacts stuck(Control control) {
    return {.control = control, .lock_held = true, .holder = 41, .left_behind = {"holon.pid"}};
}

TEST(DaemonDecide, NamesTheStateOfAHome) {
    EXPECT_EQ(state_of({}), DaemonState::Stopped);
    EXPECT_EQ(state_of(running()), DaemonState::Running);
    EXPECT_EQ(state_of(crashed()), DaemonState::Stale);
    EXPECT_EQ(state_of(foreign(Control::Foreign)), DaemonState::Foreign);
    EXPECT_EQ(state_of(foreign(Control::Silent)), DaemonState::Foreign);
    for (const auto control : {Control::Absent, Control::Silent, Control::Foreign})
        EXPECT_EQ(state_of(stuck(control)), DaemonState::Unresponsive);
}

TEST(DaemonDecide, ShowsAPidOnlyOfWhoLives) {
    EXPECT_EQ(pid_of(crashed()), std::nullopt);
    EXPECT_EQ(pid_of(stuck(Control::Absent)), 41);
    EXPECT_EQ(pid_of(running()), 41);
}

TEST(DaemonDecide, StartLaunchesOnlyWhereNoDaemonRuns) {
    EXPECT_EQ(decide_start({}, kPrint), StartDecision(Launch{}));
    EXPECT_EQ(decide_start(crashed(), kPrint), StartDecision(Launch{.clean_first = true}));
    EXPECT_EQ(decide_start(running(), kPrint), StartDecision(AlreadyRunning{}));
    for (const auto& facts : {foreign(Control::Foreign), foreign(Control::Silent),
                              stuck(Control::Absent), stuck(Control::Silent)})
        EXPECT_TRUE(std::holds_alternative<RefuseStart>(decide_start(facts, kPrint)));
}

TEST(DaemonDecide, StartNamesRestartWhenAnotherConfigurationRuns) {
    const auto other = decide_start(running(), "f2");
    ASSERT_TRUE(std::holds_alternative<RefuseStart>(other));
    EXPECT_THAT(std::get<RefuseStart>(other).reason, HasSubstr("holon daemon restart"));
    EXPECT_THAT(std::get<RefuseStart>(other).reason, HasSubstr("configuration"));
    auto facts = running();
    facts.same_token = false;
    const auto token = decide_start(facts, kPrint);
    ASSERT_TRUE(std::holds_alternative<RefuseStart>(token));
    EXPECT_THAT(std::get<RefuseStart>(token).reason, HasSubstr("control token"));
}

TEST(DaemonDecide, StopAsksBeforeItSignalsAndLeavesOthersAlone) {
    EXPECT_EQ(decide_stop({}), StopDecision(NothingToStop{}));
    EXPECT_EQ(decide_stop(crashed()), StopDecision(NothingToStop{.clean_first = true}));
    EXPECT_EQ(decide_stop(running()), StopDecision(AskToStop{41}));
    EXPECT_EQ(decide_stop(stuck(Control::Silent)), StopDecision(Terminate{41}));
    EXPECT_TRUE(std::holds_alternative<RefuseStop>(decide_stop(foreign(Control::Foreign))));
    auto nameless = stuck(Control::Absent);
    nameless.holder.reset();
    EXPECT_TRUE(std::holds_alternative<RefuseStop>(decide_stop(nameless)));
}

TEST(DaemonDecide, AcceptsARuntimeThatReportsLess) {
    auto facts = running();
    facts.runtime = {{"ok", true}};
    EXPECT_EQ(decide_stop(facts), StopDecision(AskToStop{41}));
}

// The number that it reports is never signalled: in another container it is another process.
TEST(DaemonDecide, SignalsOnlyTheHolderOfTheLock) {
    auto facts = running();
    facts.holder.reset();
    EXPECT_EQ(pid_of(facts), 41);
    EXPECT_EQ(decide_stop(facts), StopDecision(AskToStop{}));
}

}  // namespace
}  // namespace service
