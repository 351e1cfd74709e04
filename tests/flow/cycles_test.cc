// One cycle after the other: what is chosen next, how a cycle ends, and what it leaves on record.
#include "flow/queue/waits.h"
#include "tests/flow/resident_fixture.h"

namespace scheduler {
namespace {

using domain::AgentStatus;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

constexpr std::string_view kSleeper =
    R"({"rounds":[{"tool_calls":[{"name":"Sleep","input":{"reason":"enough"}}]}],"loop":true})";

// contract: SLEEP-22
TEST_F(ResidentTest, TheNextMessageIsChosenByPriorityThenByArrival) {
    using domain::Priority;
    start(kSlowAnswer);
    send("now");
    scheduler_->wake(agent_);
    ASSERT_TRUE(loop_.run_until([&] { return model_->requests.size() == 1; }));
    const auto add = [&](const char* text, Priority priority) {
        send(text, domain::ChannelOrigin{"chat"}, domain::MessageKind::ChannelEvent,
             domain::AdmissionContext::PublicUnauthenticated, priority);
    };
    add("background", Priority::Background);
    add("normal one", Priority::Normal);
    add("next", Priority::Next);
    add("normal two", Priority::Normal);
    loop_.run();
    std::vector<std::string> begun;
    for (const auto& event : events_of("message_processing_started"))
        begun.push_back(base::string_at(event.data.at("body"), "text"));
    EXPECT_THAT(begun, ElementsAre("now", "next", "normal one", "normal two", "background"));
    ASSERT_THAT(model_->requests, SizeIs(5));
    for (std::size_t i = 0; i < begun.size(); ++i) EXPECT_THAT(opening(i), HasSubstr(begun[i]));
}

// How the cycle of the newest message ended.
std::string ending(const domain::AgentStatistics& statistics, const identity::AgentFacts& facts,
                   bool had_turn) {
    if (!statistics.last_continuation->model_visible) return had_turn ? "?" : "liveness_only";
    if (!had_turn) return "?";
    if (identity::status_of(facts) == AgentStatus::Asleep) return "asleep";
    const auto closure = identity::decide_closure(facts);
    return closure.outcome == domain::ClosureOutcome::Waiting ? "waiting" : "re-entry";
}

// contract: SLEEP-26
TEST_F(ResidentTest, ACycleEndsInOneOfFourWaysAndEachOccurs) {
    const auto cycle = [&](const std::function<void()>& trigger) {
        const auto before = model_->requests.size();
        trigger();
        scheduler_->wake(agent_);
        loop_.run();
        return ending(statistics(), read<identity::AgentFacts>([&](store::Tx& tx) {
                          return identity::load_facts(tx, agent_);
                      }),
                      model_->requests.size() > before);
    };
    const auto runtime = domain::AdmissionContext::RuntimeOwned;
    start(kOneAnswer);
    scheduler_->start();
    EXPECT_EQ(cycle([&] { send("operator"); }), "re-entry");
    EXPECT_EQ(cycle([&] {
                  send("exit 0", domain::TaskOrigin{{"t1"}}, domain::MessageKind::TaskResult,
                       runtime);
              }),
              "re-entry");
    EXPECT_EQ(cycle([&] {
                  send("tick", domain::TimerOrigin{{"timer-1"}}, domain::MessageKind::TimerTick,
                       runtime);
              }),
              "re-entry");
    EXPECT_EQ(cycle([&] {
                  send("pushed", domain::WebhookOrigin{"forge"}, domain::MessageKind::WebhookEvent,
                       domain::AdmissionContext::PublicUnauthenticated);
              }),
              "re-entry");
    EXPECT_EQ(cycle([&] {
                  send("look again", domain::SystemOrigin{"tool_enqueue"},
                       domain::MessageKind::InternalFollowup, runtime);
              }),
              "re-entry");
    // Something to wait for: the turn ends in waiting, and a bare wake does not start another.
    commit([&](events::Log& log) {
        return log.tx().put_wait({.id = {"w"},
                                  .agent_id = agent_,
                                  .kind = domain::WaitKind::External,
                                  .waiting_for = "the review"});
    });
    EXPECT_EQ(cycle([&] { send("operator"); }), "waiting");
    EXPECT_EQ(cycle([&] { hint(); }), "liveness_only");
    commit([&](events::Log& log) -> base::Status {
        return queue::cancel_wait(log, *TRY(log.tx().wait({"w"})));
    });
    start(kSleeper);
    EXPECT_EQ(cycle([&] { send("operator"); }), "asleep");
}

enum class Mode { Awake, Asleep };
Mode mode_of(AgentStatus status) {
    switch (status) {
        case AgentStatus::Booting:
        case AgentStatus::AwakeIdle:
        case AgentStatus::AwakeRunning:
        case AgentStatus::AwaitingTask:
            return Mode::Awake;
        case AgentStatus::Asleep:
        case AgentStatus::Paused:
        case AgentStatus::Stopped:
            return Mode::Asleep;
    }
    return Mode::Awake;
}

// contract: CORE-06
TEST_F(ResidentTest, AtAnyTimeAnAgentIsEitherAwakeOrAsleep) {
    start(kSleeper);
    std::set<AgentStatus> seen;
    const auto sample = [&] {
        const auto facts = read<identity::AgentFacts>(
            [&](store::Tx& tx) { return identity::load_facts(tx, agent_); });
        const auto status = identity::status_of(facts);
        seen.insert(status);
        // Control and a running turn aside, the posture is the mode.
        if (status == AgentStatus::AwakeIdle || status == AgentStatus::Asleep)
            EXPECT_EQ(
                identity::decide_closure(facts).runtime_posture == domain::RuntimePosture::Sleeping,
                mode_of(status) == Mode::Asleep);
    };
    const auto sampling = feed_.subscribe([&](const events::Committed&) { sample(); });
    scheduler_->start();
    sample();
    send("work");
    run();
    sample();
    control(Control::Pause);
    sample();
    control(Control::Resume);
    sample();
    control(Control::Stop);
    sample();
    EXPECT_THAT(seen, testing::IsSupersetOf({AgentStatus::AwakeIdle, AgentStatus::AwakeRunning,
                                             AgentStatus::Asleep, AgentStatus::Stopped}));
    for (const auto& event : events_of("agent_state_changed"))
        EXPECT_TRUE(base::enum_from<AgentStatus>(base::string_at(event.data, "status")))
            << base::string_at(event.data, "status");
}

// contract: CORE-04
TEST_F(ResidentTest, EveryChangeOfAnAgentsLifeLeavesAnEventThatExplainsIt) {
    start(kSleeper);
    scheduler_->start();
    std::optional<AgentStatus> recorded;
    const auto explained = [&](const char* what) {
        const auto changes = events_of("agent_state_changed");
        ASSERT_THAT(changes, testing::Not(IsEmpty())) << what;
        recorded = base::enum_from<AgentStatus>(base::string_at(changes.back().data, "status"));
        EXPECT_EQ(recorded, status()) << what;
    };
    send("work");
    run();
    explained("sleep");
    EXPECT_EQ(base::string_at(last_event("scheduler_posture_decision"), "reason"), "sleep");
    EXPECT_THAT(base::string_at(last_event("turn_terminal"), "kind"), "completed");
    control(Control::Stop);
    explained("stop");
    EXPECT_EQ(base::string_at(last_event("control_applied"), "action"), "stop");
    control(Control::Resume);
    explained("resume");
    EXPECT_EQ(base::string_at(last_event("control_applied"), "action"), "resume");
    send("again");
    run();
    explained("second sleep");
    EXPECT_EQ(base::string_at(last_event("continuation_resolved").at("resolution"), "trigger_kind"),
              "operator_input");
}

// contract: QUEUE-02
TEST_F(ResidentTest, PendingWorkIsWhatTheEventLogSaysWasQueuedAndNotYetBegun) {
    start(kSlowAnswer);
    for (const char* text : {"one", "two", "three"}) send(text);
    scheduler_->wake(agent_);
    ASSERT_TRUE(loop_.run_until([&] { return model_->requests.size() == 2; }));
    const auto from_log = [&] {
        std::set<std::string> waiting;
        for (const auto& event : events_of("message_enqueued"))
            waiting.insert(base::string_at(event.data, "id"));
        for (const auto& event : events_of("message_processing_started"))
            waiting.erase(base::string_at(event.data, "id"));
        return waiting;
    };
    EXPECT_THAT(from_log(), SizeIs(1));
    EXPECT_EQ(pending(), 1);
    // What was derived from it is removed; the next process finds the same work.
    scheduler_.reset();
    commit([&](events::Log& log) -> base::Status {
        return log.tx().put_statistics({.agent_id = agent_});
    });
    EXPECT_EQ(static_cast<std::size_t>(pending()), from_log().size());
    start(kOneAnswer);
    scheduler_->start();
    loop_.run();
    EXPECT_EQ(pending(), 0);
    EXPECT_THAT(from_log(), IsEmpty());
}

// contract: STATE-24
TEST_F(ResidentTest, TheRecordedExecutionProfileDecidesNothing) {
    const auto decided_with = [&](const domain::Execution& recorded) {
        auto altered = agent();
        altered.execution = recorded;
        commit([&](events::Log& log) { return log.tx().put_agent(altered); });
        const auto before = model_->requests.size();
        send("work");
        run();
        const auto facts = read<identity::AgentFacts>(
            [&](store::Tx& tx) { return identity::load_facts(tx, agent_); });
        return std::tuple(identity::decide_closure(facts).outcome, identity::status_of(facts),
                          *statistics().last_continuation, rest_reason_,
                          model_->requests.size() - before);
    };
    start(kOneAnswer);
    decided_with({});  // From here on the past is the same each time.
    const domain::Execution other{.process_execution_exposed = false,
                                  .allow_background_tasks = false,
                                  .supports_managed_worktrees = false};
    EXPECT_EQ(decided_with({}), decided_with(other));
}

}  // namespace
}  // namespace scheduler
