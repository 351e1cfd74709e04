#include "flow/queue/queue.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "store/sql/sqlite/sqlite_store.h"
#include "store/sql/sqlite/temp_database.h"

namespace queue {
namespace {

using domain::Priority;
using domain::QueueStatus;
using testing::ElementsAre;
using testing::IsEmpty;

constexpr base::Time kNow = base::Time(std::chrono::microseconds(1'925'000'000'000'000));

domain::Message message(const std::string& id, Priority priority = Priority::Normal) {
    return {.id = {id},
            .agent_id = {"main"},
            .created_at = kNow,
            .priority = priority,
            .body = domain::TextBody{"body of " + id}};
}

class QueueTest : public testing::Test {
protected:
    sqlite::TempDatabase files_;
    base::SystemClock clock_;
    base::RandomIds ids_{clock_, 1};
    std::unique_ptr<store::Store> store_{open()};
    std::vector<events::Committed> taken_;

    std::unique_ptr<store::Store> open() {
        return sqlite::open({.file = files_.file(), .mode = sqlite::Mode::Inline}).value();
    }
    void reopen() {
        store_.reset();
        store_ = open();
    }
    void write(const std::function<base::Status(events::Log&)>& work) {
        const auto status =
            store_->write(store::Durability::Disk, [&](store::Tx& tx) -> base::Status {
                events::Log log(tx, kNow, ids_);
                TRY(work(log));
                taken_ = log.take();
                return {};
            });
        ASSERT_TRUE(status) << status.error().message;
    }
    store::AppendOutcome add(const domain::Message& one,
                             const std::optional<std::string>& key = {}) {
        store::AppendOutcome outcome;
        write([&](events::Log& log) -> base::Status {
            outcome = TRY(append(log, one, key));
            return {};
        });
        return outcome;
    }
    std::optional<store::QueuedMessage> take() {
        std::optional<store::QueuedMessage> next;
        write([&](events::Log& log) -> base::Status {
            next = TRY(claim(log, {"main"}));
            return {};
        });
        return next;
    }
    void end(const std::string& id, QueueStatus status,
             const std::optional<std::string>& reason = {}) {
        write([&](events::Log& log) { return release(log, {id}, status, reason); });
    }
    std::vector<std::string> drain() {
        std::vector<std::string> order;
        while (const auto next = take()) {
            order.push_back(next->message.id.value);
            end(order.back(), QueueStatus::Processed);
        }
        return order;
    }
    store::QueuedMessage stored(const std::string& id) {
        std::optional<store::QueuedMessage> found;
        write([&](events::Log& log) -> base::Status {
            found = TRY(log.tx().message({id}));
            return {};
        });
        return found.value();
    }
};

// contract: TRUST-26, TRUST-29, TRUST-31, QUEUE-05, MSG-10
TEST_F(QueueTest, GivesOutTheMostUrgentBandFirst) {
    add(message("background", Priority::Background));
    add(message("normal", Priority::Normal));
    add(message("next", Priority::Next));
    add(message("interject", Priority::Interject));
    EXPECT_THAT(drain(), ElementsAre("interject", "next", "normal", "background"));
}

// contract: QUEUE-06
TEST_F(QueueTest, KeepsTheOrderOfArrivalWithinABandAlsoAfterARestart) {
    add(message("n1"));
    add(message("b1", Priority::Background));
    add(message("n2"));
    add(message("i1", Priority::Interject));
    add(message("n3"));
    add(message("b2", Priority::Background));
    EXPECT_EQ(take()->message.id.value, "i1");
    end("i1", QueueStatus::Processed);
    EXPECT_EQ(take()->message.id.value, "n1");
    end("n1", QueueStatus::Processed);
    reopen();
    EXPECT_THAT(drain(), ElementsAre("n2", "n3", "b1", "b2"));
}

// contract: QUEUE-03, QUEUE-04, QUEUE-07
TEST_F(QueueTest, NeverChangesWhatItWasGiven) {
    const std::vector<domain::Origin> origins{domain::OperatorOrigin{"ann"},
                                              domain::ChannelOrigin{"c", "bob"},
                                              domain::WebhookOrigin{"ci", "push"},
                                              domain::CallbackOrigin{"d", "ci"},
                                              domain::TimerOrigin{{"t"}},
                                              domain::SystemOrigin{"wake_hint"},
                                              domain::TaskOrigin{{"k"}}};
    int n = 0;
    for (const auto& origin : origins) {
        domain::Message one = message(fmt::format("m{}", ++n), Priority::Next);
        one.origin = origin;
        one.trust = domain::TrustLevel::TrustedIntegration;
        one.authority_class = domain::AuthorityClass::IntegrationSignal;
        one.trigger_kind = domain::TriggerKind::ExternalEvent;
        one.source_refs = std::map<std::string, std::string>{{"resource", "r"}};
        one.metadata = json::value{{"k", json::array{1, nullptr}}};
        one.delivery_surface = domain::DeliverySurface::HttpWebhook;
        one.admission_context = domain::AdmissionContext::PublicUnauthenticated;
        one.correlation_id = "c";
        add(one);
        EXPECT_EQ(stored(one.id.value).message, one);
        EXPECT_EQ(take()->message, one);
        end(one.id.value, QueueStatus::Processed);
        reopen();
        EXPECT_EQ(stored(one.id.value).message, one);
    }
}

TEST_F(QueueTest, AClaimCountsATryAndIsAnnouncedWithTheWholeMessage) {
    add(message("m"));
    const auto next = take();
    ASSERT_TRUE(next);
    ASSERT_EQ(taken_.size(), 1U);
    EXPECT_EQ(taken_[0].event.kind, "message_processing_started");
    EXPECT_EQ(taken_[0].event.data, base::to_json(message("m")));
    EXPECT_EQ(stored("m").entry, (domain::QueueEntry{.message_id = {"m"},
                                                     .agent_id = {"main"},
                                                     .status = QueueStatus::Claimed,
                                                     .tries = 1,
                                                     .created_at = kNow,
                                                     .updated_at = kNow}));
    EXPECT_EQ(take(), std::nullopt);
    EXPECT_THAT(taken_, IsEmpty());
}

TEST_F(QueueTest, AnInterruptedMessageComesBackBeforeThoseThatNeverRan) {
    add(message("m1"));
    add(message("m2"));
    add(message("urgent", Priority::Next));
    EXPECT_EQ(take()->message.id.value, "urgent");
    end("urgent", QueueStatus::Processed);
    EXPECT_EQ(take()->message.id.value, "m1");
    end("m1", QueueStatus::Interrupted, "daemon_shutdown");
    EXPECT_EQ(stored("m1").entry.reason, "daemon_shutdown");
    add(message("late-but-urgent", Priority::Next));
    reopen();
    EXPECT_THAT(drain(), ElementsAre("late-but-urgent", "m1", "m2"));
    EXPECT_EQ(stored("m1").entry.tries, 2);
}

TEST_F(QueueTest, WhatIsProcessedOrDroppedDoesNotComeBack) {
    add(message("m1"));
    add(message("m2"));
    end("m1", QueueStatus::Dropped, "too old");
    EXPECT_EQ(stored("m1").entry.status, QueueStatus::Dropped);
    EXPECT_EQ(stored("m1").entry.reason, "too old");
    EXPECT_THAT(drain(), ElementsAre("m2"));
    EXPECT_THAT(drain(), IsEmpty());
}

TEST_F(QueueTest, ReleasingAMessageThatIsNotThereIsAnError) {
    const auto status = store_->write(store::Durability::Disk, [&](store::Tx& tx) -> base::Status {
        events::Log log(tx, kNow, ids_);
        return release(log, {"nobody"}, QueueStatus::Processed, std::nullopt);
    });
    ASSERT_FALSE(status);
    EXPECT_EQ(status.error().code, base::ErrorCode::NotFound);
}

TEST_F(QueueTest, TheSameIdOrKeyAgainChangesNothingAndLeavesNoEvent) {
    EXPECT_TRUE(std::holds_alternative<store::Appended>(add(message("m1"), "key")));
    for (const auto& [id, key] : std::vector<std::pair<std::string, std::optional<std::string>>>{
             {"m1", std::nullopt}, {"m1", "other"}, {"m2", "key"}}) {
        const auto outcome = add(message(id), key);
        ASSERT_TRUE(std::holds_alternative<store::AlreadyHave>(outcome)) << id;
        EXPECT_EQ(std::get<store::AlreadyHave>(outcome).message_id, domain::MessageId{"m1"});
        EXPECT_THAT(taken_, IsEmpty());
    }
    EXPECT_THAT(drain(), ElementsAre("m1"));
}

TEST_F(QueueTest, OneAgentsQueueDoesNotTouchAnothers) {
    domain::Message other = message("o");
    other.agent_id = {"other"};
    add(other);
    add(message("m"));
    const auto before = stored("o").entry;
    EXPECT_THAT(drain(), ElementsAre("m"));
    EXPECT_EQ(stored("o").entry, before);
}

}  // namespace
}  // namespace queue
