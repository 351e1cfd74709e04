#include "surfaces/tui/session/session.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "domain/events/messages.h"
#include "service/remote/remote_plans.h"
#include "surfaces/tui/overlays/agent_rows.h"
#include "tests/support/eventually.h"
#include "tests/support/no_service.h"

namespace tui {
namespace {

using test_support::eventually;
using testing::ElementsAre;

constexpr std::int64_t kCursor = 7;

// One agent whose record ends at kCursor; remembers what it was asked.
class FakeService final : public test_support::NoService {
public:
    Json state(const std::string& agent) override {
        note("state");
        return json::object{{"event_seq", kCursor},
                            {"agent", {{"identity", {{"agent_id", agent}}}}}};
    }
    base::Result<std::vector<json::object>> agent_list(const service::AgentsQuery&) override {
        note("list");
        return std::vector<json::object>{
            {{"identity", {{"agent_id", "main"}}}, {"status", "awake_idle"}}};
    }
    base::Result<std::vector<domain::Event>> event_page(
        const std::string&, const service::EventsQuery& query) override {
        note(fmt::format("before {}", query.before_seq.value_or(0)));
        return std::vector<domain::Event>{};
    }
    base::Result<std::vector<domain::Event>> events(const std::string&, std::int64_t after,
                                                    std::int64_t) override {
        note(fmt::format("after {}", after));
        return std::vector<domain::Event>{};
    }
    base::Result<std::string> prompt(const std::string&, const std::string& text,
                                     const service::Caller&) override {
        note("prompt " + text);
        if (refuses_) return base::fail(base::ErrorCode::Conflict, "the agent is stopped");
        return "m-1";
    }
    Json compact_conversation(const std::string&, const service::Caller&) override {
        note("compact");
        return json::object{{"compacted", true},
                            {"previous_estimated_tokens", 9000},
                            {"projected_estimated_tokens", 4000}};
    }
    std::shared_ptr<void> watch_deltas(const std::string&,
                                       std::function<void(const service::Delta&)> delta) override {
        const std::lock_guard lock(mutex_);
        delta_ = std::move(delta);
        return std::make_shared<int>();
    }
    void say(const std::string& text) {
        const std::lock_guard lock(mutex_);
        delta_({.text = text});
    }
    void refuse() { refuses_ = true; }
    std::vector<std::string> asked() {
        const std::lock_guard lock(mutex_);
        return asked_;
    }
    void forget() {
        const std::lock_guard lock(mutex_);
        asked_.clear();
    }

private:
    void note(std::string what) {
        const std::lock_guard lock(mutex_);
        asked_.push_back(std::move(what));
    }

    std::mutex mutex_;
    std::vector<std::string> asked_;
    std::function<void(const service::Delta&)> delta_;
    std::atomic<bool> refuses_{false};
};

class SessionTest : public testing::Test {
protected:
    SessionTest() {
        session->start({80, 24});
        EXPECT_TRUE(until([&] { return text().contains("connected") && has_asked("after 7"); }));
    }
    // Lets the session see what other threads bring until the condition holds.
    template <class Condition>
    bool until(Condition condition) {
        return eventually([&] {
            inbox.drain();
            session->on_news();
            return condition();
        });
    }
    bool has_asked(std::string_view what) {
        const auto asked = service.asked();
        return std::ranges::find(asked, what) != asked.end();
    }
    std::string text() {
        std::string all;
        for (const auto& line : session->draw().frame.lines) all += show::text_of(line) + "\n";
        return all;
    }
    void type(std::string_view letters) {
        for (const char letter : letters) session->on_key({.text = std::string(1, letter)});
    }
    void press(KeyName name) { session->on_key({.name = name}); }

    Wake wake;
    Inbox inbox{wake};
    base::SystemClock clock;
    FakeService service;
    service::RemotePlans plans{{.address = {}, .vault = {}}};
    std::shared_ptr<Session> session = std::make_shared<Session>(SessionParts{.service = service,
                                                                              .plans = plans,
                                                                              .clock = clock,
                                                                              .wake = wake,
                                                                              .inbox = inbox,
                                                                              .agent = "main"});
};

// contract: API-21
TEST_F(SessionTest, LoadsTheStateAndContinuesFromItsEvents) {
    const auto asked = service.asked();
    ASSERT_GE(asked.size(), 3U);
    EXPECT_EQ(asked[0], "state");
    EXPECT_EQ(asked[1], fmt::format("before {}", kCursor + 1));
    EXPECT_TRUE(has_asked(fmt::format("after {}", kCursor)));
    EXPECT_EQ(std::ranges::count(asked, "state"), 1);
}

// contract: API-04
TEST_F(SessionTest, OpensTheListOfAgentsWithOneRequest) {
    EXPECT_TRUE(until([&] { return has_asked("list"); }));
    service.forget();
    type("/agents");
    press(KeyName::Enter);
    EXPECT_TRUE(until([&] { return text().contains("sleeping"); })) << text();
    EXPECT_THAT(service.asked(), ElementsAre("list"));
}

TEST_F(SessionTest, ShowsAMessageUntilATurnReadsIt) {
    type("hello");
    press(KeyName::Enter);
    EXPECT_TRUE(until([&] { return text().contains("› hello [queued]"); })) << text();
}

TEST_F(SessionTest, GivesTheDraftOfAFailedSendBack) {
    service.refuse();
    type("hello");
    press(KeyName::Enter);
    EXPECT_TRUE(until([&] { return text().contains("Not sent: the agent is stopped"); })) << text();
    EXPECT_TRUE(text().contains("[failed]")) << text();
    EXPECT_EQ(session->draft(), "hello");
}

TEST_F(SessionTest, LeavesOnTheSecondInterrupt) {
    type("x");
    session->on_key({.text = "c", .ctrl = true});
    EXPECT_EQ(session->draft(), "");
    EXPECT_EQ(session->take_request(), Request::None);
    session->on_key({.text = "c", .ctrl = true});
    EXPECT_EQ(session->take_request(), Request::None);
    session->on_key({.text = "c", .ctrl = true});
    EXPECT_EQ(session->take_request(), Request::Quit);
}

// contract: TUI-26
TEST_F(SessionTest, ClosesAnOverlayBeforeTheDraftIsTouched) {
    type("half");
    press(KeyName::PageUp);
    EXPECT_TRUE(text().contains("Transcript")) << text();
    press(KeyName::Escape);
    EXPECT_FALSE(text().contains("Transcript")) << text();
    EXPECT_EQ(session->draft(), "half");
}

TEST_F(SessionTest, SendsAtMostTwoHundredBytesForAStreamedWord) {
    constexpr std::size_t kWords = 400;
    Presenter presenter(true, 80, 24);
    const auto draw = [&] {
        session->on_news();
        const auto drawing = session->draw();
        return presenter.draw(drawing.finished, drawing.frame);
    };
    draw();
    std::size_t bytes = 0;
    for (std::size_t i = 0; i < kWords; ++i) {
        service.say(i % 40 == 39 ? "end.\n\n" : "word ");
        const std::string sent = draw();
        bytes += sent.size();
        EXPECT_EQ(sent.find("\x1b[2J"), std::string::npos);
        EXPECT_EQ(sent.find("\x1b[J"), std::string::npos);
    }
    RecordProperty("bytes_per_word", static_cast<int>(bytes / kWords));
    EXPECT_LE(bytes / kWords, 200U) << bytes;
    EXPECT_GT(bytes, 0U);
}

TEST_F(SessionTest, IsAtRestWithoutAClock) {
    session->on_key({.name = KeyName::FocusIn});
    EXPECT_EQ(session->next_tick(), std::nullopt);
}

TEST_F(SessionTest, CompactsTheConversationAndSaysWhatCameOfIt) {
    type("/compact");
    press(KeyName::Enter);
    EXPECT_TRUE(until([&] { return text().contains("from about 9000 to 4000 tokens"); })) << text();
    EXPECT_TRUE(has_asked("compact"));
    EXPECT_FALSE(has_asked("prompt /compact"));
}

TEST(AgentRows, GroupAgentsAndPutChildrenBelowTheirParents) {
    const auto entry = [](std::string_view id, std::string_view status, std::string_view posture,
                          std::string_view parent = "") {
        json::object identity{{"agent_id", id}};
        if (!parent.empty()) identity["parent_agent_id"] = parent;
        return json::object{{"identity", identity},
                            {"status", status},
                            {"scheduling_posture", {{"posture", posture}}}};
    };
    const auto rows = agent_rows(
        {entry("asleep", "asleep", "idle"), entry("asks", "awake_idle", "waiting_for_operator"),
         entry("busy", "awake_running", "active_turn"),
         entry("helper", "awake_idle", "idle", "busy")},
        {entry("child", "awake_running", "active_turn", "asleep")});
    std::vector<std::string> shown;
    for (const auto& row : rows)
        shown.push_back(fmt::format("{} {} {}", row.group, row.depth, row.id));
    EXPECT_THAT(shown, ElementsAre("needs you 0 asks", "working 0 busy", "working 1 helper",
                                   "sleeping 0 asleep", "sleeping 1 child"));
}

}  // namespace
}  // namespace tui
