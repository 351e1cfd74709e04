// What version 0.1 left in the middle of its work is served, continued and finished by this build.
#include <map>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/hash.h"
#include "base/text.h"
#include "tests/upgrade/old_home.h"

namespace upgrade {
namespace {

using testing::HasSubstr;

class Upgrade : public testing::Test {
protected:
    // Every event of the earlier version, byte for byte, with the numbers it had.
    void expect_history_kept() {
        for (const auto& agent : old.agents()) {
            const auto recorded = old.recorded(agent);
            const std::string all = old.served(agent);
            std::size_t end = 0;
            for (std::int64_t i = 0; i < recorded.events; ++i) end = all.find('\n', end) + 1;
            EXPECT_EQ(base::sha256_hex(std::string_view(all).substr(0, end)), recorded.sha256)
                << agent;
            std::int64_t seq = 0;
            for (const auto line : base::split_lines(all)) {
                const auto event = base::parse_json(line);
                ASSERT_TRUE(event) << line;
                ASSERT_EQ(base::int_at(*event, "event_seq"), ++seq) << agent;
            }
        }
    }

    // The agent ends as many turns as named, all with this answer, and has nothing left to do.
    void expect_turns(const std::string& agent, std::size_t count,
                      std::string_view answer = "Continued.") {
        const auto ends = old.await(agent, "turn_terminal", count);
        EXPECT_EQ(ends.size(), count) << agent;
        for (const auto& end : ends) {
            EXPECT_EQ(base::string_at(end.at("data"), "kind"), "completed") << agent;
            EXPECT_EQ(base::string_at(end.at("data"), "last_assistant_message"), answer) << agent;
        }
        const auto status = old.program.json_of({"status", "--agent", agent, "--json"});
        EXPECT_EQ(base::int_at(status.at("agent"), "pending", -1), 0) << agent;
    }

    // How often each message of the agent was processed since the upgrade, by its text.
    std::map<std::string, int> processed(const std::string& agent) {
        std::map<std::string, int> times;
        for (const auto& event : old.added(agent, "message_processing_started"))
            ++times[base::string_at(event.at("data").at("body"), "text")];
        return times;
    }

    OldHome old;
};

TEST_F(Upgrade, EverythingOfTheEarlierVersionIsServed) {
    expect_history_kept();
    EXPECT_GE(old.recorded("history").events, 100'000);
    for (const auto& agent : old.agents()) {
        const auto status = old.program.json_of({"status", "--agent", agent, "--json"});
        EXPECT_EQ(base::string_at(status.at("agent"), "id"), agent);
        EXPECT_TRUE(old.program.json_of({"transcript", "--agent", agent, "--json"}).is_array());
        EXPECT_TRUE(old.program.json_of({"tail", "--agent", agent, "--json"}).is_array());
    }
    EXPECT_EQ(old.program.json_of({"agent", "list", "--json"}).as_array().size(),
              old.agents().size());
    EXPECT_EQ(old.program.json_of({"plan", "list", "--json"}).as_array().size(), 3U);
    const auto proof = old.program.json_of({"plan", "verify", old.plan_run("finished"), "--json"});
    EXPECT_TRUE(base::bool_at(proof, "ok"));
    EXPECT_EQ(old.program.json_of({"gate", "list", "--json"}).as_array().size(), 2U);
    const auto builder = old.program.json_of({"status", "--agent", "builder", "--json"});
    const std::string folder = base::string_at(builder.at("execution"), "execution_root");
    EXPECT_EQ(old.program.read(folder + "/built.txt"), "built\n") << folder;
}

TEST_F(Upgrade, OpenTurnsTimersAndTasksContinueWhenTheDaemonStarts) {
    old.start_daemon();
    expect_turns("thinking", 1);
    expect_turns("parked", 1);
    expect_turns("acting", 1);
    expect_turns("sleeper", 1);
    expect_turns("timed", 1);
    expect_turns("worker", 1);
    // A command whose supervisor is gone has an unknown end, and is not run again.
    const auto results = e2e::of_kind(
        old.program.json_of({"transcript", "--agent", "acting", "--json"}), "tool_results");
    ASSERT_EQ(results.size(), 1U);
    EXPECT_THAT(base::json_text(results[0]), HasSubstr("tool_outcome_unknown"));
    const auto ends = old.await("worker", "task_result_received");
    ASSERT_EQ(ends.size(), 1U);
    EXPECT_EQ(base::string_at(ends[0].at("data"), "status"), "failed");
    EXPECT_THAT(old.program.json_of({"task", "--list", "--agent", "worker", "--json"}).as_array(),
                testing::IsEmpty());
    EXPECT_EQ(old.added("sleeper", "timer_fired").size(), 1U);
    EXPECT_EQ(old.added("timed", "timer_fired").size(), 1U);
    expect_history_kept();
}

TEST_F(Upgrade, QueuedMessagesRunOnceEach) {
    old.start_daemon();
    EXPECT_EQ(old.program.run({"agent", "resume", "paused"}).exit_code, 0);
    expect_turns("paused", 4);
    const auto times = processed("paused");
    for (const auto* text : {"queued 0", "queued 1", "queued 2"})
        EXPECT_EQ(times.contains(text) ? times.at(text) : 0, 1) << text;
    EXPECT_EQ(times.size(), 4U) << "the wake hint is the fourth";
    // What came to an end long ago is no obstacle for what is new.
    EXPECT_EQ(old.program.run({"prompt", "--agent", "history", "once more"}).exit_code, 0);
    expect_turns("history", 1);
    EXPECT_EQ(old.program.run({"prompt", "--agent", "builder", "once more"}).exit_code, 0);
    expect_turns("builder", 1);
    expect_history_kept();
}

TEST_F(Upgrade, PlanRunsResumeAndCanBeApproved) {
    const std::string open = old.plan_run("open"), waiting = old.plan_run("waiting");
    old.program.write(old.vault() / "go", "");
    old.start_daemon();
    old.await_run(open, "succeeded");
    // Its first step was over; its second one has an unknown end and may be repeated.
    EXPECT_EQ(old.program.read(old.vault() / "lines.txt"), "first\nsecond\nsecond\nthird\n");
    EXPECT_TRUE(base::bool_at(old.program.json_of({"plan", "verify", open, "--json"}), "ok"));
    EXPECT_FALSE(std::filesystem::exists(old.vault() / "approved.md"));
    EXPECT_EQ(old.program.run({"plan", "approve", waiting}).exit_code, 0);
    EXPECT_EQ(old.program.run({"plan", "resume", waiting}).exit_code, 0);
    old.await_run(waiting, "succeeded");
    EXPECT_EQ(old.program.read(old.vault() / "approved.md"), "x");
}

}  // namespace
}  // namespace upgrade
