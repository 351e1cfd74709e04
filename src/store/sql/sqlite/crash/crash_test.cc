#include <csignal>
#include <map>
#include <random>
#include <sstream>

#include <gtest/gtest.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include "store/sql/sqlite/sqlite_store.h"
#include "store/sql/sqlite/temp_database.h"

extern char** environ;

namespace sqlite {
namespace {

// Starts the writer, reads acknowledgements until `lines` have come, kills it there and reads what
// it still managed to say. Returns the last number acknowledged for each agent.
std::map<std::string, std::int64_t> kill_while_writing(const TempDatabase& database,
                                                       const std::string& mode, int lines) {
    int ends[2];
    EXPECT_EQ(::pipe(ends), 0);
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
    posix_spawn_file_actions_addclose(&actions, ends[0]);
    std::string program = HOLON_CRASH_WRITER, file = database.file().string(), how = mode;
    char* arguments[] = {program.data(), file.data(), how.data(), nullptr};
    pid_t child = 0;
    EXPECT_EQ(::posix_spawn(&child, program.c_str(), &actions, nullptr, arguments, environ), 0);
    posix_spawn_file_actions_destroy(&actions);
    ::close(ends[1]);

    std::string said;
    char buffer[4096];
    bool killed = false;
    for (ssize_t got = 0; (got = ::read(ends[0], buffer, sizeof buffer)) > 0;) {
        said.append(buffer, static_cast<std::size_t>(got));
        if (!killed && std::ranges::count(said, '\n') >= lines) {
            ::kill(child, SIGKILL);
            killed = true;
        }
    }
    ::close(ends[0]);
    int status = 0;
    ::waitpid(child, &status, 0);
    EXPECT_TRUE(killed) << "the writer ended by itself with status " << status;

    std::map<std::string, std::int64_t> acknowledged;
    std::istringstream words(said);
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
