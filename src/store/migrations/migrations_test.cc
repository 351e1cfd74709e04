#include "store/migrations/migrations.h"

#include <sys/wait.h>
#include <unistd.h>

#include <gmock/gmock.h>

#include "store/sql/sqlite/connection.h"
#include "store/sql/sqlite/temp_database.h"

namespace migrations {
namespace {

using base::ErrorCode;
using testing::HasSubstr;

constexpr Step kFirst{1, "first", "CREATE TABLE a (n BIGINT); INSERT INTO a VALUES (1);"};
constexpr Step kSecond{2, "second", "CREATE TABLE b (n BIGINT); UPDATE a SET n = n + 1;"};
constexpr Step kThird{3, "third", "UPDATE a SET n = n * 10;"};

std::unique_ptr<sqlite::Connection> database() {
    return sqlite::Connection::open({.file = ":memory:"}).value();
}

std::int64_t number(sql::Connection& connection, std::string_view query) {
    std::int64_t value = -1;
    EXPECT_TRUE(connection.query(query, {}, [&](const sql::Row& row) -> base::Status {
        value = row.integer(0);
        return {};
    }));
    return value;
}

TEST(Migrations, AreNumberedFromOneAndRise) {
    std::int64_t last = 0;
    ASSERT_FALSE(steps().empty());
    EXPECT_EQ(steps().front().number, 1);
    for (const auto& step : steps()) {
        EXPECT_GT(step.number, last) << step.name;
        last = step.number;
    }
}

TEST(Migrations, ApplyAStepThatCameInBeforeOneThatIsThereAlready) {
    const auto db = database();
    const Step before[] = {kFirst, kThird};
    const Step after[] = {kFirst, kSecond, kThird};
    ASSERT_TRUE(migrate(*db, before));
    EXPECT_EQ(number(*db, "SELECT n FROM a"), 10);
    ASSERT_TRUE(migrate(*db, after));
    ASSERT_TRUE(migrate(*db, after));
    EXPECT_EQ(number(*db, "SELECT n FROM a"), 11);
    EXPECT_EQ(number(*db, "SELECT COUNT(*) FROM schema_migrations"), 3);
}

TEST(Migrations, ApplyEachStepOnceAndInOrder) {
    const auto db = database();
    const Step known[] = {kFirst, kSecond, kThird};
    ASSERT_TRUE(migrate(*db, known));
    ASSERT_TRUE(migrate(*db, known));
    EXPECT_EQ(number(*db, "SELECT n FROM a"), 20);
    EXPECT_EQ(number(*db, "SELECT COUNT(*) FROM schema_migrations"), 3);
}

TEST(Migrations, GoOnWhereAnEarlierRunStopped) {
    const auto db = database();
    const Step known[] = {kFirst, kSecond, kThird};
    ASSERT_TRUE(migrate(*db, std::span(known).first(1)));
    ASSERT_TRUE(migrate(*db, known));
    EXPECT_EQ(number(*db, "SELECT n FROM a"), 20);
}

TEST(Migrations, UndoAStepThatBreaksInTheMiddleAndRunItWholeNextTime) {
    const auto db = database();
    constexpr Step kBroken{2, "second", "CREATE TABLE b (n BIGINT); UPDATE missing SET n = 1;"};
    const Step broken[] = {kFirst, kBroken, kThird};
    const auto status = migrate(*db, broken);
    ASSERT_FALSE(status);
    EXPECT_THAT(status.error().message, HasSubstr("migration 2 (second)"));
    EXPECT_EQ(number(*db, "SELECT MAX(number) FROM schema_migrations"), 1);
    EXPECT_EQ(number(*db, "SELECT COUNT(*) FROM sqlite_master WHERE name = 'b'"), 0);

    const Step fixed[] = {kFirst, kSecond, kThird};
    ASSERT_TRUE(migrate(*db, fixed));
    EXPECT_EQ(number(*db, "SELECT n FROM a"), 20);
}

TEST(Migrations, RefuseADatabaseOfANewerProgramAndLeaveItAlone) {
    const auto db = database();
    const Step known[] = {kFirst, kSecond, kThird};
    ASSERT_TRUE(migrate(*db, known));
    const auto status = migrate(*db, std::span(known).first(2));
    ASSERT_FALSE(status);
    EXPECT_EQ(status.error().code, ErrorCode::Refused);
    EXPECT_THAT(status.error().message, HasSubstr("version 3"));
    EXPECT_THAT(status.error().message, HasSubstr("Start that version again"));
    EXPECT_EQ(number(*db, "SELECT n FROM a"), 20);
}

// Code that works in batches: doubles kBatchRows rows at a time, in the order of their keys.
constexpr std::int64_t kRows = 10, kBatchRows = 3;
constexpr Step kFill{1, "fill",
                     "CREATE TABLE rows_ (id BIGINT PRIMARY KEY, n BIGINT NOT NULL);"
                     "WITH RECURSIVE c(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM c WHERE i < 10)"
                     "INSERT INTO rows_ SELECT i, i FROM c;"};
int batches_before_end = -1;  // The process ends inside the batch after so many; -1: never.
std::vector<std::string> received;

base::Result<Batch> double_rows(sql::Connection& connection, std::string_view progress) {
    received.emplace_back(progress);
    const std::int64_t last = progress.empty() ? 0 : std::stoll(std::string(progress));
    TRY(connection.execute("UPDATE rows_ SET n = n * 2 WHERE id > $1 AND id <= $2",
                           {last, last + kBatchRows}));
    if (batches_before_end-- == 0) ::_exit(9);
    return Batch{.progress = std::to_string(last + kBatchRows),
                 .is_last = last + kBatchRows >= kRows};
}
constexpr Step kDouble{2, "double", &double_rows};

// 1 + 2 + ... + 10, each doubled once.
constexpr std::int64_t kDoubledSum = 110;

class CodeMigrations : public testing::Test {
protected:
    void SetUp() override {
        batches_before_end = -1;
        received.clear();
    }
    std::unique_ptr<sqlite::Connection> open() {
        return sqlite::Connection::open({.file = file.file()}).value();
    }
    // Another process migrates and is gone in the middle of a batch, after its writes.
    void end_in_batch_after(int batches) {
        const pid_t pid = ::fork();
        if (pid == 0) {
            batches_before_end = batches;
            (void)migrate(*open(), known);
            ::_exit(0);
        }
        int status = 0;
        ASSERT_EQ(::waitpid(pid, &status, 0), pid);
        ASSERT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 9);
    }

    sqlite::TempDatabase file;
    const Step known[2] = {kFill, kDouble};
};

TEST_F(CodeMigrations, RunInBatchesUntilNothingIsLeft) {
    const auto db = open();
    ASSERT_TRUE(migrate(*db, known));
    ASSERT_TRUE(migrate(*db, known));
    EXPECT_THAT(received, testing::ElementsAre("", "3", "6", "9"));
    EXPECT_EQ(number(*db, "SELECT SUM(n) FROM rows_"), kDoubledSum);
    EXPECT_EQ(number(*db, "SELECT COUNT(*) FROM migration_progress"), 0);
}

TEST_F(CodeMigrations, ContinueInTheBatchInWhichAProcessEnded) {
    for (int batches = 0; batches < 4; ++batches) {
        end_in_batch_after(batches);
        ASSERT_TRUE(migrate(*open(), known));
        EXPECT_EQ(received.size(), static_cast<std::size_t>(4 - batches));
        EXPECT_EQ(number(*open(), "SELECT SUM(n) FROM rows_"), kDoubledSum) << batches;
        received.clear();
        std::filesystem::remove(file.file());
    }
}

TEST_F(CodeMigrations, KeepAProgramThatDoesNotKnowThemOutWhileTheyAreUnderWay) {
    end_in_batch_after(2);
    const auto status = migrate(*open(), std::span(known).first(1));
    ASSERT_FALSE(status);
    EXPECT_EQ(status.error().code, ErrorCode::Refused);
    ASSERT_TRUE(migrate(*open(), known));
    EXPECT_EQ(number(*open(), "SELECT SUM(n) FROM rows_"), kDoubledSum);
}

TEST_F(CodeMigrations, SayBeforeTheFirstBatchOnly) {
    ASSERT_TRUE(migrate(*open(), std::span(known).first(1)));
    end_in_batch_after(1);
    int said = 0;
    ASSERT_TRUE(migrate(*open(), known, [&](std::int64_t) -> base::Status {
        ++said;
        return {};
    }));
    EXPECT_EQ(said, 0);
}

TEST_F(CodeMigrations, UndoABatchThatFailsAndKeepThoseBefore) {
    static bool fails;
    fails = true;
    const BatchFunction breaks = [](sql::Connection& connection,
                                    std::string_view progress) -> base::Result<Batch> {
        auto batch = TRY(double_rows(connection, progress));
        if (progress == "6" && fails) return base::fail(ErrorCode::Io, "the disk is full.");
        return batch;
    };
    const Step broken[] = {kFill, {2, "double", breaks}};
    const auto db = open();
    const auto status = migrate(*db, broken);
    ASSERT_FALSE(status);
    EXPECT_THAT(status.error().message, HasSubstr("migration 2 (double)"));
    EXPECT_EQ(number(*db, "SELECT SUM(n) FROM rows_ WHERE id <= 6"), 42);
    EXPECT_EQ(number(*db, "SELECT SUM(n) FROM rows_ WHERE id > 6"), 34);
    fails = false;
    ASSERT_TRUE(migrate(*db, broken));
    EXPECT_EQ(number(*db, "SELECT SUM(n) FROM rows_"), kDoubledSum);
}

TEST_F(CodeMigrations, AreABugWhenTheyStandStill) {
    const BatchFunction stuck = [](sql::Connection&, std::string_view) -> base::Result<Batch> {
        return Batch{.progress = "here"};
    };
    const Step standing[] = {kFill, {2, "stuck", stuck}};
    const auto db = open();
    EXPECT_THROW((void)migrate(*db, standing), base::Bug);
}

TEST(Migrations, SayBeforeTheyChangeADatabaseThatHasSteps) {
    const auto db = database();
    const Step known[] = {kFirst, kSecond, kThird};
    std::vector<std::int64_t> said;
    const BeforeChange before = [&](std::int64_t version) -> base::Status {
        said.push_back(version);
        return {};
    };
    ASSERT_TRUE(migrate(*db, std::span(known).first(1), before));
    EXPECT_TRUE(said.empty()) << "it was new";
    ASSERT_TRUE(migrate(*db, known, before));
    ASSERT_TRUE(migrate(*db, known, before));
    EXPECT_THAT(said, testing::ElementsAre(1));
}

TEST(Migrations, ChangeNothingWhenTheCallBeforeThemFails) {
    const auto db = database();
    const Step known[] = {kFirst, kSecond};
    ASSERT_TRUE(migrate(*db, std::span(known).first(1)));
    const auto status = migrate(*db, known, [](std::int64_t) -> base::Status {
        return base::fail(ErrorCode::Io, "no backup can be made");
    });
    ASSERT_FALSE(status);
    EXPECT_EQ(status.error().message, "no backup can be made");
    EXPECT_EQ(number(*db, "SELECT MAX(number) FROM schema_migrations"), 1);
}

}  // namespace
}  // namespace migrations
