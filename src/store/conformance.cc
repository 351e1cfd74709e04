#include "store/conformance.h"

#include <ranges>

#include <gmock/gmock.h>

namespace store {

using base::ErrorCode;
using base::from_micros;
using conformance::attempt;
using conformance::event;
using conformance::message;
using domain::Priority;
using domain::QueueStatus;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

void StoreConformance::SetUp() {
    open_ = GetParam().fresh();
    store_ = open_();
    ASSERT_NE(store_, nullptr);
}

void StoreConformance::reopen() {
    store_.reset();
    store_ = open_();
    ASSERT_NE(store_, nullptr);
}

void StoreConformance::write(Work work, Durability durability) {
    const Status status = store_->write(durability, std::move(work));
    ASSERT_TRUE(status) << status.error().message;
}

void StoreConformance::read(Work work) {
    const Status status = store_->read(std::move(work));
    ASSERT_TRUE(status) << status.error().message;
}

namespace conformance {

domain::Message message(const std::string& id, const std::string& agent, Priority priority) {
    domain::Message message{.id = {id}, .agent_id = {agent}, .created_at = from_micros(1'000)};
    message.priority = priority;
    message.body = domain::TextBody{.text = "body of " + id};
    return message;
}

domain::Event event(const std::string& id) {
    return {.id = {id}, .created_at = from_micros(7), .kind = "test", .data = {{"id", id}}};
}

domain::Attempt attempt(const std::string& id, const std::string& agent) {
    return {.run_id = {id}, .agent_id = {agent}, .message_id = {"m"}};
}

}  // namespace conformance

namespace {

// Everything written through one Tx in one order; the tests say what must come of it.
Work append(std::vector<domain::Message> messages) {
    return [messages = std::move(messages)](Tx& tx) -> Status {
        for (const auto& message : messages) TRY(tx.append_message(message, std::nullopt));
        return {};
    };
}

// Takes messages the way the queue does until there are none.
std::vector<std::string> drain(Store& store, const AgentId& agent) {
    std::vector<std::string> order;
    const Status status = store.write(Durability::Process, [&](Tx& tx) -> Status {
        while (const auto next = TRY(tx.next_message(agent))) {
            order.push_back(next->message.id.value);
            TRY(tx.set_queue_status(next->message.id, QueueStatus::Processed, std::nullopt, {}));
        }
        return {};
    });
    EXPECT_TRUE(status);
    return order;
}

template <class T>
std::vector<std::string> ids(const std::vector<T>& records) {
    std::vector<std::string> list;
    for (const auto& record : records) list.push_back(base::to_text(record.id));
    return list;
}

template <class T>
std::vector<std::int64_t> seqs(const std::vector<Numbered<T>>& records) {
    std::vector<std::int64_t> list;
    for (const auto& record : records) list.push_back(record.seq);
    return list;
}

std::vector<std::int64_t> seqs(const std::vector<domain::Event>& events) {
    std::vector<std::int64_t> list;
    for (const auto& event : events) list.push_back(event.event_seq);
    return list;
}

domain::Attempt closed(domain::Attempt attempt) {
    attempt.state = domain::Closed{};
    attempt.closed_at = from_micros(9);
    return attempt;
}

domain::ToolExecution execution(const std::string& id, std::int64_t round, std::int64_t ordinal,
                                const std::string& run = "r1", const std::string& agent = "ada") {
    domain::ToolExecution execution;
    execution.call = {.call_id = {id}, .run_id = {run}, .agent_id = {agent}, .tool = "Read"};
    execution.call.args = json::object{{"path", "a"}};
    execution.round = round;
    execution.ordinal = ordinal;
    return execution;
}

domain::TranscriptEntry entry(const std::string& id, const std::string& run,
                              const std::string& message) {
    return {.id = id,
            .agent_id = {"ada"},
            .run_id = {run},
            .related_message_id = MessageId{message},
            .data = json::object{{"n", 1}}};
}

domain::Wait wait(const std::string& id, domain::WaitStatus status) {
    return {.id = {id}, .agent_id = {"ada"}, .status = status, .waiting_for = "rain"};
}

domain::Timer timer(const std::string& id, std::optional<std::int64_t> fires,
                    const std::string& agent = "ada") {
    domain::Timer timer{.id = {id}, .agent_id = {agent}};
    if (fires) timer.next_fire_at = from_micros(*fires);
    return timer;
}

domain::Task task(const std::string& id, domain::TaskStatus status) {
    return {.id = {id}, .agent_id = {"ada"}, .status = status};
}

OutboxEntry effect(const std::string& id, const std::string& kind = "ask_model") {
    return {.effect_id = id,
            .agent_id = {"ada"},
            .kind = kind,
            .payload = json::object{{"round", 1}},
            .created_at = from_micros(3)};
}

}  // namespace

// Agents ------------------------------------------------------------------------------------------

TEST_P(StoreConformance, AnAgentComesBackAsItWasPutAndAnUnknownOneIsEmpty) {
    domain::Agent ada{.agent_id = {"ada"}, .turn_index = 7};
    ada.rest = domain::Rest{.since = from_micros(1), .reason = "night", .until = from_micros(2)};
    ada.tool_latency = {{.tool_name = "Read", .calls = 2, .total_ms = 3, .max_ms = 2}};
    write([&](Tx& tx) { return tx.put_agent(ada); });
    read([&](Tx& tx) -> Status {
        EXPECT_EQ(TRY(tx.agent({"ada"})), ada);
        EXPECT_EQ(TRY(tx.agent({"bob"})), std::nullopt);
        return {};
    });
}

TEST_P(StoreConformance, PuttingAnAgentAgainReplacesIt) {
    write([](Tx& tx) { return tx.put_agent({.agent_id = {"ada"}, .turn_index = 1}); });
    write([](Tx& tx) { return tx.put_agent({.agent_id = {"ada"}, .turn_index = 2}); });
    read([](Tx& tx) -> Status {
        EXPECT_EQ(TRY(tx.agent({"ada"}))->turn_index, 2);
        return {};
    });
}

TEST_P(StoreConformance, AgentsAreListedByIdUpToTheLimit) {
    write([](Tx& tx) -> Status {
        for (const auto* id : {"c", "a", "b"}) TRY(tx.put_agent({.agent_id = {id}}));
        return {};
    });
    read([](Tx& tx) -> Status {
        EXPECT_THAT(TRY(tx.agents(10)), ElementsAre(AgentId{"a"}, AgentId{"b"}, AgentId{"c"}));
        EXPECT_THAT(TRY(tx.agents(2)), ElementsAre(AgentId{"a"}, AgentId{"b"}));
        EXPECT_THAT(TRY(tx.agents(0)), IsEmpty());
        EXPECT_THAT(TRY(tx.agents(-1)), IsEmpty());
        return {};
    });
}

// Fills every table for one agent.
Status fill(Tx& tx, const std::string& agent) {
    const AgentId id{agent};
    const RunId run{agent + "-run"};
    const MessageId about{agent + "-m"};
    TRY(tx.put_agent({.agent_id = id}));
    TRY(tx.append_message(message(about.value, agent), agent + "-key"));
    TRY(tx.open_attempt(attempt(run.value, agent)));
    TRY(tx.put_frame(run, "frame"));
    TRY(tx.put_tool_execution(execution(agent + "-call", 1, 0, run.value, agent)));
    TRY(tx.append_event(id, event("e")));
    auto line = entry("t", run.value, about.value);
    line.agent_id = id;
    TRY(tx.append_transcript(line));
    TRY(tx.append_brief({.id = {"b"}, .agent_id = id}));
    TRY(tx.put_wait({.id = {agent + "-wait"}, .agent_id = id}));
    TRY(tx.put_timer(timer(agent + "-timer", 5, agent)));
    TRY(tx.put_task({.id = {agent + "-task"}, .agent_id = id}));
    auto asked = effect(agent + "-effect");
    asked.agent_id = id;
    return tx.put_outbox(asked);
}

// How many records of each kind the agent has.
Result<std::vector<std::size_t>> census(Tx& tx, const std::string& agent) {
    const AgentId id{agent};
    const RunId run{agent + "-run"};
    return std::vector<std::size_t>{std::size_t{TRY(tx.agent(id)).has_value()},
                                    TRY(tx.messages(id, {})).size(),
                                    std::size_t{TRY(tx.message({agent + "-m"})).has_value()},
                                    static_cast<std::size_t>(TRY(tx.pending_count(id))),
                                    std::size_t{TRY(tx.open_attempt_of(id)).has_value()},
                                    std::size_t{TRY(tx.attempt(run)).has_value()},
                                    std::size_t{TRY(tx.frame(run)).has_value()},
                                    TRY(tx.tool_executions(run, std::nullopt)).size(),
                                    TRY(tx.events(id, {})).size(),
                                    static_cast<std::size_t>(TRY(tx.last_event_seq(id))),
                                    TRY(tx.transcript(id, {})).size(),
                                    TRY(tx.transcript_of({agent + "-m"})).size(),
                                    TRY(tx.briefs(id, {})).size(),
                                    TRY(tx.open_waits(id)).size(),
                                    TRY(tx.active_timers(id)).size(),
                                    TRY(tx.active_tasks(id)).size(),
                                    TRY(tx.tasks(id, 10)).size(),
                                    TRY(tx.outbox(id)).size()};
}

TEST_P(StoreConformance, ErasingAnAgentRemovesEverythingOfItAndNothingOfOthers) {
    write([](Tx& tx) -> Status {
        TRY(fill(tx, "ada"));
        TRY(fill(tx, "bob"));
        TRY(tx.erase_agent({"ada"}));
        return tx.erase_agent({"nobody"});
    });
    read([](Tx& tx) -> Status {
        EXPECT_THAT(TRY(census(tx, "ada")), testing::Each(0u));
        EXPECT_THAT(TRY(census(tx, "bob")), testing::Each(1u));
        EXPECT_EQ(ids(TRY(tx.due_timers(from_micros(9), 9))),
                  std::vector<std::string>{"bob-timer"});
        EXPECT_EQ(TRY(tx.open_attempts(9)).size(), 1u);
        return {};
    });
}

TEST_P(StoreConformance, ReopeningFindsEverything) {
    write([](Tx& tx) { return fill(tx, "ada"); });
    reopen();
    read([](Tx& tx) -> Status {
        EXPECT_THAT(TRY(census(tx, "ada")), testing::Each(1u));
        return {};
    });
}

// Messages ----------------------------------------------------------------------------------------

TEST_P(StoreConformance, AMessageIsQueuedWithItsPriorityAndNoTries) {
    const auto sent = message("m1", "ada", Priority::Next);
    write([&](Tx& tx) -> Status {
        EXPECT_EQ(std::get<Appended>(TRY(tx.append_message(sent, "key"))).seq, 1);
        return {};
    });
    read([&](Tx& tx) -> Status {
        const auto stored = TRY(tx.message({"m1"}));
        EXPECT_EQ(stored->message, sent);
        EXPECT_EQ(stored->entry, (domain::QueueEntry{.message_id = {"m1"},
                                                     .agent_id = {"ada"},
                                                     .priority = Priority::Next,
                                                     .created_at = sent.created_at,
                                                     .updated_at = sent.created_at}));
        EXPECT_FALSE(TRY(tx.message({"m2"})));
        return {};
    });
}

// contract: QUEUE-04
TEST_P(StoreConformance, EveryOriginTrustAndPriorityIsKept) {
    const std::vector<domain::Origin> origins = {
        domain::OperatorOrigin{.actor_id = "me"},
        domain::ChannelOrigin{.channel_id = "c", .sender_id = "s"},
        domain::WebhookOrigin{.source = "forge", .event_type = "push"},
        domain::CallbackOrigin{.descriptor_id = "d", .source = "x"},
        domain::TimerOrigin{.timer_id = {"t"}},
        domain::SystemOrigin{.subsystem = "scheduler"},
        domain::TaskOrigin{.task_id = {"k"}}};
    std::vector<domain::Message> sent;
    for (const auto& origin : origins) {
        const auto n = static_cast<int>(sent.size());
        auto one = message("m" + std::to_string(n), "ada", static_cast<Priority>(n % 4));
        one.origin = origin;
        one.trust = static_cast<domain::TrustLevel>(n % 4);
        sent.push_back(one);
    }
    write(append(sent));
    reopen();
    read([&](Tx& tx) -> Status {
        for (const auto& one : sent) EXPECT_EQ(TRY(tx.message(one.id))->message, one);
        return {};
    });
}

// contract: MSG-03
TEST_P(StoreConformance, AMessageIdIsThereOnceWhateverAgentItNames) {
    write([](Tx& tx) -> Status {
        TRY(tx.append_message(message("m1"), std::nullopt));
        auto again = message("m1", "bob");
        const auto outcome = TRY(tx.append_message(again, std::nullopt));
        EXPECT_EQ(std::get<AlreadyHave>(outcome).message_id, MessageId{"m1"});
        return {};
    });
    read([](Tx& tx) -> Status {
        EXPECT_EQ(TRY(tx.messages({"ada"}, {})).size(), 1u);
        EXPECT_EQ(TRY(tx.messages({"bob"}, {})).size(), 0u);
        return {};
    });
}

TEST_P(StoreConformance, ADedupeKeyNamesTheFirstMessageAndTakesNoNumber) {
    write([](Tx& tx) -> Status { return TRY(tx.append_message(message("m1"), "key")), Status{}; });
    write([](Tx& tx) -> Status {
        const auto outcome = TRY(tx.append_message(message("m2"), "key"));
        EXPECT_EQ(std::get<AlreadyHave>(outcome).message_id, MessageId{"m1"});
        EXPECT_EQ(std::get<Appended>(TRY(tx.append_message(message("m3"), "other"))).seq, 2);
        return {};
    });
    read([](Tx& tx) -> Status {
        EXPECT_FALSE(TRY(tx.message({"m2"})));
        EXPECT_EQ(TRY(tx.pending_count({"ada"})), 2);
        return {};
    });
}

TEST_P(StoreConformance, TwoAgentsMayUseTheSameDedupeKey) {
    write([](Tx& tx) -> Status {
        TRY(tx.append_message(message("m1", "ada"), "key"));
        const auto outcome = TRY(tx.append_message(message("m2", "bob"), "key"));
        EXPECT_TRUE(std::holds_alternative<Appended>(outcome));
        return {};
    });
}

// contract: QUEUE-05
TEST_P(StoreConformance, HigherPriorityRunsFirst) {
    write(append({message("background", "ada", Priority::Background), message("normal"),
                  message("next", "ada", Priority::Next),
                  message("interject", "ada", Priority::Interject)}));
    EXPECT_THAT(drain(*store_, {"ada"}), ElementsAre("interject", "next", "normal", "background"));
}

// contract: QUEUE-06
TEST_P(StoreConformance, WithinAPriorityTheOrderIsThatOfArrivalAlsoAfterReopening) {
    for (const auto* id : {"z1", "y2", "x3"})
        write(append({message(id), message(std::string("other-") + id, "bob"),
                      message(std::string("late-") + id, "ada", Priority::Background)}));
    reopen();
    write(append({message("a4")}));
    EXPECT_THAT(drain(*store_, {"ada"}),
                ElementsAre("z1", "y2", "x3", "a4", "late-z1", "late-y2", "late-x3"));
}

TEST_P(StoreConformance, InterruptedMessagesComeBeforeQueuedOnesOfTheirPriority) {
    write(append({message("m1"), message("m2"), message("m3"),
                  message("urgent", "ada", Priority::Interject)}));
    write([](Tx& tx) {
        return tx.set_queue_status({"m3"}, QueueStatus::Interrupted, "crash", from_micros(5));
    });
    EXPECT_THAT(drain(*store_, {"ada"}), ElementsAre("urgent", "m3", "m1", "m2"));
}

TEST_P(StoreConformance, ClaimingCountsTriesAndTakesTheMessageOutOfTheOrder) {
    write(append({message("m1"), message("m2")}));
    write([](Tx& tx) -> Status {
        TRY(tx.set_queue_status({"m1"}, QueueStatus::Claimed, std::nullopt, from_micros(5)));
        EXPECT_EQ(TRY(tx.next_message({"ada"}))->message.id, MessageId{"m2"});
        EXPECT_EQ(TRY(tx.pending_count({"ada"})), 1);
        TRY(tx.set_queue_status({"m1"}, QueueStatus::Interrupted, "stopped", from_micros(6)));
        TRY(tx.set_queue_status({"m1"}, QueueStatus::Claimed, std::nullopt, from_micros(7)));
        return tx.set_queue_status({"m1"}, QueueStatus::Dropped, "too often", from_micros(8));
    });
    read([](Tx& tx) -> Status {
        EXPECT_EQ(TRY(tx.message({"m1"}))->entry,
                  (domain::QueueEntry{.message_id = {"m1"},
                                      .agent_id = {"ada"},
                                      .status = QueueStatus::Dropped,
                                      .tries = 2,
                                      .reason = "too often",
                                      .created_at = from_micros(1'000),
                                      .updated_at = from_micros(8)}));
        return {};
    });
}

TEST_P(StoreConformance, MovingAnUnknownMessageIsNotFoundAndTheTransactionGoesOn) {
    write([](Tx& tx) -> Status {
        const auto moved = tx.set_queue_status({"m9"}, QueueStatus::Claimed, std::nullopt, {});
        EXPECT_EQ(moved.error().code, ErrorCode::NotFound);
        return tx.put_agent({.agent_id = {"ada"}});
    });
    read([](Tx& tx) -> Status {
        EXPECT_TRUE(TRY(tx.agent({"ada"})));
        return {};
    });
}

// contract: QUEUE-01
TEST_P(StoreConformance, ProcessingMessagesLeavesTheLogInArrivalOrderAndUnchanged) {
    std::vector<domain::Message> sent;
    for (int i = 0; i < 9; ++i)
        sent.push_back(message("m" + std::to_string(i), "ada", static_cast<Priority>(i % 4)));
    write(append(sent));
    write([](Tx& tx) -> Status {
        for (int i = 0; i < 4; ++i) {
            const auto next = TRY(tx.next_message({"ada"}));
            TRY(tx.set_queue_status(next->message.id, QueueStatus::Processed, "done", {}));
        }
        return {};
    });
    read([&](Tx& tx) -> Status {
        std::vector<domain::Message> log;
        for (const auto& one : TRY(tx.messages({"ada"}, {}))) log.push_back(one.record.message);
        EXPECT_EQ(log, sent);
        return {};
    });
}

TEST_P(StoreConformance, MessagesArePaged) {
    for (int i = 1; i <= 6; ++i) write(append({message("m" + std::to_string(i))}));
    read([](Tx& tx) -> Status {
        const AgentId ada{"ada"};
        EXPECT_THAT(seqs(TRY(tx.messages(ada, {}))), ElementsAre(1, 2, 3, 4, 5, 6));
        EXPECT_THAT(seqs(TRY(tx.messages(ada, {.after_seq = 2, .limit = 2}))), ElementsAre(3, 4));
        EXPECT_THAT(seqs(TRY(tx.messages(ada, {.before_seq = 3}))), ElementsAre(1, 2));
        EXPECT_THAT(seqs(TRY(tx.messages(
                        ada, {.after_seq = 1, .before_seq = 6, .limit = 3, .newest_first = true}))),
                    ElementsAre(5, 4, 3));
        EXPECT_THAT(seqs(TRY(tx.messages(ada, {.limit = 0}))), IsEmpty());
        return {};
    });
}

TEST_P(StoreConformance, AgentsWithPendingMessagesAreListedOnceEach) {
    write(append({message("a1", "ada"), message("a2", "ada"), message("b1", "bob"),
                  message("c1", "cyd"), message("d1", "dan")}));
    write([](Tx& tx) -> Status {
        TRY(tx.set_queue_status({"b1"}, QueueStatus::Claimed, std::nullopt, {}));
        return tx.set_queue_status({"c1"}, QueueStatus::Interrupted, "crash", {});
    });
    read([](Tx& tx) -> Status {
        EXPECT_THAT(TRY(tx.agents_with_pending(10)),
                    ElementsAre(AgentId{"ada"}, AgentId{"cyd"}, AgentId{"dan"}));
        EXPECT_THAT(TRY(tx.agents_with_pending(1)), ElementsAre(AgentId{"ada"}));
        EXPECT_THAT(TRY(tx.agents_with_pending(0)), IsEmpty());
        return {};
    });
}

// Attempts and tool calls -------------------------------------------------------------------------

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
    one.rest_wish = domain::RestWish{.reason = "tired", .duration_ms = 5};
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

TEST_P(StoreConformance, AFrameIsKeptBesideItsAttempt) {
    write([](Tx& tx) -> Status {
        TRY(tx.open_attempt(attempt("r1")));
        return tx.put_frame({"r1"}, R"({"system":"be kind"})");
    });
    read([](Tx& tx) -> Status {
        EXPECT_EQ(TRY(tx.frame({"r1"})), R"({"system":"be kind"})");
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

// The record --------------------------------------------------------------------------------------

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

// Waits, timers, tasks ----------------------------------------------------------------------------

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
        EXPECT_THAT(ids(TRY(tx.due_timers(from_micros(20), 9))), ElementsAre("t2", "t3"));
        EXPECT_THAT(ids(TRY(tx.due_timers(from_micros(99), 2))), ElementsAre("t2", "t3"));
        EXPECT_THAT(ids(TRY(tx.due_timers(from_micros(9), 9))), IsEmpty());
        EXPECT_EQ(TRY(tx.next_due()), from_micros(10));
        EXPECT_THAT(ids(TRY(tx.active_timers({"ada"}))), ElementsAre("t1", "t3", "t4"));
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

// Values ------------------------------------------------------------------------------------------

TEST_P(StoreConformance, UnicodeNulBytesAndControlCharactersComeBackAsTheyWere) {
    const std::string text = std::string("zażółć 漢字 🦉 e\u0301 '\";-- \x01\x1b\r\n\t") +
                             std::string("\0nul\0", 5) + "\xc2\x85";
    auto sent = message("m1");
    sent.body = domain::TextBody{.text = text};
    sent.metadata = json::object{{text, json::array{text, nullptr, -1, 1.5, true}}};
    write([&](Tx& tx) -> Status {
        TRY(tx.append_message(sent, "ключ '\" 漢"));
        TRY(tx.open_attempt(attempt("r1")));
        return tx.put_frame({"r1"}, text);
    });
    reopen();
    write([&](Tx& tx) -> Status {
        EXPECT_EQ(TRY(tx.message({"m1"}))->message, sent);
        EXPECT_EQ(TRY(tx.frame({"r1"})), text);
        const auto again = TRY(tx.append_message(message("m2"), "ключ '\" 漢"));
        EXPECT_EQ(std::get<AlreadyHave>(again).message_id, MessageId{"m1"});
        return {};
    });
}

TEST_P(StoreConformance, LargeValuesComeBackAsTheyWere) {
    std::string text;
    while (text.size() < 5'000'000) text += "line " + std::to_string(text.size()) + " łódź\n";
    auto sent = message("m1");
    sent.body = domain::TextBody{.text = text};
    write([&](Tx& tx) -> Status {
        TRY(tx.append_message(sent, std::nullopt));
        return tx.put_frame({"r1"}, text);
    });
    read([&](Tx& tx) -> Status {
        EXPECT_EQ(TRY(tx.message({"m1"}))->message, sent);
        EXPECT_EQ(TRY(tx.frame({"r1"})), text);
        return {};
    });
}

TEST_P(StoreConformance, JsonAsDeepAsWeAcceptItComesBack) {
    const std::string deep =
        std::string(base::kJsonDepthMax - 1, '[') + std::string(base::kJsonDepthMax - 1, ']');
    auto sent = message("m1");
    sent.body = domain::JsonBody{.value = base::parse_json(deep).value()};
    write(append({sent}));
    read([&](Tx& tx) -> Status {
        EXPECT_EQ(TRY(tx.message({"m1"}))->message, sent);
        return {};
    });
}

TEST_P(StoreConformance, TextThatIsNotUtf8IsRefusedInsteadOfStoredUnreadable) {
    auto sent = message("m1");
    sent.body = domain::TextBody{.text = "\xff\xfe"};
    const Status status = store_->write(Durability::Process, append({sent}));
    EXPECT_EQ(status.error().code, ErrorCode::InvalidInput);
}

}  // namespace store
