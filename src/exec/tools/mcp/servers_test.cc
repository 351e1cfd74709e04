// When servers are started, on a fake clock.
#include "exec/tools/mcp/servers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "exec/tools/mcp/known_lists.h"
#include "exec/tools/patch/folder_for_test.h"
#include "tests/support/fake_loop.h"

namespace mcp {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

// Notes when each server is started; none can be.
class NoServers final : public ChildRunner {
public:
    explicit NoServers(base::Clock& clock) : clock_(clock), begun_(clock.now()) {}
    base::Result<std::unique_ptr<Child>> start(const base::ProcessSpec&, ChildEvents) override {
        starts.push_back(
            std::chrono::duration_cast<std::chrono::milliseconds>(clock_.now() - begun_));
        return base::fail(base::ErrorCode::NotFound, "there is no such program");
    }
    base::Result<std::unique_ptr<Child>> connect(const config::McpServer&,
                                                 ChildEvents events) override {
        return start({}, std::move(events));
    }
    std::vector<std::chrono::milliseconds> starts;

private:
    base::Clock& clock_;
    base::Time begun_;
};

class McpServersTest : public testing::Test {
protected:
    void offer() {
        servers.emplace(ServersParts{.servers = configured,
                                     .loop = loop,
                                     .clock = loop,
                                     .children = children,
                                     .boundary = boundary,
                                     .log_of = [](const auto&) { return "/dev/null/x"; },
                                     .lists_folder = folder.path()});
        servers->offer(registry, [this] { is_ready = true; });
    }
    void know_list() {
        const json::value tool{{"name", "echo"}, {"inputSchema", {{"type", "object"}}}};
        ASSERT_TRUE(keep_list(folder.path() / "s.json", configured[0], {.tools = {tool}}));
    }

    patch::TestFolder folder;
    test_support::FakeLoop loop;
    NoServers children{loop};
    sandbox::Boundary boundary;
    std::vector<config::McpServer> configured{{.name = "s", .command = "/bin/true"}};
    tools::Registry registry;
    std::optional<Servers> servers;
    bool is_ready{false};
};

TEST_F(McpServersTest, AServerWithoutAKnownListIsStartedAtOnce) {
    offer();
    EXPECT_FALSE(is_ready);
    ASSERT_TRUE(loop.run_until([&] { return is_ready; }));
    EXPECT_THAT(children.starts, ElementsAre(std::chrono::milliseconds(0)));
}

TEST_F(McpServersTest, AServerWithAKnownListLeavesTheFirstMomentToTheRun) {
    know_list();
    offer();
    EXPECT_TRUE(is_ready);
    EXPECT_NE(registry.find("mcp__s__echo"), nullptr);
    EXPECT_THAT(children.starts, IsEmpty());
    loop.run_until([&] { return !children.starts.empty(); });
    EXPECT_THAT(children.starts, ElementsAre(kKnownStartDelay));
}

TEST_F(McpServersTest, ACallStartsItsServerEarlier) {
    know_list();
    offer();
    struct NoSink final : results::ArtifactSink {
        base::Result<std::string> store(std::string_view, std::string_view) override { return ""; }
        std::filesystem::path reserve(std::string_view) override { return {}; }
    } sink;
    registry.find("mcp__s__echo")
        ->start({.tool = "mcp__s__echo", .args = json::object()}, {}, sink,
                [](const tools::Outcome&) {});
    loop.run_until([&] { return !children.starts.empty(); });
    EXPECT_THAT(children.starts, ElementsAre(std::chrono::milliseconds(0)));
}

TEST_F(McpServersTest, ARemoteServerThatFailedIsStartedAgainWhenALoginMayBeThere) {
    configured = {{.name = "far", .url = "http://127.0.0.1:1/mcp"},
                  {.name = "near", .command = "/bin/true"}};
    offer();
    servers->retry_remote();  // None has failed yet.
    ASSERT_TRUE(loop.run_until([&] { return is_ready; }));
    ASSERT_EQ(children.starts.size(), 2U);
    servers->retry_remote();
    servers->retry_remote();  // The start is under way.
    loop.run();
    EXPECT_EQ(children.starts.size(), 3U);
    EXPECT_EQ(servers->views()[0].state, "failed");
}

}  // namespace
}  // namespace mcp
