// holon serve in the foreground: what it says, and how it ends.
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/securebits.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstring>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/text.h"
#include "tests/e2e/daemon/daemon_world.h"
#include "tests/support/skip.h"

namespace e2e {
namespace {

using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

// A service manager that waits for a notification.
class Manager {
public:
    explicit Manager(const std::filesystem::path& path)
        : fd_(socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0)) {
        sockaddr_un address{.sun_family = AF_UNIX, .sun_path = {}};
        std::strncpy(address.sun_path, path.c_str(), sizeof address.sun_path - 1);
        CHECK(bind(fd_.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) == 0, "bind");
        const timeval limit{.tv_sec = 30, .tv_usec = 0};
        setsockopt(fd_.get(), SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    }
    std::string next() {
        char text[1024];
        const ssize_t size = recv(fd_.get(), text, sizeof text, 0);
        return {text, size > 0 ? static_cast<std::size_t>(size) : 0};
    }
    // Until a message starts with `words`; empty when none comes.
    std::string wait_for(std::string_view words) {
        while (true) {
            auto text = next();
            if (text.empty() || text.starts_with(words)) return text;
        }
    }

private:
    base::Fd fd_;
};

class Serve : public testing::Test {
protected:
    Serve() : manager(world.folder() / "notify") {
        world.environment["NOTIFY_SOCKET"] = (world.folder() / "notify").string();
    }
    Running serve(std::vector<std::string> words = {}) {
        words.insert(words.begin(), "serve");
        auto running = world.start(words);
        EXPECT_THAT(manager.wait_for("READY=1"), HasSubstr("STATUS=listening"))
            << running.err_so_far();
        return running;
    }

    DaemonWorld world;
    Manager manager;
};

TEST_F(Serve, SaysWhereItListensAndDrainsOnATermSignal) {
    auto running = serve();
    EXPECT_TRUE(world.by_socket().get("/handshake"));
    running.send(SIGTERM);
    EXPECT_THAT(manager.wait_for("STOPPING=1"), StartsWith("STOPPING=1"));
    const auto finished = running.wait();
    EXPECT_EQ(finished.exit_code, 0) << finished.err;
    const auto lines = base::split_lines(finished.out);
    ASSERT_EQ(lines.size(), 3U) << finished.out;
    EXPECT_THAT(std::string(lines[0]), StartsWith("fd limits:"));
    EXPECT_EQ(lines[1], fmt::format("Holon listening on 127.0.0.1:{}", world.port()));
    EXPECT_EQ(lines[2], "Holon control socket on " + world.socket().string());
    EXPECT_FALSE(std::filesystem::exists(world.socket()));
    EXPECT_FALSE(std::filesystem::exists(world.run_folder() / "daemon.json"));
}

TEST_F(Serve, RequiresATokenOverTcpThatOnlyItsOwnerCanRead) {
    auto running = serve();
    const auto refused = world.by_tcp_without_token().post("/control/agents/main/tasks",
                                                           {{"summary", "x"}, {"cmd", "true"}});
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().kind, service::kTokenMissing);
    struct stat info{};
    ASSERT_EQ(stat(world.token_file().c_str(), &info), 0);
    EXPECT_EQ(info.st_mode & 0777, 0600U);
    const auto token = world.own_token();
    EXPECT_TRUE(world.by_tcp(token).get("/handshake"));
    EXPECT_FALSE(world.by_tcp("wrong").get("/handshake"));
    EXPECT_TRUE(world.by_tcp_without_token().get("/healthz"));
    EXPECT_EQ(base::string_at(world.daemon({"status"}), "control_token_file"),
              world.token_file().string());
    const auto control = world.json_of({"doctor"}).at("control");
    EXPECT_EQ(base::string_at(control, "token_source"), "file");
    EXPECT_EQ(base::string_at(control, "token_file"), world.token_file().string());
    running.send(SIGTERM);
    const auto finished = running.wait();
    EXPECT_THAT(finished.out + finished.err, Not(HasSubstr(token)));
    // The next daemon of the home keeps it.
    auto again = serve();
    EXPECT_TRUE(world.by_tcp(token).get("/handshake"));
    again.send(SIGTERM);
    EXPECT_EQ(again.wait().exit_code, 0);
}

// A program of the same user, without the rights of root, must not get the keys from the daemon.
TEST_F(Serve, KeepsItsKeysFromOtherProgramsOfItsUser) {
    world.environment["OPENAI_API_KEY"] = "sk-key-of-the-provider";
    world.environment["HOLON_CONTROL_TOKEN"] = "token-of-the-operator";
    auto running = serve();
    const auto environ_of = [&](pid_t pid) {
        return world.read(fmt::format("/proc/{}/environ", pid));
    };
    EXPECT_THAT(environ_of(running.pid()), Not(HasSubstr("sk-key-of-the-provider")));
    EXPECT_THAT(environ_of(running.pid()), Not(HasSubstr("token-of-the-operator")));
    EXPECT_TRUE(world.by_tcp("token-of-the-operator").get("/handshake"));
    // Its commands still find what they need, and the daemon still has its keys.
    EXPECT_TRUE(base::bool_at(world.daemon({"status"}), "config_fingerprint_match"));
    running.send(SIGTERM);
    EXPECT_EQ(running.wait().exit_code, 0);
}

// Gives up the privileges of root, also for programs that are started from now on: to them every
// process is open.
void drop_privileges() {
    if (::geteuid() != 0) return;
    __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
    __user_cap_data_struct none[2]{};
    if (::prctl(PR_SET_SECUREBITS, SECBIT_NOROOT, 0, 0, 0) != 0 ||
        ::syscall(SYS_capset, &header, none) != 0)
        ::_exit(3);
}

bool can_open(const std::string& file) {
    const int fd = ::open(file.c_str(), O_RDONLY | O_CLOEXEC);
    if (fd >= 0) ::close(fd);
    return fd >= 0;
}

// A process that is dumpable is open to every program of its user.
TEST_F(Serve, IsNotDumpableWhetherItsUserIsRootOrNot) {
    const pid_t judge = ::fork();
    if (judge == 0) {
        drop_privileges();
        auto running = serve();
        const pid_t dumpable = ::fork();
        if (dumpable == 0) {
            ::pause();
            ::_exit(0);
        }
        const auto environ_of = [](pid_t pid) { return fmt::format("/proc/{}/environ", pid); };
        const bool finds_others = can_open(environ_of(dumpable));
        const bool finds_it = can_open(environ_of(running.pid())) ||
                              can_open(fmt::format("/proc/{}/mem", running.pid()));
        ::kill(dumpable, SIGKILL);
        running.send(SIGTERM);
        running.wait();
        ::_exit(!finds_others ? 2 : finds_it ? 1 : 0);
    }
    int status = 0;
    ASSERT_EQ(::waitpid(judge, &status, 0), judge);
    ASSERT_TRUE(WIFEXITED(status)) << status;
    EXPECT_NE(WEXITSTATUS(status), 3) << "root could not give up its privileges";
    EXPECT_NE(WEXITSTATUS(status), 2) << "the judge does not even find an ordinary process";
    EXPECT_EQ(WEXITSTATUS(status), 0) << "the daemon is open to programs of its user";
}

TEST_F(Serve, ATunnelRequiresATokenEvenWhereItIsDisabled) {
    world.environment["HOLON_CONTROL_AUTH_MODE"] = "disabled";
    auto running = serve();
    EXPECT_TRUE(world.by_tcp_without_token().get("/handshake"));
    running.send(SIGTERM);
    running.wait();
    auto tunnel = serve({"--access", "tunnel", "--port", std::to_string(world.port())});
    EXPECT_FALSE(world.by_tcp_without_token().get("/handshake"));
    EXPECT_TRUE(world.by_tcp().get("/handshake"));
    tunnel.send(SIGTERM);
    EXPECT_EQ(tunnel.wait().exit_code, 0);
}

TEST_F(Serve, EndsAtOnceOnASecondSignal) {
    Signpost reached(world.folder() / "reached");
    world.script({runs(fmt::format("trap '' TERM INT HUP; echo $$ > {}; while :; do sleep 1; done",
                                   reached.path().string()))});
    auto running = serve();
    EXPECT_EQ(world.run({"prompt", "go"}).exit_code, 0);
    const pid_t group = std::stoi("0" + reached.wait());
    running.send(SIGTERM);
    manager.wait_for("STOPPING=1");
    running.send(SIGTERM);
    EXPECT_EQ(running.wait().exit_code, 130);
    if (group > 0) kill(-group, SIGKILL);
    EXPECT_EQ(world.daemon({"start"}).at("state").as_string(), "running");
}

// contract: DIAG-07
TEST_F(Serve, ShowsWhyItCannotStartOnItsTerminal) {
    world.environment["HOLON_MODEL"] = "nobody/knows";
    const auto failed = world.run({"serve"});
    EXPECT_EQ(failed.exit_code, 1);
    EXPECT_THAT(failed.err, HasSubstr("nobody"));
}

TEST_F(Serve, IsTheOnlyRuntimeOfItsHome) {
    auto running = serve();
    const auto second = world.run({"serve", "--port", std::to_string(free_port())});
    EXPECT_EQ(second.exit_code, 1);
    EXPECT_THAT(second.err, HasSubstr(fmt::format("pid {}", running.pid())));
    EXPECT_TRUE(world.by_socket().get("/handshake"));
    EXPECT_FALSE(std::filesystem::exists(world.run_folder() / "startup_failure.json"));
    // The daemon's commands are about the very same runtime.
    const auto status = world.daemon({"status"});
    EXPECT_EQ(base::int_at(status, "pid"), running.pid());
    EXPECT_TRUE(base::bool_at(status, "config_fingerprint_match"));
    world.daemon({"stop"});
    EXPECT_EQ(running.wait().exit_code, 0);
}

TEST_F(Serve, ReopensItsLogOnASignal) {
    const auto log = world.folder() / "holon.log";
    auto running = serve({"--log-file", log.string()});
    std::filesystem::rename(log, world.folder() / "holon.log.old");
    running.send(SIGHUP);
    running.send(SIGTERM);
    EXPECT_EQ(running.wait().exit_code, 0);
    EXPECT_THAT(world.read(log), HasSubstr("the daemon has ended"));
    EXPECT_THAT(world.read(world.folder() / "holon.log.old"), HasSubstr("serves"));
}

// contract: DAEMON-06
TEST_F(Serve, IsReachedByTheUrlThatItAdvertises) {
    auto running = serve({"--advertise", "https://h.example/"});
    const auto shake = world.by_tcp().get("/handshake");
    ASSERT_TRUE(shake) << shake.error().message;
    EXPECT_EQ(base::string_at(shake->at("runtime"), "advertise_url"), "https://h.example");
    const auto status = world.by_socket().get("/control/runtime/readiness");
    ASSERT_TRUE(status) << status.error().message;
    EXPECT_EQ(base::string_at(status->at("startup_surface"), "callback_base_url"),
              "https://h.example");
    ASSERT_TRUE(world.by_socket().post("/control/agents/k/create", json::object{}));
    const auto trigger =
        world.by_socket().post("/control/agents/k/external-trigger", json::object{});
    ASSERT_TRUE(trigger) << trigger.error().message;
    EXPECT_THAT(base::string_at(*trigger, "trigger_url"),
                StartsWith("https://h.example/callbacks/wake/cb_"));
    running.send(SIGTERM);
    EXPECT_THAT(running.wait().out, HasSubstr("Holon advertised at https://h.example\n"));
}

TEST_F(Serve, ServesTlsWithTheGivenFiles) {
    auto maker = world.start_command(
        {"/bin/sh", "-c",
         "exec openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 "
         "-subj /CN=holon -addext subjectAltName=IP:127.0.0.1 -keyout key.pem -out cert.pem"});
    const auto made = maker.wait();
    if (made.exit_code != 0) HOLON_SKIP("needs openssl: " + made.err);
    auto running = serve({"--tls-cert", "cert.pem", "--tls-key", "key.pem"});
    const service::Client secure({.url = fmt::format("https://127.0.0.1:{}", world.port()),
                                  .token = world.own_token(),
                                  .ca_file = world.repo() / "cert.pem"});
    const auto shake = secure.get("/handshake");
    EXPECT_TRUE(shake) << shake.error().message;
    EXPECT_FALSE(world.by_tcp().get("/handshake"));  // In the clear: not understood.
    // A server with an untrusted certificate is not used.
    const service::Client distrustful({.url = fmt::format("https://127.0.0.1:{}", world.port())});
    EXPECT_FALSE(distrustful.get("/handshake"));
    running.send(SIGTERM);
    EXPECT_EQ(running.wait().exit_code, 0);
}

// As the first process of a container: signals reach the runtime, orphans are reaped.
TEST_F(Serve, WorksAsTheFirstProcess) {
    if (geteuid() != 0) HOLON_SKIP("needs the right to make a pid namespace");
    auto running = world.start_command(
        {"/usr/bin/unshare", "--pid", "--fork", "--kill-child", HOLON_PROGRAM, "serve"});
    if (running.ends_within(std::chrono::milliseconds(0))) HOLON_SKIP(running.err_so_far());
    ASSERT_THAT(manager.wait_for("READY=1"), HasSubstr("READY=1")) << running.err_so_far();
    const auto status = world.by_socket().get("/control/runtime/readiness");
    ASSERT_TRUE(status) << status.error().message;
    // Of the children of unshare the first is the init, which passes the signal on.
    const auto children = world.read(fmt::format("/proc/{0}/task/{0}/children", running.pid()));
    ASSERT_EQ(kill(std::stoi("0" + children), SIGTERM), 0);
    EXPECT_EQ(running.wait().exit_code, 0);
}

}  // namespace
}  // namespace e2e
