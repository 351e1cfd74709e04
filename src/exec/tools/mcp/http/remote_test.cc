// Sessions with a real server over HTTP (tests/mcp/http_server.py).
#include <csignal>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "exec/tools/mcp/session.h"
#include "exec/tools/mcp/system_child.h"
#include "tests/mcp/script_server.h"
#include "tests/support/run_until.h"

namespace mcp {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

class McpRemote : public testing::Test {
protected:
    McpRemote() { ::signal(SIGPIPE, SIG_IGN); }

    // Reaches a server in this mode and lists its tools.
    base::Status open(const std::string& mode, config::McpServer more = {}) {
        session_.reset();
        server_ = std::make_unique<test_support::ScriptServer>(HOLON_MCP_HTTP_SERVER, mode);
        more.name = "s";
        more.url = server_->url() + "/mcp";
        session_ = std::make_unique<Session>(SessionParts{.server = std::move(more),
                                                          .loop = loop_,
                                                          .clock = clock_,
                                                          .children = children_,
                                                          .boundary = boundary_,
                                                          .log_file = "/dev/null/x"});
        std::optional<base::Status> opened;
        session_->open([&](base::Status status) { opened = std::move(status); });
        EXPECT_TRUE(test_support::run_until(loop_, [&] { return opened.has_value(); })) << mode;
        return opened.value_or(base::Status{});
    }
    // The text of the result, or the kind of the error and its message.
    std::string call(const std::string& tool, json::object args = {},
                     std::chrono::milliseconds timeout = 60s) {
        std::optional<Session::Answer> answered;
        const auto running =
            session_->call("tools/call", {{"name", tool}, {"arguments", std::move(args)}}, timeout,
                           [&](Session::Answer answer) { answered = std::move(answer); });
        EXPECT_TRUE(test_support::run_until(loop_, [&] { return answered.has_value(); })) << tool;
        if (!answered) return "nothing";
        if (!*answered) {
            const auto error = error_for(answered->error(), "s", tool);
            return error.kind + ": " + error.message;
        }
        return base::string_at((*answered)->at("content").at(0), "text");
    }
    std::string echo() { return call("echo", {{"text", "hi"}}); }

    base::AsioLoop loop_;
    base::SystemClock clock_;
    sandbox::Boundary boundary_;
    SystemChildRunner children_{loop_, {.proxy = ""}};
    std::unique_ptr<test_support::ScriptServer> server_;
    std::unique_ptr<Session> session_;
};

TEST_F(McpRemote, AnswersComeAtOnceOrAsStreamsHoweverTheyAreCut) {
    for (const char* mode : {"json", "sse", "drip"}) {
        ASSERT_TRUE(open(mode)) << mode;
        EXPECT_EQ(session_->protocol_version(), "2025-11-25") << mode;
        EXPECT_EQ(session_->listed().tools.size(), 4u) << mode;
        EXPECT_EQ(echo(), "hi") << mode;
        EXPECT_EQ(echo(), "hi") << mode;
    }
}

TEST_F(McpRemote, AStreamThatBreaksIsContinuedWhereTheServerCanDoThat) {
    ASSERT_TRUE(open("broken"));
    EXPECT_EQ(echo(), "hi");
    // Without an id nothing can be continued, and nobody knows what the call did.
    ASSERT_TRUE(open("silent"));
    EXPECT_THAT(echo(), HasSubstr("mcp_server_died"));
}

TEST_F(McpRemote, AnExpiredSessionIsReplacedByTheNextCall) {
    ASSERT_TRUE(open("expired"));
    EXPECT_EQ(echo(), "hi");
    EXPECT_THAT(echo(), HasSubstr("mcp_server_unavailable"));
    EXPECT_EQ(echo(), "hi");
}

TEST_F(McpRemote, ACredentialIsSentAndARefusalSaysWhatToDo) {
    const auto refused = open("auth");
    ASSERT_FALSE(refused);
    EXPECT_THAT(refused.error().message, HasSubstr("mcp.servers.s.headers"));
    ASSERT_TRUE(open("auth", {.headers = {{"Authorization", "Bearer t-1"}}}));
    EXPECT_EQ(echo(), "hi");
}

TEST_F(McpRemote, ACallThatNeverEndsTimesOutAndOthersGoOn) {
    ASSERT_TRUE(open("sse"));
    EXPECT_THAT(call("wait", {}, 300ms), HasSubstr("mcp_timeout"));
    EXPECT_EQ(echo(), "hi");
}

TEST_F(McpRemote, AStreamWithoutEndIsGivenUp) {
    ASSERT_TRUE(open("flood"));
    EXPECT_THAT(echo(), HasSubstr("mcp_server_died"));
}

TEST_F(McpRemote, TheServersOwnStreamSaysThatTheListChanged) {
    ASSERT_TRUE(open("sse"));
    call("change");
    EXPECT_TRUE(
        test_support::run_until(loop_, [&] { return session_->listed().tools.size() == 5; }));
}

// As revision 2026-07-28 has it: no sessions, mirrored headers, metadata in each request. The
// server rejects anything else.
TEST_F(McpRemote, TheRevisionWithoutSessionsIsSpokenAsItIsWritten) {
    ASSERT_TRUE(open("stateless"));
    EXPECT_EQ(session_->protocol_version(), "2026-07-28");
    EXPECT_EQ(echo(), "hi");
    EXPECT_THAT(call("seen"), HasSubstr("\"gets\": 0"));
}

TEST_F(McpRemote, RedirectsAreNotFollowed) {
    const auto moved = open("moved");
    ASSERT_FALSE(moved);
    EXPECT_THAT(moved.error().message, HasSubstr("302"));
}

TEST(McpHeaders, HoldWhatAHeaderCanHold) {
    EXPECT_EQ(header_value("get_weather"), "get_weather");
    EXPECT_EQ(header_value("Hello, 世界"), "=?base64?SGVsbG8sIOS4lueVjA==?=");
    EXPECT_EQ(header_value(" padded "), "=?base64?IHBhZGRlZCA=?=");
    EXPECT_EQ(header_value("line1\nline2"), "=?base64?bGluZTEKbGluZTI=?=");
    EXPECT_EQ(header_value("=?base64?literal?="), "=?base64?PT9iYXNlNjQ/bGl0ZXJhbD89?=");
}

}  // namespace
}  // namespace mcp
