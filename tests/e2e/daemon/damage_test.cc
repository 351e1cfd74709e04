// A damaged database: the daemon serves what is sound, says what is not, and there is a way back.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>

#include "base/os/crash/crash_marks.h"
#include "base/os/files.h"
#include "store/sql/sqlite/connection.h"
#include "tests/e2e/daemon/daemon_world.h"

namespace e2e {
namespace {

using testing::HasSubstr;

constexpr std::size_t kMarksBytesMax = 64 * 1024;

class Damage : public testing::Test {
protected:
    DaemonWorld world;

    void sql(const std::string& script) {
        const auto done = sqlite::Connection::open({.file = world.home() / "holon.db"})
                              .value()
                              ->run_script(script);
        ASSERT_TRUE(done) << done.error().message;
    }
    bool has_answered(const std::string& agent) {
        return test_support::eventually([&] {
            const auto status = world.by_socket().get("/agents/" + agent + "/status");
            return status && status->at("agent").at("pending") == 0 &&
                   status->at("agent").at("status") == "awake_idle" &&
                   status->at("agent").at("turn_index") != 0;
        });
    }
    // No thread of the daemon executes a step of an agent: a kill now is nobody's fault.
    bool executes_nothing() {
        for (const auto& entry :
             std::filesystem::directory_iterator(world.home() / "run" / "marks")) {
            const auto marks = base::read_file(entry.path(), kMarksBytesMax).value_or("x");
            for (std::size_t slot = 0; slot < marks.size(); slot += base::kMarkBytesMax + 1)
                if (marks[slot] != 0) return false;
        }
        return true;
    }
    json::value entry_of(const std::string& agent) {
        const auto list = world.by_socket().get("/agents/list");
        if (!list) return nullptr;
        for (const auto& entry : list->as_array())
            if (base::string_at(entry.at("identity"), "agent_id") == agent) return entry;
        return nullptr;
    }
};

TEST_F(Damage, OneBrokenAgentAndABrokenPlanRunStopNeitherTheStartNorTheOthers) {
    world.script({says("hello")});
    world.daemon({"start"});
    ASSERT_EQ(world.run({"agent", "create", "bad"}).exit_code, 0);
    world.daemon({"stop"});
    sql("UPDATE agents SET record = '{' WHERE agent_id = 'bad'; "
        "INSERT INTO messages (id, agent_id, seq, record) SELECT 'm', 'bad', 1, '{}'; "
        "INSERT INTO queue_entries (message_id, agent_id, seq, priority, status, tries, "
        "created_at, updated_at) VALUES ('m', 'bad', 1, 2, 'queued', 0, 0, 0); "
        "INSERT INTO plan_runs (run_id, created_at, is_open, record) VALUES ('p', 1, 1, '{')");

    world.daemon({"start"});
    EXPECT_TRUE(world.by_socket().get("/readyz"));
    EXPECT_TRUE(test_support::eventually([&] {
        const auto status = world.by_socket().get("/control/runtime/status");
        return status && status->at("activity").as_object().contains("agents_set_aside");
    }));
    EXPECT_EQ(entry_of("bad").at("status"), "paused");
    EXPECT_THAT(std::string(entry_of("bad").at_pointer("/lifecycle/fault/reason").as_string()),
                HasSubstr("not JSON"));
    ASSERT_EQ(world.run({"prompt", "hello"}).exit_code, 0);
    EXPECT_TRUE(has_answered("main"));

    const auto check = world.run({"store", "check"});
    EXPECT_EQ(check.exit_code, 3);
    EXPECT_THAT(check.out, HasSubstr("plan_runs"));
    EXPECT_NE(world.run({"store", "repair"}).exit_code, 0) << "not while the daemon serves";

    world.daemon({"stop"});
    const auto repair = world.json_of({"store", "repair"});
    EXPECT_EQ(repair.at("quarantined").as_array().size(), 3U);
    EXPECT_TRUE(std::filesystem::exists(std::string(repair.at("backup").as_string())));
    EXPECT_EQ(world.run({"store", "check"}).exit_code, 0);

    world.daemon({"start"});
    EXPECT_EQ(entry_of("bad").at("status"), "paused") << "its operator decides";
    ASSERT_EQ(world.run({"agent", "recover", "bad"}).exit_code, 0);
    ASSERT_EQ(world.run({"prompt", "--agent", "bad", "hello"}).exit_code, 0);
    EXPECT_TRUE(has_answered("bad"));
}

TEST_F(Damage, KillingTheDaemonCountsNoDeathForTurnsThatMerelyWereOpen) {
    world.script({{{"text", "late"}, {"delay_ms", 600'000}}});
    world.daemon({"start"});
    ASSERT_EQ(world.run({"prompt", "hello"}).exit_code, 0);
    ASSERT_TRUE(test_support::eventually([&] {
        const auto status = world.by_socket().get("/agents/main/status");
        return status && status->at("agent").at("status") == "awake_running";
    }));
    for (int i = 0; i < 3; ++i) {
        const pid_t pid = world.pid();
        ASSERT_GT(pid, 0);
        ASSERT_TRUE(test_support::eventually([&] { return executes_nothing(); }));
        ::kill(pid, SIGKILL);
        ASSERT_TRUE(ends_within(pid, kPatience));
        world.daemon({"start"});
        ASSERT_TRUE(test_support::eventually(
            [&] { return world.events("main", "attempt_resumed").size() == i + 1U; }));
    }
    for (const auto& event : world.events("main", "attempt_resumed"))
        EXPECT_EQ(event.at_pointer("/data/restarts"), 0);
}

}  // namespace
}  // namespace e2e
