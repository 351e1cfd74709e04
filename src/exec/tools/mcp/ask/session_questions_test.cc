// A real server that asks the operator while a call waits (tests/mcp/asking_server.py).
#include <csignal>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "exec/tools/mcp/servers.h"
#include "exec/tools/mcp/system_child.h"
#include "tests/support/run_until.h"

namespace mcp {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

class McpAsks : public testing::Test {
protected:
    McpAsks() { ::signal(SIGPIPE, SIG_IGN); }

    void open(const std::string& mode, bool has_operator = true) {
        servers_.reset();
        configured_ = {{.name = "s",
                        .command = "/usr/bin/python3",
                        .args = {HOLON_MCP_ASKING_SERVER, mode},
                        .environment = {{"PATH", "/usr/bin:/bin"}},
                        .cwd = "/"}};
        session_ = std::make_unique<Session>(
            SessionParts{.server = configured_.front(),
                         .loop = loop_,
                         .clock = clock_,
                         .children = children_,
                         .boundary = boundary_,
                         .questions = has_operator ? &questions_ : nullptr,
                         .log_file = "/dev/null/x"});
    }
    void call(const std::string& tool, std::chrono::milliseconds timeout = 60s) {
        answered_.reset();
        running_ =
            session_->call("tools/call", {{"name", tool}, {"arguments", json::object{}}}, timeout,
                           [this](Session::Answer answer) { answered_ = std::move(answer); });
    }
    Question question() {
        EXPECT_TRUE(test_support::run_until(loop_, [&] { return !questions_.list().empty(); }));
        const auto list = questions_.list();
        return list.empty() ? Question{} : list.front();
    }
    std::string result() {
        EXPECT_TRUE(test_support::run_until(loop_, [&] { return answered_.has_value(); }));
        if (!answered_) return "nothing";
        if (!*answered_) return error_for(answered_->error(), "s", "t").kind;
        if (base::string_at(json::value(**answered_), "resultType") == "input_required")
            return "input_required";
        return base::string_at((*answered_)->at("content").at(0), "text");
    }

    base::AsioLoop loop_;
    base::SystemClock clock_;
    base::RandomIds ids_{clock_};
    sandbox::Boundary boundary_;
    SystemChildRunner children_{loop_};
    Questions questions_{loop_, clock_, ids_};
    std::vector<config::McpServer> configured_;
    std::unique_ptr<Session> session_;
    std::unique_ptr<Servers> servers_;
    std::shared_ptr<tools::Running> running_;
    std::optional<Session::Answer> answered_;
};

TEST_F(McpAsks, AFormIsAnsweredInEachRevision) {
    for (const char* mode : {"session", "stateless"}) {
        open(mode);
        call("form");
        const auto asked = question();
        EXPECT_EQ(asked.server, "s") << mode;
        EXPECT_EQ(asked.message, "Who are you?") << mode;
        ASSERT_TRUE(questions_.answer(
            asked.id, {.action = VerdictAction::Accept, .content = {{"name", "Ada"}}}));
        EXPECT_THAT(result(), HasSubstr(R"("content": {"age": 30, "name": "Ada", "tall": true})"))
            << mode;
    }
}

TEST_F(McpAsks, AnAddressIsShownAndNeverOpened) {
    for (const char* mode : {"session", "stateless"}) {
        open(mode);
        call("url");
        const auto asked = question();
        EXPECT_EQ(asked.url, "https://pay.example/1") << mode;
        ASSERT_TRUE(questions_.answer(asked.id, {.action = VerdictAction::Accept}));
        EXPECT_THAT(result(), HasSubstr(R"({"action": "accept"})")) << mode;
    }
}

TEST_F(McpAsks, ADeclinedQuestionIsNotTheEndOfTheCall) {
    for (const char* mode : {"session", "stateless"}) {
        open(mode);
        call("form");
        ASSERT_TRUE(questions_.answer(question().id, {}));
        EXPECT_THAT(result(), HasSubstr(R"("action": "decline")")) << mode;
    }
}

TEST_F(McpAsks, WhereNoOperatorIsTheServerKnowsIt) {
    for (const char* mode : {"session", "stateless"}) {
        open(mode, false);
        call("form");
        EXPECT_EQ(result(), "nobody can be asked") << mode;
    }
}

TEST_F(McpAsks, ACallDoesNotTimeOutWhileItsServerWaitsForTheOperator) {
    open("session");
    bool is_open = false;
    session_->open([&](const base::Status&) { is_open = true; });
    ASSERT_TRUE(test_support::run_until(loop_, [&] { return is_open; }));
    call("form", 10s);
    const auto asked = question();
    bool is_later = false;
    loop_.after(11s, [&] { is_later = true; });
    ASSERT_TRUE(test_support::run_until(loop_, [&] { return is_later; }));
    ASSERT_TRUE(questions_.answer(asked.id, {}));
    EXPECT_THAT(result(), HasSubstr("decline"));
}

TEST_F(McpAsks, AServerThatFloodsOrAsksWronglyIsRefused) {
    open("session");
    call("nested");
    EXPECT_THAT(result(), HasSubstr("not flat"));
    call("sample");
    EXPECT_THAT(result(), HasSubstr("-32601"));
    call("flood");
    ASSERT_TRUE(test_support::run_until(loop_, [&] {
        EXPECT_LE(questions_.list().size(), kQuestionsPerServerMax);
        for (const auto& asked : questions_.list()) EXPECT_TRUE(questions_.answer(asked.id, {}));
        return answered_.has_value();
    }));
    EXPECT_THAT(result(), HasSubstr("decline"));
    open("stateless");
    for (const char* tool : {"nested", "sample"}) {
        call(tool);
        EXPECT_EQ(result(), "input_required") << tool;
    }
}

TEST_F(McpAsks, ACallThatAlwaysWantsMoreEnds) {
    open("stateless");
    call("endless");
    for (int i = 0; i < kInputRoundsMax; ++i)
        ASSERT_TRUE(questions_.answer(question().id, {})) << i;
    EXPECT_EQ(result(), "input_required");
    EXPECT_TRUE(questions_.list().empty());
}

TEST_F(McpAsks, TheQuestionsOfACallOrServerThatIsGoneAreWithdrawn) {
    open("stateless");
    call("form");
    question();
    running_->cancel();
    EXPECT_EQ(result(), "cancelled");
    EXPECT_TRUE(questions_.list().empty());
    open("session");
    call("form");
    question();
    session_.reset();
    EXPECT_TRUE(questions_.list().empty());
}

TEST_F(McpAsks, PromptsAreListedAndExpanded) {
    for (const char* mode : {"session", "stateless", "mute"}) {
        open(mode);
        session_.reset();
        servers_ = std::make_unique<Servers>(ServersParts{
            .servers = configured_,
            .loop = loop_,
            .clock = clock_,
            .children = children_,
            .boundary = boundary_,
            .log_of = [](const std::string&) { return std::filesystem::path("/dev/null/x"); }});
        std::optional<std::vector<Prompt>> prompts;
        servers_->prompts([&](std::vector<Prompt> list) { prompts = std::move(list); });
        ASSERT_TRUE(test_support::run_until(loop_, [&] { return prompts.has_value(); })) << mode;
        EXPECT_EQ(prompts->size(), std::string_view(mode) == "mute" ? 0u : 1u) << mode;
        std::vector<base::Result<Expanded>> expanded;
        const auto keep = [&](base::Result<Expanded> result) {
            expanded.push_back(std::move(result));
        };
        servers_->expand("s", {{"name", "triage"}, {"arguments", json::object{{"issue", "12"}}}},
                         keep);
        ASSERT_TRUE(test_support::run_until(loop_, [&] { return expanded.size() == 1; })) << mode;
        EXPECT_EQ(expanded[0].value().text, "Sort issue 12.") << mode;
        servers_->expand("s", {{"name", "triage"}}, keep);
        servers_->expand("nobody", {}, keep);
        ASSERT_TRUE(test_support::run_until(loop_, [&] { return expanded.size() == 3; })) << mode;
        EXPECT_FALSE(expanded[1] || expanded[2]) << mode;
    }
}

}  // namespace
}  // namespace mcp
