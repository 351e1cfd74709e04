#include "flow/retention/keeper.h"

#include <gmock/gmock.h>

#include "flow/retention/old_home_for_test.h"
#include "store/migrations/migrations.h"
#include "store/sql/sqlite/connection.h"
#include "store/sql/sqlite/sqlite_store.h"
#include "store/sql/sqlite/temp_database.h"
#include "tests/support/fake_loop.h"

namespace retention {
namespace {

using store::Tx;

class KeeperTest : public testing::Test {
protected:
    sqlite::TempDatabase files_;
    test_support::FakeLoop loop_;
    OldHome home_{files_.file().parent_path()};
    config::Retention settings_{.max_age_days = 30, .keep_turns = 1};
    std::unique_ptr<store::Store> store_;

    void open() {
        store_ = sqlite::open({.file = files_.file(), .mode = sqlite::Mode::Inline}).value();
    }
    void fill() {
        ASSERT_TRUE(store_->write(store::Durability::Process, [](Tx& tx) -> base::Status {
            TRY(tx.put_agent({.agent_id = {"ada"}}));
            for (const auto* id : {"m1", "m2", "m3"})
                TRY(put_turn(tx, "ada", id, kToday - days(40)));
            return {};
        }));
    }
    // A database of a program that knew no retention, with an agent.
    void make_old_database() {
        const auto connection = sqlite::Connection::open({.file = files_.file()}).value();
        std::vector<migrations::Step> known;
        for (const auto& step : migrations::steps())
            if (step.number < 17) known.push_back(step);
        ASSERT_TRUE(migrations::migrate(*connection, known));
        ASSERT_TRUE(connection->run_script(
            "INSERT INTO agents (agent_id, record) VALUES ('old', '{}');"
            "INSERT INTO attempts (run_id, agent_id, is_open, record) "
            "VALUES ('r', 'old', 0, '{\"message_id\":\"m\"}'), ('broken', 'old', 0, 'x');"));
    }
    store::RetentionState state() {
        store::RetentionState out;
        EXPECT_TRUE(store_->read([&](Tx& tx) -> base::Status {
            out = TRY(tx.retention());
            return {};
        }));
        return out;
    }
    std::size_t messages() {
        std::size_t count = 0;
        EXPECT_TRUE(store_->read([&](Tx& tx) -> base::Status {
            count = TRY(tx.messages({"ada"}, {})).size();
            return {};
        }));
        return count;
    }
    Parts parts() { return {*store_, loop_, settings_, home_.folder}; }
    // Runs the loop for this long; what was due later stays.
    void run_for(std::chrono::microseconds time) {
        bool is_over = false;
        loop_.after(time, [&] { is_over = true; });
        ASSERT_TRUE(loop_.run_until([&] { return is_over; }));
    }
};

TEST_F(KeeperTest, PrunesANewHomeByItselfAndAgainLater) {
    open();
    fill();
    Keeper keeper(parts(), loop_);
    keeper.start(std::chrono::seconds(10));
    run_for(std::chrono::seconds(5));
    EXPECT_EQ(messages(), 3u);
    run_for(std::chrono::minutes(1));
    EXPECT_EQ(messages(), 1u);
    const auto first = state().last_pass_at;
    ASSERT_TRUE(first);
    run_for(kPassPause + std::chrono::minutes(1));
    EXPECT_GT(state().last_pass_at, first);
    EXPECT_EQ(state().total.messages, 2);
}

TEST_F(KeeperTest, ANewProcessWaitsForTheTimeOfTheNextPass) {
    open();
    fill();
    {
        Keeper keeper(parts(), loop_);
        keeper.start(std::chrono::milliseconds(0));
        run_for(std::chrono::minutes(1));
    }
    const auto first = state().last_pass_at;
    Keeper keeper(parts(), loop_);
    keeper.start(std::chrono::milliseconds(0));
    run_for(std::chrono::hours(1));
    EXPECT_EQ(state().last_pass_at, first);
    run_for(kPassPause);
    EXPECT_GT(state().last_pass_at, first);
}

TEST_F(KeeperTest, AHomeOfAnOlderProgramIsOnlyToldWhatWouldGoForSevenDays) {
    make_old_database();
    open();
    fill();
    EXPECT_TRUE(state().existed_before);
    {
        Keeper keeper(parts(), loop_);
        keeper.start(std::chrono::milliseconds(0));
        run_for(std::chrono::hours(1));
    }
    EXPECT_EQ(messages(), 3u);
    const auto told = state();
    EXPECT_EQ(told.announced, (store::Removed{.messages = 2}));
    ASSERT_TRUE(told.deletes_from);
    EXPECT_EQ(*told.deletes_from, *told.announced_at + kNotice);
    EXPECT_EQ(load_report(*store_, loop_.now())->waits_until, told.deletes_from);
    // A restart in between does not begin the notice anew, and does not end it.
    Keeper keeper(parts(), loop_);
    keeper.start(std::chrono::milliseconds(0));
    run_for(kNotice - std::chrono::hours(2));
    EXPECT_EQ(messages(), 3u);
    EXPECT_EQ(state(), told);
    run_for(std::chrono::hours(2));
    EXPECT_EQ(messages(), 1u);
    EXPECT_EQ(load_report(*store_, loop_.now())->waits_until, std::nullopt);
}

TEST_F(KeeperTest, TheNoticeBeginsBeforeTheFirstPass) {
    make_old_database();
    open();
    fill();
    const auto started_at = loop_.now();
    Keeper keeper(parts(), loop_);
    keeper.start(std::chrono::seconds(10));
    run_for(std::chrono::seconds(5));
    EXPECT_EQ(state().deletes_from, started_at + kNotice);
    EXPECT_EQ(state().announced, std::nullopt) << "what would go is counted by the pass";
    run_for(std::chrono::minutes(1));
    EXPECT_EQ(state().announced, (store::Removed{.messages = 2}));
    EXPECT_EQ(state().deletes_from, started_at + kNotice);
}

TEST_F(KeeperTest, AnOperatorWhoAsksNeedsNoNotice) {
    make_old_database();
    open();
    fill();
    EXPECT_EQ(prune(parts(), true).value(), (store::Removed{.messages = 2}));
    EXPECT_EQ(messages(), 3u);
    EXPECT_EQ(prune(parts(), false).value(), (store::Removed{.messages = 2}));
    EXPECT_EQ(messages(), 1u);
}

TEST_F(KeeperTest, DoesNothingWhenItIsOff) {
    open();
    fill();
    settings_.enabled = false;
    Keeper keeper(parts(), loop_);
    keeper.start(std::chrono::milliseconds(0));
    EXPECT_FALSE(loop_.run_one());
    EXPECT_EQ(messages(), 3u);
}

TEST_F(KeeperTest, AttemptsOfOlderProgramsGetTheirMessageUnlessTheyCannotBeRead) {
    make_old_database();
    open();
    store_.reset();
    const auto connection = sqlite::Connection::open({.file = files_.file()}).value();
    std::string found;
    ASSERT_TRUE(connection->query("SELECT run_id, message_id FROM attempts ORDER BY run_id", {},
                                  [&](const sql::Row& row) -> base::Status {
                                      found += fmt::format("{}={} ", row.text(0), row.text(1));
                                      return {};
                                  }));
    EXPECT_EQ(found, "broken= r=m ");
}

// A store that fails is asked again after a pause, not at once.
class FailingReads final : public store::Store {
public:
    int reads{0};
    store::Status write(store::Durability, store::Work) override {
        return base::fail(base::ErrorCode::Io, "full");
    }
    void write_async(store::Durability, store::Work,
                     std::move_only_function<void(store::Status)> done) override {
        done(base::fail(base::ErrorCode::Io, "full"));
    }
    store::Status read(store::Work) override {
        ++reads;
        return base::fail(base::ErrorCode::Io, "full");
    }
};

TEST_F(KeeperTest, AStoreThatFailsIsTriedAgainAfterAPause) {
    FailingReads store;
    Keeper keeper({store, loop_, settings_, home_.folder}, loop_);
    keeper.start(std::chrono::milliseconds(0));
    run_for(std::chrono::hours(1));
    EXPECT_GE(store.reads, 10);
    EXPECT_LE(store.reads, 13);
}

}  // namespace
}  // namespace retention
