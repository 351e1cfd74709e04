// Old records of a real home: counted, removed, announced, and refused as cursors.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>

#include "store/sql/sqlite/connection.h"
#include "tests/e2e/daemon/daemon_world.h"

namespace e2e {
namespace {

using testing::HasSubstr;

// Everything that a server answers on its socket.
std::string answer_of(const std::filesystem::path& socket_path, const std::string& path) {
    const base::Fd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_un address{.sun_family = AF_UNIX, .sun_path = {}};
    socket_path.string().copy(static_cast<char*>(address.sun_path), sizeof address.sun_path - 1);
    if (::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0)
        return "no connection";
    base::write_all(socket.get(), "GET " + path +
                                      " HTTP/1.1\r\nHost: localhost\r\n"
                                      "Connection: close\r\n\r\n");
    std::string answer;
    std::array<char, 4096> part{};
    for (ssize_t got = 1; got > 0;) {
        got = ::read(socket.get(), part.data(), part.size());
        if (got > 0) answer.append(part.data(), static_cast<std::size_t>(got));
    }
    return answer;
}

class RetentionOfAHome : public testing::Test {
protected:
    DaemonWorld world;

    void sql(const std::string& script) {
        const auto done = sqlite::Connection::open({.file = world.home() / "holon.db"})
                              .value()
                              ->run_script(script);
        ASSERT_TRUE(done) << done.error().message;
    }
    // Three turns, of which all but the newest are a year old.
    void make_old_turns() {
        world.script({says("hello")});
        for (const auto* text : {"one", "two", "three"})
            ASSERT_EQ(world.run({"run", "--agent", "main", "--create-agent", text}).exit_code, 0);
        sql("UPDATE queue_entries SET updated_at = updated_at - 31536000000000;"
            "UPDATE events SET record = json_set(record, '$.created_at', "
            "'2020-01-01T00:00:00.000000Z') WHERE event_seq <= 20;");
        ASSERT_EQ(world.run({"config", "set", "retention.keep_turns", "1"}).exit_code, 0);
    }
};

TEST_F(RetentionOfAHome, AnOperatorSeesWhatWouldGoAndRemovesIt) {
    make_old_turns();
    const auto foreseen = world.json_of({"store", "prune", "--dry-run"});
    EXPECT_EQ(foreseen.at("removed").at("messages"), 2);
    EXPECT_EQ(foreseen.at("dry_run"), true);
    EXPECT_EQ(world.json_of({"store", "prune"}).at("removed"), foreseen.at("removed"));
    EXPECT_EQ(world.json_of({"store", "prune"}).at("removed").at("messages"), 0);
    const auto status = world.json_of({"store", "status"});
    EXPECT_EQ(status.at("total").at("messages"), 2);
    EXPECT_GT(status.at("database_bytes").as_int64(), 0);
    EXPECT_EQ(status.at("budget_bytes"), std::int64_t{10} << 30);
    EXPECT_TRUE(status.at("last_pass_at").is_string());
    EXPECT_EQ(world.run({"store", "check"}).exit_code, 0);
    // The agent continues as before.
    EXPECT_EQ(world.run({"run", "--agent", "main", "four"}).exit_code, 0);
}

TEST_F(RetentionOfAHome, SizesAreInDoctorAndInTheMetrics) {
    make_old_turns();
    ASSERT_EQ(world.run({"store", "prune"}).exit_code, 0);
    const auto doctor = world.json_of({"doctor"});
    EXPECT_GT(doctor.at("store").at("database_bytes").as_int64(), 0);
    EXPECT_EQ(doctor.at("store").at("budget_bytes"), std::int64_t{10} << 30);
    world.daemon({"start"});
    const auto metrics = answer_of(world.socket(), "/metrics");
    EXPECT_THAT(metrics, HasSubstr("holon_store_database_bytes "));
    EXPECT_THAT(metrics, HasSubstr("holon_retention_removed_messages 2"));
}

TEST_F(RetentionOfAHome, ACursorBehindWhichEventsAreGoneIsRefusedEverywhere) {
    make_old_turns();
    sql("DELETE FROM events WHERE event_seq <= 10");
    const auto local = world.run({"events", "--after-seq", "5"});
    EXPECT_NE(local.exit_code, 0);
    EXPECT_THAT(local.err, HasSubstr("the oldest is 11"));
    EXPECT_EQ(world.run({"events", "--after-seq", "10"}).exit_code, 0);
    world.daemon({"start"});
    for (const auto* path :
         {"/agents/main/events?after_seq=5&order=asc", "/agents/main/events/stream?after_seq=5"}) {
        const auto refused = world.by_socket().get(path);
        ASSERT_FALSE(refused) << path;
        EXPECT_EQ(refused.error().kind, "cursor_not_found") << path;
        EXPECT_EQ(base::int_at(refused.error().details, "oldest_seq"), 11) << path;
    }
    EXPECT_THAT(world.run({"events", "--after-seq", "5"}).err, HasSubstr("the oldest is 11"));
}

TEST_F(RetentionOfAHome, AHomeOfAnOlderVersionIsToldFirst) {
    make_old_turns();
    sql("DELETE FROM retention; INSERT INTO retention (id, record) VALUES (1, "
        "'{\"existed_before\":true}')");
    // However short a run is, the days of the notice begin with it.
    const auto begins = [&] {
        world.run({"run", "--agent", "main", "four"});
        return !base::string_at(world.json_of({"store", "status"}), "deletes_from").empty();
    };
    ASSERT_TRUE(test_support::eventually(begins));
    const auto from = world.json_of({"store", "status"}).at("deletes_from");
    // What would go is counted by a process that lives long enough.
    world.daemon({"start"});
    ASSERT_TRUE(test_support::eventually(
        [&] { return world.json_of({"store", "status"}).as_object().contains("announced"); }));
    const auto status = world.json_of({"store", "status"});
    EXPECT_EQ(status.at("deletes_from"), from);
    EXPECT_GE(status.at("announced").at("messages").as_int64(), 2);
    EXPECT_EQ(status.at("total").at("messages"), 0);
    EXPECT_THAT(world.run({"doctor"}).out, HasSubstr("old records are removed"));
}

}  // namespace
}  // namespace e2e
