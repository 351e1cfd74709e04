// `holon run` as a client of a running daemon: the same answers and exit codes as in a process of
// its own, and a turn that ends with its client.
#include <csignal>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/text.h"
#include "tests/e2e/daemon/daemon_world.h"

namespace e2e {
namespace {

using testing::HasSubstr;

// Prints its group to the signpost, so that the test can look for survivors.
std::string hangs_at(const Signpost& signpost) {
    return fmt::format("echo $$ > {}; sleep 600 & sleep 600", signpost.path().string());
}

json::array greeting_story() {
    return {with_usage(runs("echo hello > greeting.txt; cat greeting.txt", "Let me look."), 10, 5),
            with_usage(says("All done."), 7, 3)};
}

std::vector<std::string> agents_on_disk(const DaemonWorld& world) {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(world.home() / "agents"))
        names.push_back(entry.path().filename().string());
    std::ranges::sort(names);
    return names;
}

// contract: DAEMON-07
TEST(RunClient, TheDaemonRunsTheTurnAndNoOtherProcessDoes) {
    DaemonWorld world;
    world.script({says("From the daemon.")});
    world.daemon({"start"});
    const auto other = world.folder() / "other.json";
    world.write(other, R"({"rounds":[{"text":"From a runtime of the client."}],"loop":true})");
    world.environment["HOLON_MODEL"] = "scripted/" + other.string();
    for (const auto& words : std::vector<std::vector<std::string>>{
             {"run", "--json", "go"},
             {"run", "--json", "--agent", "main", "go"},
             {"run", "--json", "--agent", "k", "--create-agent", "go"}}) {
        const auto result = world.json_of(words);
        EXPECT_EQ(base::string_at(result, "final_status"), "completed");
        EXPECT_EQ(base::string_at(result, "final_text"), "From the daemon.");
    }
    EXPECT_THAT(agents_on_disk(world),
                testing::ElementsAre("k", "main", testing::StartsWith("tmp_run_")));
    world.daemon({"stop"});
    EXPECT_EQ(base::string_at(world.json_of({"run", "--json", "go"}), "final_text"),
              "From a runtime of the client.");
}

TEST(RunClient, GivesTheSameDocumentAsAProcessOfItsOwn) {
    DaemonWorld world;
    world.script(greeting_story());
    auto alone =
        world.json_of({"run", "--json", "--agent", "k", "--create-agent", "go"}).as_object();
    world.daemon({"start"});
    auto served =
        world.json_of({"run", "--json", "--agent", "l", "--create-agent", "go"}).as_object();
    EXPECT_EQ(keys_of(served), keys_of(alone));
    for (auto* document : {&alone, &served}) {
        document->erase("agent_id");
        document->erase("provider_attempt_timeline");  // Has times.
    }
    EXPECT_EQ(served, alone);
    EXPECT_EQ(base::int_at(served, "model_rounds"), 2);
    EXPECT_EQ(base::int_at(served, "shell_commands"), 1);
    EXPECT_EQ(base::int_at(served, "message_count"), 1);
}

TEST(RunClient, ShowsItsProgressAndTheAnswer) {
    DaemonWorld world;
    world.script(greeting_story());
    world.daemon({"start"});
    const auto finished = world.run({"run", "say hello"});
    EXPECT_EQ(finished.exit_code, 0);
    EXPECT_EQ(finished.out, "All done.\n");
    EXPECT_THAT(finished.err, HasSubstr("Let me look."));
    EXPECT_THAT(finished.err, HasSubstr("echo hello > greeting.txt"));
    EXPECT_THAT(finished.err, HasSubstr("completed in"));
}

TEST(RunClient, WorksWhereTheClientIsAndNotWhereTheDaemonIs) {
    DaemonWorld world;
    world.script({runs("pwd > where.txt"), says("Done.")});
    world.daemon({"start"});
    const auto other = world.folder() / "other";
    std::filesystem::create_directories(other / "inner");
    world.started_in = other;
    EXPECT_EQ(world.run({"run", "go"}).exit_code, 0);
    EXPECT_EQ(world.read(other / "where.txt"), other.string() + "\n");
    EXPECT_EQ(world.run({"run", "--workspace-root", ".", "--cwd", "inner", "go"}).exit_code, 0);
    EXPECT_EQ(world.read(other / "inner" / "where.txt"), (other / "inner").string() + "\n");
}

TEST(RunClient, ExitsAsAProcessOfItsOwnDoes) {
    DaemonWorld world;
    json::object broken = says("");
    broken["fault"] = json::object{
        {"kind", "auth_error"}, {"message", "the key was refused"}, {"status", 401}, {"times", 9}};
    world.script({runs("true"), broken});
    world.daemon({"start"});
    const auto failed = world.run({"run", "go"});
    EXPECT_EQ(failed.exit_code, 3);
    EXPECT_THAT(failed.err, HasSubstr("holon transcript --agent tmp_run_"));
    // The temporary agent is kept for inspection.
    EXPECT_THAT(agents_on_disk(world), testing::Contains(testing::StartsWith("tmp_run_")));
    const auto bounded = world.json_of({"run", "--json", "--max-turns", "1", "go"}, 4);
    EXPECT_EQ(base::string_at(bounded, "final_status"), "max_turns_exceeded");
    EXPECT_EQ(base::int_at(bounded, "model_rounds"), 1);
    const auto unknown = world.run({"run", "--agent", "nobody", "go"});
    EXPECT_EQ(unknown.exit_code, 1);
    EXPECT_THAT(unknown.err, HasSubstr("--create-agent"));
    const auto done = world.run({"run", "--resume", "--agent", "main"});
    EXPECT_EQ(done.exit_code, 1);
    EXPECT_THAT(done.err, HasSubstr("nothing to resume"));
}

TEST(RunClient, InterruptsTheTurnInTheDaemonAndResumesIt) {
    DaemonWorld world;
    Signpost reached(world.folder() / "reached");
    world.script({runs(hangs_at(reached)), says("Done after all.")});
    world.daemon({"start"});
    auto running = world.start({"run", "--agent", "k", "--create-agent", "go"});
    const pid_t group = std::stoi("0" + reached.wait());
    running.send(SIGINT);
    const auto finished = running.wait();
    EXPECT_EQ(finished.exit_code, 130);
    EXPECT_EQ(finished.out, "");
    EXPECT_THAT(finished.err, HasSubstr("holon run --resume --agent k"));
    EXPECT_FALSE(group_is_alive(group));
    const auto aborted = world.events("k", "message_processing_aborted");
    ASSERT_EQ(aborted.size(), 1U);
    EXPECT_EQ(base::string_at(aborted[0].at("data"), "reason"), "operator_interrupt");
    const auto resumed = world.json_of({"run", "--json", "--resume", "--agent", "k"});
    EXPECT_EQ(base::string_at(resumed, "final_text"), "Done after all.");
}

TEST(RunClient, AClientThatIsKilledTakesItsTurnWithIt) {
    DaemonWorld world;
    Signpost reached(world.folder() / "reached");
    world.script({runs(hangs_at(reached)), says("Done after all.")});
    world.daemon({"start"});
    auto running = world.start({"run", "--json", "--agent", "k", "--create-agent", "go"});
    const pid_t group = std::stoi("0" + reached.wait());
    EXPECT_TRUE(group_is_alive(group));
    running.send(SIGKILL);
    EXPECT_EQ(running.wait().signal, SIGKILL);
    EXPECT_TRUE(test_support::eventually([&] { return !group_is_alive(group); }));
    EXPECT_TRUE(test_support::eventually(
        [&] { return world.events("k", "message_processing_aborted").size() == 1; }));
    EXPECT_EQ(
        base::string_at(world.events("k", "message_processing_aborted")[0].at("data"), "reason"),
        "client_disconnected");
    EXPECT_TRUE(is_alive(world.pid()));
    const auto resumed = world.json_of({"run", "--json", "--resume", "--agent", "k"});
    EXPECT_EQ(base::string_at(resumed, "final_text"), "Done after all.");
}

TEST(RunClient, TwoRunsAtOnceAreTwoAgents) {
    DaemonWorld world;
    Signpost reached(world.folder() / "reached");
    Signpost proceed(world.folder() / "go");
    world.script({runs(fmt::format("echo here > {}; read line < {}", reached.path().string(),
                                   proceed.path().string())),
                  says("Done.")});
    world.daemon({"start"});
    auto first = world.start({"run", "--json", "--agent", "k", "--create-agent", "go"});
    EXPECT_EQ(reached.wait(), "here");
    auto second = world.start({"run", "--json", "go"});
    EXPECT_EQ(reached.wait(), "here");
    const auto refused = world.run({"run", "--agent", "k", "me too"});
    EXPECT_EQ(refused.exit_code, 1);
    EXPECT_THAT(refused.err, HasSubstr("another run"));
    EXPECT_THAT(refused.err, HasSubstr("holon prompt --agent k"));
    proceed.send("now");
    proceed.send("now");
    for (auto* run : {&first, &second}) {
        const auto finished = run->wait();
        EXPECT_EQ(finished.exit_code, 0) << finished.err;
        EXPECT_EQ(base::string_at(base::parse_json(finished.out).value(), "final_text"), "Done.");
    }
}

TEST(RunClient, SaysWhatToDoWhenTheDaemonIsKilled) {
    DaemonWorld world;
    Signpost reached(world.folder() / "reached");
    world.script({runs(hangs_at(reached)), says("Done after all.")});
    world.daemon({"start"});
    auto running = world.start({"run", "--json", "--agent", "k", "--create-agent", "go"});
    const pid_t group = std::stoi("0" + reached.wait());
    const pid_t daemon = world.pid();
    ASSERT_EQ(kill(daemon, SIGKILL), 0);
    const auto finished = running.wait();
    EXPECT_EQ(finished.exit_code, 1);
    EXPECT_EQ(base::string_at(base::parse_json(finished.out).value(), "code"), "unavailable");
    EXPECT_EQ(base::split_lines(finished.err).size(), 1U) << finished.err;
    EXPECT_THAT(finished.err, HasSubstr("holon daemon start"));
    EXPECT_THAT(finished.err, HasSubstr("holon tail -f --agent k"));
    ASSERT_TRUE(ends_within(daemon, kPatience));
    kill(-group, SIGKILL);  // Processes that outlive it would run for long.
    world.daemon({"start"});
    EXPECT_TRUE(test_support::eventually(
        [&] { return of_kind(world.json_of({"tail", "--agent", "k"}), "result").size() == 1; }));
}

}  // namespace
}  // namespace e2e
