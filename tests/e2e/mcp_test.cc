// Tools of a real MCP server, used by the built program: in a turn, in a plan, through a kill.
#include <csignal>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/text.h"
#include "store/sql/sqlite/sqlite_store.h"
#include "tests/e2e/program.h"
#include "tests/mcp/script_server.h"
#include "tests/support/eventually.h"
#include "tests/support/fake_model_server.h"

namespace e2e {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

// Watches a process that is not our child.
class Watched {
public:
    explicit Watched(pid_t pid) : end_(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0))) {
        EXPECT_TRUE(end_) << "no process " << pid;
    }
    bool ends_within(std::chrono::milliseconds limit = kPatience) const {
        pollfd end{.fd = end_.get(), .events = POLLIN, .revents = 0};
        return ::poll(&end, 1, static_cast<int>(limit.count())) == 1;
    }

private:
    base::Fd end_;
};

class McpE2e : public testing::Test {
protected:
    McpE2e() { configure(json::object{}); }

    // The server `test`, with these members on top.
    void configure(const json::object& more, json::object other = {}) {
        json::object server{{"command", "/usr/bin/python3"}, {"args", {HOLON_MCP_SERVER}}};
        for (const auto& member : more) server[member.key()] = member.value();
        json::object document;
        const auto file = program.home() / "config.json";
        if (std::filesystem::exists(file))
            document = base::parse_json(program.read(file)).value().as_object();
        other["test"] = std::move(server);
        document["mcp"] = json::object{{"servers", std::move(other)}};
        std::filesystem::create_directories(program.home());
        program.write(file, base::json_text(document));
    }

    json::value run_json(std::string_view text = "go") {
        return program.json_of(
            {"run", "--json", "--agent", "k", "--create-agent", std::string(text)});
    }
    std::string last_receipt() {
        const auto entries =
            of_kind(program.json_of({"transcript", "--agent", "k"}), "tool_results");
        return entries.empty()
                   ? ""
                   : base::string_at(entries.back().at("data").at("results").at(0), "content");
    }
    std::vector<domain::ToolExecution> executions() {
        const auto entries = program.json_of({"transcript", "--agent", "k"});
        const auto store = sqlite::open({.file = program.home() / "holon.db"}).value();
        std::vector<domain::ToolExecution> found;
        EXPECT_TRUE(store->read([&](store::Tx& tx) -> base::Status {
            found = TRY(tx.tool_executions({base::string_at(entries.as_array().back(), "run_id")},
                                           std::nullopt));
            return {};
        }));
        return found;
    }

    Program program;
};

// contract: TRANS-04
TEST_F(McpE2e, AModelCallsATool) {
    test_support::FakeModelServer server;
    program.use_server(server.base_url(), "key");
    configure(json::object{});
    server.enqueue(test_support::calls("mcp__test__add", R"({"a":40,"b":2})"));
    server.enqueue(test_support::calls("mcp__test__fail", R"({"text":"no luck"})"));
    server.enqueue(test_support::says("Done."));
    EXPECT_EQ(base::string_at(run_json(), "final_text"), "Done.");

    // The receipt is in the next request, and what is offered is the same to the byte.
    const auto requests = server.requests();
    ASSERT_EQ(requests.size(), 3u);
    const auto second = base::parse_json(requests[1].body).value();
    EXPECT_EQ(base::string_at(second.at("messages").as_array().back(), "content"), "42");
    EXPECT_THAT(requests[0].body, HasSubstr("\"mcp__test__echo\""));
    EXPECT_THAT(requests[2].body, HasSubstr("no luck"));
    const auto tools = base::json_text(base::parse_json(requests[0].body).value().at("tools"));
    EXPECT_EQ(base::json_text(second.at("tools")), tools);

    const auto calls = executions();
    ASSERT_EQ(calls.size(), 2u);
    for (const auto& call : calls)
        EXPECT_THAT(keys_of(*call.envelope),
                    ElementsAre("error", "result", "status", "summary_text", "tool_name"));
    EXPECT_EQ(calls[0].envelope->at("result").at("structured_content").at("sum"), json::value(42));
    EXPECT_EQ(base::string_at(calls[1].envelope->at("error"), "kind"), "mcp_tool_error");

    // Another process offers the same.
    server.enqueue(test_support::says("Again."));
    run_json("again");
    EXPECT_EQ(base::json_text(base::parse_json(server.requests().back().body).value().at("tools")),
              tools);
}

TEST_F(McpE2e, APlanUsesTools) {
    program.write(program.folder() / "plan.json",
                  R"({"version":"1.0","goal":"Add","riskLevel":"commands",
        "steps":[{"id":"one","tool":"mcp__test__add","args":{"a":1,"b":2}},
                 {"id":"two","tool":"mcp__test__add","dependsOn":["one"],
                  "args":{"a":"$steps.one.structured_content.sum","b":10}}]})");
    const auto finished =
        program.run({"plan", "run", (program.folder() / "plan.json").string(), "--yes", "--json"});
    EXPECT_EQ(finished.exit_code, 0) << finished.err << finished.out;
    EXPECT_THAT(base::json_text(program.json_of({"plan", "show", "last"})),
                HasSubstr("\"sum\":13"));
}

TEST_F(McpE2e, AKillOfTheProgramEndsTheServerAndTheOutcomeIsUnknown) {
    Signpost started(program.folder() / "started");
    program.script(
        {calls("mcp__test__wait", {{"started", started.path().string()}}), says("I looked.")});
    auto running = program.start({"run", "--agent", "k", "--create-agent", "go"});
    const Watched server(std::stoi(started.wait()));
    running.send(SIGKILL);
    running.wait();
    EXPECT_TRUE(server.ends_within());
    const auto resumed = program.json_of({"run", "--json", "--agent", "k", "--resume"});
    EXPECT_EQ(base::string_at(resumed, "final_text"), "I looked.");
    EXPECT_THAT(last_receipt(), HasSubstr("tool_outcome_unknown"));
}

TEST_F(McpE2e, ACallThatWasCutOffIsUnknownAlsoWhenItsServerDoesNotComeBack) {
    Signpost started(program.folder() / "started");
    program.script(
        {calls("mcp__test__wait", {{"started", started.path().string()}}), says("I looked.")});
    auto running = program.start({"run", "--agent", "k", "--create-agent", "go"});
    started.wait();
    running.send(SIGKILL);
    running.wait();
    configure({{"enabled", false}});
    program.json_of({"run", "--json", "--agent", "k", "--resume"});
    EXPECT_THAT(last_receipt(), HasSubstr("tool_outcome_unknown"));
}

TEST_F(McpE2e, CtrlCReachesTheServerAndEndsIt) {
    Signpost started(program.folder() / "started"), cancelled(program.folder() / "cancelled");
    program.script({calls("mcp__test__wait", {{"started", started.path().string()},
                                              {"cancelled", cancelled.path().string()}}),
                    says("Done.")});
    auto running = program.start({"run", "--agent", "k", "--create-agent", "go"});
    const Watched server(std::stoi(started.wait()));
    running.send(SIGINT);
    EXPECT_EQ(cancelled.wait(), "cancelled");
    EXPECT_EQ(running.wait().exit_code, 130);
    EXPECT_TRUE(server.ends_within());
}

TEST_F(McpE2e, AServerThatFailsIsLeftOutAndTheRunContinues) {
    configure({{"args", {HOLON_MCP_SERVER, "exit"}}}, {{"gone", {{"command", "no-such-program"}}}});
    program.script({says("Done.")});
    const auto finished = program.run({"run", "go"});
    EXPECT_EQ(finished.exit_code, 0);
    EXPECT_THAT(finished.err,
                HasSubstr("the MCP server test is left out: it ended: exit status 4"));
    EXPECT_THAT(finished.err, HasSubstr("the MCP server gone is left out"));
    const auto doctor = program.run({"doctor", "--json"});
    EXPECT_THAT(doctor.out, HasSubstr("'no-such-program' was not found"));
    EXPECT_THAT(program.read(program.home() / "logs" / "mcp" / "test.log"),
                HasSubstr("no licence found"));
}

// Its tools are known from the first process: what nobody calls is not waited for.
TEST_F(McpE2e, AServerThatStartsSlowlyDelaysOnlyItsOwnCalls) {
    const auto script = program.folder() / "server.sh";
    const std::string server = fmt::format("exec /usr/bin/python3 {}\n", HOLON_MCP_SERVER);
    program.write(script, server);
    configure({{"command", "/bin/sh"}, {"args", {script.string()}}});
    program.script({says("Done.")});
    run_json();

    program.write(script, "exec sleep 1000\n");
    program.script({says("Nothing to call.")});
    run_json("again");

    Signpost gate(program.folder() / "gate");
    program.write(script, fmt::format("read line < {}\n{}", gate.path().string(), server));
    program.script({calls("mcp__test__echo", {{"text", "late"}}), says("Done.")});
    auto running = program.start({"run", "--agent", "k", "call it"});
    gate.send("go");
    EXPECT_EQ(running.wait().exit_code, 0);
    EXPECT_EQ(last_receipt(), "late");
}

TEST_F(McpE2e, ServersAndToolsAreShown) {
    configure({{"risk", "read_only"}, {"tools", {{"deny", {"die"}}}}});
    std::map<std::string, json::value> tools;
    const auto listed = program.json_of({"tools", "--json"});
    for (const auto& tool : listed.as_array()) tools[base::string_at(tool, "name")] = tool;
    ASSERT_TRUE(tools.contains("mcp__test__echo"));
    EXPECT_EQ(base::string_at(tools["mcp__test__echo"], "riskLevel"), "read-only");
    EXPECT_EQ(base::string_at(tools["mcp__test__echo"], "category"), "mcp");
    EXPECT_FALSE(tools.contains("mcp__test__die"));

    EXPECT_EQ(base::string_at(program.json_of({"doctor"}).at("mcp_servers").at(0), "state"),
              "configured");
    const auto probed = program.json_of({"doctor", "--probe"}).at("mcp_servers").at(0);
    EXPECT_EQ(base::string_at(probed, "state"), "ready");
    EXPECT_EQ(base::string_at(probed.at("left_out").at(0), "tool"), "die");
}

TEST_F(McpE2e, ReadingCommandsStartNoServer) {
    program.script({says("Done.")});
    run_json();
    const auto marker = program.folder() / "started";
    configure({{"command", "/bin/sh"}, {"args", {"-c", "touch " + marker.string()}}});
    program.run({"status", "--agent", "k"});
    program.run({"transcript", "--agent", "k"});
    program.run({"plan", "list"});
    program.run({"doctor"});
    EXPECT_FALSE(std::filesystem::exists(marker));
    program.run({"tools"});
    EXPECT_TRUE(std::filesystem::exists(marker));
}

TEST_F(McpE2e, ASecretReachesOnlyItsServer) {
    configure({{"env", {{"TOKEN", "$MY_TOKEN"}}}});
    program.environment["MY_TOKEN"] = "hidden-5151";
    program.script({calls("mcp__test__getenv", {{"text", "TOKEN"}}),
                    calls("mcp__test__getenv", {{"text", "MY_TOKEN"}}),
                    runs("echo \"command: ${MY_TOKEN-unset}\""), says("Done.")});
    run_json();
    const auto calls = executions();
    ASSERT_EQ(calls.size(), 3u);
    // It knew the secret, and did not reveal it.
    EXPECT_EQ(*calls[0].receipt, "[redacted:known-credential]");
    EXPECT_EQ(*calls[1].receipt, "(unset)");
    EXPECT_THAT(*calls[2].receipt, HasSubstr("command: unset"));
    for (const auto& command : std::vector<std::vector<std::string>>{
             {"doctor", "--probe"}, {"config", "list"}, {"tools"}})
        EXPECT_THAT(program.run(command).out, Not(HasSubstr("hidden-5151")));
    program.environment.erase("MY_TOKEN");
    EXPECT_THAT(program.run({"doctor"}).out,
                HasSubstr("the environment variable MY_TOKEN is not set"));
}

// A server runs behind the boundary of all agents: one that is kept in more closely must not get
// out through it.
TEST_F(McpE2e, AnAgentWithASandboxOfItsOwnDoesNotUseSharedServers) {
    program.run({"config", "set", "agents.k.sandbox.backend", "bubblewrap"});
    program.script({calls("mcp__test__echo", {{"text", "out"}}), says("Done.")});
    run_json();
    EXPECT_THAT(last_receipt(), HasSubstr("sandbox of its own"));
}

// Logging in to a remote server, and using it in a turn.
class McpLoginE2e : public testing::Test {
protected:
    McpLoginE2e() {
        std::filesystem::create_directories(program.home());
        configure();
    }
    // Adds the server to what is set.
    void configure() {
        const auto file = program.home() / "config.json";
        json::object document;
        if (std::filesystem::exists(file))
            document = base::parse_json(program.read(file)).value().as_object();
        json::object servers;
        servers["tracker"] = json::object{{"url", server.url() + "/mcp"}};
        document["mcp"] = json::object{{"servers", std::move(servers)}};
        program.write(file, base::json_text(document));
    }
    // The address that the operator is asked to open.
    std::string shown_url(const Running& running) const {
        const auto begin_of = [&] {
            return running.err_so_far().find(server.url() + "/authorize");
        };
        EXPECT_TRUE(test_support::eventually([&] {
            const auto err = running.err_so_far();
            const auto begin = begin_of();
            return begin != err.npos && err.find('\n', begin) != err.npos;
        })) << running.err_so_far();
        const auto err = running.err_so_far();
        return err.substr(begin_of(), err.find('\n', begin_of()) - begin_of());
    }

    test_support::ScriptServer server{HOLON_MCP_OAUTH_SERVER, "plain"};
    Program program;
};

TEST_F(McpLoginE2e, ALoginIsUsedByTurnsAndRemovedByALogout) {
    auto running = program.start({"mcp", "login", "tracker"});
    const auto url = shown_url(running);
    // The browser: it follows the redirect to the port of the login.
    auto browser = program.start_command(
        {"/usr/bin/python3", "-c", "import sys, urllib.request as r; r.urlopen(sys.argv[1])", url});
    EXPECT_EQ(browser.wait().exit_code, 0);
    const auto login = running.wait();
    ASSERT_EQ(login.exit_code, 0) << login.err;
    EXPECT_THAT(login.out, HasSubstr("logged_in"));

    const auto stored = base::parse_json(program.read(program.home() / "credentials.json")).value();
    const auto material = base::string_at(stored.at("profiles").at("mcp:tracker"), "material");
    const auto token = base::string_at(base::parse_json(material).value(), "access_token");
    ASSERT_FALSE(token.empty());
    for (const auto& words :
         {std::vector<std::string>{"mcp", "status"}, std::vector<std::string>{"doctor", "--probe"},
          std::vector<std::string>{"config", "credentials", "list"}})
        EXPECT_THAT(program.run(words).out, Not(HasSubstr(token))) << words.front();

    test_support::FakeModelServer model;
    program.use_server(model.base_url(), "key");
    configure();
    model.enqueue(test_support::calls("mcp__tracker__echo", R"({"text":"from the tracker"})"));
    model.enqueue(test_support::says("Done."));
    EXPECT_EQ(
        base::string_at(program.json_of({"run", "--json", "--agent", "k", "--create-agent", "go"}),
                        "final_text"),
        "Done.");
    EXPECT_THAT(program.run({"transcript", "--agent", "k"}).out, HasSubstr("from the tracker"));

    EXPECT_EQ(program.run({"mcp", "logout", "tracker"}).exit_code, 0);
    EXPECT_THAT(program.run({"mcp", "status"}).out, HasSubstr("logged_out"));
    EXPECT_THAT(program.read(program.home() / "credentials.json"), Not(HasSubstr(token)));
}

TEST_F(McpLoginE2e, WithoutALoginTheCommandToUseIsNamed) {
    EXPECT_THAT(program.run({"doctor", "--probe"}).out, HasSubstr("holon mcp login tracker"));
    EXPECT_THAT(program.run({"mcp", "login", "nobody"}).err, HasSubstr("no MCP server 'nobody'"));
    EXPECT_THAT(program.run({"mcp", "logout", "tracker"}).out, HasSubstr("not_logged_in"));
}

}  // namespace
}  // namespace e2e
