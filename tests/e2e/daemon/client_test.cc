// The command line as a client of a running runtime, over its socket and over TCP.
#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/text.h"
#include "tests/e2e/daemon/daemon_world.h"
#include "tests/support/fake_model_server.h"

namespace e2e {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

// A command whose output is read while it runs.
class Following {
public:
    Following(Program& program, const std::vector<std::string>& arguments) {
        const auto fifo = program.folder() / fmt::format("fifo-{}", ++count());
        CHECK(mkfifo(fifo.c_str(), 0600) == 0, "mkfifo");
        fd_.reset(open(fifo.c_str(), O_RDWR | O_NONBLOCK | O_CLOEXEC));
        program.out = fifo;
        running_.emplace(program.start(arguments));
        program.out.clear();
    }

    // The next line that holds `text`; empty, and the test fails, when none comes.
    std::string wait_for(std::string_view text) {
        while (true) {
            if (const auto end = buffer_.find('\n'); end != std::string::npos) {
                const std::string line = buffer_.substr(0, end);
                buffer_.erase(0, end + 1);
                lines_.push_back(line);
                if (line.contains(text)) return line;
                continue;
            }
            pollfd entry{.fd = fd_.get(), .events = POLLIN, .revents = 0};
            if (poll(&entry, 1, static_cast<int>(kPatience.count())) != 1) {
                ADD_FAILURE() << "'" << text << "' did not come; " << running_->err_so_far();
                return "";
            }
            char bytes[4096];
            const ssize_t got = read(fd_.get(), bytes, sizeof bytes);
            if (got > 0) buffer_.append(bytes, static_cast<std::size_t>(got));
        }
    }
    const std::vector<std::string>& lines() const { return lines_; }
    Running& running() { return *running_; }

private:
    static int& count() {
        static int number = 0;
        return number;
    }
    base::Fd fd_;
    std::optional<Running> running_;
    std::string buffer_;
    std::vector<std::string> lines_;
};

json::value activity_of(DaemonWorld& world) {
    const auto status = world.daemon({"status"});
    const auto* activity = base::find(status, "activity");
    return activity ? *activity : json::value(json::object{});
}

std::string hang_at(const Signpost& signpost) {
    return fmt::format("echo $$ > {}; sleep 600", signpost.path().string());
}

// contract: EVENT-01, EVENT-11, EVENT-23
TEST(Client, SendsFollowsAndReads) {
    DaemonWorld world;
    world.script({runs("echo from the tool"), says("All is well.")});
    world.daemon({"start"});
    EXPECT_EQ(base::string_at(world.json_of({"agent", "create", "k"}), "agent_id"), "k");
    Following tail(world, {"tail", "-f", "--agent", "k"});
    Following verbose(world, {"tail", "-f", "--agent", "k", "--display", "verbose"});
    Following debug(world, {"tail", "-f", "--agent", "k", "--display", "debug"});
    const auto said = world.json_of({"prompt", "--agent", "k", "how is it?"});
    EXPECT_THAT(keys_of(said), ElementsAre("agent_id", "message_id", "ok"));
    EXPECT_THAT(tail.wait_for("All is well."), HasSubstr("turn_result"));
    verbose.wait_for("All is well.");
    const auto kinds = [](const std::vector<std::string>& lines) {
        std::set<std::string> set;
        for (const auto& line : lines)
            set.insert(
                base::string_at(base::parse_json(line).value_or(nullptr), "source_event_kind"));
        return set;
    };
    debug.wait_for("All is well.");
    EXPECT_THAT(kinds(verbose.lines()), Contains("tool_executed"));
    EXPECT_THAT(kinds(tail.lines()), Not(Contains("tool_executed")));
    EXPECT_THAT(kinds(verbose.lines()), Not(Contains("provider_round_completed")));
    EXPECT_THAT(kinds(debug.lines()), Contains("provider_round_completed"));
    // The log has the very sentence of the result, and by a rule of its own none of the tool.
    const auto row = base::parse_json(tail.lines().back()).value_or(nullptr);
    std::string log;
    // Followers may receive an event before the daemon has logged it.
    EXPECT_TRUE(test_support::eventually([&] {
        log = world.read(world.run_folder() / "daemon.log");
        return log.contains(base::string_at(row, "summary"));
    })) << log;
    EXPECT_THAT(log, Not(HasSubstr("ExecCommand: echo from the tool")));
    EXPECT_THAT(verbose.lines(), Contains(HasSubstr("ExecCommand: echo from the tool")));
    // Whatever was displayed, the record has every event, once and with its payload.
    const auto raw = world.events("k");
    EXPECT_GT(raw.size(), debug.lines().size());
    for (std::size_t i = 0; i < raw.size(); ++i) {
        EXPECT_EQ(base::int_at(raw[i], "event_seq"), static_cast<std::int64_t>(i + 1));
        EXPECT_FALSE(raw[i].at("data").as_object().empty());
    }
    tail.running().send(SIGINT);
    EXPECT_EQ(tail.running().wait().signal, SIGINT);

    EXPECT_EQ(base::string_at(world.json_of({"status", "--agent", "k"}).at("identity"), "agent_id"),
              "k");
    EXPECT_EQ(of_kind(world.json_of({"tail", "--agent", "k"}), "result").size(), 1U);
    EXPECT_FALSE(of_kind(world.json_of({"transcript", "--agent", "k"}), "tool_results").empty());
    EXPECT_THAT(world.run({"debug", "latency", "--agent", "k"}).out, HasSubstr("tool ExecCommand"));
    EXPECT_THAT(world.run({"debug", "prompt", "--agent", "k", "what now?"}).out,
                HasSubstr("what now?"));
    std::vector<std::string> names;
    for (const auto& entry : world.json_of({"agent", "list"}).as_array())
        names.push_back(base::string_at(entry.at("identity"), "agent_id"));
    EXPECT_THAT(names, Contains("k"));
}

TEST(Client, AnOperatorsTaskReportsItsEndToItsAgentAndEndsWithIt) {
    DaemonWorld world;
    world.script({says("Seen.")});
    world.daemon({"start"});
    world.json_of({"agent", "create", "k"});
    Following tail(world, {"tail", "-f", "--agent", "k"});
    const auto done = world.json_of({"task", "list", "--cmd", "echo here", "--agent", "k"});
    EXPECT_EQ(base::string_at(done, "kind"), "command_task");
    EXPECT_EQ(base::string_at(done, "summary"), "list");
    tail.wait_for("Seen.");
    EXPECT_THAT(world.run({"transcript", "--agent", "k"}).out, HasSubstr("here"));

    const auto pid_file = world.folder() / "pid";
    Signpost ready(world.folder() / "ready");
    world.json_of({"task", "stay", "--agent", "k", "--login", "false", "--cmd",
                   fmt::format("echo $$ > {}; echo x > {}; exec sleep 1000", pid_file.string(),
                               ready.path().string())});
    ready.wait();
    const pid_t pid = std::stoi(world.read(pid_file));
    EXPECT_TRUE(is_alive(pid));
    EXPECT_EQ(world.json_of({"task", "--list", "--agent", "k"}).as_array().size(), 1U);
    world.json_of({"agent", "stop", "k"});
    EXPECT_TRUE(ends_within(pid, kPatience));
    const auto refused = world.run({"task", "late", "--cmd", "true", "--agent", "k"});
    EXPECT_EQ(refused.exit_code, 1);
    EXPECT_THAT(refused.err, HasSubstr("stopped"));
}

TEST(Client, ATaskThatMayNotRunIsRefusedAndOnRecord) {
    DaemonWorld world;
    world.script({says("Seen.")});
    std::filesystem::create_directories(world.home());
    world.write(world.home() / "config.json",
                R"({"agents": {"k": {"execution": {"allow_background_tasks": false}}}})");
    world.daemon({"start"});
    world.json_of({"agent", "create", "k"});
    world.json_of({"agent", "create", "free"});
    const auto refused = world.run({"task", "late", "--cmd", "touch ran", "--agent", "k"});
    EXPECT_EQ(refused.exit_code, 1);
    EXPECT_THAT(refused.err, HasSubstr("execution.allow_background_tasks"));
    EXPECT_FALSE(std::filesystem::exists(world.repo() / "ran"));
    const auto denied = world.events("k", "sandbox_denied");
    ASSERT_EQ(denied.size(), 1U);
    EXPECT_EQ(base::string_at(denied[0].at("data"), "rule"), "execution_policy");
    world.json_of({"task", "now", "--cmd", "true", "--agent", "free"});
}

// contract: EXEC-05
TEST(Client, AnAgentHasOneActiveWorkspaceWhateverIsDoneToIt) {
    DaemonWorld world;
    world.script({says("Seen.")});
    world.daemon({"start"});
    world.json_of({"agent", "create", "k"});
    const auto active = [&] {
        const auto execution = world.json_of({"status", "--agent", "k"}).at("execution");
        return base::string_at(execution, "workspace_id");
    };
    EXPECT_EQ(active(), "agent_home:k");
    const auto attached = base::string_at(
        world.json_of({"workspace", "attach", ".", "--agent", "k"}), "workspace_id");
    EXPECT_EQ(active(), "agent_home:k");
    world.json_of({"workspace", "detach", attached, "--agent", "k"});
    EXPECT_EQ(active(), "agent_home:k");
    world.daemon({"stop"});
    EXPECT_EQ(active(), "agent_home:k");
    // A run moves it to the project, in another process, and it keeps working there.
    world.run({"run", "--agent", "k", "--workspace-root", world.repo().string(), "go"});
    EXPECT_EQ(active(), attached);
    world.daemon({"start"});
    EXPECT_EQ(active(), attached);
    EXPECT_EQ(world.run({"workspace", "detach", attached, "--agent", "k"}).exit_code, 1);
    EXPECT_EQ(active(), attached);
    world.json_of({"workspace", "exit", "--agent", "k"});
    EXPECT_EQ(active(), "agent_home:k");
    world.json_of({"workspace", "detach", attached, "--agent", "k"});
    world.daemon({"restart"});
    EXPECT_EQ(active(), "agent_home:k");
}

// What is read by the daemon and what is read from the store is the same.
// contract: DAEMON-01, DIAG-05
TEST(Client, ReadsTheSameWithAndWithoutARuntime) {
    DaemonWorld world;
    EXPECT_EQ(world.run({"run", "--agent", "k", "--create-agent", "go"}).exit_code, 0);
    EXPECT_EQ(world.run({"run", "--agent", "other", "--create-agent", "go"}).exit_code, 0);
    const std::vector<std::vector<std::string>> reads{
        {"transcript", "--agent", "k"}, {"tail", "--agent", "k"}, {"agent", "model", "get", "k"}};
    std::vector<json::value> alone;
    for (const auto& words : reads) alone.push_back(world.json_of(words));
    const auto events = world.events("k");
    world.daemon({"start"});
    for (std::size_t i = 0; i < reads.size(); ++i)
        EXPECT_EQ(world.json_of(reads[i]), alone[i]) << reads[i][0];
    const auto served = world.events("k");
    ASSERT_GE(served.size(), events.size());
    EXPECT_TRUE(std::equal(events.begin(), events.end(), served.begin()));
    for (const auto& entry : alone[0].as_array())
        EXPECT_EQ(base::string_at(entry, "agent_id"), "k");
}

TEST(Client, WorksOverTcpWhenTheSocketIsGone) {
    DaemonWorld world;
    world.environment["HOLON_CONTROL_TOKEN"] = "tok-1";
    world.daemon({"start"});
    std::filesystem::remove(world.socket());
    EXPECT_EQ(world.run({"agent", "list"}).exit_code, 0);
    EXPECT_EQ(world.run({"prompt", "hello"}).exit_code, 0);
    const auto one_line = [&](const std::string& token) {
        world.environment["HOLON_CONTROL_TOKEN"] = token;
        const auto refused = world.run({"prompt", "hello"});
        EXPECT_EQ(refused.exit_code, 1);
        EXPECT_EQ(base::split_lines(refused.err).size(), 1U) << refused.err;
        EXPECT_THAT(refused.err, Not(HasSubstr("tok-")));
        return refused.err;
    };
    EXPECT_THAT(one_line("tok-2"), HasSubstr("refused the control token"));
    EXPECT_THAT(one_line(""), HasSubstr("requires a control token"));
}

TEST(Client, SendsTheDaemonsOwnTokenOnlyWhereAnAddressIsNamed) {
    DaemonWorld world;
    world.daemon({"start"});
    std::filesystem::remove(world.socket());
    EXPECT_EQ(world.run({"agent", "list"}).exit_code, 0);
    world.environment.erase("HOLON_HTTP_ADDR");
    const auto refused = world.run({"prompt", "hello"});
    EXPECT_EQ(refused.exit_code, 1);
    EXPECT_THAT(refused.err, HasSubstr("requires a control token"));
}

TEST(Client, SaysInOneLineWhatToDoWhenItFails) {
    DaemonWorld world;
    const auto refused = [&](std::vector<std::string> words) {
        const auto finished = world.run(words);
        EXPECT_EQ(finished.exit_code, 1) << words[0];
        EXPECT_EQ(finished.out, "");
        EXPECT_EQ(base::split_lines(finished.err).size(), 1U) << finished.err;
        return finished.err;
    };
    EXPECT_THAT(refused({"prompt", "x"}), HasSubstr("holon daemon start"));
    EXPECT_THAT(refused({"tail", "-f"}), HasSubstr("holon daemon start"));
    world.daemon({"start"});
    EXPECT_THAT(refused({"prompt", "--agent", "nobody", "x"}), HasSubstr("nobody"));
    EXPECT_THAT(refused({"tail", "-f", "--agent", "nobody"}), HasSubstr("nobody"));
    world.environment["HOLON_CONTROL_AUTH_MODE"] = "maybe";
    EXPECT_THAT(refused({"daemon", "status"}), HasSubstr("HOLON_CONTROL_AUTH_MODE"));
}

TEST(Client, ATemporaryRunWorksWhileTheDaemonRuns) {
    DaemonWorld world;
    world.daemon({"start"});
    const auto result = world.json_of({"run", "--json", "go"});
    EXPECT_EQ(base::string_at(result, "final_status"), "completed");
    EXPECT_TRUE(is_alive(world.pid()));
}

// contract: DAEMON-26, DAEMON-27, DAEMON-38, DAEMON-39, DAEMON-40, DAEMON-43, DAEMON-44
TEST(Client, StatusFollowsWhatTheRuntimeDoes) {
    DaemonWorld world;
    Signpost reached(world.folder() / "reached");
    world.script({runs(hang_at(reached)),
                  calls("Sleep", {{"reason", "until tomorrow"}, {"duration_ms", 86'400'000}})});
    world.daemon({"start"});
    world.json_of({"agent", "create", "k"});
    const auto idle = activity_of(world);
    EXPECT_THAT(keys_of(idle),
                ElementsAre("active_agent_count", "active_task_count", "processing_agent_count",
                            "queued_message_count", "state", "waiting_agent_count"));
    EXPECT_EQ(base::int_at(idle, "queued_message_count"), 0);
    EXPECT_EQ(base::string_at(idle, "state"), "idle");
    EXPECT_GE(base::int_at(idle, "active_agent_count"), 1);
    EXPECT_EQ(base::int_at(idle, "processing_agent_count"), 0);
    world.json_of({"prompt", "--agent", "k", "go"});
    const pid_t group = std::stoi("0" + reached.wait());
    const auto busy = activity_of(world);
    EXPECT_EQ(base::string_at(busy, "state"), "processing");
    EXPECT_EQ(base::int_at(busy, "processing_agent_count"), 1);
    Following events(world, {"events", "-f", "--agent", "k"});
    kill(-group, SIGKILL);  // The command fails, and the agent falls asleep.
    events.wait_for("\"closure_decided\"");
    const auto waiting = activity_of(world);
    EXPECT_EQ(base::string_at(waiting, "state"), "waiting");
    EXPECT_EQ(base::int_at(waiting, "processing_agent_count"), 0);
    EXPECT_EQ(base::int_at(waiting, "waiting_agent_count"), 1);
    const auto status = world.daemon({"status"});
    EXPECT_THAT(keys_of(status), Not(Contains("tail")));
    EXPECT_THAT(keys_of(status), Not(Contains("agents")));
}

// contract: DAEMON-18, DAEMON-19, DAEMON-22, DAEMON-48, STATE-27, STATE-29, STATE-30, STATE-35
TEST(Client, ADrainInterruptsATurnThatTheNextRuntimeResumes) {
    DaemonWorld world;
    Signpost reached(world.folder() / "reached");
    world.script({runs(hang_at(reached)), says("Done after all.")});
    world.daemon({"start"});
    world.json_of({"agent", "create", "k"});
    world.json_of({"prompt", "--agent", "k", "go"});
    reached.wait();
    world.daemon({"stop"});
    const auto drained = world.json_of({"status", "--agent", "k"}).at("agent");
    EXPECT_NE(base::string_at(drained, "status"), "stopped");
    EXPECT_EQ(world.events("k", "message_processing_aborted").size(), 1U);
    EXPECT_TRUE(of_kind(world.json_of({"tail", "--agent", "k"}), "result").empty());

    world.daemon({"start"});
    Following tail(world, {"tail", "-f", "--agent", "k"});
    tail.wait_for("Done after all.");
    EXPECT_EQ(world.events("k", "message_admitted").size(), 1U);
    // A stopped agent stays stopped.
    world.json_of({"agent", "stop", "k"});
    world.daemon({"restart"});
    const auto stopped = world.json_of({"status", "--agent", "k"});
    EXPECT_EQ(base::string_at(stopped.at("agent"), "status"), "stopped");
    EXPECT_EQ(base::string_at(stopped.at("lifecycle"), "resume_cli_hint"), "holon agent start k");
    const auto refused = world.run({"prompt", "--agent", "k", "more"});
    EXPECT_EQ(refused.exit_code, 1);
    EXPECT_THAT(refused.err, HasSubstr("holon agent start k"));
    EXPECT_EQ(world.events("k", "message_admitted").size(), 1U);
    world.json_of({"agent", "start", "k"});
    const auto started = world.json_of({"status", "--agent", "k"});
    EXPECT_EQ(base::find(started.at("lifecycle"), "resume_cli_hint"), nullptr);
    EXPECT_EQ(world.run({"prompt", "--agent", "k", "more"}).exit_code, 0);
}

// contract: DAEMON-18
TEST(Client, AKilledRuntimeResumesWhereItWas) {
    DaemonWorld world;
    Signpost reached(world.folder() / "reached");
    world.script({runs(hang_at(reached)), says("Done after all.")});
    world.daemon({"start"});
    world.json_of({"agent", "create", "k"});
    world.json_of({"prompt", "--agent", "k", "go"});
    const pid_t group = std::stoi("0" + reached.wait());
    const pid_t first = world.pid();
    ASSERT_EQ(kill(first, SIGKILL), 0);
    ASSERT_TRUE(ends_within(first, kPatience));
    kill(-group, SIGKILL);  // Processes that outlive it would run for long.
    world.daemon({"start"});
    Following tail(world, {"tail", "-f", "--agent", "k"});
    tail.wait_for("Done after all.");
    EXPECT_EQ(of_kind(world.json_of({"tail", "--agent", "k"}), "result").size(), 1U);
}

TEST(Client, AFollowerOutlivesARestart) {
    DaemonWorld world;
    world.script({says("First."), says("Second.")});
    world.daemon({"start"});
    world.json_of({"agent", "create", "k"});
    Following tail(world, {"tail", "-f", "--agent", "k"});
    world.json_of({"prompt", "--agent", "k", "one"});
    tail.wait_for("First.");
    world.script({says("Second.")});
    world.daemon({"restart"});
    world.json_of({"prompt", "--agent", "k", "two"});
    tail.wait_for("Second.");
    EXPECT_THAT(tail.running().err_so_far(), HasSubstr("waiting for it to come back"));
}

// contract: DAEMON-28, DAEMON-29, DAEMON-41, DIAG-02, DIAG-11, DIAG-12
TEST(Client, TroubleIsFoundInTheOrderThatTheBookNames) {
    DaemonWorld world;
    json::object broken = says("");
    broken["fault"] = json::object{{"kind", "auth_error"},
                                   {"message", "the key was refused"},
                                   {"status", 401},
                                   {"times", 100}};
    world.script({broken});
    // 1. One prompt, bounded, in one document.
    const auto run = world.json_of({"run", "--json", "go"}, 3);
    EXPECT_THAT(keys_of(run), testing::IsSupersetOf({"provider_attempt_timeline", "token_usage"}));
    // 2. The runtime: is it up, and what failed?
    EXPECT_EQ(base::string_at(world.daemon({"status"}), "state"), "stopped");
    world.daemon({"start"});
    world.json_of({"agent", "create", "k"});
    Following tail(world, {"tail", "-f", "--agent", "k"});
    world.json_of({"prompt", "--agent", "k", "go"});
    tail.wait_for("the key was refused");
    const auto status = world.daemon({"status"});
    EXPECT_TRUE(base::bool_at(status, "healthy"));
    const auto& failure = status.at("last_failure");
    EXPECT_EQ(base::string_at(failure, "phase"), "runtime_turn");
    EXPECT_THAT(base::string_at(failure, "summary"), HasSubstr("the key was refused"));
    EXPECT_NE(base::string_at(failure, "occurred_at"), "");
    EXPECT_NE(base::string_at(failure, "detail_hint"), "");
    // 3. Its log. 4. The agent.
    EXPECT_EQ(world.run({"daemon", "logs"}).exit_code, 0);
    const auto failures = of_kind(world.json_of({"transcript", "--agent", "k"}), "runtime_failure");
    ASSERT_EQ(failures.size(), 1U);
    const auto errors = world.events("k", "runtime_error");
    ASSERT_EQ(errors.size(), 1U);
    EXPECT_EQ(failures[0].at("data").at("provider_attempt_timeline"),
              errors[0].at("data").at("provider_attempt_timeline"));
    EXPECT_EQ(of_kind(world.json_of({"tail", "--agent", "k"}), "failure").size(), 1U);
    // It is still there for a runtime that comes later.
    world.daemon({"restart"});
    EXPECT_EQ(base::string_at(world.daemon({"status"}).at("last_failure"), "phase"),
              "runtime_turn");
}

TEST(Client, LifecycleTimersWorkspacesAndTriggers) {
    DaemonWorld world;
    world.daemon({"start", "--advertise", "https://h.example"});
    world.json_of({"agent", "create", "k"});
    const auto status = [&] {
        return base::string_at(world.json_of({"agent", "status", "k"}).at("agent"), "status");
    };
    world.json_of({"agent", "pause", "k"});
    EXPECT_EQ(status(), "paused");
    world.json_of({"agent", "resume", "k"});
    EXPECT_NE(status(), "paused");
    world.json_of({"control", "stop", "--agent", "k"});
    EXPECT_EQ(status(), "stopped");
    world.json_of({"control", "start", "--agent", "k"});

    const auto timer = world.json_of(
        {"timer", "--agent", "k", "--after-ms", "3600000", "--summary", "look again"});
    EXPECT_EQ(base::string_at(timer, "status"), "active");
    EXPECT_EQ(world.json_of({"timer", "--agent", "k", "--list"}).as_array().size(), 1U);
    const auto cancelled =
        world.json_of({"timer", "--agent", "k", "--cancel", base::string_at(timer, "id")});
    EXPECT_EQ(base::string_at(cancelled, "status"), "cancelled");

    const auto attached = world.json_of({"workspace", "attach", ".", "--agent", "k"});
    EXPECT_EQ(base::string_at(attached, "workspace_anchor"), world.repo().string());
    const auto detached = world.json_of(
        {"workspace", "detach", base::string_at(attached, "workspace_id"), "--agent", "k"});
    EXPECT_TRUE(base::bool_at(detached, "ok"));

    const auto url = [&](const char* word) {
        return base::string_at(world.json_of({"trigger", word, "--agent", "k"}), "trigger_url");
    };
    const auto first = url("show");
    EXPECT_THAT(first, testing::StartsWith("https://h.example/callbacks/wake/cb_"));
    EXPECT_EQ(url("show"), first);
    const auto second = url("rotate");
    EXPECT_NE(second, first);
    const auto wake = [&](const std::string& full) {
        return world.by_tcp().post(full.substr(std::string("https://h.example").size()),
                                   json::object{});
    };
    EXPECT_FALSE(wake(first));
    EXPECT_TRUE(wake(second));
    EXPECT_TRUE(base::bool_at(world.json_of({"trigger", "revoke", "--agent", "k"}), "ok"));
    EXPECT_FALSE(wake(second));
}

}  // namespace
}  // namespace e2e
