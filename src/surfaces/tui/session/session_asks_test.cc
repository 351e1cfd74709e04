// Which agent the operator chooses, which model, and what MCP servers offer and ask.
#include "tests/support/tui/console_session.h"

namespace tui {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::Not;

class PickingSession : public SessionTest {
protected:
    void pick_from(std::vector<std::string> agents) {
        service.have(std::move(agents));
        SessionParts picking = parts();
        picking.picks = true;
        session = std::make_shared<Session>(std::move(picking));
        session->start({80, 24});
    }
};

// contract: API-04
TEST_F(PickingSession, OffersTheAgentsWithOneRequestAndLoadsTheChosenOne) {
    pick_from({"helper", "main"});
    EXPECT_TRUE(until([&] { return text().contains("Which agent?"); })) << text();
    EXPECT_THAT(service.asked(), ElementsAre("list"));
    EXPECT_TRUE(text().contains("Words of helper")) << text();
    EXPECT_TRUE(text().contains("Esc takes main")) << text();
    type("help");
    press(KeyName::Enter);
    EXPECT_TRUE(until([&] { return has_asked("state of helper"); }));
    EXPECT_TRUE(until([&] { return text().contains("helper · "); })) << text();
    EXPECT_FALSE(has_asked("state"));
}

TEST_F(PickingSession, EscapeClearsTheFilterAndThenTakesTheDefaultAgent) {
    pick_from({"a", "b", "main"});
    EXPECT_TRUE(until([&] { return text().contains("Which agent?"); })) << text();
    type("b");
    press(KeyName::Escape);
    EXPECT_TRUE(text().contains("Which agent?")) << text();
    press(KeyName::Escape);
    EXPECT_TRUE(until([&] { return has_asked("state"); }));
    EXPECT_TRUE(until([&] { return text().contains("main · "); })) << text();
}

TEST_F(PickingSession, OpensTheOnlyAgentWithoutAsking) {
    pick_from({"alone"});
    EXPECT_TRUE(until([&] { return has_asked("state of alone"); }));
    EXPECT_FALSE(text().contains("Which agent?")) << text();
}

TEST_F(PickingSession, TakesNoKeyFromAnOperatorWhoWritesAlready) {
    pick_from({"helper", "main"});
    type("hello");
    EXPECT_TRUE(until([&] { return has_asked("state"); }));
    EXPECT_FALSE(text().contains("Which agent?")) << text();
    EXPECT_EQ(session->draft(), "hello");
}

class AskedSession : public SessionTest {
protected:
    AskedSession() { start(); }

    void run(std::string_view line) {
        type(line);
        press(KeyName::Enter);
    }
    // The server's word comes by the stream; nothing is polled for it.
    void ask(service::McpQuestion question) {
        mcp.ask(std::move(question));
        service.send({.kind = service::DeltaKind::Question, .text = "s"});
    }
    static service::McpQuestion form() {
        return {.id = "q1",
                .server = "s",
                .mode = "form",
                .message = "Who are \x1b[2Jyou?",
                .schema = json::object{{"type", "object"},
                                       {"properties",
                                        {{"name", {{"type", "string"}}},
                                         {"age", {{"type", "integer"}, {"default", 30}}},
                                         {"tall", {{"type", "boolean"}}},
                                         {"size", {{"type", "string"}, {"enum", {"S", "M"}}}}}},
                                       {"required", {"name"}}}};
    }
};

TEST_F(AskedSession, ListsTheModelsAndMarksTheOneThatItHas) {
    run("/model");
    EXPECT_TRUE(until([&] { return text().contains("● b/large"); })) << text();
    EXPECT_TRUE(text().contains("default (a/small)")) << text();
    EXPECT_TRUE(text().contains("not available")) << text();
    type("small");
    press(KeyName::Down);
    press(KeyName::Enter);
    EXPECT_TRUE(until([&] { return has_asked("model a/small"); }));
    run("/model");
    EXPECT_TRUE(until([&] { return text().contains("● b/large"); })) << text();
    type("default");
    press(KeyName::Enter);
    EXPECT_TRUE(until([&] { return has_asked("no model"); }));
}

TEST_F(AskedSession, CompletesTheNamesOfModelsThatCanBeAsked) {
    type("/model la");
    EXPECT_TRUE(until([&] { return text().contains("b/large  b/large"); })) << text();
    EXPECT_FALSE(text().contains("c/other")) << text();
    press(KeyName::Tab);
    EXPECT_EQ(session->draft(), "/model b/large");
    press(KeyName::Enter);
    EXPECT_TRUE(until([&] { return has_asked("model b/large"); }));
}

TEST_F(AskedSession, AQuestionOfAServerIsCountedAndAnsweredInPlace) {
    EXPECT_EQ(session->next_tick(), std::nullopt);
    ask(form());
    EXPECT_TRUE(until([&] { return text().contains("1 question (/approvals)"); })) << text();
    EXPECT_TRUE(text().contains("server s asks you something")) << text();
    run("/approvals");
    EXPECT_TRUE(until([&] { return text().contains("y answers"); })) << text();
    EXPECT_TRUE(text().contains("Who are \\x1b[2Jyou?")) << text();
    type("y");
    EXPECT_TRUE(text().contains("name  (needed)")) << text();
    for (int i = 0; i < 4; ++i) press(KeyName::Enter);
    EXPECT_TRUE(text().contains("name is needed")) << text();
    EXPECT_THAT(mcp.answers(), IsEmpty());
    type("Ada");
    press(KeyName::Enter);
    press(KeyName::Backspace);
    press(KeyName::Backspace);
    type("x");
    press(KeyName::Enter);
    press(KeyName::Right);
    press(KeyName::Enter);
    type(" ");
    type(" ");
    press(KeyName::Enter);
    EXPECT_TRUE(text().contains("age must be a whole number")) << text();
    press(KeyName::Backspace);
    type("7");
    for (int i = 0; i < 3; ++i) press(KeyName::Enter);
    EXPECT_TRUE(until([&] { return !mcp.answers().empty(); }));
    EXPECT_THAT(mcp.answers(),
                ElementsAre(R"(q1 accept {"name":"Ada","age":7,"tall":true,"size":"M"})"));
    EXPECT_TRUE(until([&] { return text().contains("There is nothing here."); })) << text();
    press(KeyName::Escape);
    service.send({.kind = service::DeltaKind::Question, .text = ""});
    EXPECT_TRUE(until([&] { return !text().contains("question (/approvals)"); })) << text();
}

TEST_F(AskedSession, AnAddressIsShownWholeAndAQuestionMayBeDeclined) {
    const std::string address =
        "https://pay.example/" + std::string(90, 'p') + "/the-end?to=someone";
    ask({.id = "q2", .server = "s", .mode = "url", .message = "Pay here.", .url = address});
    run("/approvals");
    EXPECT_TRUE(until([&] { return text().contains("Pay here."); })) << text();
    press(KeyName::Enter);
    std::string shown = text();
    std::erase_if(shown, [](char c) { return c == '\n' || c == ' '; });
    EXPECT_TRUE(shown.contains(address)) << text();
    EXPECT_TRUE(text().contains("holon does not open it")) << text();
    type("y");
    EXPECT_EQ(session->take_bytes(), clipboard_bytes(address));
    press(KeyName::Escape);
    EXPECT_TRUE(until([&] { return text().contains("n declines"); })) << text();
    type("n");
    EXPECT_TRUE(until([&] { return !mcp.answers().empty(); }));
    EXPECT_THAT(mcp.answers(), ElementsAre("q2 decline {}"));
}

// A question may be withdrawn at any moment: a key meant for it must not decide about another one.
TEST_F(AskedSession, AKeyForARowThatHasGoneDecidesNothing) {
    auto second = form();
    second.id = "q9";
    second.message = "Another one?";
    mcp.ask(form(), second);
    run("/approvals");
    EXPECT_TRUE(until([&] { return text().contains("Another one?"); })) << text();
    ask(second);
    EXPECT_TRUE(until([&] { return !text().contains("Who are"); })) << text();
    type("n");
    EXPECT_TRUE(text().contains("The list has just changed")) << text();
    EXPECT_THAT(mcp.answers(), IsEmpty());
    clock.advance(std::chrono::seconds(1));
    type("n");
    EXPECT_TRUE(until([&] { return !mcp.answers().empty(); }));
    EXPECT_THAT(mcp.answers(), ElementsAre("q9 decline {}"));
}

TEST_F(AskedSession, TheTerminalNotifiesAnOperatorWhoLooksElsewhere) {
    press(KeyName::FocusOut);
    ask(form());
    EXPECT_TRUE(until([&] { return session->take_bytes().contains("MCP server asks you"); }));
}

TEST_F(AskedSession, APromptIsPutIntoTheComposerAndNeverSentUnread) {
    type("/mcp:");
    EXPECT_TRUE(until([&] { return text().contains("/mcp:s:triage"); })) << text();
    EXPECT_TRUE(text().contains("Sorts an issue.")) << text();
    press(KeyName::Tab);
    EXPECT_EQ(session->draft(), "/mcp:s:triage ");
    EXPECT_TRUE(text().contains("issue=")) << text();
    press(KeyName::Enter);
    EXPECT_TRUE(text().contains("triage needs issue=: its number")) << text();
    EXPECT_EQ(session->draft(), "/mcp:s:triage issue=");
    type("12");
    press(KeyName::Enter);
    EXPECT_TRUE(until([&] { return session->draft() == "Sort issue 12."; })) << text();
    EXPECT_TRUE(text().contains("which nobody has read")) << text();
    // An Enter that was on its way does not send it.
    press(KeyName::Enter);
    EXPECT_EQ(session->draft(), "Sort issue 12.");
    EXPECT_THAT(service.asked(), Not(Contains("prompt Sort issue 12.")));
    clock.advance(kReadFirst);
    press(KeyName::Enter);
    EXPECT_TRUE(until([&] { return has_asked("prompt Sort issue 12."); }));
}

TEST_F(AskedSession, ATextOfAServerIsNoCommandAndIsShownFromItsBeginning) {
    mcp.say_first("/quit\n" + std::string(100, '\n'));
    run("/mcp:s:triage issue=1");
    EXPECT_TRUE(until([&] { return text().contains("nobody has read"); })) << text();
    EXPECT_TRUE(text().contains("> //quit")) << text();
    EXPECT_TRUE(text().contains("102 lines")) << text();
    clock.advance(kReadFirst);
    press(KeyName::Enter);
    EXPECT_EQ(session->take_request(), Request::None);
    EXPECT_TRUE(until([&] { return service.asked().back().starts_with("prompt /quit\n"); }));
}

TEST_F(AskedSession, ASlowServerKeepsNobodyFromTyping) {
    mcp.be_slow(true);
    run("/mcp:s:triage issue=7");
    run("meanwhile");
    EXPECT_TRUE(until([&] { return has_asked("prompt meanwhile"); }));
    type("half a thought");
    mcp.be_slow(false);
    EXPECT_TRUE(until([&] { return text().contains("text of triage is ready"); })) << text();
    EXPECT_EQ(session->draft(), "half a thought");
    session->on_key({.text = "c", .ctrl = true});
    EXPECT_EQ(session->draft(), "Sort issue 7.");
}

TEST_F(AskedSession, ARefusedPromptComesBackToBeCorrected) {
    run("/mcp:s:other");
    EXPECT_TRUE(until([&] { return text().contains("the server wants an issue"); })) << text();
    EXPECT_EQ(session->draft(), "/mcp:s:other");
    EXPECT_THAT(service.asked(), Not(Contains("prompt /mcp:s:other")));
}

TEST_F(AskedSession, TheListOfPromptsWritesTheCommand) {
    run("/mcp");
    EXPECT_TRUE(until([&] { return text().contains("Sorts an issue."); })) << text();
    press(KeyName::Enter);
    EXPECT_EQ(session->draft(), "/mcp:s:triage ");
}

}  // namespace
}  // namespace tui
