#include "store/sql/sqlite/backup.h"

#include <sys/stat.h>

#include <algorithm>
#include <atomic>
#include <thread>

#include <gmock/gmock.h>

#include "base/os/files.h"
#include "store/migrations/migrations.h"
#include "store/sql/sqlite/connection.h"
#include "store/sql/sqlite/sqlite_store.h"
#include "store/sql/sqlite/temp_database.h"

namespace sqlite {
namespace {

using base::ErrorCode;
using testing::HasSubstr;
using testing::UnorderedElementsAre;

std::int64_t number(Connection& connection, std::string_view query) {
    std::int64_t value = -1;
    EXPECT_TRUE(connection.query(query, {}, [&](const sql::Row& row) -> Status {
        value = row.integer(0);
        return {};
    }));
    return value;
}

base::Time at(std::int64_t seconds) {
    return base::from_micros(seconds * 1'000'000);
}

class Backup : public testing::Test {
protected:
    std::unique_ptr<Connection> open(const std::filesystem::path& file) {
        return Connection::open({.file = file}).value();
    }
    std::vector<std::string> names() const {
        std::vector<std::string> list;
        for (const auto& entry : std::filesystem::directory_iterator(folder))
            list.push_back(entry.path().filename().string());
        return list;
    }
    // A database as an earlier program left it.
    void make_older() {
        const auto newer =
            std::ranges::find(migrations::steps(), kOlder, &migrations::Step::number);
        const auto count = static_cast<std::size_t>(newer - migrations::steps().begin()) + 1;
        std::filesystem::remove(database.file());
        ASSERT_TRUE(migrations::migrate(*open(database.file()), migrations::steps().first(count)));
    }
    std::int64_t version(const std::filesystem::path& file) {
        return number(*open(file), "SELECT MAX(number) FROM schema_migrations");
    }

    static constexpr std::int64_t kOlder = 7;
    TempDatabase database;
    std::filesystem::path folder{database.folder() / "backups"};
    std::filesystem::path copy{database.folder() / "copy.db"};
};

TEST_F(Backup, HasAllThatWasCommittedAndIsPrivate) {
    const auto source = open(database.file());
    ASSERT_TRUE(source->run_script("CREATE TABLE a (n BIGINT); INSERT INTO a VALUES (7);"));
    const auto made = back_up(database.file(), copy);
    ASSERT_TRUE(made) << made.error().message;
    EXPECT_EQ(made->schema_version, 0);
    EXPECT_EQ(static_cast<std::uintmax_t>(made->bytes), std::filesystem::file_size(copy));
    struct stat status{};
    ASSERT_EQ(::stat(copy.c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 0777U, 0600U);
    EXPECT_EQ(number(*open(copy), "SELECT n FROM a"), 7);
}

TEST_F(Backup, IsOfOneMomentWhileOthersWrite) {
    const auto source = open(database.file());
    ASSERT_TRUE(source->run_script("CREATE TABLE a (n BIGINT); CREATE TABLE b (n BIGINT);"));
    std::atomic<bool> is_over{false};
    std::atomic<int> written{0};
    std::thread writer([&] {
        const auto other = open(database.file());
        while (!is_over) {
            ASSERT_TRUE(other->begin(sql::Access::Write));
            ASSERT_TRUE(other->execute("INSERT INTO a VALUES (1)", {}));
            ASSERT_TRUE(other->execute("INSERT INTO b VALUES (1)", {}));
            ASSERT_TRUE(other->commit());
            ++written;
            written.notify_one();
        }
    });
    for (int i = 0; i < 5; ++i) {
        const int before = written;
        written.wait(before);
        const auto file = database.folder() / fmt::format("copy-{}.db", i);
        const auto made = back_up(database.file(), file);
        EXPECT_TRUE(made) << made.error().message;
        const auto opened = open(file);
        EXPECT_GE(number(*opened, "SELECT COUNT(*) FROM a"), before);
        EXPECT_EQ(number(*opened, "SELECT COUNT(*) FROM a"),
                  number(*opened, "SELECT COUNT(*) FROM b"));
    }
    is_over = true;
    writer.join();
}

TEST_F(Backup, NeverReplacesAFileAndLeavesNoPartOfACopy) {
    ASSERT_TRUE(open(database.file()));
    ASSERT_TRUE(base::write_file_atomic(copy, "mine", 0600));
    const auto made = back_up(database.file(), copy);
    ASSERT_FALSE(made);
    EXPECT_EQ(made.error().code, ErrorCode::Conflict);
    EXPECT_EQ(base::read_file(copy, 100).value(), "mine");
    const auto missing = back_up(database.folder() / "none.db", database.folder() / "x.db");
    ASSERT_FALSE(missing);
    EXPECT_EQ(missing.error().code, ErrorCode::NotFound);
    ASSERT_TRUE(base::write_file_atomic(database.folder() / "text.db", "no database", 0600));
    EXPECT_FALSE(back_up(database.folder() / "text.db", database.folder() / "x.db"));
    for (const auto& entry : std::filesystem::directory_iterator(database.folder())) {
        EXPECT_THAT(entry.path().filename().string(), testing::Not(HasSubstr(".part")));
        EXPECT_NE(entry.path().filename(), "x.db");
    }
}

TEST_F(Backup, IsMadeBeforeAMigrationOfADatabaseThatIsThere) {
    const AutomaticBackups backups{.folder = folder, .now = at(0)};
    ASSERT_TRUE(sqlite::open({.file = database.file(), .backups = backups}));
    EXPECT_FALSE(std::filesystem::exists(folder)) << "it was new";
    make_older();
    ASSERT_TRUE(sqlite::open({.file = database.file(), .backups = backups}));
    EXPECT_THAT(names(), UnorderedElementsAre("holon-19700101T000000.000000Z-schema-7.db"));
    EXPECT_EQ(version(folder / names()[0]), kOlder);
    EXPECT_GT(version(database.file()), kOlder);
    ASSERT_TRUE(sqlite::open({.file = database.file(), .backups = backups})) << "nothing to do";
}

TEST_F(Backup, KeepsTheDatabaseAsItIsWhenNoneCanBeMade) {
    make_older();
    ASSERT_TRUE(base::write_file_atomic(folder, "in the way", 0600));
    const auto opened = sqlite::open(
        {.file = database.file(), .backups = AutomaticBackups{.folder = folder, .now = at(0)}});
    ASSERT_FALSE(opened);
    EXPECT_THAT(opened.error().message, HasSubstr("Nothing was changed"));
    EXPECT_EQ(version(database.file()), kOlder);
}

TEST_F(Backup, KeepsTheNewestOfThoseItMadeAndAllOthers) {
    ASSERT_TRUE(open(database.file()));
    std::filesystem::create_directory(folder);
    ASSERT_TRUE(back_up(database.file(), folder / (backup_name(at(0)) + ".db")));
    for (int i = 1; i <= 5; ++i)
        ASSERT_TRUE(back_up_before_migration(database.file(), folder, 10 - i, at(i)));
    EXPECT_THAT(names(), UnorderedElementsAre("holon-19700101T000000.000000Z.db",
                                              "holon-19700101T000003.000000Z-schema-7.db",
                                              "holon-19700101T000004.000000Z-schema-6.db",
                                              "holon-19700101T000005.000000Z-schema-5.db"));
}

}  // namespace
}  // namespace sqlite
