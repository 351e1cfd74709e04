// The promises about rows that are old, and about long texts that several records hold.
#include <gmock/gmock.h>

#include "store/conformance.h"

namespace store {

using base::ErrorCode;
using base::from_micros;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::UnorderedElementsAre;
using namespace conformance;

namespace {

constexpr base::Time kLongAgo{std::chrono::seconds(1)};

std::vector<std::int64_t> seqs_of(const std::vector<AgedRow>& rows) {
    std::vector<std::int64_t> list;
    for (const auto& row : rows) list.push_back(row.seq);
    return list;
}

std::int64_t rows_of(Tx& tx, std::string_view table) {
    for (const auto& counted : tx.row_counts().value())
        if (counted.table == table) return counted.rows;
    return -1;
}

// A turn that is over: message `id`, attempt "r-<id>", `calls` calls, an entry for each of them.
Status put_turn(Tx& tx, const std::string& id, int calls) {
    TRY(tx.append_message(message(id), std::nullopt));
    auto run = attempt("r-" + id);
    run.message_id = {id};
    TRY(tx.open_attempt(run));
    TRY(tx.put_frame(run.run_id, json::object{{"system_prompt", std::string(3000, 'p')}}));
    for (int i = 0; i < calls; ++i) {
        auto call = execution(fmt::format("c-{}-{}", id, i), 1, i, run.run_id.value);
        call.envelope = json::object{
            {"artifacts", json::array{fmt::format("/h/ada/tool-artifacts/a-{}-{}.log", id, i)}}};
        TRY(tx.put_tool_execution(call));
        TRY(tx.append_transcript(entry(fmt::format("t-{}-{}", id, i), run.run_id.value, id)));
    }
    run.state = domain::Closed{};
    TRY(tx.put_attempt(run));
    return tx.set_queue_status({id}, domain::QueueStatus::Processed, std::nullopt, kLongAgo);
}

}  // namespace

TEST_P(StoreConformance, AgentsArePagedThroughBehindACursor) {
    write([](Tx& tx) -> Status {
        for (const auto* id : {"c", "a", "b"}) TRY(tx.put_agent({.agent_id = {id}}));
        return {};
    });
    read([](Tx& tx) -> Status {
        EXPECT_THAT(TRY(tx.agents({"a"}, 10)), ElementsAre(AgentId{"b"}, AgentId{"c"}));
        EXPECT_THAT(TRY(tx.agents({"c"}, 10)), IsEmpty());
        return {};
    });
}

TEST_P(StoreConformance, AMessageGoesWithAllThatItsTurnsStored) {
    write([](Tx& tx) -> Status {
        TRY(put_turn(tx, "m1", 2));
        return put_turn(tx, "m2", 1);
    });
    write([](Tx& tx) -> Status {
        EXPECT_EQ(TRY(tx.erasures({"ada"})), 0);
        const auto erased = TRY(tx.erase_message({"m1"}, 100));
        EXPECT_TRUE(erased.is_gone);
        EXPECT_GT(TRY(tx.erasures({"ada"})), 0) << "entries of its transcript went";
        EXPECT_THAT(erased.calls, UnorderedElementsAre("c-m1-0", "c-m1-1"));
        EXPECT_THAT(erased.artifacts, UnorderedElementsAre("a-m1-0.log", "a-m1-1.log"));
        return {};
    });
    reopen();
    read([](Tx& tx) -> Status {
        EXPECT_FALSE(TRY(tx.message({"m1"})));
        EXPECT_FALSE(TRY(tx.attempt({"r-m1"})));
        EXPECT_FALSE(TRY(tx.frame({"r-m1"})));
        EXPECT_FALSE(TRY(tx.tool_execution({"c-m1-0"})));
        EXPECT_THAT(TRY(tx.transcript_of({"m1"})), IsEmpty());
        EXPECT_TRUE(TRY(tx.message({"m2"})));
        EXPECT_TRUE(TRY(tx.attempt({"r-m2"})));
        EXPECT_EQ(TRY(tx.transcript_of({"m2"})).size(), 1u);
        EXPECT_EQ(TRY(tx.stream_head({"ada"}, Stream::Messages)), 2);
        EXPECT_GT(TRY(tx.erasures({"ada"})), 0);
        EXPECT_EQ(TRY(tx.erasures({"bob"})), 0);
        EXPECT_THAT(TRY(tx.artifacts_of({"m2"})), ElementsAre("a-m2-0.log"));
        return {};
    });
}

TEST_P(StoreConformance, AMessageIsRemovedInBoundedStepsAndItselfLast) {
    write([](Tx& tx) -> Status { return put_turn(tx, "m1", 20); });
    int steps = 0;
    for (bool is_gone = false; !is_gone; ++steps) {
        ASSERT_LT(steps, 100);
        write([&](Tx& tx) -> Status {
            const auto erased = TRY(tx.erase_message({"m1"}, 5));
            EXPECT_LE(erased.rows, 7);
            is_gone = erased.is_gone;
            EXPECT_EQ(TRY(tx.message({"m1"})).has_value(), !is_gone);
            return {};
        });
    }
    EXPECT_GT(steps, 5);
    read([](Tx& tx) -> Status {
        for (const auto& counted : TRY(tx.row_counts()))
            EXPECT_EQ(counted.rows, 0) << counted.table;
        return {};
    });
    write([](Tx& tx) -> Status {
        EXPECT_TRUE(TRY(tx.erase_message({"m1"}, 5)).is_gone);
        return {};
    });
}

TEST_P(StoreConformance, AMessageThatIsNotHandledCannotBeRemoved) {
    write([](Tx& tx) -> Status {
        TRY(tx.append_message(message("m1"), std::nullopt));
        for (const auto status : {domain::QueueStatus::Queued, domain::QueueStatus::Claimed,
                                  domain::QueueStatus::Interrupted}) {
            TRY(tx.set_queue_status({"m1"}, status, std::nullopt, kLongAgo));
            EXPECT_EQ(tx.erase_message({"m1"}, 9).error().code, ErrorCode::Refused);
        }
        TRY(tx.set_queue_status({"m1"}, domain::QueueStatus::Processed, std::nullopt, kLongAgo));
        auto run = attempt("r1");
        run.message_id = {"m1"};
        TRY(tx.open_attempt(run));
        EXPECT_EQ(tx.erase_message({"m1"}, 9).error().code, ErrorCode::Refused);
        EXPECT_TRUE(TRY(tx.message({"m1"})));
        return {};
    });
}

TEST_P(StoreConformance, OldestRowsSayTheirAgeAndWhetherTheyAreNeeded) {
    write([](Tx& tx) -> Status {
        TRY(tx.append_message(message("m1"), std::nullopt));
        TRY(tx.append_message(message("m2"), std::nullopt));
        TRY(tx.set_queue_status({"m1"}, domain::QueueStatus::Dropped, std::nullopt, kLongAgo));
        TRY(tx.append_transcript(entry("t1", "r", "m1")));
        TRY(tx.append_transcript(entry("t2", "r", "gone")));
        for (const auto* id : {"e1", "e2", "e3"}) TRY(tx.append_event({"ada"}, event(id)));
        domain::Task task{.id = {"k1"}, .agent_id = {"ada"}, .updated_at = kLongAgo};
        task.status = domain::TaskStatus::Completed;
        TRY(tx.put_task(task));
        task.id = {"k2"};
        task.status = domain::TaskStatus::Interrupted;
        TRY(tx.put_task(task));
        task.id = {"k3"};
        task.status = domain::TaskStatus::Running;
        TRY(tx.put_task(task));
        domain::Wait wait{.id = {"w1"}, .agent_id = {"ada"}, .updated_at = kLongAgo};
        TRY(tx.put_wait(wait));
        wait.id = {"w2"};
        wait.status = domain::WaitStatus::Resolved;
        return tx.put_wait(wait);
    });
    read([](Tx& tx) -> Status {
        EXPECT_THAT(TRY(tx.oldest_rows({"ada"}, Stream::Messages, 0, 9)),
                    ElementsAre(AgedRow{.seq = 1, .id = "m1", .at = kLongAgo},
                                testing::Field(&AgedRow::is_needed, true)));
        const auto entries = TRY(tx.oldest_rows({"ada"}, Stream::Transcript, 0, 9));
        EXPECT_TRUE(entries.at(0).is_needed);
        EXPECT_FALSE(entries.at(1).is_needed);
        EXPECT_THAT(seqs_of(TRY(tx.oldest_rows({"ada"}, Stream::Events, 1, 1))), ElementsAre(2));
        const auto tasks = TRY(tx.oldest_rows({"ada"}, Stream::Tasks, 0, 9));
        EXPECT_EQ(tasks.at(0), (AgedRow{.seq = 1, .id = "k1", .at = kLongAgo}));
        EXPECT_TRUE(tasks.at(1).is_needed);
        EXPECT_TRUE(tasks.at(2).is_needed);
        const auto waits = TRY(tx.oldest_rows({"ada"}, Stream::Waits, 0, 9));
        EXPECT_THAT(waits, ElementsAre(AgedRow{.seq = 2, .id = "w2", .at = kLongAgo}));
        return {};
    });
}

TEST_P(StoreConformance, NumbersOfRemovedRowsAreNeverUsedAgain) {
    write([](Tx& tx) -> Status {
        for (const auto* id : {"e1", "e2", "e3"}) TRY(tx.append_event({"ada"}, event(id)));
        EXPECT_EQ(TRY(tx.erase_rows({"ada"}, Stream::Events, 0, 2)), 2);
        EXPECT_EQ(TRY(tx.append_event({"ada"}, event("e4"))), 4);
        EXPECT_THAT(seqs_of(TRY(tx.oldest_rows({"ada"}, Stream::Events, 0, 9))), ElementsAre(3, 4));
        EXPECT_EQ(TRY(tx.last_event_seq({"ada"})), 4);
        return {};
    });
}

TEST_P(StoreConformance, ErasingRowsLeavesWhatIsStillNeeded) {
    write([](Tx& tx) -> Status {
        TRY(tx.put_task({.id = {"k1"}, .agent_id = {"ada"}}));
        TRY(tx.put_wait({.id = {"w1"}, .agent_id = {"ada"}}));
        TRY(tx.put_timer(timer("t1", 5)));
        EXPECT_EQ(TRY(tx.erase_rows({"ada"}, Stream::Tasks, 0, 99)), 0);
        EXPECT_EQ(TRY(tx.erase_rows({"ada"}, Stream::Waits, 0, 99)), 0);
        EXPECT_EQ(TRY(tx.erase_rows({"ada"}, Stream::Timers, 0, 99)), 0);
        return {};
    });
}

TEST_P(StoreConformance, ALongTextThatSeveralRecordsHoldIsStoredOnce) {
    const std::string output(100'000, 'o');
    auto call = execution("c1", 1, 0);
    call.envelope = json::object{{"result", {{"stdout", output}}}};
    call.receipt = output;
    call.result = domain::ToolResult{.data = json::object{{"stdout", output}}};
    auto said = entry("t1", "r1", "m1");
    said.data = json::object{{"results", json::array{json::object{{"content", output}}}}};
    auto sent = message("m1");
    sent.body = domain::TextBody{output};
    const json::value frame{{"system_prompt", output}, {"blocks", {1, 2.5, nullptr}}};
    write([&](Tx& tx) -> Status {
        TRY(tx.append_message(sent, std::nullopt));
        TRY(tx.open_attempt(attempt("r1")));
        TRY(tx.put_tool_execution(call));
        TRY(tx.put_tool_execution(call));
        TRY(tx.append_transcript(said));
        TRY(tx.put_frame({"r1"}, frame));
        EXPECT_LT(TRY(tx.database_size()).used_bytes, 900'000);
        return {};
    });
    read([&](Tx& tx) -> Status {
        EXPECT_EQ(rows_of(tx, "bodies"), 1);
        EXPECT_EQ(TRY(tx.message({"m1"}))->message, sent);
        EXPECT_EQ(TRY(tx.messages({"ada"}, {})).at(0).record.message, sent);
        EXPECT_EQ(TRY(tx.next_message({"ada"}))->message, sent);
        EXPECT_EQ(TRY(tx.tool_execution({"c1"})), call);
        EXPECT_THAT(TRY(tx.tool_executions({"r1"}, std::nullopt)), ElementsAre(call));
        EXPECT_THAT(TRY(tx.transcript_of({"m1"})), ElementsAre(said));
        EXPECT_EQ(TRY(tx.transcript({"ada"}, {})).at(0).record, said);
        EXPECT_EQ(TRY(tx.frame({"r1"})), frame);
        return {};
    });
}

TEST_P(StoreConformance, ALongTextGoesWithTheLastRecordThatHoldsIt) {
    const std::string text(5000, 'x');
    auto call = execution("c1", 1, 0);
    call.receipt = text;
    auto other = execution("c2", 1, 0, "r2", "bob");
    other.receipt = text;
    write([&](Tx& tx) -> Status {
        TRY(tx.put_agent({.agent_id = {"bob"}}));
        TRY(tx.put_tool_execution(call));
        return tx.put_tool_execution(other);
    });
    write([&](Tx& tx) -> Status {
        EXPECT_EQ(rows_of(tx, "bodies"), 2) << "agents share none";
        TRY(tx.erase_agent({"bob"}));
        EXPECT_EQ(rows_of(tx, "bodies"), 1);
        EXPECT_EQ(TRY(tx.tool_execution({"c1"})), call);
        call.receipt = "short now";
        TRY(tx.put_tool_execution(call));
        EXPECT_EQ(rows_of(tx, "bodies"), 0);
        EXPECT_EQ(TRY(tx.tool_execution({"c1"})), call);
        return {};
    });
}

TEST_P(StoreConformance, ATextThatLooksLikeAReferenceIsATextLikeAnyOther) {
    auto sent = message("m1");
    sent.body = domain::TextBody{"holon-body:" + std::string(64, 'a')};
    write([&](Tx& tx) -> Status {
        TRY(tx.append_message(sent, std::nullopt));
        EXPECT_EQ(TRY(tx.message({"m1"}))->message, sent);
        // Blocks that are stored as one text, and texts that look like what stands for it.
        const std::string mark = "holon-json:" + std::string(64, 'b');
        const json::value blocks{
            {"system_prompt", mark},
            {"system_blocks", json::array{json::object{{"text", mark}},
                                          json::object{{"text", std::string(500, 't')}}}},
            {"note", mark}};
        TRY(tx.put_frame({"r1"}, blocks));
        EXPECT_EQ(TRY(tx.frame({"r1"})), blocks);
        const json::value no_list{{"system_blocks", "no list"}};
        TRY(tx.put_frame({"r1"}, no_list));
        EXPECT_EQ(TRY(tx.frame({"r1"})), no_list);
        TRY(tx.put_frame({"r1"}, "no JSON at all"));
        EXPECT_EQ(TRY(tx.frame({"r1"})), "no JSON at all");
        // As earlier versions stored them.
        TRY(tx.put_frame({"r1"}, R"({"a":  "text"})"));
        EXPECT_EQ(TRY(tx.frame({"r1"})), (json::value{{"a", "text"}}));
        return {};
    });
}

TEST_P(StoreConformance, TheStateOfRetentionIsKept) {
    const RetentionState state{.announced_at = kLongAgo,
                               .deletes_from = from_micros(9),
                               .announced = Removed{.messages = 3},
                               .total = {.events = 4},
                               .is_over_budget = true};
    write([&](Tx& tx) -> Status {
        EXPECT_EQ(TRY(tx.retention()), RetentionState{});
        return tx.put_retention(state);
    });
    reopen();
    read([&](Tx& tx) -> Status {
        EXPECT_EQ(TRY(tx.retention()), state);
        EXPECT_GT(TRY(tx.database_size()).used_bytes, 0);
        return {};
    });
}

}  // namespace store
