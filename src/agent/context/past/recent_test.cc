#include "agent/context/past/recent.h"

#include <random>

#include <gtest/gtest.h>

#include "agent/context/conversation.h"
#include "base/scan/secrets.h"
#include "store/sql/sqlite/sqlite_store.h"

namespace context {
namespace {

using domain::TranscriptKind;

class RecentPastsTest : public testing::Test {
protected:
    ~RecentPastsTest() override { scan::know_nothing(); }

    void write(const std::function<base::Status(store::Tx&)>& work) {
        const auto status = store_->write(store::Durability::Process, work);
        ASSERT_TRUE(status) << status.error().message;
    }
    void append(TranscriptKind kind, json::value data) {
        const domain::TranscriptEntry entry{.id = fmt::format("t{}", ++count_),
                                            .agent_id = agent_,
                                            .run_id = {"run-" + message_},
                                            .kind = kind,
                                            .round = 1,
                                            .related_message_id = domain::MessageId{message_},
                                            .data = std::move(data)};
        write([&](store::Tx& tx) { return tx.append_transcript(entry); });
    }
    // A handled message and its answer.
    void turn(const std::string& text) {
        message_ = fmt::format("m{}", ++count_);
        const domain::Message message{
            .id = {message_},
            .agent_id = agent_,
            .authority_class = domain::AuthorityClass::OperatorInstruction,
            .body = domain::TextBody{text}};
        write([&](store::Tx& tx) -> base::Status {
            TRY(tx.append_message(message, std::nullopt));
            return tx.set_queue_status(message.id, domain::QueueStatus::Processed, std::nullopt,
                                       {});
        });
        auto data = base::to_json(message).as_object();
        for (const char* field : {"id", "agent_id", "created_at"}) data.erase(field);
        data["prompt"] = json::array{"asked: " + text};
        append(TranscriptKind::IncomingMessage, std::move(data));
        append(TranscriptKind::AssistantRound,
               json::object{{"blocks", base::to_json(std::vector<domain::Block>{
                                           domain::TextBlock{"said: " + text}})}});
    }
    void compact(const Past& past) {
        Compaction made{.epoch = past.compaction ? past.compaction->epoch + 1 : 1};
        made.covers_through = past.after_seq + std::ssize(past.pieces) / 2;
        append(TranscriptKind::ContinuationPrompt, compaction_data(made, {}));
    }
    Past load(RecentPasts* recent, const PastInput& input = {}) {
        Past past;
        const auto status = store_->read([&](store::Tx& tx) -> base::Status {
            past = TRY(load_past(tx, agent_, input, recent));
            if (recent) recent->keep(agent_, past);
            return {};
        });
        EXPECT_TRUE(status) << status.error().message;
        return past;
    }
    void expect_equal(const Past& left, const Past& right) {
        ASSERT_EQ(left.pieces.size(), right.pieces.size());
        for (std::size_t i = 0; i < left.pieces.size(); ++i) {
            EXPECT_EQ(left.pieces[i]->seq, right.pieces[i]->seq);
            EXPECT_EQ(left.pieces[i]->entry_id, right.pieces[i]->entry_id);
            EXPECT_EQ(left.pieces[i]->turn, right.pieces[i]->turn);
            EXPECT_EQ(left.pieces[i]->tokens, right.pieces[i]->tokens);
        }
        EXPECT_EQ(left.head, right.head);
        EXPECT_EQ(left.after_seq, right.after_seq);
        EXPECT_EQ(left.tokens, right.tokens);
        EXPECT_EQ(left.is_cut, right.is_cut);
        EXPECT_EQ(left.compaction.has_value(), right.compaction.has_value());
        EXPECT_EQ(left.rounds_left_out, right.rounds_left_out);
    }

    static std::string shown_all(const Past& past) {
        std::string text;
        for (const auto& piece : past.pieces)
            if (piece->turn) text += shown(*piece->turn) + "\n";
        return text;
    }

    const domain::AgentId agent_{"main"};
    std::unique_ptr<store::Store> store_{sqlite::open_inline({.file = ":memory:"}).value()};
    RecentPasts recent_;
    std::string message_;
    int count_{0};
};

TEST_F(RecentPastsTest, ANextTurnReadsOnlyWhatWasSaidSince) {
    turn("first");
    const auto before = load(&recent_);
    turn("second");
    const auto after = load(&recent_);
    ASSERT_EQ(after.pieces.size(), 4U);
    EXPECT_EQ(after.pieces[0], before.pieces[0]) << "the same piece, not one like it";
    expect_equal(after, load(nullptr));
    recent_.forget_all();
    EXPECT_NE(load(&recent_).pieces[0], before.pieces[0]);
}

TEST_F(RecentPastsTest, ACredentialThatIsLearntLaterIsTakenOutOfWhatWasKept) {
    turn("the key is hunter2-hunter2-hunter2");
    load(&recent_);
    scan::know({"hunter2-hunter2-hunter2"});
    turn("next");
    const auto past = load(&recent_);
    EXPECT_FALSE(shown_all(past).contains("hunter2"));
    expect_equal(past, load(nullptr));
}

TEST_F(RecentPastsTest, AnAgentThatIsMadeAgainUnderItsNameHasAPastOfItsOwn) {
    turn("of the first one");
    load(&recent_);
    write([&](store::Tx& tx) { return tx.erase_agent(agent_); });
    turn("of the second one");
    EXPECT_FALSE(shown_all(load(&recent_)).contains("of the first one"));
}

// Whatever happens to the transcript between two turns, what is kept changes nothing.
TEST_F(RecentPastsTest, NothingThatHappensInBetweenIsMissed) {
    std::mt19937 random(7);
    std::vector<std::string> messages;
    for (int step = 0; step < 400; ++step) {
        switch (random() % 10) {
            case 0:
                compact(load(nullptr));
                break;
            case 1:
                if (!messages.empty())
                    write([&](store::Tx& tx) -> base::Status {
                        TRY(tx.erase_message({messages[random() % messages.size()]}, 100));
                        return {};
                    });
                break;
            case 2:
                write([&](store::Tx& tx) -> base::Status {
                    const auto head = TRY(tx.stream_head(agent_, store::Stream::Transcript));
                    const auto after =
                        static_cast<std::int64_t>(random() % (static_cast<unsigned>(head) + 1));
                    TRY(tx.erase_rows(agent_, store::Stream::Transcript, after, after + 2));
                    return {};
                });
                break;
            case 3:
                scan::know({fmt::format("a-credential-of-step-{}", step)});
                break;
            default:
                turn(fmt::format("text {} with a-credential-of-step-{}", step, step + 3));
                messages.push_back(message_);
        }
        if (random() % 3 == 0) continue;  // More than one thing may happen.
        const PastInput input{.message = {message_}, .tokens_max = random() % 8 == 0 ? 50 : 5'000};
        expect_equal(load(&recent_, input), load(nullptr, input));
        if (HasFailure()) FAIL() << "in step " << step;
    }
}

TEST_F(RecentPastsTest, ThoseThatRanLongestAgoMakeRoom) {
    Past large{.head = 1, .tokens = kRecentBytesMax / 4 / 4};
    large.pieces.push_back(std::make_shared<const Piece>(Piece{.seq = 1}));
    for (const char* name : {"a", "b", "c", "d"}) recent_.keep({name}, large);
    EXPECT_FALSE(recent_.find({"a"}));
    EXPECT_TRUE(recent_.find({"b"}) && recent_.find({"c"}) && recent_.find({"d"}));
    recent_.keep({"b"}, large);
    recent_.keep({"e"}, large);
    EXPECT_TRUE(recent_.find({"b"})) << "it ran again";
    EXPECT_FALSE(recent_.find({"c"}));
    large.tokens = kRecentBytesMax;
    recent_.keep({"d"}, large);
    EXPECT_FALSE(recent_.find({"d"})) << "one that is too large for it is not kept at all";
    EXPECT_TRUE(recent_.find({"e"}));
}

}  // namespace
}  // namespace context
