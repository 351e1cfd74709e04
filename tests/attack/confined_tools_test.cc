// The command tools behind the real boundary: tasks, terminals, input, stops, logs and the record.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include "exec/tasks/spec.h"
#include "exec/tools/builtin/fixture_for_test.h"
#include "tests/support/skip.h"

namespace builtin {
namespace {

namespace fs = std::filesystem;
using sandbox::Rule;
using testing::Contains;
using testing::HasSubstr;
using testing::Not;

constexpr std::chrono::seconds kPatience{30};

// Worlds lie outside /tmp, which is another one for each command and would hide them anyway.
const bool kWorldsAreOutsideTmp = [] {
    fs::create_directories(HOLON_ATTACK_FOLDER);
    return ::setenv("TMPDIR", HOLON_ATTACK_FOLDER, 1) == 0;
}();

// A loopback port that accepts connections and answers HTTP requests.
class Listener {
public:
    Listener() {
        sockaddr_in ip{};
        ip.sin_family = AF_INET;
        ip.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        fd_.reset(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
        EXPECT_EQ(::bind(fd_.get(), reinterpret_cast<sockaddr*>(&ip), sizeof ip), 0);
        EXPECT_EQ(::listen(fd_.get(), 16), 0);
        socklen_t length = sizeof ip;
        ::getsockname(fd_.get(), reinterpret_cast<sockaddr*>(&ip), &length);
        port = ntohs(ip.sin_port);
    }
    bool was_reached() const { return ::accept(fd_.get(), nullptr, nullptr) >= 0; }
    int port{0};

private:
    base::Fd fd_;
};

bool runs_somewhere(const std::string& word) {
    for (const auto& entry : fs::directory_iterator("/proc")) {
        const auto words = base::read_file(entry.path() / "cmdline", 1 << 16);
        if (words && words->contains(word)) return true;
    }
    return false;
}

class ConfinedTools : public BuiltinTest {
protected:
    explicit ConfinedTools(sandbox::Settings settings = {})
        : BuiltinTest({}, {confined(std::move(settings)),
                           {"/nowhere"},
                           fs::path(::testing::TempDir()) / "nowhere"}) {}
    static sandbox::Settings confined(sandbox::Settings settings) {
        settings.backend = sandbox::Backend::Bubblewrap;
        return settings;
    }
    void SetUp() override {
        const auto lacks = sandbox::missing(shell_.boundary({"default"}).machine());
        if (!lacks.empty())
            HOLON_SKIP(fmt::format("this machine cannot confine: {}", fmt::join(lacks, "; ")));
    }
    std::string out(const tools::Dispatched& end) {
        EXPECT_TRUE(end.envelope.ok()) << end.receipt;
        return end.envelope.ok() ? base::string_at(end.envelope.result(), "stdout_preview") : "";
    }
    std::vector<domain::Event> events(const std::string& kind) {
        std::vector<domain::Event> list;
        EXPECT_TRUE(store_->read([&](store::Tx& tx) -> base::Status {
            for (auto& page : TRY(tx.events({"default"}, {.limit = 1000})))
                if (page.kind == kind) list.push_back(std::move(page));
            return {};
        }));
        return list;
    }
    // Ten minutes and a bit, which names the process that sleeps so long.
    std::string fresh_seconds() {
        return fmt::format("600.{}", std::hash<std::string>{}(ids_.hex32()));
    }
    bool nobody_runs(const std::string& word) {
        const auto until = std::chrono::steady_clock::now() + kPatience;
        while (runs_somewhere(word))
            if (std::chrono::steady_clock::now() > until) return false;
        return true;
    }
};

TEST_F(ConfinedTools, WriteInTheWorkspaceAndNowhereElse) {
    const auto end =
        exec(fmt::format("echo x > made; echo x > {}; echo $HOLON_SANDBOX", folder_.at("outside")));
    EXPECT_EQ(out(end), "confined");
    EXPECT_TRUE(fs::exists(folder_.at("repo/made")));
    EXPECT_FALSE(fs::exists(folder_.at("outside")));
    EXPECT_TRUE(end.denials.empty());
}

TEST_F(ConfinedTools, ATaskHasItsTerminalAndReadsItsInput) {
    const auto id = long_task(
        {{"cmd", "test -t 0 && test -t 1 && read line && echo got-$line"}, {"tty", true}});
    EXPECT_TRUE(tasks::detail_of(task(id)).confined.value_or(false));
    const auto given = run("TaskInput", {{"task_id", id}, {"input", "word\n"}});
    EXPECT_TRUE(given.envelope.ok()) << given.receipt;
    await_results(1);
    EXPECT_EQ(task(id).status, domain::TaskStatus::Completed);
    EXPECT_THAT(tasks::detail_of(task(id)).output_summary.value_or(""), HasSubstr("got-word"));
}

TEST_F(ConfinedTools, AStoppedTaskLeavesNothingBehind) {
    const std::string mark = fresh_seconds();
    make_ready_fifo();
    const auto id = long_task(
        {{"cmd", fmt::format("(setsid nohup sleep {0} >/dev/null 2>&1 &) ; echo x > ready; "
                             "trap '' TERM; sleep {0}",
                             mark)}});
    await_ready();
    EXPECT_TRUE(runs_somewhere(mark));
    EXPECT_TRUE(run("TaskStop", {{"task_id", id}}).envelope.ok());
    await_results(1);
    EXPECT_EQ(task(id).status, domain::TaskStatus::Cancelled);
    EXPECT_TRUE(nobody_runs(mark));
}

TEST_F(ConfinedTools, ACommandThatEndsTakesItsProcessesAlong) {
    const std::string mark = fresh_seconds();
    exec(fmt::format("(setsid nohup sleep {0} >/dev/null 2>&1 &) ; true", mark));
    EXPECT_TRUE(nobody_runs(mark));
}

// The runtime's folder is hidden, but an agent that works in its own home works there.
class ConfinedHome : public ConfinedTools {
protected:
    ConfinedHome() {
        for (const char* file :
             {"holon/holon.db", "holon/credentials.json", "holon/agents/other/memory.md",
              "holon/plans/p/plan.json", "holon/agents/default/own.md",
              "holon/agents/default/tool-artifacts/a"})
            folder_.write(file, "marker-of-" + std::string(file));
        place_.agent_home = folder_.at("holon/agents/default");
    }
    sandbox::Boundary behind() const {
        return {confined({}), {folder_.path() / "user"}, folder_.path() / "holon"};
    }
    std::string inside(const std::string& cmd, const fs::path& root) {
        auto spec = behind().enclose({.argv = {"/bin/sh", "-c", cmd},
                                      .cwd = root,
                                      .environment = {{"PATH", "/usr/bin:/bin"}}},
                                     {.execution_root = root, .agent_home = place_.agent_home});
        EXPECT_TRUE(spec) << spec.error().message;
        std::string said;
        auto started = runner_.start(*spec, [&](base::ProcessExit exit) {
            said = exit.out.head + exit.err.head;
            loop_.stop();
        });
        EXPECT_TRUE(started);
        loop_.run();
        return said;
    }
};

TEST_F(ConfinedHome, IsWritableWhereTheAgentWorksInIt) {
    const fs::path home = place_.agent_home;
    const auto said = inside(
        "cat own.md; echo x > made; echo x > tool-artifacts/forged; echo x > task-output/forged; "
        "mv tool-artifacts t; cat ../../holon.db ../../credentials.json ../other/memory.md "
        "../../plans/p/plan.json; ls ../..; echo x > ../../new; ls ..",
        home);
    EXPECT_THAT(said, HasSubstr("marker-of-holon/agents/default/own.md"));
    for (const char* hidden : {"holon.db\n", "credentials.json\n", "memory.md\n", "plan.json\n"})
        EXPECT_THAT(said, Not(HasSubstr("marker-of-holon/" + std::string(hidden))));
    EXPECT_THAT(said, Not(HasSubstr("marker-of-holon/holon.db")));
    EXPECT_THAT(said, Not(HasSubstr("marker-of-holon/credentials.json")));
    EXPECT_THAT(said, Not(HasSubstr("marker-of-holon/agents/other")));
    EXPECT_THAT(said, Not(HasSubstr("marker-of-holon/plans")));
    EXPECT_THAT(said, Not(HasSubstr("other\n")));
    EXPECT_TRUE(fs::exists(home / "made"));
    EXPECT_FALSE(fs::exists(home / "tool-artifacts/forged"));
    EXPECT_FALSE(fs::exists(home / "task-output/forged"));
    EXPECT_FALSE(fs::exists(home / "t"));
    EXPECT_FALSE(fs::exists(folder_.at("holon/new")));
}

TEST_F(ConfinedHome, IsReadableWhenTheAgentWorksElsewhere) {
    const fs::path home = place_.agent_home;
    const auto said = inside(fmt::format("cat {0}/tool-artifacts/a; echo x > {0}/made; cat "
                                         "{0}/../other/memory.md {0}/../../holon.db",
                                         home.string()),
                             folder_.path() / "repo");
    EXPECT_THAT(said, HasSubstr("marker-of-holon/agents/default/tool-artifacts/a"));
    EXPECT_THAT(said, Not(HasSubstr("marker-of-holon/agents/other")));
    EXPECT_THAT(said, Not(HasSubstr("marker-of-holon/holon.db")));
    EXPECT_FALSE(fs::exists(home / "made"));
}

TEST_F(ConfinedHome, IsTheOnlyPlaceToWorkInTheRuntimesFolder) {
    for (const char* root : {"holon", "holon/plans", "holon/agents", "holon/agents/other"}) {
        const auto none = behind().enclose(
            {.argv = {"true"}},
            {.execution_root = folder_.path() / root, .agent_home = place_.agent_home});
        ASSERT_FALSE(none) << root;
        EXPECT_THAT(none.error().message, HasSubstr("runtime's own folder")) << root;
    }
}

class Networked : public ConfinedTools {
protected:
    Networked()
        : ConfinedTools(
              {.network = sandbox::Network::Allowlist, .allowed_hosts = {"allowed.example"}}) {}
    // Asks for two destinations that are not allowed, one of them twice.
    const std::string cmd =
        "python3 -c \"import urllib.request as u\nfor p in (9, 9, 10):\n    try: "
        "u.urlopen('http://127.0.0.1:%d/' % p, timeout=5)\n    except OSError: pass\"";
    const std::vector<sandbox::Denial> denied{{Rule::Network, "127.0.0.1:9", 2},
                                              {Rule::Network, "127.0.0.1:10", 1}};
};

TEST_F(Networked, ARefusedDestinationIsReportedWithTheResult) {
    EXPECT_EQ(exec(cmd).denials, denied);
    EXPECT_TRUE(exec("true").denials.empty());
    // The log of a call goes with its command, and an empty one at once.
    std::size_t logs = 0;
    for (const auto& entry : fs::directory_iterator(folder_.at("home/task-output")))
        logs += entry.path().string().contains("network") ? 1 : 0;
    EXPECT_LE(logs, 1U);

    const auto batch =
        run("ExecCommandBatch",
            {{"items", json::array{{{"cmd", cmd}, {"login", false}}, {{"cmd", "true"}}}}});
    EXPECT_EQ(batch.denials, denied);
}

TEST_F(Networked, ATasksDenialsAreRecordedWithItsEnd) {
    make_ready_fifo();
    const auto id = long_task({{"cmd", "echo x > ready; " + cmd}});
    await_ready();
    await_results(1);
    const auto list = events("sandbox_denied");
    ASSERT_EQ(list.size(), 2U);
    EXPECT_EQ(base::string_at(list[0].data, "task_id"), id);
    EXPECT_EQ(base::string_at(list[0].data, "rule"), "network");
    EXPECT_EQ(base::string_at(list[0].data, "what"), "127.0.0.1:9");
    EXPECT_EQ(base::int_at(list[0].data, "count"), 2);
    const auto log = tasks::detail_of(task(id)).network_log;
    ASSERT_TRUE(log);
    EXPECT_THAT(bytes_of(*log), HasSubstr(R"({"host":"127.0.0.1","port":9,"outcome":"refused"})"));
}

TEST_F(Networked, NoHostIsReachedAroundTheProxy) {
    const Listener listener;
    exec(fmt::format("bash -c 'echo x > /dev/tcp/127.0.0.1/{}'", listener.port));
    EXPECT_FALSE(listener.was_reached());
}

class Limited : public ConfinedTools {
protected:
    Limited() : ConfinedTools({.limits = {.cpu_s = 1, .file_bytes = 65536}}) {}
};

TEST_F(Limited, ALimitThatEndedACommandIsReportedWithTheResult) {
    EXPECT_THAT(exec("head -c 200000 /dev/zero > big").denials,
                Contains(testing::Field(&sandbox::Denial::rule, Rule::FileSizeLimit)));
    EXPECT_THAT(exec("while :; do :; done").denials,
                Contains(testing::Field(&sandbox::Denial::rule, Rule::CpuLimit)));
}

// Git that the runtime runs obeys the settings of the repository, and an agent may have made it.
TEST_F(ConfinedTools, AFilterOfAnAgentsRepositoryRunsBehindTheBoundary) {
    ASSERT_TRUE(store_->write(store::Durability::Process, [&](store::Tx& tx) {
        return tx.put_agent({.agent_id = {"default"}});
    }));
    folder_.write("secret", "marker-of-secret");
    const auto outside = folder_.at("outside");
    out(exec(fmt::format(
        "git init -q x && cd x && printf '#!/bin/sh\\ncat {0} > stolen; echo x > {1}; echo ran; "
        "cat\\n' > s && chmod +x s && echo '* filter=p' > .gitattributes && echo a > f && git add "
        "-A "
        "&& git -c user.name=a -c user.email=a@b commit -qm one && git config filter.p.smudge "
        "$PWD/s",
        folder_.at("secret"), outside)));
    const auto end = run("UseWorkspace", {{"path", "x"}, {"mode", "isolated"}});
    EXPECT_TRUE(end.envelope.ok()) << end.receipt;
    EXPECT_FALSE(fs::exists(outside));
    std::size_t ran = 0;
    for (const auto& entry : fs::recursive_directory_iterator(folder_.path())) {
        if (!entry.is_regular_file() || entry.path() == folder_.at("secret")) continue;
        EXPECT_THAT(bytes_of(entry.path()), Not(HasSubstr("marker-of-secret"))) << entry.path();
        ran += entry.path().filename() == "f" && bytes_of(entry.path()).contains("ran") ? 1 : 0;
    }
    EXPECT_EQ(ran, 1U);  // Or nothing was tried.
}

TEST_F(ConfinedTools, TheFactsHaveTheVersionAndTheLimits) {
    const auto facts = shell_.boundary({"default"}).facts();
    EXPECT_EQ(facts.backend, "bubblewrap");
    EXPECT_THAT(facts.version, testing::MatchesRegex("Linux [0-9]+\\.[0-9]+.*"));
    EXPECT_EQ(facts.network, sandbox::Network::None);
    EXPECT_THAT(facts.limits, Contains(std::pair<std::string, std::string>("cpu_s", "600")));
}

}  // namespace
}  // namespace builtin
