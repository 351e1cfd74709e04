// The real server of tests/mcp behind the real dispatcher.
#include <csignal>
#include <cstdlib>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/os/asio_loop.h"
#include "base/os/files.h"
#include "base/text.h"
#include "exec/tools/dispatcher.h"
#include "exec/tools/mcp/servers.h"
#include "exec/tools/mcp/system_child.h"
#include "exec/tools/patch/folder_for_test.h"
#include "tests/support/run_until.h"
#include "tests/support/skip.h"

namespace mcp {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class McpLive : public testing::Test {
protected:
    McpLive() {
        ::signal(SIGPIPE, SIG_IGN);
        std::filesystem::create_directories(folder_.path() / "repo");
        place_ = {.agent_id = {"default"},
                  .agent_home = folder_.path() / "home",
                  .workspace = {.execution_root = folder_.at("repo"), .cwd = folder_.at("repo")}};
    }

    config::McpServer server(std::string mode, std::string name = "srv") const {
        return {.name = std::move(name),
                .command = "/usr/bin/python3",
                .args = {HOLON_MCP_SERVER, std::move(mode)},
                .environment = {{"PATH", "/usr/bin:/bin"}, {"TOKEN", "secret-1"}},
                .cwd = folder_.at("repo")};
    }

    // Starts them, and makes what they offer callable.
    void use(std::vector<config::McpServer> servers, results::OutputPolicy policy = {}) {
        configured_ = std::move(servers);
        servers_ = std::make_unique<Servers>(ServersParts{
            .servers = configured_,
            .loop = loop_,
            .clock = clock_,
            .children = children_,
            .boundary = boundary_,
            .log_of = [this](const std::string& name) { return folder_.path() / (name + ".log"); },
            .lists_folder = lists_});
        bool found = false;
        servers_->offer(*registry_, [&] { found = true; });
        ASSERT_TRUE(test_support::run_until(loop_, [&] { return found; }));
        dispatcher_.emplace(tools::DispatcherParts{
            .registry = *registry_, .output = policy, .clock = clock_, .ids = ids_});
    }

    std::shared_ptr<tools::Running> start(const std::string& tool, json::value args) {
        ended_.reset();
        const auto call = dispatcher_->describe({.call_id = {fmt::format("call-{}", ++calls_)},
                                                 .run_id = {"run-1"},
                                                 .step_id = "round-1.1",
                                                 .tool = "mcp__srv__" + tool,
                                                 .args = std::move(args)},
                                                place_);
        return dispatcher_->dispatch(
            call, domain::ProfilePreset::PublicNamed, place_,
            [this](tools::Dispatched ended) { ended_ = std::move(ended); });
    }
    const tools::Dispatched& end() {
        EXPECT_TRUE(test_support::run_until(loop_, [&] { return ended_.has_value(); }));
        return *ended_;
    }
    const tools::Dispatched& run(const std::string& tool, json::value args) {
        start(tool, std::move(args));
        return end();
    }
    std::string kind(const std::string& tool, json::value args) {
        const auto& ended = run(tool, std::move(args));
        return ended.envelope.ok() ? "" : ended.envelope.error().kind;
    }
    bool ends(pid_t pid) {
        return test_support::run_until(loop_, [&] {
            const auto stat = base::read_file(fmt::format("/proc/{}/stat", pid), 4096);
            return !stat || stat->contains(") Z ");
        });
    }
    std::string log() {
        return base::read_file(folder_.path() / "srv.log", 10'000'000).value_or("");
    }
    ServerView view() { return servers_->views().front(); }

    patch::TestFolder folder_;
    base::AsioLoop loop_;
    base::SystemClock clock_;
    base::RandomIds ids_{clock_};
    sandbox::Boundary boundary_;
    SystemChildRunner children_{loop_};
    std::vector<config::McpServer> configured_;
    std::unique_ptr<Servers> servers_;
    std::optional<tools::Registry> registry_{std::in_place};
    std::filesystem::path lists_;  // Where lists are kept; nowhere unless set.
    std::optional<tools::Dispatcher> dispatcher_;
    tools::ExecutionContext place_;
    std::optional<tools::Dispatched> ended_;
    int calls_{0};
};

// contract: TRANS-04
TEST_F(McpLive, EveryOutcomeIsAnEnvelopeWithTheFiveOuterKeys) {
    use({server("normal")});
    const auto keys = [](const tools::Dispatched& ended) {
        std::vector<std::string> names;
        for (const auto& member : ended.envelope.to_json()) names.emplace_back(member.key());
        std::ranges::sort(names);
        return names;
    };
    for (const auto& [tool, args] :
         std::vector<std::pair<std::string, json::value>>{{"echo", {{"text", "hi"}}},
                                                          {"add", {{"a", 1}, {"b", 2}}},
                                                          {"fail", {{"text", "x"}}},
                                                          {"refuse", json::object{}},
                                                          {"picture", json::object{}},
                                                          {"die", json::object{}},
                                                          {"echo", json::object{}}})
        EXPECT_THAT(keys(run(tool, args)),
                    ElementsAre("error", "result", "status", "summary_text", "tool_name"))
            << tool;
}

TEST_F(McpLive, ResultsReadAsTheServerMeantThem) {
    use({server("normal")});
    EXPECT_EQ(run("echo", {{"text", "hi"}}).receipt, "hi");
    EXPECT_EQ(run("add", {{"a", 1}, {"b", 2}}).envelope.result().at("structured_content").at("sum"),
              json::value(3));
    EXPECT_EQ(end().result.status, domain::ResultStatus::Ok);
    EXPECT_FALSE(end().result.effects.observed);
    EXPECT_EQ(kind("fail", {{"text", "no luck"}}), "mcp_tool_error");
    EXPECT_THAT(end().envelope.error().message, HasSubstr("no luck"));
    EXPECT_EQ(kind("refuse", json::object{}), "mcp_protocol_error");
    EXPECT_EQ(kind("add", {{"a", 1}, {"b", "x"}}), "invalid_tool_input");
    EXPECT_EQ(run("twice", {{"text", "first"}}).receipt, "first");
    EXPECT_EQ(run("echo", {{"text", "after"}}).receipt, "after");
    EXPECT_THAT(run("picture", json::object{}).receipt,
                HasSubstr("tool-artifacts/mcp--srv--picture-"));
}

TEST_F(McpLive, RiskIsTheOperatorsAndNotTheServers) {
    use({server("normal")});
    EXPECT_EQ(registry_->find("mcp__srv__fail")->spec().risk, domain::RiskLevel::Commands);
    EXPECT_FALSE(registry_->find("mcp__srv__fail")->spec().repeatable);
}

TEST_F(McpLive, TheSameListGivesTheSameRegistry) {
    use({server("normal")});
    const std::string version = registry_->version();
    registry_.emplace();
    use({server("paging")});
    EXPECT_EQ(registry_->version(), version);
}

TEST_F(McpLive, AServerThatDiesInACallLeavesTheOutcomeUnknownAndIsRestarted) {
    use({server("normal")});
    EXPECT_EQ(kind("die", json::object{}), "mcp_server_died");
    EXPECT_THAT(end().receipt, HasSubstr("exit status 3"));
    EXPECT_THAT(log(), HasSubstr("dying on request"));
    EXPECT_EQ(run("echo", {{"text", "again"}}).receipt, "again");
}

TEST_F(McpLive, CancellingReachesTheServer) {
    use({server("normal")});
    const auto started = folder_.path() / "started", cancelled = folder_.path() / "cancelled";
    const auto running =
        start("wait", {{"started", started.string()}, {"cancelled", cancelled.string()}});
    ASSERT_TRUE(test_support::run_until(loop_, [&] { return std::filesystem::exists(started); }));
    running->cancel();
    EXPECT_EQ(end().result.status, domain::ResultStatus::Cancelled);
    ASSERT_TRUE(test_support::run_until(
        loop_, [&] { return base::read_file(cancelled, 100).value_or("") == "cancelled\n"; }));
    EXPECT_EQ(run("echo", {{"text", "still here"}}).receipt, "still here");
}

TEST_F(McpLive, ATimeoutIsTheServersOwn) {
    auto quick = server("normal");
    quick.timeout_ms = 50;
    use({quick});
    EXPECT_EQ(kind("wait", json::object{}), "mcp_timeout");
    EXPECT_EQ(end().result.status, domain::ResultStatus::Timeout);
}

TEST_F(McpLive, AHundredMegabytesInOneLineAreSkipped) {
    use({server("normal")});
    EXPECT_EQ(kind("big", {{"bytes", 100'000'000}}), "mcp_response_too_large");
    EXPECT_EQ(run("echo", {{"text", "still here"}}).receipt, "still here");
}

TEST_F(McpLive, LargeTextIsCutAndKeptWhole) {
    use({server("normal")}, {.output_tokens_default = 100, .output_tokens_max = 100});
    const auto& ended = run("big", {{"bytes", 100'000}});
    EXPECT_LT(ended.receipt.size(), 1000u);
    const auto path = ended.envelope.result().at("artifacts").at(0).at("path").as_string();
    EXPECT_EQ(std::filesystem::file_size(std::string(path)), 100'000u);
}

TEST_F(McpLive, GarbageBetweenMessagesIsSkipped) {
    use({server("noisy")});
    EXPECT_EQ(run("garbage", json::object{}).receipt, "after the garbage");
    EXPECT_EQ(kind("garbage", {{"lines", 1000}}), "mcp_server_died");
}

TEST_F(McpLive, RequestsOfTheServerAreAnswered) {
    use({server("normal")});
    EXPECT_THAT(run("ask", json::object{}).receipt, HasSubstr("-32601"));
    EXPECT_THAT(log(), HasSubstr("asking"));
}

TEST_F(McpLive, AServerHasOnlyTheEnvironmentItWasGiven) {
    ::setenv("HOLON_TEST_SECRET", "x", 1);
    use({server("normal")});
    EXPECT_EQ(run("getenv", {{"text", "TOKEN"}}).receipt, "secret-1");
    EXPECT_EQ(run("getenv", {{"text", "HOLON_TEST_SECRET"}}).receipt, "(unset)");
}

TEST_F(McpLive, ServersThatFailAreLeftOutAndSayWhy) {
    for (const auto& [mode, reason] :
         std::map<std::string, std::string>{{"exit", "exit status 4"},
                                            {"bad-version", "'1999-01-01'"},
                                            {"cursor-loop", "same page"},
                                            {"endless-pages", "more than"}}) {
        registry_.emplace();
        use({server(mode), server("normal", "other")});
        EXPECT_EQ(view().state, "failed");
        EXPECT_THAT(view().reason.value_or(""), HasSubstr(reason));
        EXPECT_EQ(registry_->find("mcp__srv__echo"), nullptr);
        EXPECT_NE(registry_->find("mcp__other__echo"), nullptr);
    }
    EXPECT_THAT(log(), HasSubstr("no licence found"));
}

TEST_F(McpLive, OldServersAndThoseWithoutToolsAreTaken) {
    use({server("old-version"), server("no-tools", "other")});
    EXPECT_EQ(view().protocol_version, "2024-11-05");
    EXPECT_EQ(servers_->views()[1].state, "ready");
    EXPECT_TRUE(servers_->views()[1].tools.empty());
}

TEST_F(McpLive, HostileListsDoNoHarm) {
    use({server("hostile")});
    EXPECT_EQ(view().tools.size(), 3u);
    EXPECT_EQ(view().left_out.size(), 8u);
    for (const auto* spec : registry_->all()) {
        EXPECT_LE(spec->name.size(), kNameCharsMax);
        EXPECT_EQ(base::printable(spec->description, true), spec->description);
    }
}

TEST_F(McpLive, DisabledAndFaultyServersAreNotStarted) {
    auto disabled = server("normal"), faulty = server("normal", "other");
    disabled.enabled = false;
    disabled.command = "no-such-program";
    faulty.fault = "the environment variable X is not set";
    use({disabled, faulty});
    EXPECT_TRUE(registry_->all().empty());
    EXPECT_EQ(servers_->views()[0].state, "disabled");
    EXPECT_FALSE(servers_->views()[0].reason);
    EXPECT_EQ(servers_->views()[1].state, "faulty");
}

TEST_F(McpLive, ItEndsWithAllItStartedWhenItIsNotNeededAnyMore) {
    for (const char* mode : {"normal", "deaf-to-eof"}) {
        registry_.emplace();
        use({server(mode)});
        const std::string pids = run("pids", json::object{}).receipt;
        const std::size_t space = pids.find(' ');
        registry_.emplace();
        servers_.reset();
        EXPECT_TRUE(ends(std::stoi(pids.substr(0, space)))) << mode;
        EXPECT_TRUE(ends(std::stoi(pids.substr(space)))) << mode;
    }
}

TEST_F(McpLive, AToolThatComesLaterIsOffered) {
    use({server("normal")});
    const auto version = registry_->version();
    EXPECT_EQ(registry_->find("mcp__srv__added"), nullptr);
    run("change_list", json::object{});
    ASSERT_TRUE(test_support::run_until(loop_, [&] { return registry_->find("mcp__srv__added"); }));
    EXPECT_NE(registry_->version(), version);
    EXPECT_EQ(run("added", json::object{}).receipt, "I came later.");
}

TEST_F(McpLive, ListsAreKeptSoThatTheNextProcessDoesNotWait) {
    lists_ = folder_.path() / "lists";
    use({server("normal")});
    const auto names = view().tools;
    EXPECT_FALSE(names.empty());
    ASSERT_TRUE(test_support::run_until(
        loop_, [&] { return std::filesystem::exists(lists_ / "srv.json"); }));
    // A server that never becomes ready: its tools are there at once, and a call waits for it.
    registry_.emplace();
    auto slow = server("normal");
    configured_ = {slow};
    const auto before = std::filesystem::status(lists_ / "srv.json").permissions();
    EXPECT_EQ(before, std::filesystem::perms::owner_read | std::filesystem::perms::owner_write);
    use({slow});
    EXPECT_EQ(view().tools, names);
    EXPECT_EQ(run("echo", {{"text", "hi"}}).receipt, "hi");
    // Another program under the same name has another list.
    registry_.emplace();
    use({server("no-tools")});
    EXPECT_TRUE(registry_->all().empty());
    // What is damaged is as good as nothing.
    std::ofstream(lists_ / "srv.json") << "{\"server\": 7, \"tools\": ";
    registry_.emplace();
    use({server("normal")});
    EXPECT_EQ(view().tools, names);
}

TEST_F(McpLive, ResourcesAreListedAndRead) {
    use({server("normal")});
    EXPECT_EQ(run("list_resources", json::object{}).receipt,
              "note:///one | text/plain | one | A[31m note.\nMore with the cursor 2");
    EXPECT_EQ(run("list_resources", {{"cursor", "2"}}).receipt,
              "note:///picture | image/png | picture");
    EXPECT_THAT(run("read_resource", {{"uri", "note:///one"}}).receipt,
                HasSubstr("the first note"));
    EXPECT_THAT(run("read_resource", {{"uri", "note:///picture"}}).receipt,
                HasSubstr("4 bytes, kept as artifact"));
    EXPECT_EQ(kind("read_resource", {{"uri", "file:///etc/passwd"}}), "mcp_protocol_error");
    EXPECT_EQ(kind("read_resource", json::object{}), "invalid_tool_input");
}

TEST_F(McpLive, ProgressKeepsALongCallAlive) {
    auto quick = server("normal");
    quick.timeout_ms = 2000;
    use({quick});
    EXPECT_EQ(run("work", {{"times", 6}, {"pause_ms", 500}}).receipt, "worked");
    EXPECT_THAT(log(), HasSubstr("[progress]"));
}

TEST_F(McpLive, StructuredContentIsHeldToItsSchema) {
    use({server("normal")});
    EXPECT_EQ(kind("lie", json::object{}), "mcp_invalid_output");
    EXPECT_EQ(kind("input", json::object{}), "mcp_input_required");
}

TEST_F(McpLive, AServerOfTheRevisionWithoutAHandshakeIsUsed) {
    use({server("stateless")});
    EXPECT_EQ(view().protocol_version, "2026-07-28");
    EXPECT_EQ(view().introduction, "stateless 1");
    EXPECT_EQ(run("echo", {{"text", "hi"}}).receipt, "hi");
    EXPECT_EQ(kind("refuse", json::object{}), "mcp_protocol_error");
}

// A server may write below its folder and nowhere else, and not see what is hidden.
TEST_F(McpLive, BehindABoundaryAServerIsConfined) {
    boundary_ = sandbox::Boundary({.backend = sandbox::Backend::Bubblewrap},
                                  {folder_.path() / "user"}, folder_.path() / "holon");
    if (const auto lacks = sandbox::missing(boundary_.machine()); !lacks.empty())
        HOLON_SKIP(fmt::format("this machine cannot confine: {}", fmt::join(lacks, "; ")));
    // Below /tmp everything is private to a confined process.
    const auto place = std::filesystem::path(HOLON_MCP_FOLDER) / folder_.path().filename();
    std::filesystem::create_directories(place / "repo");
    auto confined = server("normal");
    confined.cwd = place / "repo";
    // The clone may lie there, too; its root is seen.
    std::filesystem::copy(HOLON_MCP_SERVER, place / "repo" / "server.py");
    confined.args[0] = (place / "repo" / "server.py").string();
    use({confined});
    ASSERT_EQ(view().state, "ready") << view().reason.value_or("") << log();
    EXPECT_EQ(
        run("write_file", {{"path", (place / "repo" / "in").string()}, {"text", "x"}}).receipt,
        "written");
    kind("write_file", {{"path", (place / "out").string()}, {"text", "x"}});
    EXPECT_EQ(kind("write_file", {{"path", "/etc/holon-mcp-out"}, {"text", "x"}}),
              "mcp_tool_error");
    EXPECT_TRUE(std::filesystem::exists(place / "repo" / "in"));
    EXPECT_FALSE(std::filesystem::exists(place / "out"));
    std::filesystem::remove_all(place);
}

}  // namespace
}  // namespace mcp
