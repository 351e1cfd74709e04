#include "store/sql/sqlite/sqlite_store.h"

#include <fstream>
#include <future>
#include <thread>

#include <gmock/gmock.h>
#include <sqlite3.h>
#include <sys/stat.h>
#include <unistd.h>

#include "store/migrations/migrations.h"
#include "store/sql/sqlite/connection.h"
#include "store/sql/sqlite/temp_database.h"

namespace sqlite {
namespace {

using base::ErrorCode;
using store::Durability;
using store::Tx;
using testing::HasSubstr;
using namespace std::chrono_literals;

Status append_event(Tx& tx) {
    TRY(tx.append_event({"ada"}, {.id = {"e"}, .kind = "test", .data = "d"}));
    return {};
}

std::int64_t event_count(store::Store& store) {
    std::int64_t count = -1;
    EXPECT_TRUE(store.read([&](Tx& tx) -> Status {
        count = TRY(tx.last_event_seq({"ada"}));
        return {};
    }));
    return count;
}

std::unique_ptr<store::Store> opened(const TempDatabase& database, Mode mode = Mode::Threaded) {
    return open({.file = database.file(), .mode = mode, .busy_timeout = 100ms}).value();
}

class SqliteStore : public testing::TestWithParam<Mode> {};
INSTANTIATE_TEST_SUITE_P(Modes, SqliteStore, testing::Values(Mode::Threaded, Mode::Inline),
                         [](const auto& info) {
                             return info.param == Mode::Threaded ? "Threaded" : "Inline";
                         });

TEST(Memory, OfAStoreAtRestIsGivenBack) {
    const TempDatabase database;
    const auto store = opened(database);
    const auto used = [] { return sqlite3_memory_used(); };
    ASSERT_TRUE(store->write(Durability::Process, append_event));
    const auto before = used();
    ASSERT_TRUE(store->write(Durability::Process, [](Tx& tx) -> Status {
        for (int n = 0; n < 2000; ++n)
            TRY(tx.append_event(
                {"ada"},
                {.id = {std::to_string(n)}, .kind = "test", .data = json::string(1000, 'd')}));
        return {};
    }));
    ASSERT_TRUE(store->read([](Tx& tx) -> Status {
        TRY(tx.events({"ada"}, {.limit = 5000}));
        return {};
    }));
    EXPECT_GT(used(), before + 2'000'000);
    store->release_memory();
    EXPECT_LT(used(), before + 500'000);
    EXPECT_EQ(event_count(*store), 2001);
}

TEST_P(SqliteStore, TheFilesAreForTheirOwnerOnly) {
    const TempDatabase database;
    const auto store = opened(database, GetParam());
    ASSERT_TRUE(store->write(Durability::Disk, append_event));
    int files = 0;
    for (const auto& file : std::filesystem::directory_iterator(database.folder())) {
        struct stat facts{};
        ASSERT_EQ(::stat(file.path().c_str(), &facts), 0);
        EXPECT_EQ(facts.st_mode & 0777, 0600u) << file.path();
        ++files;
    }
    EXPECT_EQ(files, 3);  // The database, its log and the log's index.
}

TEST_P(SqliteStore, TheLogIsGoneAfterAnOrderlyClose) {
    const TempDatabase database;
    auto store = opened(database, GetParam());
    ASSERT_TRUE(store->write(Durability::Process, append_event));
    store.reset();
    EXPECT_FALSE(std::filesystem::exists(database.file().string() + "-wal"));
    EXPECT_EQ(event_count(*opened(database)), 1);
}

TEST_P(SqliteStore, TwoStoresOnOneFileTakeTurns) {
    const TempDatabase database;
    const auto one = open({.file = database.file(), .mode = GetParam()}).value();
    const auto two = open({.file = database.file(), .mode = Mode::Inline}).value();
    std::jthread other([&] {
        for (int i = 0; i < 50; ++i) EXPECT_TRUE(two->write(Durability::Process, append_event));
    });
    for (int i = 0; i < 50; ++i) EXPECT_TRUE(one->write(Durability::Process, append_event));
    other.join();
    EXPECT_EQ(event_count(*one), 100);
}

TEST_P(SqliteStore, ManyMayOpenANewFileAtOnce) {
    const TempDatabase database;
    std::vector<std::jthread> openers;
    for (int i = 0; i < 6; ++i)
        openers.emplace_back([&] {
            auto store = open({.file = database.file(), .mode = GetParam()});
            ASSERT_TRUE(store) << store.error().message;
            EXPECT_TRUE((*store)->write(Durability::Process, append_event));
        });
    openers.clear();
    EXPECT_EQ(event_count(*opened(database)), 6);
}

TEST_P(SqliteStore, TheLogIsGoneEvenWhenThereWereReaders) {
    const TempDatabase database;
    {
        const auto store = opened(database, GetParam());
        ASSERT_TRUE(store->write(Durability::Disk, append_event));
        EXPECT_EQ(event_count(*store), 1);
    }
    EXPECT_TRUE(std::filesystem::exists(database.file()));
    EXPECT_FALSE(std::filesystem::exists(database.file().string() + "-wal"));
}

TEST_P(SqliteStore, AFileThatAnotherHoldsTooLongIsUnavailableAndTheStoreGoesOnLater) {
    const TempDatabase database;
    const auto store = opened(database, GetParam());
    auto holder = Connection::open({.file = database.file()}).value();
    ASSERT_TRUE(holder->begin(sql::Access::Write));
    const Status blocked = store->write(Durability::Disk, append_event);
    ASSERT_FALSE(blocked);
    EXPECT_EQ(blocked.error().code, ErrorCode::Unavailable);
    EXPECT_THAT(blocked.error().message, HasSubstr(database.file().string()));
    EXPECT_EQ(event_count(*store), 0);
    holder->rollback();
    EXPECT_TRUE(store->write(Durability::Disk, append_event));
}

TEST_P(SqliteStore, AFullDiskUndoesTheWriteAndSaysSo) {
    const TempDatabase database;
    {
        const auto store = opened(database, GetParam());
        ASSERT_TRUE(store->write(Durability::Disk, append_event));
    }
    // max_page_count belongs to a connection, so this one is driven directly.
    auto connection = Connection::open({.file = database.file()}).value();
    ASSERT_TRUE(connection->run_script("PRAGMA max_page_count = 50"));
    ASSERT_TRUE(connection->begin(sql::Access::Write));
    const std::string large(1'000'000, 'x');
    const auto full =
        connection->execute("INSERT INTO events (agent_id, event_seq, record) VALUES ($1, $2, $3)",
                            {std::string_view("ada"), std::int64_t{2}, large});
    ASSERT_FALSE(full);
    EXPECT_EQ(full.error().code, ErrorCode::Io);
    EXPECT_THAT(full.error().message, HasSubstr("full"));
    connection->rollback();
}

TEST_P(SqliteStore, AFileThatIsNoDatabaseIsNamedAndLeftAlone) {
    const TempDatabase database;
    const std::string text(5000, 't');
    std::ofstream(database.file()) << text;
    const auto store = open({.file = database.file(), .mode = GetParam()});
    ASSERT_FALSE(store);
    EXPECT_EQ(store.error().code, ErrorCode::Corrupt);
    EXPECT_THAT(store.error().message, HasSubstr("is not a database"));
    std::ifstream file(database.file());
    EXPECT_EQ(std::string(std::istreambuf_iterator<char>(file), {}), text);
}

TEST_P(SqliteStore, AFolderThatIsNotThereIsAClearError) {
    const auto store = open({.file = "/nowhere/at/all/holon.db", .mode = GetParam()});
    ASSERT_FALSE(store);
    EXPECT_EQ(store.error().code, ErrorCode::Io);
    EXPECT_THAT(store.error().message, HasSubstr("/nowhere/at/all/holon.db"));
    EXPECT_THAT(store.error().message, HasSubstr("Check that its folder exists"));
}

TEST_P(SqliteStore, ADamagedDatabaseIsReportedAsDamaged) {
    const TempDatabase database;
    {
        const auto store = opened(database, GetParam());
        for (int i = 0; i < 200; ++i) ASSERT_TRUE(store->write(Durability::Process, append_event));
    }
    std::fstream file(database.file(), std::ios::in | std::ios::out | std::ios::binary);
    const auto size = std::filesystem::file_size(database.file());
    for (std::size_t at = 4096; at < size; at += 4096) {
        file.seekp(static_cast<std::streamoff>(at));
        file << std::string(64, '\xee');
    }
    file.close();
    auto store = open({.file = database.file(), .mode = GetParam()});
    const Status status = store ? (*store)->write(Durability::Disk, append_event)
                                : Status(std::unexpected(store.error()));
    ASSERT_FALSE(status);
    EXPECT_EQ(status.error().code, ErrorCode::Corrupt) << status.error().message;
}

TEST_P(SqliteStore, ADatabaseOfANewerProgramIsRefused) {
    const TempDatabase database;
    opened(database, GetParam()).reset();
    {
        const auto connection = Connection::open({.file = database.file()}).value();
        ASSERT_TRUE(connection->execute("INSERT INTO schema_migrations VALUES ($1, 'future')",
                                        {std::int64_t{9'999}}));
    }
    const auto store = open({.file = database.file(), .mode = GetParam()});
    ASSERT_FALSE(store);
    EXPECT_EQ(store.error().code, ErrorCode::Refused);
    EXPECT_THAT(store.error().message, HasSubstr("9999"));
}

TEST(SqliteThreaded, ADatabaseInMemoryIsRefused) {
    const auto store = open({.file = ":memory:", .mode = Mode::Threaded});
    ASSERT_FALSE(store);
    EXPECT_EQ(store.error().code, ErrorCode::InvalidInput);
}

TEST(SqliteThreaded, WritesThatWaitTogetherShareOneCommitAsDurableAsTheMostDemanding) {
    const TempDatabase database;
    const auto store = opened(database);
    std::promise<void> started, release;
    std::vector<std::promise<void>> ended(10);
    store->write_async(
        Durability::Process,
        [&](Tx& tx) -> Status {
            started.set_value();
            release.get_future().wait();
            return append_event(tx);
        },
        [](Status) {});
    started.get_future().wait();
    for (auto& one : ended)
        store->write_async(Durability::Disk, append_event, [&](Status status) {
            EXPECT_TRUE(status);
            one.set_value();
        });
    release.set_value();
    // When the first callback has run, all of its group are visible: they came with one commit.
    ended.front().get_future().wait();
    EXPECT_EQ(event_count(*store), 11);
    for (std::size_t i = 1; i < ended.size(); ++i) ended[i].get_future().wait();
}

TEST(SqliteInline, ADatabaseInMemoryWorks) {
    const auto store = open({.file = ":memory:", .mode = Mode::Inline}).value();
    ASSERT_TRUE(store->write(Durability::Disk, append_event));
    EXPECT_EQ(event_count(*store), 1);
}

TEST(SqliteInline, ASnapshotOpensAsACopyThatGoesItsOwnWay) {
    const TempDatabase database;
    for (const auto& file : {std::filesystem::path(":memory:"), database.file()}) {
        const auto store = open_inline({.file = file}).value();
        ASSERT_TRUE(store->write(Durability::Disk, append_event));
        const auto bytes = store->snapshot().value();
        EXPECT_EQ(bytes, store->snapshot().value());
        const auto copy = open_snapshot(bytes).value();
        for (int i = 0; i < 50; ++i) ASSERT_TRUE(copy->write(Durability::Disk, append_event));
        EXPECT_EQ(event_count(*store), 1);
        EXPECT_EQ(event_count(*copy), 51);
    }
}

TEST(SqliteInline, BytesThatAreNoSnapshotAreRefused) {
    const auto store = open_snapshot(std::string(4096, 'x'));
    ASSERT_FALSE(store);
    EXPECT_EQ(store.error().code, ErrorCode::Corrupt);
}

}  // namespace
}  // namespace sqlite
