// holon daemon: starting, stopping, and what is found when something went wrong.
#include <poll.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/text.h"
#include "service/daemon/probe.h"
#include "service/daemon/run_files.h"
#include "tests/e2e/daemon/control_stub.h"
#include "tests/e2e/daemon/daemon_world.h"

namespace e2e {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

std::string text_at(const json::value& value, std::string_view name) {
    return base::string_at(value, name);
}

// contract: DAEMON-01, DAEMON-02, DAEMON-08, DAEMON-23
TEST(Daemon, RunsServeInTheBackgroundAndReportsItsAddress) {
    DaemonWorld world;
    const auto help = world.run({"daemon", "--help"}).out;
    for (const char* word : {"start", "stop", "status", "restart", "logs"})
        EXPECT_THAT(help, HasSubstr(word));
    EXPECT_EQ(text_at(world.daemon({"status"}), "state"), "stopped");
    const auto started = world.daemon({"start"});
    EXPECT_EQ(text_at(started, "action"), "start");
    const auto status = world.daemon({"status"});
    EXPECT_EQ(text_at(status, "state"), "running");
    EXPECT_EQ(base::int_at(status, "pid"), world.pid());
    EXPECT_EQ(text_at(status, "home_dir"), world.home().string());
    EXPECT_EQ(text_at(status, "socket_path"), world.socket().string());
    EXPECT_EQ(text_at(status, "http_addr"), fmt::format("127.0.0.1:{}", world.port()));
    const auto line = world.read(fmt::format("/proc/{}/cmdline", world.pid()));
    EXPECT_THAT(line, HasSubstr(std::string("\0serve\0", 7)));
    EXPECT_TRUE(world.by_tcp().get("/handshake"));
    const pid_t pid = world.pid();
    EXPECT_EQ(text_at(world.daemon({"stop"}), "state"), "stopped");
    EXPECT_FALSE(is_alive(pid));
    EXPECT_EQ(world.pid(), 0);
    EXPECT_FALSE(std::filesystem::exists(world.socket()));
    EXPECT_EQ(text_at(world.daemon({"stop"}), "state"), "stopped");  // Again is no mistake.
}

// contract: DAEMON-09, DAEMON-10
TEST(Daemon, StartsOnceHoweverOftenItIsRequested) {
    DaemonWorld world;
    std::vector<Running> starts;
    for (int i = 0; i < 4; ++i) starts.push_back(world.start({"daemon", "start"}));
    std::set<std::int64_t> pids;
    for (auto& start : starts) {
        const auto finished = start.wait();
        EXPECT_EQ(finished.exit_code, 0) << finished.err;
        pids.insert(base::int_at(base::parse_json(finished.out).value_or(nullptr), "pid"));
    }
    EXPECT_THAT(pids, ElementsAre(world.pid()));
    // From another folder it is still the same runtime.
    world.started_in = world.folder();
    const auto again = world.daemon({"start"});
    EXPECT_EQ(base::int_at(again, "pid"), world.pid());
    EXPECT_THAT(text_at(again, "message"), HasSubstr("already running"));
}

// One that was killed holds its home until the kernel has taken it apart.
TEST(Daemon, StartsOnceARuntimeThatIsGoingIsGone) {
    DaemonWorld world;
    const service::RunFiles files{.folder = world.run_folder(), .socket = world.socket()};
    auto held = service::lock_runtime(files);
    ASSERT_TRUE(held) << held.error().message;
    // Each check of the lock opens its file.
    const base::Fd checks(::inotify_init1(IN_CLOEXEC));
    ASSERT_GE(::inotify_add_watch(checks.get(), files.runtime_lock().c_str(), IN_OPEN), 0);
    auto starting = world.start({"daemon", "start"});
    const auto await_check = [&] {
        alignas(inotify_event) char events[sizeof(inotify_event)];
        pollfd seen{.fd = checks.get(), .events = POLLIN, .revents = 0};
        return test_support::eventually(
                   [&] { return ::poll(&seen, 1, 0) == 1 || starting.ends_within(0ms); }) &&
               ::poll(&seen, 1, 0) == 1 &&
               ::read(checks.get(), events, sizeof events) == sizeof events;
    };
    EXPECT_TRUE(await_check() && await_check()) << "it checked once and was refused";
    held->reset();
    const auto finished = starting.wait();
    EXPECT_EQ(finished.exit_code, 0) << finished.err;
    EXPECT_TRUE(world.by_socket().get("/handshake"));
}

// contract: DAEMON-11
TEST(Daemon, FailsClosedWhenAnotherConfigurationRuns) {
    DaemonWorld world;
    world.daemon({"start"});
    const pid_t pid = world.pid();
    const auto refused = world.run({"daemon", "start", "--port", std::to_string(free_port())});
    EXPECT_EQ(refused.exit_code, 1);
    EXPECT_THAT(refused.err, HasSubstr("holon daemon restart"));
    EXPECT_EQ(world.pid(), pid);
    EXPECT_TRUE(is_alive(pid));
    EXPECT_TRUE(world.by_tcp().get("/handshake"));
}

// contract: DAEMON-03, DAEMON-04
TEST(Daemon, ChecksItsOptionsBeforeItStartsAnything) {
    DaemonWorld world;
    for (const auto& command : std::vector<std::vector<std::string>>{
             {"serve", "--help"}, {"daemon", "start", "--help"}, {"daemon", "restart", "--help"}}) {
        const auto help = world.run(command).out;
        for (const char* option : {"--access ", "--host ", "--listen ", "--port ", "--advertise ",
                                   "--token ", "--token-file ", "--tls-cert ", "--tls-key "})
            EXPECT_THAT(help, HasSubstr(option)) << testing::PrintToString(command);
    }
    for (const std::vector<std::string>& bad : std::vector<std::vector<std::string>>{
             {"--access", "lan"},
             {"--access", "lan", "--host", "10.0.0.7"},  // Without a token.
             {"--listen", "0.0.0.0:1"},
             {"--advertise", "ftp://x"},
             {"--token-file", "nowhere"},
             {"--tls-cert", "nowhere", "--tls-key", "nowhere"}}) {
        std::vector<std::string> words{"daemon", "start"};
        words.insert(words.end(), bad.begin(), bad.end());
        const auto refused = world.run(words);
        EXPECT_EQ(refused.exit_code, 1) << bad.back();
        EXPECT_EQ(base::split_lines(refused.err).size(), 1U) << refused.err;
    }
    EXPECT_EQ(world.run({"daemon", "start", "--port", "0"}).exit_code, 2);
    EXPECT_FALSE(std::filesystem::exists(world.run_folder() / "daemon.log"));
}

// contract: DAEMON-05, DAEMON-15, DAEMON-16, DAEMON-17
TEST(Daemon, RestartReplacesTheProcessWithTheOptionsItIsGiven) {
    DaemonWorld world;
    const int other = free_port();
    world.daemon({"start", "--port", std::to_string(other)});
    const pid_t first = world.pid();
    const service::Client there(
        {.url = fmt::format("http://127.0.0.1:{}", other), .token = world.own_token()});
    EXPECT_TRUE(there.get("/handshake"));
    EXPECT_FALSE(world.by_tcp().get("/handshake"));
    EXPECT_TRUE(base::bool_at(world.daemon({"status"}), "config_fingerprint_match"));

    const auto restarted = world.daemon({"restart"});
    EXPECT_EQ(text_at(restarted, "action"), "restart");
    EXPECT_NE(world.pid(), first);
    EXPECT_FALSE(is_alive(first));
    EXPECT_FALSE(there.get("/handshake"));
    EXPECT_TRUE(world.by_tcp().get("/handshake"));
}

// contract: DAEMON-12, DAEMON-13, DIAG-08
TEST(Daemon, RecoversFromAKillByItself) {
    DaemonWorld world;
    world.daemon({"start"});
    const pid_t first = world.pid();
    ASSERT_EQ(kill(first, SIGKILL), 0);
    ASSERT_TRUE(ends_within(first, kPatience));
    const auto stale = world.daemon({"status"});
    EXPECT_EQ(text_at(stale, "state"), "stale");
    EXPECT_EQ(base::find(stale, "pid"), nullptr);
    EXPECT_EQ(stale.at("stale_files").as_array().size(), 3U);
    EXPECT_EQ(text_at(world.daemon({"start"}), "state"), "running");
    EXPECT_NE(world.pid(), first);
}

// contract: DAEMON-13, DAEMON-14
TEST(Daemon, TakesADeadPidForWhatItIs) {
    DaemonWorld world;
    std::filesystem::create_directories(world.run_folder());
    auto gone = world.start({"--version"});
    const pid_t dead = gone.pid();
    gone.wait();
    world.write(world.run_folder() / "holon.pid", std::to_string(dead) + "\n");
    EXPECT_EQ(text_at(world.daemon({"status"}), "state"), "stale");
    EXPECT_EQ(text_at(world.daemon({"restart"}), "state"), "running");
    EXPECT_NE(world.pid(), dead);
    world.daemon({"stop"});
    // A living one of another program is left alone.
    const auto bystander = world.start({"serve", "--home", (world.folder() / "b").string(),
                                        "--port", std::to_string(free_port())});
    world.write(world.run_folder() / "holon.pid", std::to_string(bystander.pid()) + "\n");
    EXPECT_EQ(text_at(world.daemon({"stop"}), "state"), "stopped");
    EXPECT_TRUE(is_alive(bystander.pid()));
}

// contract: DAEMON-20, DAEMON-34, DIAG-09
TEST(Daemon, LeavesASocketOfAnotherProgramAlone) {
    DaemonWorld world;
    const ControlStub stub(world.socket(), [](const std::string&) { return "{\"hello\":1}"; });
    for (const char* command : {"start", "stop", "restart"}) {
        const auto refused = world.run({"daemon", command});
        EXPECT_EQ(refused.exit_code, 1) << command;
        EXPECT_THAT(refused.err, HasSubstr("another program listens"));
        EXPECT_TRUE(std::filesystem::is_socket(world.socket()));
    }
    EXPECT_EQ(world.run({"serve"}).exit_code, 1);
    EXPECT_TRUE(std::filesystem::is_socket(world.socket()));
    const auto logs = world.daemon({"logs"});
    EXPECT_EQ(text_at(logs.at("shutdown_failure"), "phase"), "shutdown");
    EXPECT_THAT(text_at(logs.at("shutdown_failure"), "summary"), HasSubstr("another program"));
}

// contract: DAEMON-21, DAEMON-31
TEST(Daemon, AsksBeforeItSignalsAndAcceptsARuntimeThatReportsLess) {
    DaemonWorld world;
    ControlStub stub(world.socket(), [](const std::string& request) {
        return request.starts_with("GET") ? "{\"ok\":true}" : "{\"ok\":true,\"more\":1}";
    });
    const auto status = world.daemon({"status"});
    EXPECT_EQ(text_at(status, "state"), "running");
    EXPECT_EQ(base::find(status, "config_fingerprint_match"), nullptr);
    EXPECT_EQ(base::find(status, "activity"), nullptr);
    const auto stopped = world.run({"daemon", "stop"});
    EXPECT_EQ(stopped.exit_code, 0) << stopped.err;
    EXPECT_THAT(stub.requests(), testing::Contains("POST /control/runtime/shutdown"));
}

// The bound is that of the questions it asks: none waits longer than kProbeTimeout, and a runtime
// that is stopped here never answers one.
// contract: DIAG-03
TEST(Daemon, StatusSaysWhetherTheRuntimeIsUpEvenWhenItDoesNotAnswer) {
    static_assert(service::kProbesMax * service::kProbeTimeout <= 10s);
    DaemonWorld world;
    EXPECT_EQ(text_at(world.daemon({"status"}), "state"), "stopped");
    world.daemon({"start"});
    EXPECT_EQ(text_at(world.daemon({"status"}), "state"), "running");
    const pid_t pid = world.pid();
    ASSERT_EQ(kill(pid, SIGSTOP), 0);
    const auto frozen = world.daemon({"status"});
    ASSERT_EQ(kill(pid, SIGCONT), 0);
    EXPECT_EQ(text_at(frozen, "state"), "running") << "its process is up";
    EXPECT_FALSE(base::bool_at(frozen, "healthy", true)) << "and does not answer";
    EXPECT_EQ(text_at(world.daemon({"status"}), "state"), "running");
}

// contract: DAEMON-21, DAEMON-24
TEST(Daemon, EndsARuntimeThatDoesNotAnswer) {
    DaemonWorld world;
    world.daemon({"start"});
    const pid_t pid = world.pid();
    // The files are there and the process lives, but no process listens at the socket.
    std::filesystem::remove(world.socket());
    const auto status = world.daemon({"status"});
    EXPECT_EQ(text_at(status, "state"), "running");
    EXPECT_FALSE(base::bool_at(status, "healthy", true));
    EXPECT_FALSE(base::bool_at(status, "control_connectivity", true));
    EXPECT_EQ(base::int_at(status, "pid"), pid);
    const auto refused = world.run({"daemon", "start"});
    EXPECT_EQ(refused.exit_code, 1);
    EXPECT_THAT(refused.err, HasSubstr("holon daemon logs"));
    const auto stopped = world.daemon({"stop"});
    EXPECT_THAT(text_at(stopped, "message"), HasSubstr("terminated"));
    EXPECT_FALSE(is_alive(pid));
}

// contract: DAEMON-25
TEST(Daemon, SeesThatTheConfigurationHasChanged) {
    DaemonWorld world;
    world.daemon({"start"});
    EXPECT_TRUE(base::bool_at(world.daemon({"status"}), "config_fingerprint_match"));
    EXPECT_EQ(world.run({"config", "set", "runtime.max_tool_output_tokens", "9000"}).exit_code, 0);
    const auto status = world.daemon({"status"});
    EXPECT_FALSE(base::bool_at(status, "config_fingerprint_match", true));
    EXPECT_THAT(world.run({"daemon", "start"}).err, HasSubstr("holon daemon restart"));
    world.daemon({"restart"});
    EXPECT_TRUE(base::bool_at(world.daemon({"status"}), "config_fingerprint_match"));
}

// contract: DAEMON-30, DAEMON-33, DAEMON-37, DAEMON-42, DAEMON-45, DIAG-04, DIAG-10
TEST(Daemon, AFailedStartLeadsToItsCauseByPrintedHintsAlone) {
    DaemonWorld world;
    world.environment["HOLON_MODEL"] = "nobody/knows";
    const auto failed = world.run({"daemon", "start"});
    EXPECT_EQ(failed.exit_code, 1);
    EXPECT_THAT(failed.err, HasSubstr("holon daemon logs"));
    EXPECT_TRUE(std::filesystem::exists(world.run_folder() / "startup_failure.json"));
    const auto logs = world.daemon({"logs"});
    EXPECT_THAT(text_at(logs.at("startup_failure"), "summary"), HasSubstr("nobody"));
    EXPECT_EQ(text_at(logs.at("startup_failure"), "phase"), "startup");
    const auto status = world.daemon({"status"});
    EXPECT_EQ(text_at(status, "state"), "stopped");
    EXPECT_THAT(text_at(status.at("last_failure"), "summary"), HasSubstr("nobody"));
    EXPECT_EQ(text_at(status.at("last_failure"), "detail_hint"), "holon daemon logs");

    world.script({says("Done.")});
    const auto good = world.daemon({"start"});
    EXPECT_EQ(base::find(good, "last_failure"), nullptr);
    EXPECT_THAT(keys_of(world.daemon({"logs"})), Not(testing::Contains("startup_failure")));
}

TEST(Daemon, SaysWhenItsAddressIsTaken) {
    DaemonWorld first;
    first.daemon({"start"});
    DaemonWorld second;
    const auto taken = second.run({"daemon", "start", "--port", std::to_string(first.port())});
    EXPECT_EQ(taken.exit_code, 1);
    EXPECT_THAT(taken.err, HasSubstr(std::to_string(first.port())));
    EXPECT_EQ(second.pid(), 0);
}

// contract: DAEMON-32, DAEMON-35, DAEMON-36
TEST(Daemon, LogsAreReadFromFilesAndBounded) {
    DaemonWorld world;
    const auto empty = world.daemon({"logs"});
    EXPECT_EQ(text_at(empty, "log_path"), (world.run_folder() / "daemon.log").string());
    EXPECT_EQ(text_at(empty, "metadata_path"), (world.run_folder() / "daemon.json").string());
    EXPECT_EQ(text_at(empty, "last_failure_path"),
              (world.run_folder() / "last_failure.json").string());
    EXPECT_EQ(base::find(empty, "tail"), nullptr);
    std::filesystem::create_directories(world.run_folder());
    std::string text;
    for (int i = 1; i <= 100'000; ++i) text += fmt::format("line {}\n", i);
    world.write(world.run_folder() / "daemon.log", text);
    EXPECT_EQ(world.daemon({"logs"}).at("tail").as_array().size(), 80U);
    const auto tail = world.daemon({"logs", "--tail", "100000"}).at("tail").as_array();
    EXPECT_EQ(tail.back().as_string(), "line 100000");
    EXPECT_LT(tail.size(), 20'000U);
    EXPECT_THAT(keys_of(world.daemon({"logs", "--tail", "0"})), Not(testing::Contains("tail")));
}

// contract: DAEMON-46, DAEMON-47
TEST(Daemon, TheRuntimeEndsOnRequest) {
    DaemonWorld world;
    world.daemon({"start"});
    const pid_t pid = world.pid();
    const auto status = world.by_socket().get("/control/runtime/status");
    ASSERT_TRUE(status) << status.error().message;
    EXPECT_EQ(base::int_at(*status, "pid"), pid);
    const auto asked = world.by_socket().post("/control/runtime/shutdown", json::object{});
    ASSERT_TRUE(asked) << asked.error().message;
    EXPECT_TRUE(base::bool_at(*asked, "shutdown_requested"));
    EXPECT_TRUE(ends_within(pid, kPatience));
    EXPECT_EQ(text_at(world.daemon({"status"}), "state"), "stopped");
}

TEST(Daemon, HandsTheTokenOverWithoutShowingIt) {
    DaemonWorld world;
    world.daemon({"start", "--token", "tok-3141"});
    EXPECT_THAT(world.read(fmt::format("/proc/{}/cmdline", world.pid())), Not(HasSubstr("tok-")));
    for (const char* file : {"daemon.json", "daemon.log", "holon.pid"})
        EXPECT_THAT(world.read(world.run_folder() / file), Not(HasSubstr("tok-"))) << file;
    EXPECT_EQ(world.by_tcp().get("/agents/list").error().kind, service::kTokenMissing);
    EXPECT_EQ(world.by_tcp("wrong").get("/agents/list").error().kind, service::kWrongToken);
    EXPECT_TRUE(world.by_tcp("tok-3141").get("/handshake"));
    EXPECT_TRUE(world.by_socket().get("/handshake"));
    struct stat info{};
    ASSERT_EQ(stat(world.socket().c_str(), &info), 0);
    EXPECT_EQ(info.st_mode & 0777, 0600U);
    // The same token is the same runtime; another one is not.
    EXPECT_EQ(world.run({"daemon", "start", "--token", "tok-3141"}).exit_code, 0);
    EXPECT_THAT(world.run({"daemon", "start", "--token", "tok-2718"}).err,
                HasSubstr("another control token"));
}

}  // namespace
}  // namespace e2e
