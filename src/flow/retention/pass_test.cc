#include "flow/retention/pass.h"

#include <gmock/gmock.h>

#include "flow/retention/keeper.h"
#include "flow/retention/old_home_for_test.h"
#include "store/sql/sqlite/connection.h"
#include "store/sql/sqlite/sqlite_store.h"
#include "store/sql/sqlite/temp_database.h"
#include "tests/sim/faulty_store.h"

namespace retention {
namespace {

using store::Removed;
using store::Tx;
using testing::ElementsAre;

class FixedClock final : public base::Clock {
public:
    base::Time now() override { return kToday; }
};

class PassTest : public testing::Test {
protected:
    sqlite::TempDatabase files_;
    FixedClock clock_;
    OldHome home_{files_.file().parent_path()};
    std::unique_ptr<store::Store> store_{
        sqlite::open({.file = files_.file(), .mode = sqlite::Mode::Inline}).value()};
    config::Retention settings_{.max_age_days = 30, .min_age_days = 5, .keep_turns = 2};

    void write(store::Work work) {
        const auto status = store_->write(store::Durability::Process, std::move(work));
        ASSERT_TRUE(status) << status.error().message;
    }
    Removed prune(bool dry_run = false) {
        return retention::prune({*store_, clock_, settings_, home_.folder}, dry_run).value();
    }
    std::vector<std::string> messages(const std::string& agent) {
        std::vector<std::string> list;
        EXPECT_TRUE(store_->read([&](Tx& tx) -> base::Status {
            for (const auto& one : TRY(tx.messages({agent}, {.limit = 10'000})))
                list.push_back(one.record.message.id.value);
            return {};
        }));
        return list;
    }
    std::int64_t rows(std::string_view table) {
        std::int64_t count = -1;
        EXPECT_TRUE(store_->read([&](Tx& tx) -> base::Status {
            for (const auto& one : TRY(tx.row_counts()))
                if (one.table == table) count = one.rows;
            return {};
        }));
        return count;
    }
};

TEST_F(PassTest, RemovesOldTurnsWithAllTheirRowsAndFilesAndKeepsTheNewest) {
    const auto artifact = home_.file("ada", "tool-artifacts/m1.log");
    const auto kept = home_.file("ada", "tool-artifacts/m3.log");
    home_.put_file(artifact, kToday - days(40));
    home_.put_file(kept, kToday - days(40));
    write([](Tx& tx) -> base::Status {
        TRY(tx.put_agent({.agent_id = {"ada"}}));
        for (const auto* id : {"m1", "m2", "m3", "m4"})
            TRY(put_turn(tx, "ada", id, kToday - days(40)));
        return put_events(tx, "ada", 300, kToday - days(40));
    });
    const Removed foreseen = prune(true);
    EXPECT_EQ(foreseen, (Removed{.messages = 2, .events = 44, .files = 1, .file_bytes = 5}));
    EXPECT_EQ(rows("messages"), 4);
    EXPECT_EQ(prune(), foreseen);
    EXPECT_THAT(messages("ada"), ElementsAre("m3", "m4"));
    EXPECT_EQ(rows("attempts"), 2);
    EXPECT_EQ(rows("frames"), 2);
    EXPECT_EQ(rows("tool_executions"), 2);
    EXPECT_EQ(rows("transcript"), 4);
    EXPECT_EQ(rows("bodies"), 3);  // Two receipts and the prompt that both turns share.
    EXPECT_EQ(rows("events"), kEventsKept);
    EXPECT_FALSE(std::filesystem::exists(artifact));
    EXPECT_TRUE(std::filesystem::exists(kept));
    EXPECT_EQ(prune(), Removed{});
}

// contract: QUEUE-01, QUEUE-07
TEST_F(PassTest, KeepsWhatIsYoungerThanTheAge) {
    settings_.keep_turns = 1;
    write([](Tx& tx) -> base::Status {
        TRY(tx.put_agent({.agent_id = {"ada"}}));
        TRY(put_turn(tx, "ada", "old", kToday - days(31)));
        TRY(put_turn(tx, "ada", "young", kToday - days(29)));
        return put_turn(tx, "ada", "new", kToday);
    });
    EXPECT_EQ(prune().messages, 1);
    EXPECT_THAT(messages("ada"), ElementsAre("young", "new"));
    write([](Tx& tx) -> base::Status {
        const domain::Message again{.id = {"again"}, .agent_id = {"ada"}};
        EXPECT_EQ(TRY(tx.known_message(again, "key-young")), domain::MessageId{"young"});
        EXPECT_EQ(TRY(tx.known_message(again, "key-old")), std::nullopt);
        return {};
    });
}

TEST_F(PassTest, NeverRemovesWhatIsOpenOrWhatThatRefersTo) {
    settings_.keep_turns = 1;
    write([](Tx& tx) -> base::Status {
        const auto old = kToday - days(400);
        TRY(tx.put_agent({.agent_id = {"ada"}}));
        TRY(put_turn(tx, "ada", "interrupted", old, domain::QueueStatus::Interrupted));
        TRY(put_turn(tx, "ada", "parent", old));
        TRY(put_turn(tx, "ada", "trigger", old));
        TRY(put_turn(tx, "ada", "gone", old - days(1)));
        TRY(put_turn(tx, "ada", "open", old, domain::QueueStatus::Claimed));
        TRY(tx.append_message({.id = {"queued"}, .agent_id = {"ada"}, .created_at = old}, "q"));
        TRY(tx.append_message({.id = {"newest"}, .agent_id = {"ada"}, .created_at = old}, "n"));
        for (const auto status : {domain::TaskStatus::Running, domain::TaskStatus::Interrupted})
            TRY(tx.put_task({.id = {"k-" + std::string(base::enum_name(status))},
                             .agent_id = {"ada"},
                             .status = status,
                             .updated_at = old,
                             .parent_message_id = domain::MessageId{"parent"}}));
        TRY(tx.put_timer({.id = {"t"}, .agent_id = {"ada"}, .created_at = old}));
        TRY(tx.put_wait({.id = {"w"},
                         .agent_id = {"ada"},
                         .status = domain::WaitStatus::Triggered,
                         .triggered_by = domain::MessageId{"trigger"},
                         .updated_at = old}));
        return put_events(tx, "ada", 600, old);  // Since the open turn began.
    });
    EXPECT_EQ(prune(), (Removed{.messages = 1}));
    EXPECT_THAT(messages("ada"),
                ElementsAre("interrupted", "parent", "trigger", "open", "queued", "newest"));
    EXPECT_EQ(rows("tasks"), 2);
    EXPECT_EQ(rows("timers"), 1);
    EXPECT_EQ(rows("waits"), 1);
    EXPECT_EQ(rows("events"), 600);
}

TEST_F(PassTest, FindsOldRowsBehindManyThatStay) {
    settings_.keep_turns = 1;
    write([](Tx& tx) -> base::Status {
        TRY(tx.put_agent({.agent_id = {"ada"}}));
        const auto old = kToday - days(40);
        for (int i = 0; i < 1200; ++i)
            TRY(tx.append_message({.id = {fmt::format("q{}", i)}, .agent_id = {"ada"}}, {}));
        for (int i = 0; i < 20; ++i) TRY(put_turn(tx, "ada", fmt::format("m{}", i), old));
        return {};
    });
    EXPECT_EQ(prune().messages, 19);
    EXPECT_EQ(rows("messages"), 1201);
}

TEST_F(PassTest, RemovesTasksWithTheirLogsAndFilesThatNothingNames) {
    const auto log = home_.file("ada", "task-output/k1.log");
    const auto stray_log = home_.file("ada", "task-output/unknown.log");
    const auto stray = home_.file("ada", "tool-artifacts/exec-command-1.log");
    const auto young = home_.file("ada", "tool-artifacts/exec-command-2.log");
    const auto named = home_.file("ada", "tool-artifacts/m1.log");
    for (const auto& file : {log, stray_log, stray, named}) home_.put_file(file, kToday - days(40));
    home_.put_file(young, kToday - days(1));
    write([](Tx& tx) -> base::Status {
        TRY(tx.put_agent({.agent_id = {"ada"}}));
        TRY(put_turn(tx, "ada", "m1", kToday - days(40)));  // The newest: it stays.
        for (int i = 1; i <= kOthersKept + 1; ++i)
            TRY(tx.put_task({.id = {fmt::format("k{}", i)},
                             .agent_id = {"ada"},
                             .status = domain::TaskStatus::Completed,
                             .updated_at = kToday - days(40)}));
        return {};
    });
    const Removed removed = prune();
    EXPECT_EQ(removed, (Removed{.other_rows = 1, .files = 3, .file_bytes = 15}));
    EXPECT_FALSE(std::filesystem::exists(log));
    EXPECT_FALSE(std::filesystem::exists(stray_log));
    EXPECT_FALSE(std::filesystem::exists(stray));
    EXPECT_TRUE(std::filesystem::exists(young));
    EXPECT_TRUE(std::filesystem::exists(named));
}

TEST_F(PassTest, ARowWhoseFileIsGoneIsRemovedLikeAnyOther) {
    write([](Tx& tx) -> base::Status {
        TRY(tx.put_agent({.agent_id = {"ada"}}));
        for (const auto* id : {"m1", "m2", "m3"}) TRY(put_turn(tx, "ada", id, kToday - days(40)));
        return {};
    });
    EXPECT_EQ(prune(), (Removed{.messages = 1}));
}

TEST_F(PassTest, RemovesTemporaryAgentsThatDidNotComplete) {
    const auto agent_of = [](const std::string& id, base::Time at) {
        return domain::Agent{.agent_id = {id},
                             .identity = {.agent_id = {id},
                                          .visibility = domain::Visibility::Private,
                                          .created_at = at,
                                          .updated_at = at}};
    };
    const auto file = home_.file("tmp_run_1", "notes.txt");
    home_.put_file(file, kToday - days(40));
    const auto left = home_.file("tmp_run_9", "notes.txt");
    home_.put_file(left, kToday - days(40));
    std::filesystem::last_write_time(left.parent_path(),
                                     std::chrono::file_clock::from_sys(kToday - days(40)));
    write([&](Tx& tx) -> base::Status {
        const auto old = kToday - days(40);
        for (const auto* id : {"tmp_run_1", "tmp_run_2", "tmp_run_3", "private"})
            TRY(tx.put_agent(agent_of(id, old)));
        TRY(put_turn(tx, "tmp_run_1", "m1", old, domain::QueueStatus::Interrupted));
        TRY(put_turn(tx, "tmp_run_1", "m2", old));
        TRY(put_events(tx, "tmp_run_1", 20, old));
        TRY(put_turn(tx, "tmp_run_2", "m3", old, domain::QueueStatus::Claimed));
        TRY(put_turn(tx, "tmp_run_3", "m4", old));
        return put_events(tx, "tmp_run_3", 1, kToday);  // Something happened today.
    });
    EXPECT_EQ(prune(true).agents, 1);
    EXPECT_EQ(prune().agents, 1);
    EXPECT_FALSE(std::filesystem::exists(file.parent_path()));
    EXPECT_FALSE(std::filesystem::exists(left.parent_path()));
    EXPECT_TRUE(store_->read([](Tx& tx) -> base::Status {
        EXPECT_THAT(TRY(tx.agents({}, 9)),
                    ElementsAre(domain::AgentId{"private"}, domain::AgentId{"tmp_run_2"},
                                domain::AgentId{"tmp_run_3"}));
        return {};
    }));
}

TEST_F(PassTest, AnAgentWhoseRecordsCannotBeReadKeepsNobodyElseFromBeingPruned) {
    write([](Tx& tx) -> base::Status {
        for (const auto* agent : {"ada", "bob"}) {
            TRY(tx.put_agent({.agent_id = {agent}}));
            for (int i = 0; i < 4; ++i)
                TRY(put_turn(tx, agent, fmt::format("{}{}", agent, i), kToday - days(40)));
        }
        return tx.put_task({.id = {"k"}, .agent_id = {"ada"}});
    });
    {
        const auto connection = sqlite::Connection::open({.file = files_.file()}).value();
        ASSERT_TRUE(connection->run_script("UPDATE tasks SET record = 'no JSON'"));
    }
    EXPECT_EQ(prune().messages, 2);
    EXPECT_EQ(messages("ada").size(), 4u);
    EXPECT_EQ(messages("bob").size(), 2u);
}

TEST_F(PassTest, ADiskBudgetShortensTheAgeButNotBelowTheShortest) {
    settings_.max_bytes = 1;
    settings_.keep_turns = 1;
    write([](Tx& tx) -> base::Status {
        TRY(tx.put_agent({.agent_id = {"ada"}}));
        TRY(put_turn(tx, "ada", "m1", kToday - days(8)));
        TRY(put_turn(tx, "ada", "m2", kToday - days(4)));
        return put_turn(tx, "ada", "m3", kToday);
    });
    EXPECT_EQ(prune().messages, 1);
    EXPECT_THAT(messages("ada"), ElementsAre("m2", "m3"));
    EXPECT_TRUE(store_->read([](Tx& tx) -> base::Status {
        const auto state = TRY(tx.retention());
        EXPECT_TRUE(state.is_over_budget);
        EXPECT_EQ(state.last_pass_at, kToday);
        EXPECT_EQ(state.total, (Removed{.messages = 1}));
        return {};
    }));
    settings_.max_bytes = std::int64_t{1} << 30;
    prune();
    EXPECT_TRUE(store_->read([](Tx& tx) -> base::Status {
        EXPECT_FALSE(TRY(tx.retention()).is_over_budget);
        return {};
    }));
}

TEST_F(PassTest, RemovesABoundedNumberOfRowsInEachTransaction) {
    write([](Tx& tx) -> base::Status {
        TRY(tx.put_agent({.agent_id = {"ada"}}));
        for (int i = 0; i < 400; ++i)
            TRY(put_turn(tx, "ada", fmt::format("m{}", i), kToday - days(40)));
        return put_events(tx, "ada", 3000, kToday - days(40));
    });
    const auto total = [&] {
        std::int64_t sum = 0;
        EXPECT_TRUE(store_->read([&](Tx& tx) -> base::Status {
            for (const auto& one : TRY(tx.row_counts())) sum += one.rows;
            return {};
        }));
        return sum;
    };
    Pass pass(*store_, home_.folder / "agents", cut_of(settings_, kToday, 0).value(), false);
    std::int64_t before = total();
    while (pass.step().value()) {
        const std::int64_t now = total();
        EXPECT_LE(before - now, kRowsPerStep + 2 * 110);  // And the bodies of those rows.
        before = now;
    }
    EXPECT_EQ(rows("messages"), 2);
    EXPECT_EQ(rows("events"), kEventsKept);
}

// The process dies at each commit in turn, before and after it; the next one finishes.
TEST_F(PassTest, ACrashAtAnyStepLosesNothingThatIsNeededAndLeavesNothingBehind) {
    for (const auto fault : {sim::Fault::CrashBeforeCommit, sim::Fault::CrashAfterCommit,
                             sim::Fault::PowerLoss, sim::Fault::CommitFails}) {
        bool has_crashed = true;
        for (std::int64_t at = 1; has_crashed; ++at) {
            ASSERT_LT(at, 100);
            sim::Disk disk;
            std::filesystem::remove_all(home_.folder / "agents");
            for (int i = 0; i < 90; ++i)
                home_.put_file(home_.file("ada", fmt::format("tool-artifacts/m{}.log", i)),
                               kToday - days(40));
            ASSERT_TRUE(disk.open({})->write(store::Durability::Disk, [](Tx& tx) -> base::Status {
                TRY(tx.put_agent({.agent_id = {"ada"}}));
                for (int i = 0; i < 90; ++i)
                    TRY(put_turn(tx, "ada", fmt::format("m{}", i), kToday - days(40)));
                return put_events(tx, "ada", 600, kToday - days(40));
            }));
            has_crashed = false;
            const auto pass = [&](sim::FaultPlan plan) {
                const auto store = disk.open(plan);
                try {
                    if (!retention::prune({*store, clock_, settings_, home_.folder}, false))
                        has_crashed = true;
                } catch (const sim::Crash&) {
                    has_crashed = true;
                }
            };
            pass({fault, at});
            const bool was_cut = has_crashed;
            pass({});
            has_crashed = was_cut;
            EXPECT_TRUE(disk.open({})->read([&](Tx& tx) -> base::Status {
                EXPECT_EQ(TRY(tx.messages({"ada"}, {})).size(), 2u);
                for (const auto& one : TRY(tx.row_counts())) {
                    if (one.table == "attempts" || one.table == "frames" ||
                        one.table == "tool_executions")
                        EXPECT_EQ(one.rows, 2) << one.table;
                    if (one.table == "bodies") EXPECT_EQ(one.rows, 3);
                    if (one.table == "transcript") EXPECT_EQ(one.rows, 4);
                    if (one.table == "events") EXPECT_EQ(one.rows, kEventsKept);
                }
                return {};
            }));
            std::vector<std::string> left;
            for (const auto& entry : std::filesystem::directory_iterator(home_.folder / "agents" /
                                                                         "ada" / "tool-artifacts"))
                left.push_back(entry.path().filename().string());
            EXPECT_THAT(left, testing::UnorderedElementsAre("m88.log", "m89.log"))
                << "died at commit " << at;
        }
    }
}

}  // namespace
}  // namespace retention
