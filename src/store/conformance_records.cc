// The promises about attempts, tool calls, the record, waits, timers, tasks and effects.
#include <gmock/gmock.h>

#include "store/conformance.h"

namespace store {

using base::ErrorCode;
using base::from_micros;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using namespace conformance;

namespace {

domain::Attempt closed(domain::Attempt attempt) {
    attempt.state = domain::Closed{};
    attempt.closed_at = from_micros(9);
    return attempt;
}

domain::Wait wait(const std::string& id, domain::WaitStatus status) {
    return {.id = {id}, .agent_id = {"ada"}, .status = status, .waiting_for = "rain"};
}

domain::Task task(const std::string& id, domain::TaskStatus status) {
    return {.id = {id}, .agent_id = {"ada"}, .status = status};
}

std::vector<std::int64_t> seqs(const std::vector<domain::Event>& events) {
    std::vector<std::int64_t> list;
    for (const auto& event : events) list.push_back(event.event_seq);
    return list;
}

}  // namespace

TEST_P(StoreConformance, ASecondOpenAttemptOfAnAgentIsAConflictThatNamesTheFirst) {
    write([](Tx& tx) -> Status {
        TRY(tx.open_attempt(attempt("r1")));
        const auto second = tx.open_attempt(attempt("r2"));
        EXPECT_EQ(second.error().code, ErrorCode::Conflict);
        EXPECT_THAT(second.error().message, HasSubstr("r1"));
        return tx.open_attempt(attempt("r3", "bob"));
    });
    const Status later =
        store_->write(Durability::Process, [](Tx& tx) { return tx.open_attempt(attempt("r4")); });
    EXPECT_EQ(later.error().code, ErrorCode::Conflict);
    read([](Tx& tx) -> Status {
        EXPECT_EQ(TRY(tx.open_attempt_of({"ada"})), attempt("r1"));
        EXPECT_EQ(TRY(tx.attempt({"r2"})), std::nullopt);
        EXPECT_THAT(TRY(tx.open_attempts(9)), ElementsAre(attempt("r1"), attempt("r3", "bob")));
        EXPECT_THAT(TRY(tx.open_attempts(1)), ElementsAre(attempt("r1")));
        return {};
    });
}

TEST_P(StoreConformance, ClosingAnAttemptMakesRoomForTheNext) {
    write([](Tx& tx) -> Status {
        TRY(tx.open_attempt(attempt("r1")));
        TRY(tx.put_attempt(closed(attempt("r1"))));
        EXPECT_EQ(TRY(tx.open_attempt_of({"ada"})), std::nullopt);
        return tx.open_attempt(attempt("r2"));
    });
    read([](Tx& tx) -> Status {
        EXPECT_EQ(TRY(tx.attempt({"r1"})), closed(attempt("r1")));
        EXPECT_EQ(TRY(tx.open_attempt_of({"ada"})), attempt("r2"));
        return {};
    });
}

TEST_P(StoreConformance, AnAttemptIsPutOnlyAfterItWasOpenedAndOpenedOnlyOnce) {
    write([](Tx& tx) -> Status {
        EXPECT_EQ(tx.put_attempt(attempt("r1")).error().code, ErrorCode::NotFound);
        TRY(tx.open_attempt(attempt("r1")));
        TRY(tx.put_attempt(closed(attempt("r1"))));
        EXPECT_EQ(tx.open_attempt(attempt("r1")).error().code, ErrorCode::Conflict);
        return {};
    });
}

TEST_P(StoreConformance, TheStateOfAnAttemptIsKept) {
    auto one = attempt("r1");
    one.state = domain::AwaitingTools{.round = 3, .calls = {{"c1"}, {"c2"}}, .next = 1};
    one.sleep_request = domain::SleepRequest{.reason = "tired", .duration_ms = 5};
    write([&](Tx& tx) -> Status {
        TRY(tx.open_attempt(attempt("r1")));
        return tx.put_attempt(one);
    });
    reopen();
    read([&](Tx& tx) -> Status {
        EXPECT_EQ(TRY(tx.open_attempt_of({"ada"})), one);
        return {};
    });
}

// What a store keeps of its reads must not outlive a change.
TEST_P(StoreConformance, ATransactionSeesWhatItChangesHoweverOftenItHasRead) {
    const AgentId ada{"ada"};
    write([&](Tx& tx) -> Status {
        for (std::int64_t n = 1; n <= 3; ++n) {
            domain::Agent agent{.agent_id = ada, .identity = {.agent_id = ada}};
            agent.turn_index = n;
            TRY(tx.put_agent(agent));
            TRY(tx.put_statistics({.agent_id = ada, .total_model_rounds = n}));
            TRY(tx.put_fault({.agent_id = ada, .crashes = n}));
            TRY(tx.put_working_memory({.agent_id = ada, .working_memory_revision = n}));
            for (int read = 0; read < 2; ++read) {
                EXPECT_EQ(TRY(tx.agent(ada)), agent);
                EXPECT_EQ(TRY(tx.statistics(ada)).total_model_rounds, n);
                EXPECT_EQ(TRY(tx.fault(ada)).value().crashes, n);
                EXPECT_EQ(TRY(tx.working_memory(ada)).working_memory_revision, n);
            }
        }
        EXPECT_FALSE(TRY(tx.open_attempt_of(ada)));
        auto one = attempt("r1");
        TRY(tx.open_attempt(one));
        EXPECT_EQ(TRY(tx.open_attempt_of(ada)), one);
        one.state = domain::Closed{};
        TRY(tx.put_attempt(one));
        EXPECT_FALSE(TRY(tx.open_attempt_of(ada)));
        TRY(tx.erase_fault(ada));
        EXPECT_FALSE(TRY(tx.fault(ada)));
        TRY(tx.erase_agent(ada));
        EXPECT_FALSE(TRY(tx.agent(ada)));
        EXPECT_EQ(TRY(tx.statistics(ada)).total_model_rounds, 0);
        EXPECT_EQ(TRY(tx.working_memory(ada)).working_memory_revision, 0);
        return {};
    });
}

TEST_P(StoreConformance, AFrameIsKeptBesideItsAttempt) {
    write([](Tx& tx) -> Status {
        TRY(tx.open_attempt(attempt("r1")));
        return tx.put_frame({"r1"}, {{"system", "be kind"}});
    });
    read([](Tx& tx) -> Status {
        EXPECT_EQ(TRY(tx.frame({"r1"})), (json::value{{"system", "be kind"}}));
        EXPECT_EQ(TRY(tx.frame({"r2"})), std::nullopt);
        return {};
    });
}

TEST_P(StoreConformance, ToolExecutionsAreListedInTheOrderTheyWereAskedFor) {
    auto last = execution("a", 2, 1);
    write([&](Tx& tx) -> Status {
        TRY(tx.put_tool_execution(last));
        TRY(tx.put_tool_execution(execution("b", 2, 0)));
        TRY(tx.put_tool_execution(execution("c", 1, 0)));
        TRY(tx.put_tool_execution(execution("d", 1, 0, "r2")));
        last.state = domain::CallState::Finished;
        last.receipt = "ok";
        return tx.put_tool_execution(last);
    });
    read([&](Tx& tx) -> Status {
        EXPECT_THAT(TRY(tx.tool_executions({"r1"}, std::nullopt)),
                    ElementsAre(execution("c", 1, 0), execution("b", 2, 0), last));
        EXPECT_THAT(TRY(tx.tool_executions({"r1"}, 2)), ElementsAre(execution("b", 2, 0), last));
        EXPECT_EQ(TRY(tx.tool_execution({"a"})), last);
        EXPECT_EQ(TRY(tx.tool_execution({"x"})), std::nullopt);
        return {};
    });
}

TEST_P(StoreConformance, EventsAreNumberedPerAgentFromOne) {
    write([](Tx& tx) -> Status {
        EXPECT_EQ(TRY(tx.last_event_seq({"ada"})), 0);
        EXPECT_EQ(TRY(tx.append_event({"ada"}, event("e1"))), 1);
        EXPECT_EQ(TRY(tx.append_event({"bob"}, event("e2"))), 1);
        EXPECT_EQ(TRY(tx.append_event({"ada"}, event("e3"))), 2);
        return {};
    });
    reopen();
    write([](Tx& tx) -> Status {
        EXPECT_EQ(TRY(tx.append_event({"ada"}, event("e4"))), 3);
        EXPECT_EQ(TRY(tx.last_event_seq({"ada"})), 3);
        auto expected = event("e3");
        expected.event_seq = 2;
        EXPECT_THAT(TRY(tx.events({"ada"}, {.after_seq = 1, .limit = 1})), ElementsAre(expected));
        return {};
    });
}

TEST_P(StoreConformance, AnAgentErasedAfterItsEventStartsAtOneAgain) {
    write([](Tx& tx) -> Status {
        TRY(tx.append_event({"ada"}, event("e1")));
        TRY(tx.append_event({"bob"}, event("e2")));
        return tx.erase_agent({"ada"});
    });
    write([](Tx& tx) -> Status {
        EXPECT_EQ(TRY(tx.append_event({"ada"}, event("e3"))), 1);
        EXPECT_EQ(TRY(tx.append_event({"bob"}, event("e4"))), 2);
        return {};
    });
}

TEST_P(StoreConformance, AnUndoneEventLeavesNoGap) {
    write([](Tx& tx) -> Status { return TRY(tx.append_event({"ada"}, event("e1"))), Status{}; });
    const Status undone = store_->write(Durability::Process, [](Tx& tx) -> Status {
        EXPECT_EQ(TRY(tx.append_event({"ada"}, event("e2"))), 2);
        return base::fail(ErrorCode::Refused, "changed my mind");
    });
    EXPECT_EQ(undone.error(), (base::Error{ErrorCode::Refused, "changed my mind"}));
    write([](Tx& tx) -> Status {
        EXPECT_EQ(TRY(tx.append_event({"ada"}, event("e3"))), 2);
        EXPECT_THAT(ids(TRY(tx.events({"ada"}, {}))), ElementsAre("e1", "e3"));
        return {};
    });
}

TEST_P(StoreConformance, AnEventThatCannotBeStoredLeavesNoGapWhenTheWorkGoesOn) {
    write([](Tx& tx) -> Status {
        auto broken = event("e1");
        broken.kind = "\xff";
        EXPECT_EQ(tx.append_event({"ada"}, broken).error().code, ErrorCode::InvalidInput);
        EXPECT_EQ(TRY(tx.append_event({"ada"}, event("e2"))), 1);
        return {};
    });
}

TEST_P(StoreConformance, EventsTranscriptAndBriefsArePaged) {
    write([](Tx& tx) -> Status {
        for (int i = 1; i <= 5; ++i) {
            TRY(tx.append_event({"ada"}, event("e")));
            TRY(tx.append_transcript(entry("t", "r", "m")));
            TRY(tx.append_brief({.id = {"b"}, .agent_id = {"ada"}}));
        }
        return {};
    });
    read([](Tx& tx) -> Status {
        const AgentId ada{"ada"};
        const Page middle{.after_seq = 1, .before_seq = 5, .limit = 2};
        EXPECT_THAT(seqs(TRY(tx.events(ada, middle))), ElementsAre(2, 3));
        EXPECT_THAT(seqs(TRY(tx.transcript(ada, middle))), ElementsAre(2, 3));
        EXPECT_THAT(seqs(TRY(tx.briefs(ada, middle))), ElementsAre(2, 3));
        const Page newest{.limit = 2, .newest_first = true};
        EXPECT_THAT(seqs(TRY(tx.events(ada, newest))), ElementsAre(5, 4));
        EXPECT_THAT(seqs(TRY(tx.transcript(ada, newest))), ElementsAre(5, 4));
        EXPECT_THAT(seqs(TRY(tx.briefs(ada, newest))), ElementsAre(5, 4));
        return {};
    });
}

TEST_P(StoreConformance, TheTranscriptOfAMessageSpansItsAttempts) {
    write([](Tx& tx) -> Status {
        TRY(tx.append_transcript(entry("t1", "r1", "m1")));
        TRY(tx.append_transcript(entry("t2", "r1", "m2")));
        TRY(tx.append_transcript(entry("t3", "r2", "m1")));
        auto unrelated = entry("t4", "r2", "m1");
        unrelated.related_message_id.reset();
        return tx.append_transcript(unrelated);
    });
    read([](Tx& tx) -> Status {
        EXPECT_THAT(TRY(tx.transcript_of({"m1"})),
                    ElementsAre(entry("t1", "r1", "m1"), entry("t3", "r2", "m1")));
        EXPECT_EQ(TRY(tx.transcript({"ada"}, {})).size(), 4u);
        return {};
    });
}

TEST_P(StoreConformance, ABriefComesBackWhole) {
    domain::Brief brief{.id = {"b1"}, .agent_id = {"ada"}, .workspace_id = "w", .text = "Done."};
    brief.attachments = {{.kind = "file", .name = "a.txt"}};
    write([&](Tx& tx) { return tx.append_brief(brief); });
    read([&](Tx& tx) -> Status {
        EXPECT_EQ(TRY(tx.briefs({"ada"}, {})).at(0).record, brief);
        return {};
    });
}

TEST_P(StoreConformance, OpenWaitsAreTheActiveAndTriggeredOnes) {
    using enum domain::WaitStatus;
    write([](Tx& tx) -> Status {
        TRY(tx.put_wait(wait("w5", Active)));
        TRY(tx.put_wait(wait("w4", Triggered)));
        TRY(tx.put_wait(wait("w3", Resolved)));
        TRY(tx.put_wait(wait("w2", Cancelled)));
        TRY(tx.put_wait(wait("w1", Active)));
        return tx.put_wait(wait("w1", Expired));
    });
    read([](Tx& tx) -> Status {
        EXPECT_THAT(TRY(tx.open_waits({"ada"})),
                    ElementsAre(wait("w5", Active), wait("w4", Triggered)));
        EXPECT_EQ(TRY(tx.wait({"w1"})), wait("w1", Expired));
        EXPECT_EQ(TRY(tx.wait({"w9"})), std::nullopt);
        return {};
    });
}

TEST_P(StoreConformance, AFaultIsKeptForAnAgentUntilItIsErased) {
    const domain::AgentFault fault{.agent_id = {"ada"},
                                   .occurred_at = from_micros(7),
                                   .phase = "resume",
                                   .reason = "a record cannot be read",
                                   .crashes = 2};
    auto counted = fault;
    counted.agent_id = {"bob"};
    counted.is_set_aside = false;
    write([&](Tx& tx) -> Status {
        EXPECT_EQ(TRY(tx.fault({"ada"})), std::nullopt);
        TRY(tx.put_fault({.agent_id = {"ada"}}));
        TRY(tx.put_fault(fault));
        return tx.put_fault(counted);
    });
    write([&](Tx& tx) -> Status {
        EXPECT_EQ(TRY(tx.fault({"ada"})), fault);
        EXPECT_EQ(TRY(tx.fault({"bob"})), counted);
        EXPECT_EQ(TRY(tx.agents_set_aside(9)), std::vector<domain::AgentId>{{"ada"}});
        EXPECT_THAT(TRY(tx.agents_set_aside(0)), IsEmpty());
        TRY(tx.erase_fault({"nobody"}));
        return tx.erase_fault({"ada"});
    });
    read([](Tx& tx) -> Status {
        EXPECT_EQ(TRY(tx.fault({"ada"})), std::nullopt);
        return {};
    });
}

TEST_P(StoreConformance, TimersOfAnAgentThatIsSetAsideAreNotDueUntilItIsRecovered) {
    write([](Tx& tx) -> Status {
        TRY(tx.put_timer(timer("t1", 30)));
        TRY(tx.put_timer(timer("t2", 10, "bob")));
        return tx.put_fault({.agent_id = {"bob"}});
    });
    write([](Tx& tx) -> Status {
        EXPECT_THAT(ids(TRY(tx.due_timers(from_micros(40), 9)).timers), ElementsAre("t1"));
        EXPECT_EQ(TRY(tx.next_due()), from_micros(30));
        return tx.erase_fault({"bob"});
    });
    read([](Tx& tx) -> Status {
        EXPECT_THAT(ids(TRY(tx.due_timers(from_micros(40), 9)).timers), ElementsAre("t2", "t1"));
        EXPECT_EQ(TRY(tx.next_due()), from_micros(10));
        return {};
    });
}

TEST_P(StoreConformance, AShelvedTimerIsNeitherActiveNorDue) {
    write([](Tx& tx) -> Status {
        TRY(tx.put_timer(timer("t1", 10)));
        return tx.shelve_timer({"t1"});
    });
    read([](Tx& tx) -> Status {
        EXPECT_THAT(ids(TRY(tx.due_timers(from_micros(40), 9)).timers), IsEmpty());
        EXPECT_THAT(TRY(tx.active_timers({"ada"}, 9)), IsEmpty());
        EXPECT_EQ(TRY(tx.next_due()), std::nullopt);
        EXPECT_TRUE(TRY(tx.timer({"t1"})));
        return {};
    });
}

TEST_P(StoreConformance, DueTimersComeEarliestFirstOverAllAgents) {
    write([](Tx& tx) -> Status {
        EXPECT_EQ(TRY(tx.next_due()), std::nullopt);
        TRY(tx.put_timer(timer("t1", 30)));
        TRY(tx.put_timer(timer("t2", 10, "bob")));
        TRY(tx.put_timer(timer("t3", 20)));
        TRY(tx.put_timer(timer("t4", std::nullopt)));
        auto cancelled = timer("t5", 1);
        cancelled.status = domain::TimerStatus::Cancelled;
        return tx.put_timer(cancelled);
    });
    write([](Tx& tx) -> Status {
        EXPECT_THAT(ids(TRY(tx.due_timers(from_micros(20), 9)).timers), ElementsAre("t2", "t3"));
        EXPECT_THAT(ids(TRY(tx.due_timers(from_micros(99), 2)).timers), ElementsAre("t2", "t3"));
        EXPECT_THAT(ids(TRY(tx.due_timers(from_micros(9), 9)).timers), IsEmpty());
        EXPECT_EQ(TRY(tx.next_due()), from_micros(10));
        EXPECT_THAT(ids(TRY(tx.active_timers({"ada"}, 9))), ElementsAre("t1", "t3", "t4"));
        return tx.put_timer(timer("t2", 40, "bob"));
    });
    read([](Tx& tx) -> Status {
        EXPECT_EQ(TRY(tx.next_due()), from_micros(20));
        EXPECT_EQ(TRY(tx.timer({"t2"})), timer("t2", 40, "bob"));
        EXPECT_EQ(TRY(tx.timer({"t9"})), std::nullopt);
        return {};
    });
}

TEST_P(StoreConformance, ActiveTasksAreTheQueuedRunningAndCancellingOnes) {
    using enum domain::TaskStatus;
    write([](Tx& tx) -> Status {
        TRY(tx.put_task(task("k9", Queued)));
        TRY(tx.put_task(task("k8", Running)));
        TRY(tx.put_task(task("k7", Cancelling)));
        TRY(tx.put_task(task("k6", Completed)));
        TRY(tx.put_task(task("k5", Interrupted)));
        return tx.put_task(task("k9", Failed));
    });
    read([](Tx& tx) -> Status {
        EXPECT_THAT(ids(TRY(tx.active_tasks({"ada"}))), ElementsAre("k8", "k7"));
        EXPECT_THAT(ids(TRY(tx.tasks({"ada"}, 9))), ElementsAre("k5", "k6", "k7", "k8", "k9"));
        EXPECT_THAT(ids(TRY(tx.tasks({"ada"}, 2))), ElementsAre("k5", "k6"));
        EXPECT_EQ(TRY(tx.task({"k9"})), task("k9", Failed));
        EXPECT_EQ(TRY(tx.task({"k0"})), std::nullopt);
        return {};
    });
}

TEST_P(StoreConformance, AgentsWithActiveTasksAreListedOnceEach) {
    using enum domain::TaskStatus;
    write([](Tx& tx) -> Status {
        auto of_bob = task("k3", Running);
        of_bob.agent_id = {"bob"};
        auto of_cid = task("k4", Completed);
        of_cid.agent_id = {"cid"};
        TRY(tx.put_task(of_bob));
        TRY(tx.put_task(of_cid));
        TRY(tx.put_task(task("k1", Running)));
        return tx.put_task(task("k2", Queued));
    });
    read([](Tx& tx) -> Status {
        EXPECT_THAT(TRY(tx.agents_with_active_tasks(9)),
                    ElementsAre(AgentId{"ada"}, AgentId{"bob"}));
        EXPECT_THAT(TRY(tx.agents_with_active_tasks(1)), ElementsAre(AgentId{"ada"}));
        return {};
    });
}

TEST_P(StoreConformance, AnEffectIsInTheOutboxOnceUntilItIsErased) {
    write([](Tx& tx) -> Status {
        TRY(tx.put_outbox(effect("z")));
        TRY(tx.put_outbox(effect("a")));
        TRY(tx.put_outbox(effect("z", "something else")));
        TRY(tx.erase_outbox("unknown"));
        EXPECT_THAT(TRY(tx.outbox({"ada"})), ElementsAre(effect("z"), effect("a")));
        return tx.erase_outbox("z");
    });
    read([](Tx& tx) -> Status {
        EXPECT_THAT(TRY(tx.outbox({"ada"})), ElementsAre(effect("a")));
        EXPECT_THAT(TRY(tx.outbox({"bob"})), IsEmpty());
        return {};
    });
}

}  // namespace store
