// Plans of the daemon, from the command line: the same words and exit codes, and runs that outlive
// both ends.
#include <csignal>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/text.h"
#include "tests/e2e/daemon/daemon_world.h"
#include "tests/support/eventually.h"

namespace e2e {
namespace {

using testing::HasSubstr;
using testing::Not;

json::object step(std::string_view id, std::string_view tool, json::object args) {
    return {{"id", id}, {"tool", tool}, {"args", std::move(args)}};
}

class PlanDaemonE2e : public testing::Test {
protected:
    void SetUp() override {
        world.environment["USER"] = "nobody-in-particular";
        world.daemon({"start"});
    }
    std::vector<std::string> run_plan(json::array steps, std::vector<std::string> more = {}) {
        const auto file = world.folder() / "plan.json";
        world.write(file, base::json_text(json::object{{"version", "1.0"},
                                                       {"goal", "Try it"},
                                                       {"riskLevel", "commands"},
                                                       {"steps", std::move(steps)}}));
        std::vector<std::string> words{"plan", "run", file.string(), "--vault", "."};
        words.insert(words.end(), more.begin(), more.end());
        return words;
    }
    json::value status() { return world.json_of({"plan", "status", "last"}); }
    std::string last_id() { return base::string_at(status(), "runId"); }

    DaemonWorld world;
};

TEST_F(PlanDaemonE2e, TheRuntimeRunsIt) {
    const auto words =
        run_plan({step("make", "vault.createFile", {{"path", "a.md"}, {"content", "x"}})});
    const auto waiting = world.run(words);
    EXPECT_EQ(waiting.exit_code, 5) << waiting.err;
    EXPECT_EQ(world.run({"plan", "resume", "last"}).exit_code, 5);
    EXPECT_EQ(world.run({"plan", "approve", last_id()}).exit_code, 0);
    const auto finished = world.run({"plan", "resume", "last"});
    EXPECT_EQ(finished.exit_code, 0) << finished.err;
    EXPECT_THAT(finished.err, HasSubstr("make"));
    EXPECT_EQ(world.read(world.repo() / "a.md"), "x") << "--vault is where the command was given";
    EXPECT_EQ(base::string_at(status(), "carrier"), "runtime");
    EXPECT_THAT(base::string_at(status().at("confirmation"), "approver"),
                Not(HasSubstr("nobody-in-particular")))
        << "who approves is who opened the socket";
    EXPECT_TRUE(base::bool_at(world.json_of({"plan", "verify", "last"}), "ok"));
    EXPECT_TRUE(base::bool_at(world.json_of({"plan", "replay", "last"}), "ok"));
    EXPECT_EQ(world.json_of({"plan", "revert", "last", "--yes"}).at("restored").get_array().size(),
              1U);
    EXPECT_FALSE(std::filesystem::exists(world.repo() / "a.md"));
    EXPECT_EQ(world.run(run_plan({step("x", "no.tool", {})})).exit_code, 6);
    EXPECT_EQ(world.run(run_plan({step("x", "vault.readFile", {{"path", "none.md"}})}, {"--yes"}))
                  .exit_code,
              3);
}

TEST_F(PlanDaemonE2e, CtrlCCancelsTheRunInTheDaemon) {
    Signpost post(world.folder() / "post");
    auto running = world.start(
        run_plan({step("one", "ExecCommand",
                       {{"cmd", "echo $$ > " + post.path().string() + "; sleep 1000"}})},
                 {"--yes"}));
    const pid_t group = std::stoi(post.wait());
    running.send(SIGINT);
    EXPECT_EQ(running.wait().exit_code, 130);
    EXPECT_FALSE(group_is_alive(group));
    EXPECT_EQ(base::string_at(status(), "status"), "cancelled");
}

TEST_F(PlanDaemonE2e, ARunContinuesWithoutAWatcher) {
    Signpost post(world.folder() / "post");
    Signpost go(world.folder() / "go");
    auto running = world.start(
        run_plan({step("one", "ExecCommand",
                       {{"cmd", fmt::format("echo here > {}; read word < {}; echo $word > a.txt",
                                            post.path().string(), go.path().string())}})},
                 {"--yes"}));
    EXPECT_EQ(post.wait(), "here");
    running.send(SIGKILL);
    running.wait();
    EXPECT_TRUE(base::bool_at(status(), "isCarried"));
    go.send("done");
    EXPECT_TRUE(test_support::eventually([&] { return !base::bool_at(status(), "isCarried"); }));
    EXPECT_EQ(base::string_at(status(), "status"), "succeeded");
    EXPECT_EQ(world.read(world.repo() / "a.txt"), "done\n");
}

TEST_F(PlanDaemonE2e, ARuntimeThatWasKilledTakesItsRunsUp) {
    constexpr std::int64_t kItems = 200;
    std::string list;
    for (std::int64_t i = 0; i < kItems; ++i) list += fmt::format("- item {}\n", i);
    auto each = step("each", "vault.ensureFolder", {{"path", "out/{item.text}"}});
    each["foreach"] =
        json::object{{"from", "$steps.list.items"}, {"itemName", "item"}, {"concurrency", 2}};
    each["onError"] = "retry";
    each["retry"] = json::object{{"maxAttempts", 3}, {"backoffMs", 1}};
    // However fast the machine is, the run is not over before there is this file.
    auto gate = step("gate", "vault.readFile", {{"path", "go.md"}});
    gate["onError"] = "retry";
    gate["retry"] = json::object{{"maxAttempts", 10}, {"backoffMs", 1000}};
    auto running =
        world.start(run_plan({step("list", "util.parseMarkdownBullets", {{"markdown", list}}),
                              std::move(each), std::move(gate)},
                             {"--yes", "--json"}));
    ASSERT_TRUE(test_support::eventually([&] {
        const auto run = world.by_socket().get("/plans/runs/last");
        return run && base::int_at(run->at("run").at("counts"), "calls") >= kItems / 4;
    }));
    ASSERT_EQ(::kill(world.pid(), SIGKILL), 0);
    world.write(world.repo() / "go.md", "go\n");
    world.daemon({"start"});

    const auto finished = running.wait();
    EXPECT_EQ(finished.exit_code, 0) << finished.err;
    EXPECT_EQ(base::string_at(status(), "status"), "succeeded");
    const auto shown = world.json_of({"plan", "show", "last"});
    std::map<std::string, std::int64_t> item_of;
    for (const auto& call : shown.at("calls").get_array())
        if (const auto* item = base::find(call, "iteration"))
            item_of[base::string_at(call, "callId")] = base::int_at(*item, "index");
    std::map<std::int64_t, int> done;
    for (const auto& result : shown.at("results").get_array())
        if (base::bool_at(result, "ok") && item_of.contains(base::string_at(result, "callId")))
            ++done[item_of[base::string_at(result, "callId")]];
    EXPECT_EQ(std::ssize(done), kItems);
    EXPECT_THAT(done, testing::Each(testing::Pair(testing::_, 1)));
    std::int64_t folders = 0;
    for ([[maybe_unused]] const auto& one :
         std::filesystem::directory_iterator(world.repo() / "out"))
        ++folders;
    EXPECT_EQ(folders, kItems);
    // Every watcher saw every event once.
    std::set<std::int64_t> seqs;
    std::int64_t events = 0;
    for (const auto& line : base::split_lines(finished.out)) {
        const auto value = base::parse_json(line).value_or(nullptr);
        if (base::string_at(value, "type").empty()) continue;
        ++events;
        seqs.insert(base::int_at(value, "seq"));
    }
    EXPECT_EQ(std::ssize(seqs), events);
    EXPECT_TRUE(base::bool_at(world.json_of({"plan", "verify", "last"}), "ok"));
}

TEST_F(PlanDaemonE2e, ARuntimeThatEndsLeavesItsRunsToTheNext) {
    Signpost post(world.folder() / "post");
    Signpost go(world.folder() / "go");
    auto two = step("two", "ExecCommand", {{"cmd", "echo two >> lines.txt"}});
    two["dependsOn"] = json::array{"one"};
    auto running = world.start(run_plan(
        {step("one", "ExecCommand",
              {{"cmd", fmt::format("echo here > {}; read word < {}; echo $word >> lines.txt",
                                   post.path().string(), go.path().string())}}),
         std::move(two)},
        {"--yes"}));
    EXPECT_EQ(post.wait(), "here");
    auto stopping = world.start({"daemon", "stop"});
    // Its doors are closed: the call under way is all that it waits for.
    EXPECT_TRUE(test_support::eventually([&] { return !world.by_socket().get("/healthz"); }));
    go.send("one");
    EXPECT_EQ(stopping.wait().exit_code, 0);
    EXPECT_EQ(world.read(world.repo() / "lines.txt"), "one\n");
    world.daemon({"start"});
    EXPECT_EQ(running.wait().exit_code, 0);
    EXPECT_EQ(world.read(world.repo() / "lines.txt"), "one\ntwo\n");
}

}  // namespace
}  // namespace e2e
