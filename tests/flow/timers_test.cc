// Timers, and waits that end or expire.
#include "flow/queue/waits.h"
#include "tests/flow/resident_fixture.h"

namespace scheduler {
namespace {

using namespace std::chrono_literals;
using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

// Timers ------------------------------------------------------------------------------------------

// contract: MSG-37, CONT-05, CONT-09
TEST_F(ResidentTest, ATimerThatIsDueGivesItsAgentATurnAndIsOver) {
    start(kOneAnswer);
    scheduler_->start();
    const auto made = timer(200);
    scheduler_->timers_changed();
    const auto begun = loop_.now();
    loop_.run();
    ASSERT_EQ(model_->requests.size(), 1U);
    EXPECT_EQ(loop_.now() - begun, 200ms);
    EXPECT_THAT(opening(0), HasSubstr("look at the build"));
    EXPECT_THAT(opening(0), HasSubstr("[timer:" + made.id.value + "]"));
    const auto ticks = messages_of(domain::MessageKind::TimerTick);
    ASSERT_EQ(ticks.size(), 1U);
    EXPECT_EQ(ticks[0].message.source_refs->at("timer_id"), made.id.value);
    const auto over =
        *read<std::optional<domain::Timer>>([&](store::Tx& tx) { return tx.timer(made.id); });
    EXPECT_EQ(over.status, domain::TimerStatus::Completed);
    EXPECT_EQ(over.fire_count, 1);
    EXPECT_EQ(events_of("timer_fired").size(), 1U);
}

// contract: SLEEP-18
TEST_F(ResidentTest, ATimedSleepEndsByItselfAlsoInAnotherProcess) {
    start(
        R"({"rounds":[{"tool_calls":[{"name":"Sleep","input":{"duration_ms":200,"reason":"tea"}}]},{"text":"awake"}]})");
    scheduler_->start();
    send("rest a little");
    scheduler_->wake(agent_);
    loop_.run_until([&] { return agent().sleep.has_value(); });
    EXPECT_EQ(status(), domain::AgentStatus::Asleep);
    const auto wait = open_waits().at(0);

    start(kOneAnswer);  // The old process is gone, and its armed timer with it.
    scheduler_->start();
    loop_.run();
    ASSERT_EQ(model_->requests.size(), 1U);
    EXPECT_THAT(opening(0), HasSubstr("The sleep you asked for is over: tea"));
    EXPECT_FALSE(agent().sleep);
    EXPECT_EQ(statistics().last_continuation->class_,
              domain::ContinuationClass::ResumeExpectedWait);
    const auto ended =
        *read<std::optional<domain::Wait>>([&](store::Tx& tx) { return tx.wait(wait.id); });
    EXPECT_EQ(ended.status, domain::WaitStatus::Resolved);
    EXPECT_TRUE(ended.triggered_by && ended.resolved_by);
}

TEST_F(ResidentTest, AMessageEndsATimedSleepAndItsTimerFiresNoMore) {
    start(
        R"({"rounds":[{"tool_calls":[{"name":"Sleep","input":{"duration_ms":60000}}]},{"text":"awake"}]})");
    scheduler_->start();
    send("rest");
    scheduler_->wake(agent_);
    loop_.run_until([&] { return agent().sleep.has_value(); });
    start(kOneAnswer);
    scheduler_->start();
    send("wake up");
    scheduler_->wake(agent_);
    loop_.run();
    EXPECT_EQ(model_->requests.size(), 1U);
    EXPECT_THAT(open_waits(), IsEmpty());
    EXPECT_THAT(events_of("timer_fired"), IsEmpty());
}

TEST_F(ResidentTest, AnIntervalThatWasMissedFiresOnceAndSaysHowManyItMissed) {
    const auto made = timer(1000, 1000);
    loop_.after(10'500ms, [] {});
    loop_.run_one();
    start(kOneAnswer);
    scheduler_->start();
    loop_.run_until([&] { return model_->requests.size() == 2; });
    EXPECT_THAT(opening(0), HasSubstr("9 earlier times were missed"));
    EXPECT_THAT(opening(1), testing::EndsWith("\n\nTimer: look at the build\n"));
    const auto fired = events_of("timer_fired");
    EXPECT_EQ(fired.at(0).data.at("missed"), 9);
    // It keeps to its own beat, not to the moment it was late at.
    EXPECT_EQ(base::string_at(fired.at(0).data, "next_fire_at"),
              base::to_text(made.created_at + 11s));
}

TEST_F(ResidentTest, AnIntervalAddsNoTickWhileItsLastOneIsStillQueued) {
    commit([&](events::Log& log) -> base::Status {
        auto known = *TRY(log.tx().agent(agent_));
        known.paused = true;
        return log.tx().put_agent(known);
    });
    timer(1000, 1000);
    start(kOneAnswer);
    scheduler_->start();
    loop_.run_until([&] { return events_of("timer_fired").size() == 50; });
    EXPECT_EQ(pending(), 1);
    EXPECT_TRUE(model_->requests.empty());
}

TEST_F(ResidentTest, AStormOfTimersIsFiredOneCommitEachAndNoneTwice) {
    constexpr int kAgents = 50, kEach = 20;
    for (int a = 0; a < kAgents; ++a) make_agent("a" + std::to_string(a));
    commit([&](events::Log& log) -> base::Status {
        for (int n = 0; n < kAgents * kEach; ++n)
            TRY(create_timer(
                log, {.agent_id = {"a" + std::to_string(n % kAgents)}, .duration_ms = 1 + n % 7}));
        return {};
    });
    start(kOneAnswer);
    std::size_t batch_max = 0;
    std::map<std::string, std::int64_t> fires;
    const auto token = feed_.subscribe([&](const events::Committed& committed) {
        if (committed.event.kind == "timer_fired")
            ++fires[base::string_at(committed.event.data, "timer_id")];
    });
    loop_.after(1s, [] {});
    loop_.run_one();
    // Their ticks are handled by another process: here it is the firing that counts.
    Options options{.model_ref = "scripted/test", .concurrent_turns_max = 0};
    scheduler_.emplace(parts(), options);
    scheduler_->start();
    loop_.run_until([&] {
        const std::size_t before = fires.size();
        const bool over = !loop_.run_one();
        batch_max = std::max(batch_max, fires.size() - before);
        return over;
    });
    EXPECT_EQ(fires.size(), std::size_t{kAgents * kEach});
    EXPECT_THAT(fires, Not(Contains(testing::Pair(testing::_, testing::Gt(1)))));
    EXPECT_EQ(batch_max, 1U);  // Each is a commit of its own, and a task of its own on the loop.
    EXPECT_EQ(read<std::int64_t>([&](store::Tx& tx) { return tx.pending_count({"a7"}); }), kEach);
}

// Waits -------------------------------------------------------------------------------------------

TEST_F(ResidentTest, AResultThatCameBeforeItsWaitEndsIt) {
    start(kOneAnswer);
    const auto wait_for = [&](const std::string& id, const std::string& task) {
        domain::Wait opened;
        commit([&](events::Log& log) -> base::Status {
            opened = TRY(queue::open_wait(log, {.id = {id},
                                                .agent_id = agent_,
                                                .kind = domain::WaitKind::Task,
                                                .subject_ref = task,
                                                .waiting_for = "it"}));
            return {};
        });
        return opened;
    };
    const auto result = [&](const std::string& task) {
        const auto message = ingress::receive({.agent_id = agent_,
                                               .kind = domain::MessageKind::TaskResult,
                                               .origin = domain::TaskOrigin{{task}},
                                               .body = domain::TextBody{"done"},
                                               .surface = domain::DeliverySurface::TaskRejoin,
                                               .admission = domain::AdmissionContext::RuntimeOwned},
                                              loop_.now(), ids_)
                                 .value();
        commit([&](events::Log& log) -> base::Status {
            TRY(admission::admit(log, message, queue::task_result_key({task})));
            return {};
        });
        return message.id;
    };
    const auto queued = result("t1");
    const auto first = wait_for("w1", "t1");
    EXPECT_EQ(first.status, domain::WaitStatus::Triggered);
    EXPECT_EQ(first.triggered_by, queued);
    run();
    EXPECT_THAT(open_waits(), IsEmpty());
    EXPECT_EQ(wait_for("w2", "t1").status, domain::WaitStatus::Resolved);
    EXPECT_EQ(wait_for("w3", "t2").status, domain::WaitStatus::Active);
}

TEST_F(ResidentTest, AWaitThatNothingEndsExpiresAndTheAgentIsTold) {
    start(kOneAnswer);
    scheduler_->start();
    commit([&](events::Log& log) -> base::Status {
        TRY(queue::open_wait(log, {.id = {"w"},
                                   .agent_id = agent_,
                                   .kind = domain::WaitKind::External,
                                   .waiting_for = "the review",
                                   .expires_at = log.now() + 5s}));
        return {};
    });
    scheduler_->timers_changed();
    loop_.run();
    const auto wait =
        *read<std::optional<domain::Wait>>([&](store::Tx& tx) { return tx.wait({"w"}); });
    EXPECT_EQ(wait.status, domain::WaitStatus::Expired);
    ASSERT_EQ(model_->requests.size(), 1U);
    EXPECT_THAT(opening(0), HasSubstr("gave up waiting for the review"));
}

TEST_F(ResidentTest, AnExpiryThatComesTooLateSaysNothing) {
    start(kOneAnswer);
    scheduler_->start();
    commit([&](events::Log& log) -> base::Status {
        TRY(queue::open_wait(log, {.id = {"w"},
                                   .agent_id = agent_,
                                   .kind = domain::WaitKind::External,
                                   .waiting_for = "the review",
                                   .expires_at = log.now() + 5s}));
        return {};
    });
    send("news", domain::WebhookOrigin{"forge"}, domain::MessageKind::WebhookEvent);
    scheduler_->wake(agent_);
    loop_.run();
    EXPECT_EQ(model_->requests.size(), 1U);
    EXPECT_THAT(messages_of(domain::MessageKind::TimerTick), IsEmpty());
}

}  // namespace
}  // namespace scheduler
