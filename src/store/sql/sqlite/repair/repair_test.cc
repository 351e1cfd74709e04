#include "store/sql/sqlite/repair/repair.h"

#include <fcntl.h>
#include <unistd.h>

#include <gmock/gmock.h>

#include "store/sql/families.h"
#include "store/sql/sqlite/connection.h"
#include "store/sql/sqlite/sqlite_store.h"
#include "store/sql/sqlite/temp_database.h"

namespace sqlite {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr base::Time kNow = base::Time(std::chrono::microseconds(1'925'000'000'000'000));
const domain::AgentId kMain{"main"};

class RepairTest : public testing::Test {
protected:
    TempDatabase database_;

    RepairTest() {
        write([](store::Tx& tx) -> store::Status {
            TRY(tx.put_agent({.agent_id = kMain, .identity = {.agent_id = kMain}}));
            TRY(tx.append_message({.id = {"m1"}, .agent_id = kMain}, std::nullopt));
            TRY(tx.append_message({.id = {"m2"}, .agent_id = kMain}, std::nullopt));
            TRY(tx.put_task({.id = {"k"}, .agent_id = kMain}));
            TRY(tx.put_timer({.id = {"t"}, .agent_id = kMain, .next_fire_at = kNow}));
            TRY(tx.append_event(kMain, {.kind = "turn_started"}));
            return {};
        });
    }
    void write(store::Work work) const {
        const auto store = open_inline({.file = database_.file()}).value();
        const auto done = store->write(store::Durability::Disk, std::move(work));
        ASSERT_TRUE(done) << done.error().message;
    }
    void sql(const std::string& script) const {
        const auto done = Connection::open({.file = database_.file()}).value()->run_script(script);
        ASSERT_TRUE(done) << done.error().message;
    }
    std::string text(const std::string& query) const {
        std::string found;
        EXPECT_TRUE(Connection::open({.file = database_.file()})
                        .value()
                        ->query(query, {}, [&](const sql::Row& row) -> base::Status {
                            found = row.text(0);
                            return {};
                        }));
        return found;
    }
    CheckReport check() const { return sqlite::check(database_.file()).value(); }
    RepairReport repair() const { return sqlite::repair(database_.file(), kNow).value(); }
};

TEST_F(RepairTest, ASoundDatabaseHasNothingToRepair) {
    const auto report = check();
    EXPECT_TRUE(report.is_sound());
    EXPECT_EQ(report.tables, std::ssize(sql::families()));
    EXPECT_GE(report.rows, 5);
    EXPECT_THAT(repair().quarantined, IsEmpty());
}

TEST_F(RepairTest, EveryTableThatHoldsRecordsIsChecked) {
    const auto tables = text(
        "SELECT group_concat(DISTINCT m.name) FROM sqlite_master m, pragma_table_info(m.name) c "
        "WHERE m.type = 'table' AND c.name IN ('record', 'payload', 'frame', 'plan', 'body') "
        "ORDER BY m.name");
    std::size_t listed = 1 + static_cast<std::size_t>(std::ranges::count(tables, ','));
    EXPECT_EQ(listed, sql::families().size()) << tables;
}

TEST_F(RepairTest, ACheckNamesEveryRowThatCannotBeRead) {
    sql("UPDATE tasks SET record = '{broken'; UPDATE events SET record = '[]'");
    const auto report = check();
    EXPECT_FALSE(report.is_sound());
    ASSERT_EQ(report.broken.size(), 2U);
    EXPECT_EQ(report.broken[0].table, "events");
    EXPECT_EQ(report.broken[0].key, "main/1");
    EXPECT_EQ(report.broken[1].table, "tasks");
    EXPECT_EQ(report.broken[1].key, "k");
    EXPECT_THAT(report.broken[1].error, HasSubstr("not JSON"));
}

TEST_F(RepairTest, ACheckFindsDamagedPages) {
    std::error_code failed;
    ASSERT_EQ(text("PRAGMA journal_mode = DELETE"), "delete");
    const auto size = std::filesystem::file_size(database_.file(), failed);
    const auto root = std::stoll(text("SELECT rootpage FROM sqlite_master WHERE name = 'tasks'"));
    const auto page = std::stoll(text("PRAGMA page_size"));
    ASSERT_LE(static_cast<std::uintmax_t>(root * page), size);
    const int fd = ::open(database_.file().c_str(), O_WRONLY);
    const std::string rubbish(static_cast<std::size_t>(page), '\x5a');
    ASSERT_EQ(::pwrite(fd, rubbish.data(), rubbish.size(), (root - 1) * page),
              static_cast<ssize_t>(page));
    ::close(fd);
    const auto report = check();
    ASSERT_FALSE(report.damage.empty());
    EXPECT_THAT(report.damage.front(), HasSubstr("table tasks"));
}

TEST_F(RepairTest, AMissingTableIsDamage) {
    sql("DROP TABLE timers");
    ASSERT_FALSE(check().damage.empty());
    EXPECT_THAT(check().damage.front(), HasSubstr("timers"));
}

TEST_F(RepairTest, WhatCannotBeReadIsTakenOutWithItsBytes) {
    sql("UPDATE tasks SET record = CAST(x'ff00' AS TEXT)");
    const auto report = repair();
    ASSERT_EQ(report.quarantined.size(), 1U);
    EXPECT_TRUE(report.after.is_sound());
    EXPECT_EQ(text("SELECT COUNT(*) FROM tasks"), "0");
    EXPECT_EQ(text("SELECT table_name || '/' || row_key FROM quarantined_rows"), "tasks/k");
    EXPECT_THAT(text("SELECT content FROM quarantined_rows"), HasSubstr(R"("record_hex":"ff)"));
    EXPECT_EQ(text("SELECT COUNT(*) FROM queue_entries WHERE status = 'queued'"), "2")
        << "no message is lost for it";
}

TEST_F(RepairTest, AMessageThatCannotBeReadIsDroppedAndTheOthersStay) {
    sql("UPDATE messages SET record = '{' WHERE id = 'm1'");
    EXPECT_EQ(repair().quarantined.size(), 1U);
    EXPECT_EQ(text("SELECT status FROM queue_entries WHERE message_id = 'm1'"), "dropped");
    EXPECT_EQ(text("SELECT status FROM queue_entries WHERE message_id = 'm2'"), "queued");
}

TEST_F(RepairTest, AnAgentWithoutItsRecordGetsANewOneAndStaysSetAside) {
    sql("UPDATE agents SET record = '{'");
    EXPECT_EQ(repair().quarantined.size(), 1U);
    write([](store::Tx& tx) -> store::Status {
        const auto agent = TRY(tx.agent(kMain));
        EXPECT_TRUE(agent);
        EXPECT_EQ(agent->identity.agent_id, kMain);
        const auto fault = TRY(tx.fault(kMain));
        EXPECT_TRUE(fault && fault->is_set_aside);
        return {};
    });
}

TEST_F(RepairTest, ATurnThatLostItsCallsReleasesItsMessage) {
    write([](store::Tx& tx) -> store::Status {
        TRY(tx.set_queue_status({"m1"}, domain::QueueStatus::Claimed, std::nullopt, kNow));
        TRY(tx.open_attempt({.run_id = {"r"},
                             .agent_id = kMain,
                             .message_id = {"m1"},
                             .state = domain::AwaitingTools{.round = 1, .calls = {{"c"}}}}));
        TRY(tx.put_frame({"r"}, "{}"));
        return tx.append_transcript({.id = "e",
                                     .agent_id = kMain,
                                     .kind = domain::TranscriptKind::AssistantRound,
                                     .related_message_id = domain::MessageId{"m1"},
                                     .data = {{"blocks", {{{"type", "tool_use"}}}}}});
    });
    const auto report = repair();
    EXPECT_EQ(report.quarantined.size(), 2U);
    EXPECT_TRUE(report.after.is_sound());
    EXPECT_EQ(text("SELECT status FROM queue_entries WHERE message_id = 'm1'"), "interrupted");
    EXPECT_EQ(text("SELECT COUNT(*) FROM attempts"), "0");
    EXPECT_EQ(text("SELECT COUNT(*) FROM transcript"), "0");
}

TEST_F(RepairTest, ATextThatIsLostIsReplacedByANote) {
    domain::Message message{
        .id = {"long"}, .agent_id = kMain, .body = domain::TextBody{std::string(5000, 'x')}};
    write([&](store::Tx& tx) -> store::Status {
        TRY(tx.append_message(message, std::nullopt));
        return {};
    });
    sql("UPDATE bodies SET body = 'broken'");
    EXPECT_FALSE(check().is_sound());
    EXPECT_THAT(repair().actions, testing::Contains(HasSubstr("replaced by a note")));
    EXPECT_TRUE(check().is_sound());
    write([&](store::Tx& tx) -> store::Status {
        const auto read = TRY(tx.message({"long"}));
        EXPECT_THAT(domain::readable(read->message.body), HasSubstr("was lost"));
        // The same text again is whole.
        message.id = {"again"};
        TRY(tx.append_message(message, std::nullopt));
        EXPECT_EQ(TRY(tx.message({"again"}))->message, message);
        return {};
    });
}

TEST_F(RepairTest, ATurnThatCanBeResumedIsLeftAlone) {
    write([](store::Tx& tx) -> store::Status {
        TRY(tx.set_queue_status({"m1"}, domain::QueueStatus::Claimed, std::nullopt, kNow));
        TRY(tx.open_attempt({.run_id = {"r"},
                             .agent_id = kMain,
                             .message_id = {"m1"},
                             .state = domain::AwaitingTools{.round = 1, .calls = {{"c"}}}}));
        TRY(tx.put_tool_execution(
            {.call = {.call_id = {"c"}, .run_id = {"r"}, .agent_id = kMain}, .round = 1}));
        return tx.put_frame({"r"}, "{}");
    });
    EXPECT_THAT(repair().quarantined, IsEmpty());
}

TEST_F(RepairTest, ATimerThatCanBeReadAgainIsBackInService) {
    write([](store::Tx& tx) { return tx.shelve_timer({"t"}); });
    EXPECT_THAT(repair().actions, testing::Contains(HasSubstr("1 timer")));
    write([](store::Tx& tx) -> store::Status {
        EXPECT_EQ(TRY(tx.due_timers(kNow, 9)).timers.size(), 1U);
        return {};
    });
}

TEST_F(RepairTest, WithoutADatabaseThereIsNothingToCheck) {
    EXPECT_EQ(sqlite::check(database_.folder() / "no.db").error().code, base::ErrorCode::NotFound);
    EXPECT_EQ(sqlite::repair(database_.folder() / "no.db", kNow).error().code,
              base::ErrorCode::NotFound);
}

}  // namespace
}  // namespace sqlite
