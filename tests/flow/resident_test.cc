// The scheduler as the daemon runs it: what wakes whom, many agents, messages that break.
#include "flow/queue/waits.h"
#include "tests/flow/resident_fixture.h"

namespace scheduler {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

// What wakes, and in which order ------------------------------------------------------------------

// contract: SLEEP-07, SLEEP-21, QUEUE-08
TEST_F(ResidentTest, ATasksResultWakesASleepingAgentInItsPlaceInTheQueue) {
    start(R"({"rounds":[{"tool_calls":[{"name":"Sleep","input":{}}]}],"loop":true})");
    send("rest");
    run();
    ASSERT_EQ(status(), domain::AgentStatus::Asleep);
    send("later", domain::OperatorOrigin{}, domain::MessageKind::OperatorPrompt,
         domain::AdmissionContext::LocalProcess, domain::Priority::Background);
    send("the task's result", domain::TaskOrigin{{"t"}}, domain::MessageKind::TaskResult,
         domain::AdmissionContext::RuntimeOwned);
    run();
    ASSERT_EQ(model_->requests.size(), 3U);
    EXPECT_THAT(opening(1), HasSubstr("the task's result"));
    EXPECT_THAT(opening(2), HasSubstr("later"));
    const auto decisions = events_of("scheduler_posture_decision");
    const auto woken = std::ranges::find_if(decisions, [](const auto& event) {
        return base::string_at(event.data, "reason") == "message_admission_wake";
    });
    ASSERT_NE(woken, decisions.end());
    EXPECT_EQ(woken->data.at("evidence").at(0).as_string(),
              messages_of(domain::MessageKind::TaskResult).at(0).message.id.value);
    EXPECT_GT(woken->event_seq, events_of("message_admitted").back().event_seq);
}

// contract: SLEEP-06
TEST_F(ResidentTest, ATimerWakesASleepingAgentAtItsTime) {
    start(R"({"rounds":[{"tool_calls":[{"name":"Sleep","input":{}}]}],"loop":true})");
    scheduler_->start();
    send("rest");
    run();
    ASSERT_EQ(status(), domain::AgentStatus::Asleep);
    timer(200);
    scheduler_->timers_changed();
    const auto begun = loop_.now();
    loop_.run_until([&] { return model_->requests.size() == 2; });
    EXPECT_EQ(loop_.now() - begun, 200ms);
    EXPECT_EQ(status(), domain::AgentStatus::AwakeRunning);
    EXPECT_EQ(statistics().last_wake_reason, "timer_tick");
}

// contract: SLEEP-12
TEST_F(ResidentTest, AnAwaitedTaskKeepsTheAgentFromFallingAsleep) {
    start(R"({"rounds":[{"tool_calls":[{"name":"Sleep","input":{}}]}],"loop":true})");
    commit([&](events::Log& log) {
        return log.tx().put_wait({.id = {"w"},
                                  .agent_id = agent_,
                                  .kind = domain::WaitKind::Task,
                                  .subject_ref = "t",
                                  .waiting_for = "the tests"});
    });
    send("rest");
    run();
    EXPECT_EQ(model_->requests.size(), 1U);
    EXPECT_FALSE(agent().sleep);
    EXPECT_EQ(status(), domain::AgentStatus::AwaitingTask);
    const auto decisions = events_of("scheduler_posture_decision");
    ASSERT_EQ(decisions.size(), 1U);
    EXPECT_EQ(base::string_at(decisions[0].data, "reason"), "sleep_overridden_runnable_work");
    EXPECT_EQ(base::string_at(decisions[0].data, "next_status"), "awaiting_task");
}

// contract: SLEEP-11
TEST_F(ResidentTest, AFollowUpThatIsStillToComeKeepsTheAgentAwake) {
    start(
        R"({"rounds":[{"tool_calls":[{"name":"Enqueue","input":{"text":"look again"}},{"name":"Sleep","input":{}}]},{"text":"ok"}]})");
    send("go");
    scheduler_->wake(agent_);
    loop_.run_until([&] { return statistics().last_turn_terminal.has_value(); });
    EXPECT_FALSE(agent().sleep);
    const auto decisions = events_of("scheduler_posture_decision");
    ASSERT_EQ(decisions.size(), 1U);
    EXPECT_EQ(base::string_at(decisions[0].data, "reason"), "sleep_overridden_runnable_work");
}

// contract: MSG-12
TEST_F(ResidentTest, EverySortOfInputIsOneStoredMessageAndOnlySomeReachTheModel) {
    using Kind = domain::MessageKind;
    using Entry = domain::AdmissionContext;
    struct Row {
        Kind kind;
        domain::Origin origin;
        Entry entry;
        bool reaches_model;
    };
    start(kOneAnswer);
    std::size_t requests = 0;
    for (const auto& row : std::vector<Row>{
             {Kind::OperatorPrompt, domain::OperatorOrigin{}, Entry::LocalProcess, true},
             {Kind::ChannelEvent, domain::ChannelOrigin{"c"}, Entry::PublicUnauthenticated, true},
             {Kind::WebhookEvent, domain::WebhookOrigin{"w"}, Entry::PublicUnauthenticated, true},
             {Kind::CallbackEvent, domain::CallbackOrigin{"d"}, Entry::ExternalTriggerCapability,
              true},
             {Kind::TimerTick, domain::TimerOrigin{{"t"}}, Entry::RuntimeOwned, true},
             {Kind::SystemTick, domain::SystemOrigin{"s"}, Entry::RuntimeOwned, true},
             {Kind::TaskResult, domain::TaskOrigin{{"k"}}, Entry::RuntimeOwned, true},
             {Kind::TaskStatus, domain::TaskOrigin{{"k"}}, Entry::RuntimeOwned, false},
             {Kind::Control, domain::OperatorOrigin{}, Entry::LocalProcess, false},
             {Kind::BriefAck, domain::SystemOrigin{"b"}, Entry::RuntimeOwned, false},
             {Kind::BriefResult, domain::SystemOrigin{"b"}, Entry::RuntimeOwned, false},
             {Kind::InternalFollowup, domain::SystemOrigin{"f"}, Entry::RuntimeOwned, true}}) {
        send("something", row.origin, row.kind, row.entry);
        run();
        const auto stored = messages_of(row.kind);
        ASSERT_EQ(stored.size(), 1U) << base::enum_name(row.kind);
        EXPECT_TRUE(stored[0].message.trigger_kind);
        EXPECT_EQ(stored[0].entry.status, domain::QueueStatus::Processed);
        requests += row.reaches_model ? 1 : 0;
        EXPECT_EQ(model_->requests.size(), requests) << base::enum_name(row.kind);
    }
}

TEST_F(ResidentTest, WhatChangesWhileAPromptIsPlannedIsInThePrompt) {
    start(kOneAnswer);
    bool has_changed = false;
    auto changing = parts();
    changing.execution_of = [&](const auto&) {  // Between the facts and the commit.
        if (!std::exchange(has_changed, true))
            commit([&](events::Log& log) {
                return log.tx().put_work_item({.id = {"w"},
                                               .agent_id = agent_,
                                               .objective = "made meanwhile",
                                               .blocked_by = "a review"});
            });
        return domain::Execution{};
    };
    scheduler_.emplace(changing, Options{.model_ref = "scripted/test"});
    send("hi");
    run();
    ASSERT_EQ(model_->requests.size(), 1U);
    EXPECT_THAT(opening(0), HasSubstr("made meanwhile"));
}

TEST_F(ResidentTest, ThePromptOfAFirstTurnHasTheCapabilityThatItsCommitMakes) {
    start(kOneAnswer);
    Options options{.model_ref = "scripted/test"};
    options.token_hash_of = [](const auto& id) { return "hash of " + id.value; };
    std::vector<std::string> shown;
    auto revealing = parts();
    revealing.trigger_url_of = [&](const auto& id) {
        shown.push_back(id.value);
        return "https://wake.test/" + id.value;
    };
    scheduler_.emplace(revealing, options);
    send("hi");
    run();
    const auto made = read<std::optional<domain::ExternalTrigger>>(
        [&](store::Tx& tx) { return tx.active_trigger(agent_); });
    ASSERT_TRUE(made);
    EXPECT_EQ(made->token_hash, "hash of " + made->external_trigger_id.value);
    EXPECT_THAT(shown, testing::Contains(made->external_trigger_id.value));
}

// Messages that break -----------------------------------------------------------------------------

// contract: AUDIT-06, AUDIT-07, AUDIT-08
TEST_F(ResidentTest, AMessageThatNoTurnCanBeOpenedForIsSetAsideWithABrief) {
    start(kOneAnswer);
    int broken = 0;
    Options options{.model_ref = "scripted/test"};
    options.token_hash_of = [&](const auto&) -> std::string {
        // Text that cannot be stored: the same input would fail each time.
        return broken++ < kOpenFailuresMax ? "\xff" : "hash";
    };
    scheduler_.emplace(parts(), options);
    send("poison");
    send("good");
    scheduler_->wake(agent_);
    loop_.run();
    const auto prompts = messages_of(domain::MessageKind::OperatorPrompt);
    EXPECT_EQ(prompts.at(0).entry.status, domain::QueueStatus::Dropped);
    EXPECT_THAT(*prompts.at(0).entry.reason, HasSubstr("UTF-8"));
    EXPECT_EQ(prompts.at(0).entry.failures, kOpenFailuresMax);
    EXPECT_EQ(prompts.at(1).entry.status, domain::QueueStatus::Processed);
    ASSERT_EQ(model_->requests.size(), 1U);
    EXPECT_THAT(opening(0), HasSubstr("good"));
    EXPECT_EQ(events_of("message_quarantined").size(), 1U);
    EXPECT_EQ(events_of("runtime_error").size(), static_cast<std::size_t>(kOpenFailuresMax));
    const json::value poison = base::to_json(prompts[0].message);
    for (const auto* kind : {"message_quarantined", "runtime_error"})
        for (const auto& event : events_of(kind)) {
            EXPECT_EQ(base::string_at(event.data, "message_id"), prompts[0].message.id.value);
            for (const auto* label : {"origin", "trust", "authority_class", "priority",
                                      "delivery_surface", "admission_context"})
                EXPECT_EQ(event.data.at(label), poison.at(label)) << kind << " " << label;
        }
    const auto briefs = read<std::vector<store::Numbered<domain::Brief>>>(
        [&](store::Tx& tx) { return tx.briefs(agent_, {}); });
    EXPECT_EQ(briefs.at(0).record.kind, domain::BriefKind::Failure);
    EXPECT_EQ(briefs.at(0).record.related_message_id, prompts[0].message.id);
}

TEST_F(ResidentTest, ATimerThatCannotFireIsEndedAndHoldsUpNoOther) {
    commit([&](events::Log& log) -> base::Status {
        return log.tx().put_timer(
            {.id = {"orphan"}, .agent_id = {"nobody"}, .next_fire_at = log.now()});
    });
    timer(0);
    start(kOneAnswer);
    scheduler_->start();
    loop_.run();
    EXPECT_EQ(model_->requests.size(), 1U);
    const auto orphan =
        *read<std::optional<domain::Timer>>([&](store::Tx& tx) { return tx.timer({"orphan"}); });
    EXPECT_EQ(orphan.status, domain::TimerStatus::Cancelled);
}

// Many agents -------------------------------------------------------------------------------------

TEST_F(ResidentTest, NoMoreTurnsAreOpenAtOnceThanAreAllowedAndEveryAgentGetsItsTurn) {
    for (int a = 0; a < 20; ++a) make_agent("a" + std::to_string(a));
    start(kSlowAnswer);
    Options options{.model_ref = "scripted/test", .concurrent_turns_max = 3};
    scheduler_.emplace(parts(), options);
    for (int round = 0; round < 2; ++round)
        for (int a = 0; a < 20; ++a) {
            const auto message =
                ingress::receive({.agent_id = {"a" + std::to_string(a)},
                                  .origin = domain::OperatorOrigin{},
                                  .body = domain::TextBody{"go"},
                                  .admission = domain::AdmissionContext::LocalProcess},
                                 loop_.now(), ids_)
                    .value();
            commit([&](events::Log& log) -> base::Status {
                TRY(admission::admit(log, message, std::nullopt));
                return {};
            });
        }
    scheduler_->start();
    std::int64_t open_max = 0;
    loop_.run_until([&] {
        open_max = std::max(
            open_max, read<store::Counts>([](store::Tx& tx) { return tx.counts(); }).open_attempts);
        return false;
    });
    EXPECT_EQ(open_max, 3);
    ASSERT_EQ(model_->requests.size(), 40U);
    // Nobody gets a second turn before everybody has had a first.
    std::set<std::string> first;
    for (int n = 0; n < 20; ++n)
        first.insert(model_->requests[static_cast<std::size_t>(n)].frame.cache->agent_id);
    EXPECT_EQ(first.size(), 20U);
}

TEST_F(ResidentTest, WhatAnEarlierProcessLeftIsTakenUpPageByPage) {
    const int agents = static_cast<int>(kBacklogPage) * 2 + 10;
    commit([&](events::Log& log) -> base::Status {
        for (int a = 0; a < agents; ++a) {
            const domain::AgentId id{fmt::format("a{:04}", a)};
            domain::Agent agent{.agent_id = id, .identity = {.agent_id = id}};
            agent.active_workspace_entry = workspace::agent_home(id, "/tmp");
            TRY(log.tx().put_agent(agent));
            const auto message =
                TRY(ingress::receive({.agent_id = id,
                                      .origin = domain::OperatorOrigin{},
                                      .body = domain::TextBody{"go"},
                                      .admission = domain::AdmissionContext::LocalProcess},
                                     log.now(), log.ids()));
            TRY(admission::admit(log, message, std::nullopt));
        }
        return {};
    });
    start(kOneAnswer);
    scheduler_->start();
    loop_.run();
    EXPECT_EQ(model_->requests.size(), static_cast<std::size_t>(agents));
}

}  // namespace
}  // namespace scheduler
