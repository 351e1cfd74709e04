#include <map>
#include <random>
#include <sstream>

#include <gtest/gtest.h>

#include "store/sql/sqlite/sqlite_store.h"
#include "store/sql/sqlite/temp_database.h"
#include "tests/support/killed_child.h"

namespace sqlite {
namespace {

// Starts the writer, reads acknowledgements until `lines` have come, kills it there and reads what
// it still managed to say. Returns the last number acknowledged for each agent.
std::map<std::string, std::int64_t> kill_while_writing(const TempDatabase& database,
                                                       const std::string& mode, int lines) {
    std::map<std::string, std::int64_t> acknowledged;
    std::istringstream words(
        test_support::killed_after(lines, {HOLON_CRASH_WRITER, database.file().string(), mode}));
    std::string agent;
    for (std::int64_t event_seq = 0; words >> agent >> event_seq;)
        acknowledged[agent] = std::max(acknowledged[agent], event_seq);
    return acknowledged;
}

class Crash : public testing::TestWithParam<const char*> {};

TEST_P(Crash, EverythingAcknowledgedBeforeAKillIsThereAfterwards) {
    std::mt19937 random(std::random_device{}());
    const TempDatabase database;
    for (int round = 0; round < 5; ++round) {
        const int lines = std::uniform_int_distribution(1, 400)(random);
        SCOPED_TRACE(fmt::format("round {}, killed after {} lines", round, lines));
        const auto acknowledged = kill_while_writing(database, GetParam(), lines);
        auto store = open({.file = database.file(), .mode = Mode::Inline});
        ASSERT_TRUE(store) << store.error().message;
        ASSERT_TRUE((*store)->read([&](store::Tx& tx) -> store::Status {
            for (const auto& [agent, event_seq] : acknowledged) {
                const auto events = TRY(tx.events({agent}, {.limit = 1'000'000}));
                EXPECT_GE(std::ssize(events), event_seq) << agent;
                EXPECT_EQ(events.back().event_seq, std::ssize(events)) << agent;
                EXPECT_EQ(TRY(tx.last_event_seq({agent})), std::ssize(events)) << agent;
            }
            return {};
        }));
    }
}

INSTANTIATE_TEST_SUITE_P(Sqlite, Crash, testing::Values("threaded", "inline"),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace sqlite
