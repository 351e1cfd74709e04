// One session with a scripted server, on a fake clock.
#include "exec/tools/mcp/session.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/fake_loop.h"

namespace mcp {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

// Records what was written, and answers as the test sets it.
class FakeServers final : public ChildRunner {
public:
    struct Process final : Child {
        Process(FakeServers& owner, std::size_t number) : owner(owner), number(number) {}
        ~Process() override { owner.ended.push_back(number); }
        bool write(std::string_view bytes) override {
            owner.heard.push_back(base::parse_json(bytes).value().as_object());
            return owner.reads;
        }
        FakeServers& owner;
        std::size_t number;
    };
    base::Result<std::unique_ptr<Child>> start(const base::ProcessSpec& spec,
                                               ChildEvents given) override {
        specs.push_back(spec);
        if (!start_error.empty()) return base::fail(base::ErrorCode::NotFound, "{}", start_error);
        events = std::move(given);
        return std::make_unique<Process>(*this, specs.size());
    }
    base::Result<std::unique_ptr<Child>> connect(const config::McpServer&,
                                                 ChildEvents given) override {
        return start({}, std::move(given));
    }
    void say(json::object message) { events.on_out(base::json_text(message) + "\n"); }
    void answer(json::object result) {
        say({{"id", heard.back().at("id")}, {"result", std::move(result)}});
    }

    std::vector<base::ProcessSpec> specs;
    std::vector<std::size_t> ended;
    std::vector<json::object> heard;
    ChildEvents events;
    std::string start_error;
    bool reads{true};
};

class McpSession : public testing::Test {
protected:
    McpSession()
        : session_(std::make_unique<Session>(SessionParts{.server = {.name = "s", .command = "cmd"},
                                                          .loop = loop_,
                                                          .clock = loop_,
                                                          .children = servers_,
                                                          .boundary = boundary_,
                                                          .log_file = "/dev/null/x"})) {}

    std::string last_method() const {
        return servers_.heard.empty()
                   ? ""
                   : base::string_at(json::value(servers_.heard.back()), "method");
    }
    bool reach(std::string_view method) {
        return loop_.run_until([&] { return last_method() == method; });
    }
    void introduce(std::string_view version = "2025-06-18") {
        ASSERT_TRUE(reach("initialize"));
        servers_.answer(
            {{"protocolVersion", version}, {"capabilities", {{"tools", json::object{}}}}});
    }
    void make_ready() {
        session_->open([&](base::Status status) { opened_ = std::move(status); });
        introduce();
        ASSERT_EQ(last_method(), "tools/list");
        servers_.answer({{"tools", json::array{}}});
        ASSERT_TRUE(session_->is_ready());
    }
    std::shared_ptr<tools::Running> call(std::chrono::milliseconds timeout = 60s) {
        return session_->call("tools/call", {{"name", "t"}}, timeout, [&](Session::Answer answer) {
            answers_.push_back(std::move(answer));
        });
    }
    domain::ToolError error() const { return error_for(answers_.back().error(), "s", "t"); }

    test_support::FakeLoop loop_;
    sandbox::Boundary boundary_;
    FakeServers servers_;
    std::unique_ptr<Session> session_;
    std::optional<base::Status> opened_;
    std::vector<Session::Answer> answers_;
};

TEST_F(McpSession, IntroducesItselfListsAllPagesAndCalls) {
    session_->open([&](base::Status status) { opened_ = std::move(status); });
    EXPECT_TRUE(servers_.specs.empty());
    introduce();
    EXPECT_EQ(servers_.heard[0].at("params").at("protocolVersion"), json::value("2025-11-25"));
    EXPECT_EQ(servers_.heard[1].at("method"), json::value("notifications/initialized"));
    EXPECT_FALSE(servers_.heard[1].contains("id"));
    servers_.answer({{"tools", {1}}, {"nextCursor", "c1"}});
    EXPECT_EQ(servers_.heard.back().at("params").at("cursor"), json::value("c1"));
    EXPECT_FALSE(opened_);
    servers_.answer({{"tools", {2}}});
    ASSERT_TRUE(opened_ && *opened_);
    EXPECT_EQ(session_->listed().tools.size(), 2u);

    call();
    EXPECT_EQ(servers_.heard.back().at("params"),
              base::parse_json(R"({"name":"t","_meta":{"progressToken":4}})").value());
    servers_.answer({{"x", 1}});
    ASSERT_EQ(answers_.size(), 1u);
    EXPECT_EQ(answers_[0].value(), (json::object{{"x", 1}}));
    EXPECT_EQ(servers_.specs.size(), 1u);
}

TEST_F(McpSession, TakesOlderRevisionsAndRefusesUnknownOnes) {
    for (const char* version : {"2025-06-18", "2025-03-26", "2024-11-05", "1999-01-01"}) {
        servers_.heard.clear();
        session_ = std::make_unique<Session>(SessionParts{.server = {.name = "s", .command = "cmd"},
                                                          .loop = loop_,
                                                          .clock = loop_,
                                                          .children = servers_,
                                                          .boundary = boundary_,
                                                          .log_file = "/dev/null/x"});
        opened_.reset();
        session_->open([&](base::Status status) { opened_ = std::move(status); });
        introduce(version);
        if (last_method() == "tools/list") servers_.answer({{"tools", json::array{}}});
        ASSERT_TRUE(opened_) << version;
        EXPECT_EQ(opened_->has_value(), std::string_view(version) != "1999-01-01");
    }
    EXPECT_THAT(opened_->error().message, HasSubstr("'1999-01-01'"));
}

TEST_F(McpSession, ASilentServerIsGivenUp) {
    session_->open([&](base::Status status) { opened_ = std::move(status); });
    const auto began = loop_.now();
    ASSERT_TRUE(loop_.run_until([&] { return opened_.has_value(); }));
    EXPECT_THAT(opened_->error().message, HasSubstr("not ready within"));
    EXPECT_EQ(loop_.now() - began, std::chrono::milliseconds(config::kMcpStartTimeoutDefaultMs));
    EXPECT_EQ(servers_.ended.size(), 1u);
}

TEST_F(McpSession, AListWithoutEndIsGivenUp) {
    session_->open([&](base::Status status) { opened_ = std::move(status); });
    introduce();
    for (int page = 0; !opened_; ++page)
        servers_.answer({{"tools", json::array{}}, {"nextCursor", std::to_string(page)}});
    EXPECT_THAT(opened_->error().message, HasSubstr("pages"));
}

TEST_F(McpSession, ATimeoutIsSentToTheServerAndALateAnswerIsIgnored) {
    make_ready();
    call(5s);
    const auto id = servers_.heard.back().at("id");
    ASSERT_TRUE(loop_.run_until([&] { return !answers_.empty(); }));
    EXPECT_EQ(error().kind, "mcp_timeout");
    EXPECT_EQ(status_for(answers_.back().error()), domain::ResultStatus::Timeout);
    EXPECT_EQ(last_method(), "notifications/cancelled");
    EXPECT_EQ(servers_.heard.back().at("params").at("requestId"), id);
    servers_.say({{"id", id}, {"result", json::object{}}});
    EXPECT_EQ(answers_.size(), 1u);
    EXPECT_TRUE(session_->is_ready());
}

TEST_F(McpSession, CancellingAsksTheServerToStopAndAnswersOnce) {
    make_ready();
    const auto running = call();
    running->cancel();
    running->cancel();
    ASSERT_TRUE(loop_.run_until([&] { return !answers_.empty(); }));
    EXPECT_EQ(error().kind, "cancelled");
    EXPECT_EQ(servers_.heard.back().at("params").at("reason"), json::value("cancelled"));
    running->cancel();
    loop_.run();
    EXPECT_EQ(answers_.size(), 1u);
}

TEST_F(McpSession, ADeathFailsWhatWasSentAndTheNextCallStartsAnotherServer) {
    make_ready();
    call();
    servers_.events.on_end("exit status 3");
    ASSERT_EQ(answers_.size(), 1u);
    EXPECT_EQ(error().kind, "mcp_server_died");
    EXPECT_THAT(error().message, HasSubstr("exit status 3"));
    EXPECT_FALSE(error().retryable);

    const auto died_at = loop_.now();
    servers_.heard.clear();
    call();
    introduce();
    EXPECT_EQ(loop_.now() - died_at, kRestartDelayFirst);
    ASSERT_EQ(last_method(), "tools/call");  // The list is unchanged.
    for (const auto& message : servers_.heard)
        EXPECT_NE(message.at("method"), json::value("tools/list"));
    servers_.answer({});
    EXPECT_EQ(answers_.size(), 2u);
    EXPECT_EQ(servers_.specs.size(), 2u);
}

TEST_F(McpSession, AServerThatCannotStartFailsTheCallThatWasNeverMade) {
    servers_.start_error = "the program 'cmd' was not found";
    call();
    ASSERT_TRUE(loop_.run_until([&] { return !answers_.empty(); }));
    EXPECT_EQ(error().kind, "mcp_server_unavailable");
    EXPECT_THAT(error().message, HasSubstr("'cmd' was not found"));
    EXPECT_TRUE(error().retryable);
    loop_.run();
    EXPECT_EQ(servers_.specs.size(), 1u);
}

TEST_F(McpSession, ACallThatTimesOutBeforeTheServerIsReadyWasNotMade) {
    call(1s);
    ASSERT_TRUE(loop_.run_until([&] { return !answers_.empty(); }));
    EXPECT_EQ(error().kind, "mcp_server_unavailable");
}

TEST(McpRestart, DelaysDoubleUpToABound) {
    EXPECT_EQ(restart_delay(0), 0ms);
    EXPECT_EQ(restart_delay(1), kRestartDelayFirst);
    EXPECT_EQ(restart_delay(3), 4 * kRestartDelayFirst);
    EXPECT_EQ(restart_delay(1000), kRestartDelayMax);
}

TEST_F(McpSession, AnswersPingsAndRefusesWhatItDoesNotOffer) {
    make_ready();
    servers_.say({{"id", "p"}, {"method", "ping"}});
    EXPECT_EQ(servers_.heard.back(),
              (json::object{{"id", "p"}, {"result", json::object{}}, {"jsonrpc", "2.0"}}));
    servers_.say({{"id", 4}, {"method", "sampling/createMessage"}, {"params", json::object{}}});
    EXPECT_EQ(servers_.heard.back().at("error").at("code"), json::value(kMethodNotFound));
    servers_.say({{"method", "notifications/message"}, {"params", {{"data", "x"}}}});
    EXPECT_TRUE(session_->is_ready());
}

TEST_F(McpSession, AChangedListIsReadAgainAndABrokenOneChangesNothing) {
    make_ready();
    int lists = 0;
    session_->on_listed([&] { ++lists; });
    servers_.say({{"method", "notifications/tools/list_changed"}});
    ASSERT_EQ(last_method(), "tools/list");
    const auto id = servers_.heard.back().at("id");
    // Changed again while it is read: read once more.
    servers_.say({{"method", "notifications/tools/list_changed"}});
    EXPECT_EQ(servers_.heard.back().at("id"), id);
    servers_.answer({{"tools", {1}}});
    EXPECT_EQ(lists, 1);
    ASSERT_NE(servers_.heard.back().at("id"), id);
    servers_.answer({{"tools", {1, 2}}});
    EXPECT_EQ(session_->listed().tools.size(), 2u);
    servers_.say({{"method", "notifications/tools/list_changed"}});
    servers_.answer({{"tools", "none"}});
    EXPECT_EQ(session_->listed().tools.size(), 2u);
    EXPECT_EQ(lists, 2);
    EXPECT_TRUE(session_->is_ready());
    // A server that changes without end is no longer asked.
    for (int i = 0; i < 2 * kListChangesMax; ++i) {
        servers_.heard.clear();
        servers_.say({{"method", "notifications/tools/list_changed"}});
        if (!servers_.heard.empty()) servers_.answer({{"tools", {1}}});
    }
    EXPECT_LE(lists, kListChangesMax + 2);
}

TEST_F(McpSession, ProgressGivesACallMoreTimeButNotForEver) {
    make_ready();
    call(5s);
    const auto token = servers_.heard.back().at("params").at("_meta").at("progressToken");
    const auto began = loop_.now();
    const auto progress = [&](json::value reported) {
        servers_.say({{"method", "notifications/progress"},
                      {"params", {{"progressToken", std::move(reported)}, {"progress", 1}}}});
    };
    bool reports = true;
    std::function<void()> tick = [&] {
        progress(reports ? token : json::value(999));
        if (answers_.empty()) loop_.after(4s, [&] { tick(); });
    };
    loop_.after(4s, [&] { tick(); });
    loop_.after(20s, [&] { reports = false; });  // From then on it reports on another call.
    ASSERT_TRUE(loop_.run_until([&] { return !answers_.empty(); }));
    EXPECT_EQ(error().kind, "mcp_timeout");
    EXPECT_GT(loop_.now() - began, 15s);
    EXPECT_LT(loop_.now() - began, 30s);

    answers_.clear();
    reports = true;
    call(5s);
    const auto second = servers_.heard.back().at("params").at("_meta").at("progressToken");
    const auto again = loop_.now();
    std::function<void()> endless = [&] {
        progress(second);
        if (answers_.empty()) loop_.after(4s, [&] { endless(); });
    };
    loop_.after(4s, [&] { endless(); });
    ASSERT_TRUE(loop_.run_until([&] { return !answers_.empty(); }));
    EXPECT_LE(loop_.now() - again, kProgressTimeoutsMax * 5s);
}

// The revision of 2026-07-28 has no handshake: such a server refuses ours.
TEST_F(McpSession, AServerWithoutAHandshakeIsAskedRequestByRequest) {
    session_->open([&](base::Status status) { opened_ = std::move(status); });
    ASSERT_TRUE(reach("initialize"));
    servers_.say({{"id", servers_.heard.back().at("id")},
                  {"error", {{"code", -32601}, {"message", "no initialize here"}}}});
    ASSERT_EQ(last_method(), "server/discover");
    const auto& meta = servers_.heard.back().at("params").at("_meta");
    EXPECT_EQ(meta.at("io.modelcontextprotocol/protocolVersion"), json::value("2026-07-28"));
    EXPECT_TRUE(meta.as_object().contains("io.modelcontextprotocol/clientInfo"));
    EXPECT_TRUE(meta.as_object().contains("io.modelcontextprotocol/clientCapabilities"));
    servers_.answer({{"supportedVersions", {"2026-07-28"}},
                     {"capabilities", {{"tools", json::object{}}}},
                     {"serverInfo", {{"name", "new"}, {"version", "2"}}}});
    ASSERT_EQ(last_method(), "tools/list");
    EXPECT_TRUE(servers_.heard.back().at("params").as_object().contains("_meta"));
    servers_.answer({{"resultType", "complete"}, {"tools", json::array{}}});
    ASSERT_TRUE(opened_ && *opened_);
    EXPECT_EQ(session_->protocol_version(), "2026-07-28");
    call();
    const auto& sent = servers_.heard.back().at("params").at("_meta").as_object();
    EXPECT_TRUE(sent.contains("progressToken"));
    EXPECT_TRUE(sent.contains("io.modelcontextprotocol/protocolVersion"));
}

TEST_F(McpSession, AServerThatRefusesBothIsGivenUpWithItsFirstWords) {
    session_->open([&](base::Status status) { opened_ = std::move(status); });
    ASSERT_TRUE(reach("initialize"));
    for (const char* words : {"no licence", "unknown method"})
        servers_.say({{"id", servers_.heard.back().at("id")},
                      {"error", {{"code", -32000}, {"message", words}}}});
    ASSERT_TRUE(opened_);
    EXPECT_THAT(opened_->error().message, HasSubstr("no licence"));
}

TEST_F(McpSession, SomeGarbageIsSkippedAndTooMuchEndsTheServer) {
    make_ready();
    call();
    for (std::size_t i = 0; i < kGarbageMax; ++i) servers_.events.on_out("hello\n");
    EXPECT_TRUE(session_->is_ready());
    // The events of the server that is ended must not outlive it here.
    const auto on_out = servers_.events.on_out;
    on_out("hello\n{\"id\":3,\"result\":{}}\n");
    EXPECT_FALSE(session_->is_ready());
    ASSERT_EQ(answers_.size(), 1u);
    EXPECT_EQ(error().kind, "mcp_server_died");
    EXPECT_EQ(servers_.ended.size(), 1u);
}

TEST_F(McpSession, AMessageThatIsTooLongFailsTheCallsAndKeepsTheServer) {
    make_ready();
    call();
    const std::string piece(1024 * 1024, 'x');
    for (std::size_t sent = 0; sent <= kLineBytesMax; sent += piece.size())
        servers_.events.on_out(piece);
    ASSERT_EQ(answers_.size(), 1u);
    EXPECT_EQ(error().kind, "mcp_response_too_large");
    servers_.events.on_out("x\n");
    call();
    servers_.answer({});
    EXPECT_TRUE(answers_.back());
    EXPECT_EQ(servers_.specs.size(), 1u);
}

TEST_F(McpSession, AServerThatWritesWithoutEndIsGivenUp) {
    make_ready();
    const auto on_out = servers_.events.on_out;
    const std::string piece(16 * 1024 * 1024, ' ');
    for (std::size_t sent = 0; sent <= kUnendingBytesMax; sent += piece.size()) {
        EXPECT_TRUE(session_->is_ready());
        on_out(piece);
    }
    EXPECT_FALSE(session_->is_ready());
}

TEST_F(McpSession, AListOfToolsWithoutEndIsGivenUp) {
    session_->open([&](base::Status status) { opened_ = std::move(status); });
    introduce();
    const std::string words(1024 * 1024, 'x');
    for (std::size_t page = 0; page < kPagesMax && last_method() == "tools/list"; ++page) {
        if (opened_) break;
        servers_.answer({{"tools", {{{"name", fmt::format("t{}", page)}, {"description", words}}}},
                         {"nextCursor", fmt::format("{}", page + 1)}});
    }
    EXPECT_FALSE(session_->is_ready());
    EXPECT_LE(servers_.heard.size(), 2 + kListBytesMax / words.size() + 1);
}

TEST_F(McpSession, ErrorOutputWithoutEndIsNotKept) {
    std::string pattern = testing::TempDir() + "holon-mcp-XXXXXX";
    const std::filesystem::path folder = mkdtemp(pattern.data());
    session_ = std::make_unique<Session>(SessionParts{.server = {.name = "s", .command = "cmd"},
                                                      .loop = loop_,
                                                      .clock = loop_,
                                                      .children = servers_,
                                                      .boundary = boundary_,
                                                      .log_file = folder / "s.log"});
    make_ready();
    const std::string line = std::string(4000, 'e') + "\n";
    for (std::size_t sent = 0; sent <= kErrorBytesMax; sent += line.size())
        servers_.events.on_err(line);
    const auto bytes = [&] {
        std::uintmax_t sum = 0;
        for (const auto& file : std::filesystem::directory_iterator(folder))
            sum += file.file_size();
        return sum;
    };
    const auto before = bytes();
    EXPECT_GT(before, 0U);
    for (int more = 0; more < 100; ++more) servers_.events.on_err(line);
    EXPECT_EQ(bytes(), before);
    EXPECT_TRUE(session_->is_ready());
    std::filesystem::remove_all(folder);
}

TEST_F(McpSession, AServerThatDoesNotReadIsGivenUp) {
    make_ready();
    servers_.reads = false;
    call();
    ASSERT_TRUE(loop_.run_until([&] { return !answers_.empty(); }));
    EXPECT_THAT(error().message, HasSubstr("does not read"));
}

TEST_F(McpSession, NothingHappensAfterItsEnd) {
    make_ready();
    const auto running = call();
    const auto events = servers_.events;
    session_.reset();
    EXPECT_EQ(servers_.ended.size(), 1u);
    events.on_out("{}\n");
    events.on_end("exit status 0");
    running->cancel();
    loop_.run();
    EXPECT_TRUE(answers_.empty());
}

}  // namespace
}  // namespace mcp
