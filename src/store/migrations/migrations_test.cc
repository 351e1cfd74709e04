#include "store/migrations/migrations.h"

#include <gmock/gmock.h>

#include "store/sql/sqlite/connection.h"

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

TEST(Migrations, AreNumberedInRisingOrderFromOne) {
    std::int64_t last = 0;
    for (const auto& step : steps()) {
        EXPECT_GT(step.number, last) << step.name;
        last = step.number;
    }
    EXPECT_EQ(steps().front().number, 1);
}

TEST(Migrations, ApplyAStepThatIsFilledInLater) {
    const auto db = database();
    const Step before[] = {kFirst, kThird};
    const Step after[] = {kFirst, kSecond, kThird};
    ASSERT_TRUE(migrate(*db, before));
    EXPECT_EQ(number(*db, "SELECT n FROM a"), 10);
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

    const Step mended[] = {kFirst, kSecond, kThird};
    ASSERT_TRUE(migrate(*db, mended));
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

}  // namespace
}  // namespace migrations
