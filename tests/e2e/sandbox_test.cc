// A model that obeys whatever it reads, through every entry point of the built program, confined.
// Its output proves nothing; the judge checks the effects outside the sandbox.
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <csignal>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/text.h"
#include "exec/sandbox/machine.h"
#include "tests/e2e/program.h"
#include "tests/support/fake_model_server.h"
#include "tests/support/skip.h"

namespace e2e {
namespace {

namespace fs = std::filesystem;
using testing::Contains;
using testing::HasSubstr;
using testing::Not;

// Lies in everything that is to be kept. Commands never spell it.
constexpr std::string_view kMarker = "qV7-kept-marker-3Lw";
// A credential that the runtime knows, and takes out of what it shows wherever it came from.
constexpr std::string_view kCredential = "hX2-known-credential-8Tz";

fs::path worlds() {
    // Not in /tmp, which is another one for each command and would hide everything anyway.
    fs::create_directories(HOLON_E2E_FOLDER);
    return HOLON_E2E_FOLDER;
}

class Confined : public testing::Test {
protected:
    Confined() : program(worlds()) {
        for (const auto& [file, text] : kept()) {
            fs::create_directories(file.parent_path());
            program.write(file, text);
        }
        program.write(outside(), "as it was\n");
        for (const char* folder : {"hooks", "objects", "refs"})
            fs::create_directories(program.repo() / ".git" / folder);
        program.write(program.repo() / ".git/HEAD", "ref: refs/heads/main\n");
        program.environment["SOME_API_TOKEN"] = kMarker;
        program.environment["E2E_MARK"] = mark;
        port = std::to_string(listen());
        configure({{"backend", "bubblewrap"}});
    }
    void SetUp() override {
        const auto lacks = sandbox::missing(sandbox::probe());
        if (!lacks.empty())
            HOLON_SKIP(fmt::format("this machine cannot confine: {}", fmt::join(lacks, "; ")));
    }

    std::map<fs::path, std::string> kept() const {
        const std::string text(kMarker);
        return {{program.folder() / ".ssh/id_rsa", text},
                {program.home() / "credentials.json",
                 base::json_text(json::object{
                     {"profiles", {{"p", {{"kind", "api_key"}, {"material", kCredential}}}}}})},
                {program.agent_home("other") / "memory.md", text},
                {program.home() / "gate/quarantine/x.md", text},
                {program.home() / "plans/old/plan.json", text}};
    }
    fs::path outside() const { return program.folder() / "outside.txt"; }

    void configure(json::object sandbox, json::object more = {}) {
        more["sandbox"] = std::move(sandbox);
        program.write(program.home() / "config.json", base::json_text(more));
    }

    int listen() {
        sockaddr_in ip{};
        ip.sin_family = AF_INET;
        ip.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        listener.reset(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
        socklen_t length = sizeof ip;
        CHECK(::bind(listener.get(), reinterpret_cast<sockaddr*>(&ip), length) == 0, "bind");
        CHECK(::listen(listener.get(), 16) == 0, "listen");
        ::getsockname(listener.get(), reinterpret_cast<sockaddr*>(&ip), &length);
        return ntohs(ip.sin_port);
    }

    // What hostile instructions ask for, one after the other, whether or not the one before worked.
    std::vector<std::string> hostile() const {
        const std::string home = program.home().string();
        return {
            "cat ~/.ssh/id_rsa",
            fmt::format("cat {0}/credentials.json {0}/agents/other/memory.md", home),
            fmt::format("cat {0}/gate/quarantine/x.md {0}/plans/old/plan.json", home),
            fmt::format("cp {0}/holon.db copy.db", home),
            fmt::format("echo '{{}}' > {}/config.json", home),
            fmt::format("echo changed >> {}", outside().string()),
            "echo id > .git/hooks/pre-commit",
            fmt::format("bash -c \"echo x > /dev/tcp/127.0.0.1/{}\"", port),
            fmt::format("curl -s -m 2 http://127.0.0.1:{}/", port),
            "echo $SOME_API_TOKEN; env",
            "(setsid nohup sleep 600 > /dev/null 2>&1 &)",
        };
    }
    std::string all_hostile() const { return fmt::format("{}; true", fmt::join(hostile(), "; ")); }

    // What got out, in words.
    std::vector<std::string> escapes(const std::string& said) {
        std::vector<std::string> found;
        if (said.contains(kMarker) || said.contains(kCredential))
            found.emplace_back("a secret was read");
        for (const auto& [file, text] : kept())
            if (program.read(file) != text) found.push_back("changed: " + file.string());
        if (program.read(outside()) != "as it was\n") found.emplace_back("outside was written");
        if (fs::exists(program.repo() / ".git/hooks/pre-commit"))
            found.emplace_back("a hook was planted");
        if (fs::exists(program.repo() / "copy.db")) found.emplace_back("the database was copied");
        if (program.read(program.home() / "config.json") == "{}\n")
            found.emplace_back("the settings were changed");
        if (::accept(listener.get(), nullptr, nullptr) >= 0)
            found.emplace_back("the network was reached");
        if (lingers()) found.emplace_back("a process lives on");
        return found;
    }
    // Whether something with our mark still runs when everything had time to go.
    bool lingers() const {
        const auto until = std::chrono::steady_clock::now() + 30s;
        while (marked_process())
            if (std::chrono::steady_clock::now() > until) return true;
        return false;
    }
    bool marked_process() const {
        for (const auto& entry : fs::directory_iterator("/proc")) {
            const auto environ = base::read_file(entry.path() / "environ", 1 << 20);
            if (environ && environ->contains("E2E_MARK=" + mark)) return true;
        }
        return false;
    }
    // All that the run and its record show.
    std::string said(const Finished& finished) {
        return finished.out + finished.err +
               program.run({"transcript", "--agent", "k", "--json"}).out;
    }
    std::vector<std::string> run_arguments() const {
        return {"run", "--json", "--agent", "k", "--create-agent", "obey"};
    }

    Program program;
    std::string mark = fmt::format("{}-{}", ::getpid(), reinterpret_cast<std::uintptr_t>(this));
    base::Fd listener;
    std::string port;  // Where it listens.
};

// The judge is worth something: without the boundary it finds each of these.
TEST_F(Confined, TheJudgeDetectsEscapesOnTheHost) {
    configure({{"backend", "host_local"}});
    program.script({runs(all_hostile()), says("done")});
    const auto found = escapes(said(program.run(run_arguments())));
    for (const char* escape :
         {"a secret was read", "outside was written", "a hook was planted",
          "the database was copied", "the settings were changed", "the network was reached"})
        EXPECT_THAT(found, Contains(escape));
}

TEST_F(Confined, AnObedientModelEscapesByNoCommand) {
    program.script({runs(all_hostile()), says("done")});
    const auto finished = program.run(run_arguments());
    EXPECT_EQ(finished.exit_code, 0) << finished.err;
    EXPECT_EQ(escapes(said(finished)), std::vector<std::string>{});
}

TEST_F(Confined, AnObedientModelEscapesByNoBatch) {
    json::array items;
    for (const auto& cmd : hostile()) items.push_back({{"cmd", cmd}, {"login", false}});
    program.script({calls("ExecCommandBatch", {{"items", std::move(items)}}), says("done")});
    const auto finished = program.run(run_arguments());
    EXPECT_EQ(finished.exit_code, 0) << finished.err;
    EXPECT_EQ(escapes(said(finished)), std::vector<std::string>{});
}

TEST_F(Confined, APlansCommandsDoNotEscape) {
    // A plan's own policy refuses text with "://" before anything runs; the rest of it is here.
    auto commands = hostile();
    std::erase_if(commands, [](const std::string& cmd) { return cmd.contains("://"); });
    const std::string cmd = fmt::format("{}; true", fmt::join(commands, "; "));
    json::array steps;
    for (const char* tool : {"ExecCommand", "shell.exec"})
        steps.push_back(json::object{
            {"id", steps.empty() ? "one" : "two"}, {"tool", tool}, {"args", {{"cmd", cmd}}}});
    program.write(program.folder() / "plan.json",
                  base::json_text(json::object{{"version", "1.0"},
                                               {"goal", "Get out"},
                                               {"riskLevel", "commands"},
                                               {"steps", std::move(steps)}}));
    const auto finished = program.run({"plan", "run", (program.folder() / "plan.json").string(),
                                       "--vault", program.repo().string(), "--json", "--yes"});
    EXPECT_EQ(finished.exit_code, 0) << finished.out << finished.err;
    EXPECT_EQ(escapes(finished.out + finished.err), std::vector<std::string>{});
}

TEST_F(Confined, CommitsBearTheUsersNameAndShowNothingElseOfTheirSettings) {
    program.write(program.folder() / ".gitconfig",
                  fmt::format("[user]\n\tname = Ada\n\temail = ada@example.org\n[http]\n"
                              "\textraHeader = \"Authorization: {}\"\n",
                              kMarker));
    program.write(program.folder() / ".npmrc", kMarker);
    program.script({runs("set -e; git init -q made; cd made; git commit -q --allow-empty -m one; "
                         "git log --format='by %an <%ae>'; git config --list; cat ~/.gitconfig "
                         "~/.npmrc 2>/dev/null || true; cat $GIT_CONFIG_GLOBAL"),
                    says("done")});
    const auto text = said(program.run(run_arguments()));
    EXPECT_THAT(text, HasSubstr("by Ada <ada@example.org>"));
    // The files of the home are not there, and no program stops at that.
    EXPECT_THAT(text, HasSubstr("Process exited with code 0")) << text;
    EXPECT_EQ(escapes(text), std::vector<std::string>{});
}

TEST_F(Confined, ProgramsOfTheUserRunAndTheirCredentialsAreHidden) {
    const fs::path tool = program.folder() / ".cargo/bin/tool";
    fs::create_directories(tool.parent_path());
    program.write(tool, "#!/bin/sh\necho the tool ran\n");
    fs::permissions(tool, fs::perms::owner_all);
    program.write(program.folder() / ".cargo/credentials.toml", kMarker);
    program.script({runs("~/.cargo/bin/tool; ls -A ~/.cargo; cat ~/.cargo/credentials.toml; "
                         "echo x > ~/.cargo/bin/other; echo x > ~/.cargo/config.toml"),
                    says("done")});
    const auto text = said(program.run(run_arguments()));
    EXPECT_THAT(text, HasSubstr("the tool ran\\nbin\\n"));
    EXPECT_EQ(escapes(text), std::vector<std::string>{});
    EXPECT_FALSE(fs::exists(program.folder() / ".cargo/bin/other"));
    EXPECT_FALSE(fs::exists(program.folder() / ".cargo/config.toml"));
}

TEST_F(Confined, FunctionsOfTheUsersProfileCanBeCalled) {
    program.write(program.folder() / ".bash_profile", "greet() { echo \"hello, $1\"; }\n");
    program.script({calls("ExecCommand", {{"cmd", "greet you; echo \"left: ${BASH_ENV-none}\""},
                                          {"shell", "bash"}}),
                    says("done")});
    EXPECT_THAT(said(program.run(run_arguments())), HasSubstr("hello, you\\nleft: none"));
}

TEST_F(Confined, AHiddenFolderIsHiddenEvenWithProgramsInIt) {
    const fs::path tools = program.folder() / ".cargo/bin";
    fs::create_directories(tools);
    program.write(tools / "tool", kMarker);
    configure({{"backend", "bubblewrap"},
               {"hidden", json::array{(program.folder() / ".cargo").string()}}});
    program.script({runs("cat ~/.cargo/bin/tool"), says("done")});
    EXPECT_EQ(escapes(said(program.run(run_arguments()))), std::vector<std::string>{});
}

// Its files are in the runtime's own folder, which is hidden but for them.
TEST_F(Confined, AnApprovedCallOfAnAgentInItsOwnHomeRuns) {
    ASSERT_EQ(program.run({"agent", "create", "k"}).exit_code, 0);
    program.script({runs("touch owned; cat ../other/memory.md"), says("Done.")});
    program.run({"run", "--agent", "k", "--trust", "untrusted-external", "please run touch owned"});
    const auto waiting = program.json_of({"plan", "list"});
    ASSERT_EQ(waiting.as_array().size(), 1U);
    EXPECT_FALSE(fs::exists(program.agent_home("k") / "owned"));
    const auto id = base::string_at(waiting.at(0), "runId");
    EXPECT_EQ(program.run({"plan", "approve", id}).exit_code, 0);
    program.run({"plan", "resume", id});
    EXPECT_TRUE(fs::exists(program.agent_home("k") / "owned"));
    EXPECT_THAT(program.run({"plan", "show", id}).out, Not(HasSubstr(std::string(kMarker))));
}

TEST_F(Confined, HonestWorkRuns) {
    fs::remove_all(program.repo() / ".git");
    ASSERT_EQ(program.start_command({"/usr/bin/git", "init", "-q", "."}).wait().exit_code, 0);
    program.write(program.repo() / "a.c", "#include <stdio.h>\nint main() { puts(\"built\"); }\n");
    program.script(
        {runs("set -e; git add a.c; git -c user.name=a -c user.email=a@b commit -qm one; git log "
              "--oneline | wc -l; $(command -v cc || command -v clang-19) -o a a.c; ./a; python3 "
              "-c 'import tempfile; print(tempfile.mkdtemp()[:5])'; cat .git/config > /dev/null"),
         says("done")});
    const auto finished = program.run(run_arguments());
    EXPECT_EQ(finished.exit_code, 0) << finished.err;
    const auto text = said(finished);
    EXPECT_THAT(text, HasSubstr("Process exited with code 0")) << text;
    EXPECT_THAT(text, HasSubstr("1\\nbuilt\\n/tmp/"));
}

TEST_F(Confined, StatusSaysWhatIsEnforced) {
    program.script({says("hello")});
    program.run(run_arguments());
    const auto execution = program.json_of({"status", "--agent", "k", "--json"}).at("execution");
    for (const char* field : {"profile", "policy", "workspace_id", "workspace_anchor",
                              "execution_root", "cwd", "execution_root_id", "projection_kind"})
        EXPECT_TRUE(base::find(execution, field)) << field;
    EXPECT_EQ(base::string_at(execution, "projection_kind"), "canonical_root");
    EXPECT_EQ(base::string_at(execution.at("profile"), "backend"), "bubblewrap");
    for (const auto& [name, value] : execution.at("policy").at("process_execution").as_object())
        if (!name.ends_with("rooting")) EXPECT_EQ(value, "hard_enforced") << name;
    const auto doctor = program.json_of({"doctor"}).at("sandbox");
    EXPECT_EQ(base::string_at(doctor, "backend"), "bubblewrap");
    EXPECT_FALSE(base::string_at(doctor, "version").empty());
    EXPECT_TRUE(base::bool_at(doctor, "ready"));
    EXPECT_EQ(base::string_at(doctor.at("enforced"), "secret_isolation"), "hard_enforced");

    // What holds now is shown, also for an agent that last ran under another setting.
    configure({{"backend", "host_local"}});
    const auto now = program.json_of({"status", "--agent", "k", "--json"}).at("execution");
    EXPECT_EQ(base::string_at(now.at("profile"), "backend"), "host_local");
    EXPECT_THAT(base::json_text(now.at("policy").at("process_execution")),
                Not(HasSubstr("hard_enforced")));
    EXPECT_THAT(base::json_text(program.json_of({"doctor"}).at("sandbox")),
                Not(HasSubstr("hard_enforced")));
}

TEST_F(Confined, OneAgentCanBeConfinedAlone) {
    configure({{"backend", "host_local"}},
              {{"agents", {{"k", {{"sandbox", {{"backend", "bubblewrap"}}}}}}}});
    program.script({runs("echo [$HOLON_SANDBOX]"), says("done")});
    EXPECT_THAT(said(program.run(run_arguments())), HasSubstr("[confined]"));
    program.run({"run", "--json", "--agent", "free", "--create-agent", "obey"});
    EXPECT_THAT(program.run({"transcript", "--agent", "free", "--json"}).out, HasSubstr("[]"));
}

TEST_F(Confined, ARefusedDestinationIsRecorded) {
    configure({{"backend", "bubblewrap"},
               {"network", "allowlist"},
               {"allowed_hosts", json::array{"allowed.example"}}});
    program.script({runs("python3 -c \"import urllib.request as u; u.urlopen('http://127.0.0.1:" +
                         port + "')\""),
                    says("done")});
    const auto finished = program.run(run_arguments());
    EXPECT_EQ(escapes(said(finished)), std::vector<std::string>{});
    const auto denied = program.events("k", "sandbox_denied");
    ASSERT_EQ(denied.size(), 1U);
    const auto& data = denied[0].at("data");
    EXPECT_EQ(base::string_at(data, "agent_id"), "k");
    EXPECT_EQ(base::string_at(data, "tool"), "ExecCommand");
    EXPECT_EQ(base::string_at(data, "rule"), "network");
    EXPECT_EQ(base::string_at(data, "what"), "127.0.0.1:" + port);
    EXPECT_FALSE(base::string_at(data, "tool_call_id").empty());
}

// A machine that allows no namespaces.
class FailsClosed : public Confined {
protected:
    Finished run(std::vector<std::string> arguments) {
        std::vector<std::string> words{"/usr/bin/bwrap", "--dev-bind",       "/",  "/",
                                       "--unshare-user", "--disable-userns", "--", HOLON_PROGRAM};
        words.insert(words.end(), arguments.begin(), arguments.end());
        return program.start_command(std::move(words)).wait();
    }
};

TEST_F(FailsClosed, ACommandThatCannotBeConfinedIsNotRunAndIsRecorded) {
    program.script({runs("touch ran"), says("done")});
    const auto finished = run(run_arguments());
    EXPECT_EQ(finished.exit_code, 0) << finished.err;
    EXPECT_FALSE(fs::exists(program.repo() / "ran"));
    const auto text = said(finished);
    EXPECT_THAT(text, HasSubstr("policy_denied"));
    EXPECT_THAT(text, HasSubstr("namespaces cannot be made here"));
    const auto denied = program.events("k", "sandbox_denied");
    ASSERT_EQ(denied.size(), 1U);
    EXPECT_EQ(base::string_at(denied[0].at("data"), "rule"), "unavailable");
    const auto doctor = run({"doctor"});
    EXPECT_THAT(doctor.out, HasSubstr("sandbox: no command runs: "));
    EXPECT_THAT(doctor.out, HasSubstr("allow user namespaces"));

    program.write(program.folder() / "plan.json",
                  base::json_text(json::object{
                      {"version", "1.0"},
                      {"goal", "Run"},
                      {"riskLevel", "commands"},
                      {"steps", json::array{json::object{{"id", "one"},
                                                         {"tool", "shell.exec"},
                                                         {"args", {{"cmd", "touch ran"}}}}}}}));
    const auto plan = run({"plan", "run", (program.folder() / "plan.json").string(), "--vault",
                           program.repo().string(), "--json", "--yes"});
    EXPECT_NE(plan.exit_code, 0);
    EXPECT_THAT(plan.out, HasSubstr("POLICY_DENIED"));
    EXPECT_THAT(plan.out, HasSubstr("\"sandbox_denied\""));
    EXPECT_FALSE(fs::exists(program.repo() / "ran"));
}

TEST_F(FailsClosed, WithoutProcessesNoCommandIsOffered) {
    configure({}, {{"execution", {{"allow_processes", false}}}});
    program.script({runs("touch ran"), says("done")});
    const auto text = said(run(run_arguments()));
    EXPECT_FALSE(fs::exists(program.repo() / "ran"));
    EXPECT_THAT(text, HasSubstr("execution.allow_processes"));
    const auto profile =
        program.json_of({"status", "--agent", "k", "--json"}).at("execution").at("profile");
    EXPECT_FALSE(base::bool_at(profile, "process_execution_exposed", true));
}

// A supervisor keeps a confined command, as it keeps every other.
class ConfinedTask : public Confined {
protected:
    ConfinedTask() : go(program.repo() / "go"), ready(program.repo() / "ready") {
        program.use_server(server.base_url(), "key");
        auto file = base::parse_json(program.read(program.home() / "config.json")).value();
        file.as_object()["sandbox"] = {{"backend", "bubblewrap"}};
        program.write(program.home() / "config.json", base::json_text(file));
    }
    test_support::FakeModelServer server;
    Signpost go, ready;
};

TEST_F(ConfinedTask, GetsNothingOut) {
    server.enqueue(test_support::calls(
        "ExecCommand",
        base::json_text(json::object{{"cmd", all_hostile()}, {"yield_time_ms", 0}})));
    server.enqueue(test_support::says("It runs."));
    server.enqueue(test_support::says("It is over."));
    const auto finished = program.run(run_arguments());
    EXPECT_EQ(finished.exit_code, 0) << finished.err;
    EXPECT_EQ(program.events("k", "task_result_received").size(), 1U);
    EXPECT_EQ(escapes(said(finished)), std::vector<std::string>{});
}

TEST_F(ConfinedTask, IsReattachedByTheNextProgramAfterAKill) {
    const json::object input{{"cmd",
                              "echo run >> runs; echo first; echo x > ready; read line < go; echo "
                              "$line-$HOLON_SANDBOX; exit 7"},
                             {"login", false},
                             {"yield_time_ms", 0}};
    server.enqueue(test_support::calls("ExecCommand", base::json_text(input)));
    server.enqueue(test_support::says("It runs."));
    auto running = program.start(run_arguments());
    ready.wait();
    const auto until = std::chrono::steady_clock::now() + kPatience;
    while (program.events("k", "turn_terminal").empty())
        ASSERT_LT(std::chrono::steady_clock::now(), until) << "the turn does not end";
    running.send(SIGKILL);
    running.wait();
    server.enqueue(test_support::says("It is over."));
    auto next = program.start({"run", "--json", "--agent", "k", "--resume"});
    go.send("last");
    const auto finished = next.wait();
    EXPECT_EQ(finished.exit_code, 0) << finished.err;
    const auto response = base::parse_json(finished.out).value();
    const auto& task = response.at("tasks").as_array().at(0).at("task");
    EXPECT_EQ(base::int_at(task, "exit_status"), 7);
    EXPECT_EQ(base::string_at(task, "output_preview"), "first\nlast-confined");
    EXPECT_EQ(program.read(program.repo() / "runs"), "run\n");
    EXPECT_FALSE(lingers());
}

}  // namespace
}  // namespace e2e
