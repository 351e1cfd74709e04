#include "surfaces/tui/session/conversation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "domain/events/messages.h"
#include "domain/events/scheduler.h"
#include "domain/events/turn.h"
#include "surfaces/show/columns.h"
#include "surfaces/tui/session/status.h"

namespace tui {
namespace {

namespace kinds = domain::events;
using testing::ElementsAre;
using testing::IsEmpty;

const base::Time kNow = base::from_micros(1'900'000'000'000'000);

// The events of one agent, numbered as a store numbers them.
class Log {
public:
    template <class Payload>
    domain::Event operator()(const Payload& payload) {
        return {.event_seq = ++seq_,
                .created_at = kNow,
                .kind = std::string(Payload::kKind),
                .data = kinds::written(payload)};
    }

private:
    std::int64_t seq_{0};
};

template <class Kind>
Kind message(const std::string& id, const std::string& text) {
    Kind made;
    made.id = domain::MessageId{id};
    made.created_at = kNow;
    made.origin = domain::OperatorOrigin{};
    made.body = domain::TextBody{text};
    return made;
}

kinds::BriefCreated brief(const std::string& text,
                          domain::BriefKind kind = domain::BriefKind::Result) {
    kinds::BriefCreated made;
    made.kind = kind;
    made.text = text;
    return made;
}

kinds::ToolExecuted command(const std::string& cmd, int exit_code) {
    kinds::ToolExecuted done;
    done.tool_name = "ExecCommand";
    done.exec_command_cmd = cmd;
    done.exit_status = exit_code;
    done.duration_ms = 1200;
    return done;
}

std::vector<std::string> texts(const std::vector<Block>& blocks) {
    std::vector<std::string> list;
    for (const auto& block : blocks) list.push_back(block.text);
    return list;
}

// contract: TUI-11
TEST(Conversation, HasTheOperatorsMessagesAndBriefsInInfo) {
    Log log;
    Conversation conversation;
    std::vector<Block> blocks;
    const auto add = [&](const domain::Event& event) {
        for (auto& block : conversation.on_event(event)) blocks.push_back(std::move(block));
    };
    add(log(message<kinds::MessageEnqueued>("m", "fix it")));
    add(log(message<kinds::MessageProcessingStarted>("m", "fix it")));
    add(log(kinds::TurnStarted{}));
    add(log(brief("on it", domain::BriefKind::Ack)));
    add(log(kinds::AssistantRoundRecorded{
        .text_preview = "looking", .has_text = true, .has_tool_calls = true}));
    add(log(command("make", 0)));
    add(log(kinds::TurnTerminal{}));
    add(log(brief("**fixed**")));
    EXPECT_EQ(blocks, (std::vector<Block>{{BlockKind::Operator, kNow, "fix it"},
                                          {BlockKind::Result, kNow, "**fixed**"}}));
}

// contract: TUI-20
TEST(Conversation, ShowsMoreInTheOtherModes) {
    const auto shown_in = [](views::DisplayMode mode) {
        Log log;
        Conversation conversation;
        conversation.set_mode(mode);
        std::vector<Block> blocks;
        for (const auto& event :
             {log(kinds::AssistantRoundRecorded{
                  .text_preview = "looking", .has_text = true, .has_tool_calls = true}),
              log(command("make", 2)), log(kinds::ClosureDecided{}), log(brief("done"))})
            for (auto& block : conversation.on_event(event)) blocks.push_back(std::move(block));
        return blocks;
    };
    EXPECT_THAT(texts(shown_in(views::DisplayMode::Info)), ElementsAre("done"));
    const auto verbose = shown_in(views::DisplayMode::Verbose);
    EXPECT_EQ(verbose, (std::vector<Block>{{BlockKind::Progress, kNow, "looking"},
                                           {BlockKind::Failed, kNow, "$ make", "→ exit 2 1.2s"},
                                           {BlockKind::Result, kNow, "done"}}));
    EXPECT_EQ(shown_in(views::DisplayMode::Debug).size(), 4U);
}

// contract: EVENT-40, EVENT-41
TEST(Conversation, ForgetsWhatTheTurnBeforeDid) {
    Log log;
    Conversation conversation;
    conversation.on_event(log(kinds::TurnStarted{}));
    conversation.on_event(log(kinds::ProcessExecutionRequested{.cmd_preview = "make test"}));
    conversation.on_delta({.kind = service::DeltaKind::Output, .text = "42 tests"}, kNow);
    conversation.on_delta({.text = "I am "}, kNow);
    EXPECT_EQ(conversation.activity().what, "$ make test");
    EXPECT_EQ(conversation.activity().output, "42 tests");
    conversation.on_event(log(kinds::TurnTerminal{}));
    EXPECT_FALSE(conversation.is_in_turn());
    EXPECT_EQ(conversation.activity(), Activity{});
    EXPECT_EQ(conversation.streamed(), "");
    conversation.on_event(log(message<kinds::MessageEnqueued>("m", "and now")));
    conversation.on_event(log(message<kinds::MessageProcessingStarted>("m", "and now")));
    conversation.on_event(log(kinds::TurnStarted{}));
    EXPECT_EQ(conversation.activity(), (Activity{.what = "thinking", .since = kNow}));
}

TEST(Conversation, KeepsASentMessageUntilATurnReadsIt) {
    Log log;
    Conversation conversation;
    conversation.sending(1, "hello");
    ASSERT_EQ(conversation.pending().size(), 1U);
    EXPECT_EQ(conversation.pending()[0].state, Pending::State::Sending);
    conversation.sent(1, "m");
    EXPECT_EQ(conversation.pending()[0].state, Pending::State::Queued);
    conversation.on_event(log(message<kinds::MessageEnqueued>("m", "hello")));
    EXPECT_EQ(conversation.pending().size(), 1U);
    EXPECT_THAT(
        texts(conversation.on_event(log(message<kinds::MessageProcessingStarted>("m", "hello")))),
        ElementsAre("hello"));
    EXPECT_THAT(conversation.pending(), IsEmpty());
}

TEST(Conversation, ToleratesEventsThatOvertakeTheAnswer) {
    Log log;
    Conversation conversation;
    conversation.sending(1, "hello");
    conversation.on_event(log(message<kinds::MessageEnqueued>("m", "hello")));
    conversation.on_event(log(message<kinds::MessageProcessingStarted>("m", "hello")));
    conversation.sent(1, "m");
    EXPECT_THAT(conversation.pending(), IsEmpty());
}

TEST(Conversation, ShowsAnInterjectionInFullAndOnce) {
    Log log;
    Conversation conversation;
    const std::string text(500, 'x');
    conversation.on_event(log(message<kinds::MessageEnqueued>("m", text)));
    const auto joined =
        log(kinds::OperatorInterjectionAdmitted{.message_id = {"m"}, .text_preview = "xxx"});
    EXPECT_THAT(texts(conversation.on_event(joined)), ElementsAre(text));
    EXPECT_THAT(conversation.on_event(log(message<kinds::MessageProcessingStarted>("m", text))),
                IsEmpty());
}

TEST(Conversation, IgnoresEventsThatItHasSeen) {
    Log log;
    Conversation conversation;
    const auto event = log(brief("once"));
    EXPECT_EQ(conversation.on_event(event).size(), 1U);
    EXPECT_THAT(conversation.on_event(event), IsEmpty());
}

TEST(Conversation, ShowsARetryWithItsReasonAndTime) {
    Log log;
    Conversation conversation;
    conversation.on_event(log(kinds::TurnStarted{}));
    conversation.on_delta({.text = "void"}, kNow);
    conversation.on_delta({.kind = service::DeltaKind::Retry,
                           .text = "overloaded",
                           .model_ref = "a/m",
                           .next_model_ref = "a/m",
                           .attempt = 1,
                           .max_attempts = 5,
                           .wait_ms = 2000},
                          kNow);
    EXPECT_EQ(conversation.streamed(), "");
    EXPECT_EQ(conversation.activity().what, "a/m failed (try 1 of 5), again in 2.0s: overloaded");
    EXPECT_EQ(conversation.activity().until, kNow + std::chrono::seconds(2));
}

TEST(Conversation, BoundsWhatIsStreamed) {
    Conversation conversation;
    for (int i = 0; i < 100; ++i) conversation.on_delta({.text = std::string(10'000, 'x')}, kNow);
    EXPECT_LE(conversation.streamed().size(), kStreamBytesMax);
}

TEST(Blocks, FitTheTerminalAtAnyWidth) {
    const Block block{
        BlockKind::Result, kNow,
        "# 見出し\n\nこれは長い日本語の文章です。とても長いので折り返されます。\n\n```\n" +
            std::string(200, 'x') + "\n```\n"};
    for (const std::size_t columns : {40U, 80U, 120U})
        for (const auto& line : lines_of(block, columns)) {
            std::size_t width = 0;
            for (const auto& span : line) width += show::columns_of(span.text);
            EXPECT_LE(width, columns);
        }
}

TEST(Blocks, KeepTheOutcomeOfALongCommand) {
    const Block block{BlockKind::Failed, kNow, "$ " + std::string(300, 'x'), "→ exit 2 1.2s"};
    const auto lines = lines_of(block, 40);
    ASSERT_EQ(lines.size(), 1U);
    EXPECT_EQ(lines[0].back().text, " → exit 2 1.2s");
}

TEST(Blocks, ShowAPatchAsADiffAndCutALongOne) {
    const Block shown{.kind = BlockKind::Diff,
                      .text = "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-one\n+two\n"};
    std::string text;
    for (const auto& line : lines_of(shown, 80)) text += show::text_of(line) + "\n";
    EXPECT_TRUE(text.contains("-one")) << text;
    EXPECT_TRUE(text.contains("+two")) << text;
    Block longer{.kind = BlockKind::Diff, .text = "--- /dev/null\n+++ b/x\n@@ -0,0 +1,500 @@\n"};
    for (int i = 0; i < 500; ++i) longer.text += "+line\n";
    const auto lines = lines_of(longer, 80);
    EXPECT_LT(lines.size(), 50U);
    EXPECT_TRUE(show::text_of(lines.back()).contains("/transcript shows all"));
}

TEST(Blocks, FindThePatchOfACall) {
    const auto use = [](std::string_view name, std::string_view patch) {
        return json::object{{"type", "tool_use"}, {"name", name}, {"input", {{"patch", patch}}}};
    };
    domain::TranscriptEntry entry{
        .run_id = {"run"}, .kind = domain::TranscriptKind::AssistantRound, .round = 2};
    entry.data = json::object{{"blocks", json::array{use("ApplyPatch", "first"), use("Other", "x"),
                                                     use("ApplyPatch", "second")}}};
    const std::vector entries{entry};
    EXPECT_EQ(patch_of(entries, {"run"}, 2, 0), "first");
    EXPECT_EQ(patch_of(entries, {"run"}, 2, 1), "second");
    EXPECT_EQ(patch_of(entries, {"run"}, 2, 2), "");
    EXPECT_EQ(patch_of(entries, {"run"}, 1, 0), "");
    EXPECT_EQ(patch_of(entries, {"other"}, 2, 0), "");
}

TEST(StatusLine, ShowsTheBudgetAndWhatWaitsForTheOperator) {
    const auto text = [](const AgentView& view, const Figures& figures, std::size_t columns) {
        return show::text_of(status_lines(view, {.is_loaded = true}, figures, kNow, columns)[0]);
    };
    AgentView view{.agent_id = "main", .model = "a/m", .tokens = 90'000};
    EXPECT_TRUE(text(view, {}, 100).contains("90.0k tokens")) << text(view, {}, 100);
    view.token_budget = 100'000;
    EXPECT_TRUE(text(view, {.more_tokens = 2'000}, 100).contains("92.0k of 100.0k tokens"))
        << text(view, {.more_tokens = 2'000}, 100);
    EXPECT_TRUE(text(view, {.approvals = 2}, 40).contains("2 approvals (/approvals)"))
        << text(view, {.approvals = 2}, 40);
}

}  // namespace
}  // namespace tui
