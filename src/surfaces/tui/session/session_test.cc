#include "surfaces/tui/session/session.h"

#include "surfaces/tui/overlays/agent_rows.h"
#include "tests/support/tui/console_session.h"

namespace tui {
namespace {

using testing::ElementsAre;

class OpenSession : public SessionTest {
protected:
    OpenSession() { start(); }
};

// contract: API-21
TEST_F(OpenSession, LoadsTheStateAndContinuesFromItsEvents) {
    const auto asked = service.asked();
    ASSERT_GE(asked.size(), 3U);
    EXPECT_EQ(asked[0], "state");
    EXPECT_EQ(asked[1], fmt::format("before {}", kCursor + 1));
    EXPECT_TRUE(has_asked(fmt::format("after {}", kCursor)));
    EXPECT_EQ(std::ranges::count(asked, "state"), 1);
}

// contract: API-04
TEST_F(OpenSession, OpensTheListOfAgentsWithOneRequest) {
    EXPECT_TRUE(until([&] { return has_asked("list"); }));
    service.forget();
    type("/agents");
    press(KeyName::Enter);
    EXPECT_TRUE(until([&] { return text().contains("sleeping"); })) << text();
    EXPECT_THAT(service.asked(), ElementsAre("list"));
}

TEST_F(OpenSession, ShowsAMessageUntilATurnReadsIt) {
    type("hello");
    press(KeyName::Enter);
    EXPECT_TRUE(until([&] { return text().contains("› hello [queued]"); })) << text();
}

TEST_F(OpenSession, GivesTheDraftOfAFailedSendBack) {
    service.refuse();
    type("hello");
    press(KeyName::Enter);
    EXPECT_TRUE(until([&] { return text().contains("Not sent: the agent is stopped"); })) << text();
    EXPECT_TRUE(text().contains("[failed]")) << text();
    EXPECT_EQ(session->draft(), "hello");
}

TEST_F(OpenSession, LeavesOnTheSecondInterrupt) {
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
TEST_F(OpenSession, ClosesAnOverlayBeforeTheDraftIsTouched) {
    type("half");
    press(KeyName::PageUp);
    EXPECT_TRUE(text().contains("Transcript")) << text();
    press(KeyName::Escape);
    EXPECT_FALSE(text().contains("Transcript")) << text();
    EXPECT_EQ(session->draft(), "half");
}

TEST_F(OpenSession, SendsAtMostTwoHundredBytesForAStreamedWord) {
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

TEST_F(OpenSession, IsAtRestWithoutAClock) {
    session->on_key({.name = KeyName::FocusIn});
    EXPECT_EQ(session->next_tick(), std::nullopt);
}

TEST_F(OpenSession, CompactsTheConversationAndSaysWhatCameOfIt) {
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
    const auto asking = [](json::object made) {
        made["last_brief_at"] = "2031-01-01T00:00:00.000000Z";
        return made;
    };
    const auto rows = agent_rows(
        {entry("asleep", "asleep", "idle"), entry("new", "awake_idle", "waiting_for_operator"),
         asking(entry("asks", "awake_idle", "waiting_for_operator")),
         entry("busy", "awake_running", "active_turn"),
         entry("helper", "awake_idle", "idle", "busy")},
        {entry("child", "awake_running", "active_turn", "asleep")});
    std::vector<std::string> shown;
    for (const auto& row : rows)
        shown.push_back(fmt::format("{} {} {}", row.group, row.depth, row.id));
    EXPECT_THAT(shown, ElementsAre("needs you 0 asks", "working 0 busy", "working 1 helper",
                                   "sleeping 0 asleep", "sleeping 1 child", "sleeping 0 new"));
}

TEST(AgentRows, PutTheAgentThatReportedLastFirst) {
    const auto entry = [](std::string_view id, std::string_view at) {
        json::object made{{"identity", {{"agent_id", id}}}, {"status", "asleep"}};
        if (!at.empty()) made["last_brief_at"] = at;
        return made;
    };
    const auto rows = agent_rows({entry("silent", ""), entry("old", "2031-01-01T00:00:00.000000Z"),
                                  entry("new", "2031-01-02T00:00:00.000000Z"), entry("mute", "")},
                                 {});
    std::vector<std::string> shown;
    for (const auto& row : rows) shown.push_back(row.id);
    EXPECT_THAT(shown, ElementsAre("new", "old", "silent", "mute"));
}

}  // namespace
}  // namespace tui
