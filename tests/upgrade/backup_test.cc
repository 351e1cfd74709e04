// Copies of the database: by hand while a daemon runs, and by themselves before a migration.
#include <sys/stat.h>

#include <algorithm>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "store/migrations/migrations.h"
#include "store/sql/sqlite/connection.h"
#include "tests/e2e/daemon/daemon_world.h"

namespace upgrade {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

std::int64_t number(const fs::path& database, std::string_view query) {
    const auto connection = sqlite::Connection::open({.file = database}).value();
    std::int64_t value = -1;
    EXPECT_TRUE(connection->query(query, {}, [&](const sql::Row& row) -> base::Status {
        value = row.integer(0);
        return {};
    }));
    return value;
}

mode_t mode_of(const fs::path& file) {
    struct stat status{};
    EXPECT_EQ(::stat(file.c_str(), &status), 0) << file;
    return status.st_mode & 0777U;
}

std::vector<std::string> names_in(const fs::path& folder) {
    std::vector<std::string> names;
    std::error_code missing;
    for (const auto& entry : fs::directory_iterator(folder, missing))
        names.push_back(entry.path().filename().string());
    return names;
}

TEST(StoreBackup, IsMadeWhileTheDaemonRuns) {
    e2e::DaemonWorld world;
    world.daemon({"start"});
    ASSERT_EQ(world.run({"agent", "create", "kept"}).exit_code, 0);
    const auto made = world.json_of({"store", "backup", "--json"});
    const fs::path file = base::string_at(made, "file");
    EXPECT_EQ(file.parent_path(), world.home() / "backups");
    EXPECT_EQ(static_cast<std::uintmax_t>(base::int_at(made, "bytes")), fs::file_size(file));
    EXPECT_EQ(base::int_at(made, "schema_version"), migrations::steps().back().number);
    EXPECT_EQ(mode_of(file), 0600U);
    EXPECT_EQ(mode_of(file.parent_path()), 0700U);
    EXPECT_EQ(number(file, "SELECT COUNT(*) FROM agents WHERE agent_id = 'kept'"), 1);
    ASSERT_EQ(world.run({"store", "backup"}).exit_code, 0);
    EXPECT_EQ(number(file, "SELECT COUNT(*) FROM agents WHERE agent_id = 'kept'"), 1);

    // A home that starts with the copy has what was there.
    e2e::Program restored;
    fs::create_directories(restored.home());
    fs::copy_file(file, restored.home() / "holon.db");
    EXPECT_EQ(restored.run({"status", "--agent", "kept"}).exit_code, 0);
}

TEST(StoreBackup, NeverReplacesAFileAndNeedsADatabase) {
    e2e::Program program;
    const auto none = program.run({"store", "backup"});
    EXPECT_EQ(none.exit_code, 1);
    EXPECT_THAT(none.err, HasSubstr("there is no database"));
    EXPECT_FALSE(fs::exists(program.home() / "backups"));
    ASSERT_EQ(program.run({"agent", "create", "kept"}).exit_code, 0);
    ASSERT_EQ(program.run({"store", "backup", "copy.db"}).exit_code, 0);
    const std::string before = program.read(program.repo() / "copy.db");
    EXPECT_EQ(mode_of(program.repo() / "copy.db"), 0600U);
    ASSERT_EQ(program.run({"agent", "create", "later"}).exit_code, 0);
    const auto again = program.run({"store", "backup", "copy.db"});
    EXPECT_EQ(again.exit_code, 1);
    EXPECT_THAT(again.err, HasSubstr("never replaces a file"));
    EXPECT_EQ(program.read(program.repo() / "copy.db"), before);
    EXPECT_THAT(names_in(program.repo()), testing::ElementsAre("copy.db"));
}

TEST(StoreBackup, IsMadeBeforeAMigrationOnce) {
    constexpr std::int64_t kOlder = 7;
    const auto steps = migrations::steps();
    const auto last = std::ranges::find(steps, kOlder, &migrations::Step::number);
    e2e::Program program;
    const auto database = program.home() / "holon.db";
    fs::create_directories(program.home());
    ASSERT_TRUE(
        migrations::migrate(*sqlite::Connection::open({.file = database}).value(),
                            steps.first(static_cast<std::size_t>(last - steps.begin()) + 1)));
    ASSERT_EQ(program.run({"agent", "create", "new"}).exit_code, 0);
    ASSERT_EQ(program.run({"agent", "list"}).exit_code, 0);
    const auto names = names_in(program.home() / "backups");
    ASSERT_EQ(names.size(), 1U);
    EXPECT_THAT(names[0], testing::MatchesRegex("holon-[0-9T.]+Z-schema-7\\.db"));
    const auto copy = program.home() / "backups" / names[0];
    EXPECT_EQ(mode_of(copy), 0600U);
    EXPECT_EQ(number(copy, "SELECT MAX(number) FROM schema_migrations"), kOlder);
    EXPECT_EQ(number(database, "SELECT MAX(number) FROM schema_migrations"), steps.back().number);
}

}  // namespace
}  // namespace upgrade
