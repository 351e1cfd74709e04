#include "record/events/events.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "domain/events/turn.h"
#include "store/sql/sqlite/sqlite_store.h"

namespace events {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr base::Time kNow = base::Time(std::chrono::microseconds(1'925'000'000'000'000));

class EventsTest : public testing::Test {
protected:
    base::SystemClock clock_;
    base::RandomIds ids_{clock_, 1};
    std::unique_ptr<store::Store> store_{
        sqlite::open({.file = ":memory:", .mode = sqlite::Mode::Inline}).value()};

    std::vector<domain::Event> stored(const std::string& agent) {
        std::vector<domain::Event> list;
        const auto status = store_->read([&](store::Tx& tx) -> base::Status {
            list = TRY(tx.events({agent}, {}));
            return {};
        });
        EXPECT_TRUE(status) << status.error().message;
        return list;
    }
};

domain::events::MaxOutputTokensRecovery one(std::int64_t attempt) {
    return {.agent_id = {"main"}, .attempt = attempt};
}
domain::events::TurnWaitOver two() {
    return {.agent_id = {"main"}};
}

Committed event(const std::string& kind, std::int64_t seq = 0) {
    return {{"main"}, {.event_seq = seq, .kind = kind}};
}

TEST_F(EventsTest, AreNumberedPerAgentInTheOrderTheyWereAppended) {
    std::vector<Committed> taken;
    const auto status = store_->write(store::Durability::Disk, [&](store::Tx& tx) -> base::Status {
        Log log(tx, kNow, ids_);
        TRY(log.append({"main"}, one(1)));
        TRY(log.append({"other"}, one(2)));
        TRY(log.append({"main"}, two()));
        taken = log.take();
        return {};
    });
    ASSERT_TRUE(status) << status.error().message;
    ASSERT_EQ(taken.size(), 3U);
    EXPECT_EQ(taken[0].event,
              (domain::Event{.id = taken[0].event.id,
                             .event_seq = 1,
                             .created_at = kNow,
                             .kind = "max_output_tokens_recovery",
                             .data = json::object{{"agent_id", "main"}, {"attempt", 1}}}));
    EXPECT_EQ(taken[1].agent_id, domain::AgentId{"other"});
    EXPECT_EQ(taken[1].event.event_seq, 1);
    EXPECT_EQ(taken[2].event.event_seq, 2);
    EXPECT_NE(taken[0].event.id, taken[2].event.id);
    EXPECT_THAT(stored("main"), ElementsAre(taken[0].event, taken[2].event));
    EXPECT_THAT(stored("other"), ElementsAre(taken[1].event));
}

TEST_F(EventsTest, OfATransactionThatIsUndoneAreGone) {
    const auto status = store_->write(store::Durability::Disk, [&](store::Tx& tx) -> base::Status {
        Log log(tx, kNow, ids_);
        TRY(log.append({"main"}, one(1)));
        return base::fail(base::ErrorCode::Conflict, "no");
    });
    ASSERT_FALSE(status);
    EXPECT_THAT(stored("main"), IsEmpty());
}

TEST_F(EventsTest, ReachNobodyBeforeTheyAreTakenAndPublished) {
    Feed feed;
    std::vector<std::string> seen;
    const auto token =
        feed.subscribe([&](const Committed& one) { seen.push_back(one.event.kind); });
    std::vector<Committed> taken;
    const auto status = store_->write(store::Durability::Disk, [&](store::Tx& tx) -> base::Status {
        Log log(tx, kNow, ids_);
        TRY(log.append({"main"}, one(1)));
        TRY(log.append({"main"}, two()));
        EXPECT_THAT(seen, IsEmpty());
        taken = log.take();
        EXPECT_THAT(log.take(), IsEmpty());
        return {};
    });
    ASSERT_TRUE(status) << status.error().message;
    EXPECT_THAT(seen, IsEmpty());
    feed.publish(taken);
    EXPECT_THAT(seen, ElementsAre("max_output_tokens_recovery", "turn_wait_over"));
}

TEST(Feed, GivesEveryListenerEachEventBeforeTheNext) {
    Feed feed;
    std::vector<std::string> seen;
    const auto first =
        feed.subscribe([&](const Committed& one) { seen.push_back("1" + one.event.kind); });
    const auto second =
        feed.subscribe([&](const Committed& one) { seen.push_back("2" + one.event.kind); });
    feed.publish({event("a"), event("b")});
    EXPECT_THAT(seen, ElementsAre("1a", "2a", "1b", "2b"));
}

TEST(Feed, ForgetsAListenerWhoseTokenIsDropped) {
    Feed feed;
    int heard = 0;
    auto token = feed.subscribe([&](const Committed&) { ++heard; });
    feed.publish({event("a")});
    token.reset();
    feed.publish({event("b")});
    EXPECT_EQ(heard, 1);
}

TEST(Feed, LetsAListenerDropItsOwnTokenWhileItIsCalled) {
    Feed feed;
    std::vector<std::string> seen;
    std::shared_ptr<void> own;
    own = feed.subscribe([&](const Committed& one) {
        own.reset();
        seen.push_back("once " + one.event.kind);
    });
    const auto other =
        feed.subscribe([&](const Committed& one) { seen.push_back(one.event.kind); });
    feed.publish({event("a"), event("b")});
    EXPECT_THAT(seen, ElementsAre("once a", "a", "b"));
}

TEST(Feed, LetsAListenerDropTheTokenOfTheNext) {
    Feed feed;
    int heard = 0;
    std::shared_ptr<void> second;
    const auto first = feed.subscribe([&](const Committed&) { second.reset(); });
    second = feed.subscribe([&](const Committed&) { ++heard; });
    feed.publish({event("a")});
    EXPECT_EQ(heard, 0);
}

TEST(Feed, LetsAListenerSubscribeAnother) {
    Feed feed;
    std::vector<std::string> seen;
    std::shared_ptr<void> late;
    const auto first = feed.subscribe([&](const Committed&) {
        if (!late)
            late = feed.subscribe([&](const Committed& one) { seen.push_back(one.event.kind); });
    });
    feed.publish({event("a")});
    feed.publish({event("b")});
    ASSERT_FALSE(seen.empty());
    EXPECT_EQ(seen.back(), "b");
}

}  // namespace
}  // namespace events
