// What an operator orders, and what a runtime does when it ends.
#include "tests/flow/resident_fixture.h"

namespace scheduler {
namespace {

using testing::ElementsAre;

// Control -----------------------------------------------------------------------------------------

// contract: STATE-10
TEST_F(ResidentTest, APausedAgentKeepsItsInputAndAsksNothing) {
    start(kOneAnswer);
    scheduler_->start();
    control(Control::Pause);
    send("one");
    scheduler_->wake(agent_);
    loop_.run();
    EXPECT_EQ(status(), domain::AgentStatus::Paused);
    EXPECT_EQ(pending(), 1);
    EXPECT_TRUE(model_->requests.empty());
    control(Control::Resume);
    loop_.run();
    EXPECT_EQ(model_->requests.size(), 1U);
}

// contract: STATE-27, STATE-28, MSG-41, STATE-11
TEST_F(ResidentTest, AStoppedAgentStaysStoppedInTheNextProcessUntilItIsResumed) {
    start(kSlowAnswer);
    scheduler_->start();
    send("work");
    scheduler_->wake(agent_);
    loop_.run_until([&] { return model_->requests.size() == 1; });
    control(Control::Stop);
    loop_.run();
    EXPECT_EQ(statistics().last_turn_terminal->reason, domain::kReasonInterrupted);
    timer(10);
    start(kOneAnswer);
    scheduler_->start();
    hint();
    EXPECT_EQ(disposition_, Disposition::Coalesced);
    send("done", domain::TaskOrigin{{"t"}}, domain::MessageKind::TaskResult,
         domain::AdmissionContext::RuntimeOwned);
    run();
    EXPECT_EQ(status(), domain::AgentStatus::Stopped);
    EXPECT_TRUE(model_->requests.empty());
    EXPECT_EQ(pending(), 3);  // What was interrupted, the timer's tick, the task's result.
    control(Control::Resume);
    loop_.run();
    EXPECT_EQ(model_->requests.size(), 3U);
    EXPECT_EQ(pending(), 0);
    EXPECT_FALSE(pending_hint());
}

TEST_F(ResidentTest, ATurnThatWasLeftOpenByAStoppedAgentIsSettledAndNotGoneOnWith) {
    start(kSlowAnswer);
    send("work");
    scheduler_->wake(agent_);
    loop_.run_until([&] { return model_->requests.size() == 1; });
    Controlled step;
    commit([&](events::Log& log) -> base::Status {
        step = TRY(apply_control(log, agent_, Control::Stop, {"control_authenticated"}));
        return {};
    });
    start(kOneAnswer);  // The process died before it could stop the turn.
    scheduler_->start();
    loop_.run();
    EXPECT_TRUE(model_->requests.empty());
    EXPECT_FALSE(read<std::optional<domain::Attempt>>(
        [&](store::Tx& tx) { return tx.open_attempt_of(agent_); }));
    EXPECT_EQ(statistics().last_turn_terminal->reason, domain::kReasonInterrupted);
    EXPECT_EQ(pending(), 1);
}

// contract: AUDIT-10
TEST_F(ResidentTest, EveryChangeOfStatusIsOnRecordWithWhatItWasBefore) {
    start(R"({"rounds":[{"text":"ok","tool_calls":[{"name":"Sleep","input":{}}]}],"loop":true})");
    scheduler_->start();
    send("one");
    scheduler_->wake(agent_);
    loop_.run();
    control(Control::Pause);
    control(Control::Stop);
    control(Control::Resume);
    loop_.run();
    std::vector<std::string> changes;
    std::string last = "awake_idle";
    for (const auto& event : events_of("agent_state_changed")) {
        EXPECT_EQ(base::string_at(event.data, "previous_status"), last);
        last = base::string_at(event.data, "status");
        changes.push_back(last);
    }
    EXPECT_THAT(changes, ElementsAre("awake_running", "asleep", "paused", "stopped", "asleep"));
}

TEST(Lifecycle, EveryCommandOnEveryAgentHasItsOutcome) {
    struct Row {
        bool paused, stopped;
        Control command;
        Controlled expected;
    };
    for (const auto& row :
         std::vector<Row>{{false, false, Control::Pause, {true, false, true, false, true}},
                          {false, false, Control::Resume, {false, false, false, false, false}},
                          {false, false, Control::Stop, {false, true, true, false, true}},
                          {true, false, Control::Pause, {true, false, false, false, false}},
                          {true, false, Control::Resume, {false, false, false, false, true}},
                          {true, false, Control::Stop, {false, true, true, false, true}},
                          {false, true, Control::Pause, {false, true, false, false, false}},
                          {false, true, Control::Resume, {false, false, false, false, true}},
                          {false, true, Control::Stop, {false, true, false, false, false}}})
        EXPECT_EQ(control({.paused = row.paused, .stopped = row.stopped}, row.command, false),
                  row.expected)
            << row.paused << row.stopped << base::enum_name(row.command);
}

TEST(ControlDecision, AnAgentThatIsSetAsideIsRecoveredByRecoverAndByResumeOnly) {
    for (const auto& [command, recovers] :
         std::vector<std::pair<Control, bool>>{{Control::Pause, false},
                                               {Control::Resume, true},
                                               {Control::Stop, false},
                                               {Control::Recover, true}})
        EXPECT_EQ(control({}, command, true).recovers, recovers) << base::enum_name(command);
    EXPECT_EQ(control({.paused = true}, Control::Recover, true),
              (Controlled{.paused = true, .recovers = true, .is_changed = true}));
}

// Draining ----------------------------------------------------------------------------------------

TEST_F(ResidentTest, ShuttingDownInterruptsTurnsAndStopsNobody) {
    start(kSlowAnswer);
    scheduler_->start();
    send("work");
    scheduler_->wake(agent_);
    loop_.run_until([&] { return model_->requests.size() == 1; });
    bool drained = false;
    scheduler_->drain([&] { drained = true; });
    EXPECT_FALSE(drained);
    loop_.run_until([&] { return drained; });
    EXPECT_TRUE(drained);
    EXPECT_EQ(statistics().last_turn_terminal->reason, domain::kReasonInterrupted);
    EXPECT_FALSE(agent().stopped || agent().paused);
    send("while it is down");
    scheduler_->wake(agent_);
    loop_.run();
    EXPECT_EQ(model_->requests.size(), 1U);

    start(kOneAnswer);
    scheduler_->start();
    loop_.run();
    EXPECT_EQ(model_->requests.size(), 2U);  // Both messages.
    EXPECT_EQ(pending(), 0);
}

}  // namespace
}  // namespace scheduler
