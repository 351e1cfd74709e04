#include "store/conformance.h"

#include <gmock/gmock.h>

namespace store {

using base::ErrorCode;
using base::from_micros;
using domain::Priority;
using testing::ElementsAre;
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

domain::ToolExecution execution(const std::string& id, std::int64_t round, std::int64_t ordinal,
                                const std::string& run, const std::string& agent) {
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

domain::Timer timer(const std::string& id, std::optional<std::int64_t> fires,
                    const std::string& agent) {
    domain::Timer timer{.id = {id}, .agent_id = {agent}};
    if (fires) timer.next_fire_at = from_micros(*fires);
    return timer;
}

OutboxEntry effect(const std::string& id, const std::string& kind) {
    return {.effect_id = id,
            .agent_id = {"ada"},
            .kind = kind,
            .payload = json::object{{"round", 1}},
            .created_at = from_micros(3)};
}

Work append(std::vector<domain::Message> messages) {
    return [messages = std::move(messages)](Tx& tx) -> Status {
        for (const auto& message : messages) TRY(tx.append_message(message, std::nullopt));
        return {};
    };
}

}  // namespace conformance

namespace {

using namespace conformance;

// Fills every table for one agent.
Status fill(Tx& tx, const std::string& agent) {
    const AgentId id{agent};
    const RunId run{agent + "-run"};
    const MessageId about{agent + "-m"};
    TRY(tx.put_agent({.agent_id = id}));
    TRY(tx.put_statistics({.agent_id = id, .total_message_count = 1}));
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
    return std::vector<std::size_t>{
        std::size_t{TRY(tx.agent(id)).has_value()},
        static_cast<std::size_t>(TRY(tx.statistics(id)).total_message_count),
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
        TRY(tx.active_timers(id, 9)).size(),
        TRY(tx.active_tasks(id)).size(),
        TRY(tx.tasks(id, 10)).size(),
        TRY(tx.outbox(id)).size()};
}

}  // namespace

TEST_P(StoreConformance, AnAgentComesBackAsItWasPutAndAnUnknownOneIsEmpty) {
    domain::Agent ada{.agent_id = {"ada"}, .turn_index = 7};
    ada.sleep = domain::Sleep{.since = from_micros(1), .reason = "night", .until = from_micros(2)};
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

TEST_P(StoreConformance, StatisticsComeBackAsTheyWerePutAndAreEmptyBefore) {
    domain::AgentStatistics ada{.agent_id = {"ada"}, .total_model_rounds = 7};
    ada.tool_latency = {{.tool_name = "Read", .calls = 2, .total_ms = 3, .max_ms = 2}};
    write([&](Tx& tx) -> Status {
        TRY(tx.put_agent({.agent_id = {"ada"}}));
        TRY(tx.put_agent({.agent_id = {"bob"}}));
        TRY(tx.put_statistics({.agent_id = {"ada"}, .total_model_rounds = 6}));
        return tx.put_statistics(ada);
    });
    // The agent is put again in other steps than its statistics.
    write([](Tx& tx) { return tx.put_agent({.agent_id = {"ada"}, .turn_index = 2}); });
    reopen();
    read([&](Tx& tx) -> Status {
        EXPECT_EQ(TRY(tx.statistics({"ada"})), ada);
        EXPECT_EQ(TRY(tx.statistics({"bob"})), domain::AgentStatistics{.agent_id = {"bob"}});
        EXPECT_EQ(TRY(tx.statistics({"carl"})), domain::AgentStatistics{.agent_id = {"carl"}});
        return {};
    });
}

TEST_P(StoreConformance, AgentsAreListedByIdUpToTheLimit) {
    write([](Tx& tx) -> Status {
        for (const auto* id : {"c", "a", "b"}) TRY(tx.put_agent({.agent_id = {id}}));
        return {};
    });
    read([](Tx& tx) -> Status {
        EXPECT_THAT(TRY(tx.agents({}, 10)), ElementsAre(AgentId{"a"}, AgentId{"b"}, AgentId{"c"}));
        EXPECT_THAT(TRY(tx.agents({}, 2)), ElementsAre(AgentId{"a"}, AgentId{"b"}));
        EXPECT_THAT(TRY(tx.agents({}, 0)), IsEmpty());
        EXPECT_THAT(TRY(tx.agents({}, -1)), IsEmpty());
        return {};
    });
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
        EXPECT_EQ(ids(TRY(tx.due_timers(from_micros(9), 9)).timers),
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

TEST_P(StoreConformance, UnicodeNulBytesAndControlCharactersComeBackAsTheyWere) {
    const std::string text = std::string("zażółć 漢字 🦉 e\u0301 '\";-- \x01\x1b\r\n\t") +
                             std::string("\0nul\0", 5) + "\xc2\x85";
    auto sent = message("m1");
    sent.body = domain::TextBody{.text = text};
    sent.metadata = json::object{{text, json::array{text, nullptr, -1, 1.5, true}}};
    write([&](Tx& tx) -> Status {
        TRY(tx.append_message(sent, "ключ '\" 漢"));
        TRY(tx.open_attempt(attempt("r1")));
        return tx.put_frame({"r1"}, json::value(text));
    });
    reopen();
    write([&](Tx& tx) -> Status {
        EXPECT_EQ(TRY(tx.message({"m1"}))->message, sent);
        EXPECT_EQ(TRY(tx.frame({"r1"})), json::value(text));
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
        return tx.put_frame({"r1"}, json::value(text));
    });
    read([&](Tx& tx) -> Status {
        EXPECT_EQ(TRY(tx.message({"m1"}))->message, sent);
        EXPECT_EQ(TRY(tx.frame({"r1"})), json::value(text));
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
