// One fault harms one agent: damaged records, bugs, broken timers, a clock that is set, a lock that
// is lost, a provider that does not answer.
#include <unistd.h>

#include "flow/scheduler/recovery.h"
#include "store/sql/sqlite/connection.h"
#include "tests/flow/resident_fixture.h"

namespace scheduler {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr std::string_view kNoAnswer =
    R"({"rounds":[{"text":"late","delay_ms":3600000}],"loop":true})";

// A database in a file, which the test damages by SQL.
class FaultsTest : public ResidentTest {
protected:
    std::filesystem::path file_{testing::TempDir() + "faults-" + std::to_string(::getpid()) +
                                ".db"};
    std::vector<std::pair<std::string, base::Error>> stuck_;

    void SetUp() override {
        remove_file();
        store_ = sqlite::open_inline({.file = file_}).value();
        ResidentTest::SetUp();
    }
    void TearDown() override {
        scheduler_.reset();
        store_.reset();
        remove_file();
    }
    void remove_file() const {
        for (const auto* end : {"", "-wal", "-shm"}) std::filesystem::remove(file_.string() + end);
    }
    void sql(const std::string& script) {
        const auto connection = sqlite::Connection::open({.file = file_}).value();
        const auto done = connection->run_script(script);
        ASSERT_TRUE(done) << done.error().message;
    }
    // A new process over what the last one left.
    void restart(std::string_view scenario, Options options = {}) {
        scheduler_.reset();
        options.model_ref = "scripted/test";
        model_.emplace(scenario, loop_);
        scheduler_.emplace(parts(), std::move(options));
        scheduler_->on_stuck = [&](const auto& agent, const base::Error& error) {
            stuck_.emplace_back(agent.value, error);
        };
        scheduler_->start();
    }
    std::optional<domain::AgentFault> fault(const std::string& agent = "main") {
        return read<std::optional<domain::AgentFault>>(
            [&](store::Tx& tx) { return tx.fault({agent}); });
    }
    std::vector<domain::Brief> briefs() {
        std::vector<domain::Brief> list;
        for (auto& one : read<std::vector<store::Numbered<domain::Brief>>>(
                 [&](store::Tx& tx) { return tx.briefs(agent_, {.limit = 100}); }))
            list.push_back(std::move(one.record));
        return list;
    }
    void send_to(const std::string& agent, std::string text) {
        const auto message = ingress::receive({.agent_id = {agent},
                                               .origin = domain::OperatorOrigin{},
                                               .body = domain::TextBody{std::move(text)},
                                               .surface = domain::DeliverySurface::RunOnce,
                                               .admission = domain::AdmissionContext::LocalProcess},
                                              loop_.now(), ids_)
                                 .value();
        commit([&](events::Log& log) -> base::Status {
            TRY(admission::admit(log, message, std::nullopt));
            return {};
        });
    }
    std::int64_t pending_of(const std::string& agent) {
        return read<std::int64_t>([&](store::Tx& tx) { return tx.pending_count({agent}); });
    }
    void run_for(std::chrono::microseconds time) {
        bool is_over = false;
        loop_.after(time, [&] { is_over = true; });
        loop_.run_until([&] { return is_over; });
    }
};

TEST_F(FaultsTest, ATurnWhoseRecordsAreGoneIsSetAsideVisiblyAndTheOthersRun) {
    make_agent("other");
    restart(kNoAnswer);
    send("first");
    send("second");
    scheduler_->wake(agent_);
    loop_.run_until([&] { return model_->asked == 1; });
    send_to("other", "hello");
    sql("CREATE TABLE kept AS SELECT * FROM frames; DELETE FROM frames");

    restart(kOneAnswer);
    run_for(1min);
    ASSERT_TRUE(fault() && fault()->is_set_aside);
    EXPECT_EQ(fault()->phase, "turn");
    EXPECT_THAT(fault()->reason, HasSubstr("lost its prompt frame"));
    EXPECT_EQ(status(), domain::AgentStatus::Paused);
    EXPECT_EQ(pending_of("other"), 0) << "the other agent was answered";
    EXPECT_FALSE(fault("other"));
    EXPECT_EQ(events_of("agent_set_aside").size(), 1U);
    EXPECT_EQ(base::string_at(last_event("agent_state_changed"), "status"), "paused");
    EXPECT_EQ(briefs().back().visibility, domain::BriefVisibility::ActionRequired);
    EXPECT_THAT(briefs().back().text, HasSubstr("holon agent recover main"));
    EXPECT_THAT(stuck_, testing::Each(testing::Pair("main", testing::_)));
    EXPECT_FALSE(stuck_.empty());

    restart(kOneAnswer);  // It waits for its operator over restarts, without another word.
    run_for(1min);
    EXPECT_EQ(events_of("agent_set_aside").size(), 1U);
    EXPECT_EQ(model_->asked, 0U);

    sql("INSERT INTO frames SELECT * FROM kept");
    control(Control::Recover);
    scheduler_->wake(agent_);
    run_for(1min);
    EXPECT_FALSE(fault());
    EXPECT_EQ(events_of("agent_recovered").size(), 1U);
    EXPECT_EQ(pending(), 0);
    EXPECT_EQ(messages_of(domain::MessageKind::OperatorPrompt)[0].entry.status,
              domain::QueueStatus::Processed);
    EXPECT_EQ(messages_of(domain::MessageKind::OperatorPrompt)[1].entry.status,
              domain::QueueStatus::Processed);
}

TEST_F(FaultsTest, AMessageThatCannotBeHandledIsDroppedOnRequestAndTheOthersRun) {
    restart(kNoAnswer);
    send("bad");
    send("good");
    scheduler_->wake(agent_);
    loop_.run_until([&] { return model_->asked == 1; });
    sql("DELETE FROM frames");
    restart(kOneAnswer);
    run_for(1min);
    ASSERT_TRUE(fault() && fault()->is_set_aside);
    EXPECT_THAT(briefs().back().text, HasSubstr("holon agent recover main --drop-message"));
    control(Control::Recover);  // It fails again: its records are as they were.
    scheduler_->wake(agent_);
    run_for(1min);
    ASSERT_TRUE(fault() && fault()->is_set_aside);

    commit([&](events::Log& log) { return drop_message(log, agent_); });
    control(Control::Recover);
    scheduler_->wake(agent_);
    run_for(1min);
    EXPECT_FALSE(fault());
    const auto prompts = messages_of(domain::MessageKind::OperatorPrompt);
    EXPECT_EQ(prompts[0].entry.status, domain::QueueStatus::Dropped);
    EXPECT_THAT(prompts[0].entry.reason.value_or(""), HasSubstr("dropped_by_operator"));
    EXPECT_EQ(prompts[1].entry.status, domain::QueueStatus::Processed);
    EXPECT_EQ(events_of("message_quarantined").size(), 1U);
    EXPECT_EQ(base::string_at(events_of("turn_terminal").front().data, "reason"),
              "dropped_by_operator");
    EXPECT_TRUE(read<std::vector<store::OutboxEntry>>([&](store::Tx& tx) {
                    return tx.outbox(agent_);
                }).empty());
}

TEST_F(FaultsTest, NoMessageOfAnAgentThatRunsIsDropped) {
    send("hello");
    const auto refused = store_->write(store::Durability::Disk, [&](store::Tx& tx) {
        events::Log log(tx, loop_.now(), ids_);
        return drop_message(log, agent_);
    });
    EXPECT_EQ(refused.error().code, base::ErrorCode::Conflict);
    EXPECT_EQ(pending(), 1);
}

TEST_F(FaultsTest, WhatATurnThrowsOnTheLoopEndsThatTurnOnly) {
    restart(
        R"({"rounds":[{"delay_ms":1000,"tool_calls":[{"name":"Enqueue","input":{"text":"x"}}]}]})");
    send("first");
    scheduler_->wake(agent_);
    loop_.run_until([&] { return model_->asked == 1; });
    sql("UPDATE agents SET record = json_remove(record, '$.active_workspace_entry')");
    restart(R"({"rounds":[{"tool_calls":[{"name":"Enqueue","input":{"text":"x"}}]}]})");
    ASSERT_NO_THROW(run_for(1min));
    ASSERT_TRUE(fault());
    EXPECT_THAT(fault()->reason, HasSubstr("no workspace"));
    EXPECT_EQ(status(), domain::AgentStatus::Paused);
}

TEST_F(FaultsTest, ADamagedRowOfAnotherKindDropsNoMessage) {
    for (int i = 0; i < 50; ++i) send(fmt::format("message {}", i));
    sql("INSERT INTO tasks (id, agent_id, seq, is_active, record) "
        "VALUES ('t', 'main', 1, 1, '{broken')");
    restart(kOneAnswer);
    run_for(1min);
    EXPECT_EQ(pending(), 50);
    EXPECT_EQ(events_of("message_quarantined").size(), 0U);
    ASSERT_TRUE(fault());
    EXPECT_EQ(model_->asked, 0U);

    sql("DELETE FROM tasks");
    control(Control::Resume);  // As an operator who sees "paused" would do.
    run_for(1min);
    EXPECT_EQ(pending(), 0);
    EXPECT_EQ(model_->asked, 50U);
}

TEST_F(FaultsTest, AnAgentWhoseOwnRecordCannotBeReadIsSetAside) {
    make_agent("other");
    send("hello");
    send_to("other", "hello");
    sql("UPDATE agents SET record = '{' WHERE agent_id = 'main'");
    restart(kOneAnswer);
    run_for(1min);
    ASSERT_TRUE(fault());
    EXPECT_EQ(fault()->phase, "prepare");
    EXPECT_EQ(pending(), 1);
    EXPECT_EQ(pending_of("other"), 0);
    EXPECT_THAT(briefs().back().text, HasSubstr("holon store check"));
}

TEST_F(FaultsTest, OneBrokenTimerNeitherStopsTheOthersNorSpins) {
    const auto broken = timer(100);
    timer(100);
    sql("UPDATE timers SET record = '{' WHERE id = '" + broken.id.value + "'");
    restart(kOneAnswer);
    std::int64_t steps = 0;
    const auto until = loop_.now() + 1min;
    bool is_over = false;
    loop_.after(1min, [&] { is_over = true; });
    while (!is_over && steps < 10'000 && loop_.run_one()) ++steps;
    EXPECT_LT(steps, 1'000) << "until " << base::to_text(until);
    EXPECT_EQ(messages_of(domain::MessageKind::TimerTick).size(), 1U);
    EXPECT_EQ(base::string_at(last_event("timer_fire_failed"), "timer_id"), broken.id.value);
}

TEST_F(FaultsTest, TimersOfAnAgentThatIsSetAsideFireWhenItIsRecovered) {
    make_agent("other");
    timer(100);
    timer(200, {}, "other");
    sql("CREATE TABLE kept AS SELECT * FROM agents; "
        "UPDATE agents SET record = '{' WHERE agent_id = 'main'");
    restart(kOneAnswer);
    run_for(1min);
    EXPECT_TRUE(fault());
    EXPECT_EQ(model_->asked, 1U) << "for the other agent";
    sql("UPDATE agents SET record = (SELECT record FROM kept WHERE agent_id = 'main') "
        "WHERE agent_id = 'main'");
    control(Control::Recover);
    scheduler_->wake(agent_);
    scheduler_->timers_changed();
    run_for(1min);
    EXPECT_EQ(messages_of(domain::MessageKind::TimerTick).size(), 1U);
    EXPECT_EQ(model_->asked, 2U);
}

TEST_F(FaultsTest, ATimerFollowsTheWallClockWhenItIsSet) {
    restart(kOneAnswer);
    timer(std::chrono::milliseconds(30min).count());
    scheduler_->timers_changed();
    run_for(1min);
    EXPECT_EQ(model_->asked, 0U);
    loop_.set_clock(loop_.now() + 1h);
    run_for(1s);
    EXPECT_EQ(model_->asked, 1U);

    timer(5000);
    scheduler_->timers_changed();
    run_for(1s);
    const auto right = loop_.now();
    loop_.set_clock(right - 1h);
    run_for(1min);
    EXPECT_EQ(model_->asked, 1U);
    loop_.set_clock(right + 5s);
    run_for(1s);
    EXPECT_EQ(model_->asked, 2U);
}

TEST_F(FaultsTest, AParkedTurnFollowsTheWallClockWhenItIsSet) {
    restart(
        R"({"rounds":[{"text":"ok","fault":{"kind":"rate_limited","message":"quota","retry_after_ms":3600000}}]})");
    send("hello");
    scheduler_->wake(agent_);
    ASSERT_TRUE(loop_.run_until([&] { return has("turn_parked"); }));
    run_for(1s);
    EXPECT_EQ(model_->asked, 1U);
    loop_.set_clock(loop_.now() + 2h);
    run_for(1s);
    EXPECT_EQ(model_->asked, 2U);
    EXPECT_EQ(statistics().last_turn_terminal->last_assistant_message, "ok");
}

// Crashes -----------------------------------------------------------------------------------------

TEST_F(FaultsTest, ADeathOfTheProcessIsCountedForTheTurnThatWasExecuted) {
    restart(kNoAnswer);
    send("first");
    scheduler_->wake(agent_);
    loop_.run_until([&] { return model_->asked == 1; });
    const auto restarts = [&] {
        return read<std::optional<domain::Attempt>>(
                   [&](store::Tx& tx) { return tx.open_attempt_of(agent_); })
            ->restarts;
    };
    restart(kNoAnswer);
    run_for(1s);
    EXPECT_EQ(restarts(), 0) << "a turn that merely was open is not at fault";
    for (int i = 0; i < 2; ++i)
        commit([&](events::Log& log) { return count_crash(log, agent_, {}); });
    EXPECT_EQ(restarts(), 2);
    EXPECT_FALSE(fault());
}

TEST_F(FaultsTest, AnAgentThatKillsTheProcessOutsideOfATurnIsSetAside) {
    const auto crash = [&] {
        const auto known = load_readable(*store_, agent_);
        commit([&](events::Log& log) { return count_crash(log, agent_, known); });
    };
    for (int i = 1; i < kCrashesMax; ++i) crash();
    EXPECT_EQ(status(), domain::AgentStatus::AwakeIdle);
    crash();
    EXPECT_EQ(status(), domain::AgentStatus::Paused);
    EXPECT_EQ(fault()->phase, "process");
    commit([&](events::Log& log) { return count_crash(log, {"nobody"}, {}); });
    EXPECT_FALSE(fault("nobody"));
}

TEST_F(FaultsTest, ATurnThatOpensForgetsTheDeathsBeforeIt) {
    for (int i = 1; i < kCrashesMax; ++i)
        commit([&](events::Log& log) { return count_crash(log, agent_, {}); });
    ASSERT_TRUE(fault());
    restart(kOneAnswer);
    send("hello");
    scheduler_->wake(agent_);
    run_for(1s);
    EXPECT_FALSE(fault());
    EXPECT_EQ(messages_of(domain::MessageKind::OperatorPrompt)[0].entry.status,
              domain::QueueStatus::Processed);
}

TEST_F(FaultsTest, OldDeathsAreForgotten) {
    const auto crash = [&] {
        commit([&](events::Log& log) { return count_crash(log, agent_, {}); });
    };
    for (int i = 1; i < kCrashesMax; ++i) crash();
    loop_.set_clock(loop_.now() + kCrashMemory + 1s);
    crash();
    EXPECT_EQ(fault()->crashes, 1);
    EXPECT_FALSE(fault()->is_set_aside);
}

// Locks -------------------------------------------------------------------------------------------

TEST_F(FaultsTest, AgentsThatWaitInLineHoldNoLock) {
    constexpr int kAgents = 40;
    for (int i = 0; i < kAgents; ++i) {
        make_agent(fmt::format("a{}", i));
        timer(1000, {}, fmt::format("a{}", i));
    }
    std::size_t held = 0;
    std::size_t most = 0;
    restart(kOneAnswer, {.concurrent_turns_max = 2, .hold = [&](const domain::AgentId&) {
                             most = std::max(most, ++held);
                             return base::Result<std::shared_ptr<void>>(
                                 std::shared_ptr<void>(&held, [&](void*) { --held; }));
                         }});
    run_for(1min);
    EXPECT_EQ(model_->asked, std::size_t{kAgents});
    EXPECT_LE(most, 2 * kProvidersAtOnce);
    EXPECT_EQ(held, 0U);
}

TEST_F(FaultsTest, AProcessThatLostItsAgentStopsAtOnceAndSaysSo) {
    bool is_held = true;
    restart(kNoAnswer,
            {.hold =
                 [](const domain::AgentId&) {
                     return base::Result<std::shared_ptr<void>>(std::make_shared<int>(1));
                 },
             .still_holds = [&](const domain::AgentId&) { return is_held; }});
    send("hello");
    scheduler_->wake(agent_);
    run_for(1min);
    EXPECT_THAT(stuck_, IsEmpty());
    is_held = false;
    run_for(2s);
    ASSERT_EQ(stuck_.size(), 1U);
    EXPECT_EQ(stuck_[0].second.code, base::ErrorCode::Conflict);
    EXPECT_THAT(stuck_[0].second.message, HasSubstr("lost the lock of agent main"));
    EXPECT_EQ(status(), domain::AgentStatus::AwakeRunning) << "the turn is the other process's";
    EXPECT_FALSE(fault());
}

// Providers ---------------------------------------------------------------------------------------

// One provider never answers; the others do at once.
class SilentFor final : public provider::Provider {
public:
    SilentFor(base::Loop& loop, std::string silent)
        : answering_(provider::parse_scenario(kOneAnswer).value(), loop),
          silent_(std::move(silent)) {}
    std::shared_ptr<provider::Exchange> ask(
        provider::Request request, provider::Progress progress,
        std::move_only_function<void(provider::Outcome)> done) override {
        if (!request.model_ref.starts_with(silent_ + "/"))
            return answering_.ask(std::move(request), std::move(progress), std::move(done));
        waiting.push_back(std::move(done));
        struct Waiting final : provider::Exchange {
            void cancel() override {}
        };
        return std::make_shared<Waiting>();
    }
    std::vector<std::move_only_function<void(provider::Outcome)>> waiting;

private:
    provider::ScriptedProvider answering_;
    std::string silent_;
};

TEST_F(FaultsTest, ASilentProviderStarvesNoAgentOfAnother) {
    for (int i = 0; i < 6; ++i) {
        const auto name = fmt::format("silent{}", i);
        make_agent(name);
        commit([&](events::Log& log) -> base::Status {
            auto agent = TRY(log.tx().agent({name}));
            agent->model_override = "silent/m";
            return log.tx().put_agent(*agent);
        });
        send_to(name, "hello");
    }
    SilentFor provider(loop_, "silent");
    model_.emplace(kOneAnswer, loop_);
    const auto all = parts();
    scheduler_.emplace(turn::Parts{.store = all.store,
                                   .loop = all.loop,
                                   .clock = all.clock,
                                   .ids = all.ids,
                                   .provider = provider,
                                   .dispatcher = all.dispatcher,
                                   .feed = all.feed,
                                   .home_of = all.home_of},
                       Options{.model_ref = "scripted/test", .concurrent_turns_max = 2});
    scheduler_->start();
    run_for(10s);
    EXPECT_EQ(provider.waiting.size(), 2U) << "two slots for one provider";
    for (int i = 0; i < 3; ++i) {
        send(fmt::format("hello {}", i));
        scheduler_->wake(agent_);
        run_for(1s);
        EXPECT_EQ(pending(), 0) << i;
    }
    // Each slot that is freed goes to the next in line.
    provider.waiting[0](provider::Reply{.blocks = {domain::TextBlock{"at last"}}});
    run_for(1s);
    EXPECT_EQ(provider.waiting.size(), 3U);
    provider.waiting.clear();
    scheduler_.reset();
}

TEST_F(FaultsTest, AModelThatSaysNothingIsOnRecordWhileTheTurnWaits) {
    restart(kNoAnswer);
    send("hello");
    scheduler_->wake(agent_);
    run_for(turn::kAnswerDelayed - 1s);
    EXPECT_FALSE(has("model_answer_delayed"));
    run_for(2s);
    const auto delayed = last_event("model_answer_delayed");
    EXPECT_EQ(base::string_at(delayed, "model_ref"), "scripted/test");
    EXPECT_EQ(base::int_at(delayed, "waited_ms"), 30'000);
    EXPECT_EQ(status(), domain::AgentStatus::AwakeRunning);
}

}  // namespace
}  // namespace scheduler
