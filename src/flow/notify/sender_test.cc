#include "flow/notify/sender.h"

#include <gmock/gmock.h>

#include "domain/events/operators.h"
#include "record/briefs/briefs.h"
#include "store/sql/sqlite/sqlite_store.h"
#include "tests/support/fake_loop.h"

namespace notify {
namespace {

using domain::DeliveryStatus;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;
using namespace std::chrono_literals;

constexpr Policy kPolicy{.attempts_max = 3, .lease = 30s};

// A receiver that answers as the test says, or not at all.
struct Receiver {
    std::deque<Outcome> answers{};  // None left: delivered.
    std::vector<Outgoing> received{};
    bool is_silent{false};
    std::vector<std::move_only_function<void(Outcome)>> waiting{};

    Send send() {
        return [this](const Outgoing& outgoing, std::move_only_function<void(Outcome)> done) {
            received.push_back(outgoing);
            if (is_silent) return waiting.push_back(std::move(done));
            Outcome answer = Delivered{};
            if (!answers.empty()) {
                answer = answers.front();
                answers.pop_front();
            }
            done(answer);
        };
    }
    std::vector<std::string> ids() const {
        std::vector<std::string> list;
        for (const auto& one : received) list.push_back(one.delivery.delivery_intent_id);
        return list;
    }
};

class SenderTest : public testing::Test {
protected:
    SenderTest() {
        write([](store::Tx& tx) { return tx.put_agent({.agent_id = {"main"}}); });
        restart();
    }

    // As a process that dies and the next one that starts.
    void restart(Policy policy = kPolicy) {
        sender_.reset();
        sender_.emplace(events::Committer::Parts{*store_, loop_, loop_, ids_, feed_, channels_},
                        Channels{.command = command_.send(),
                                 .webhook = webhook_.send(),
                                 .transport = transport_.send()},
                        policy);
    }
    void write(const std::function<base::Status(store::Tx&)>& work) {
        ASSERT_TRUE(
            store_->write(store::Durability::Process, [&](store::Tx& tx) { return work(tx); }));
    }
    // One commit of the runtime, published as the runtime does.
    void commit(const std::function<base::Status(events::Log&)>& work) {
        std::vector<events::Committed> committed;
        write([&](store::Tx& tx) -> base::Status {
            events::Log log(tx, loop_.now(), ids_, channels_);
            TRY(work(log));
            committed = log.take();
            return {};
        });
        feed_.publish(committed);
    }
    void publish(domain::BriefVisibility visibility, const std::string& text = "look") {
        commit([&](events::Log& log) -> base::Status {
            domain::AgentStatistics statistics{.agent_id = {"main"}};
            return briefs::publish(log, {.agent_id = {"main"}}, statistics,
                                   {.visibility = visibility, .text = text});
        });
    }
    std::vector<domain::OperatorDelivery> deliveries() {
        std::vector<domain::OperatorDelivery> list;
        EXPECT_TRUE(store_->read([&](store::Tx& tx) -> base::Status {
            list = TRY(tx.deliveries({"main"}, 99));
            return {};
        }));
        return list;
    }
    std::vector<std::string> events_of_deliveries() {
        std::vector<std::string> list;
        EXPECT_TRUE(store_->read([&](store::Tx& tx) -> base::Status {
            list.clear();
            for (const auto& event : TRY(tx.events({"main"}, {})))
                if (event.kind.starts_with("operator_delivery_"))
                    list.push_back(event.kind + " " + base::string_at(event.data, "status"));
            return {};
        }));
        return list;
    }

    test_support::FakeLoop loop_;
    base::RandomIds ids_{loop_, 7};
    events::Feed feed_;
    std::unique_ptr<store::Store> store_ = sqlite::open_inline({.file = ":memory:"}).value();
    domain::BriefChannels channels_{.command = true};
    Receiver command_, webhook_, transport_;
    std::optional<Sender> sender_;
};

// contract: BRIEF-13
TEST_F(SenderTest, OnlyBriefsThatNeedTheOperatorOrReportFinishedWorkLeave) {
    sender_->start();
    publish(domain::BriefVisibility::TurnResult, "a turn is over");
    commit([](events::Log& log) {
        domain::AgentStatistics statistics;
        return briefs::publish(log, {.agent_id = {"main"}}, statistics,
                               {.kind = domain::BriefKind::Ack, .text = "Queued work: x"});
    });
    publish(domain::BriefVisibility::ActionRequired, "which branch?");
    publish(domain::BriefVisibility::WorkDone, "shipped");
    loop_.run();
    ASSERT_THAT(command_.received, SizeIs(2));
    EXPECT_TRUE(command_.received[0].body.contains("which branch?"));
    EXPECT_TRUE(command_.received[1].body.contains("shipped"));
    EXPECT_THAT(webhook_.received, IsEmpty());
    EXPECT_THAT(
        events_of_deliveries(),
        ElementsAre("operator_delivery_submitted pending", "operator_delivery_submitted pending",
                    "operator_delivery_completed accepted_by_transport",
                    "operator_delivery_completed accepted_by_transport"));
}

TEST_F(SenderTest, TheBodyIsTheBriefWithTheIdOfItsDelivery) {
    sender_->start();
    publish(domain::BriefVisibility::WorkDone, std::string(20'000, 'x'));
    loop_.run();
    ASSERT_THAT(command_.received, SizeIs(1));
    const auto body = base::parse_json(command_.received[0].body).value();
    EXPECT_EQ(base::string_at(body, "delivery_id"),
              command_.received[0].delivery.delivery_intent_id);
    EXPECT_EQ(base::string_at(body, "agent_id"), "main");
    EXPECT_EQ(base::string_at(body, "visibility"), "work_done");
    EXPECT_EQ(base::string_at(body, "id"), command_.received[0].delivery.output_event_id);
    EXPECT_TRUE(base::bool_at(body, "text_truncated"));
    EXPECT_LT(base::string_at(body, "text").size(), 16'010U);
}

TEST_F(SenderTest, AFailureIsRetriedWithTheSameIdAndBytesUntilItArrives) {
    command_.answers = {Failed{"busy"}, Failed{"busy"}};
    sender_->start();
    publish(domain::BriefVisibility::ActionRequired);
    const auto begun = loop_.now();
    loop_.run();
    ASSERT_THAT(command_.received, SizeIs(3));
    EXPECT_EQ(command_.received[0].body, command_.received[2].body);
    EXPECT_EQ(command_.ids()[0], command_.ids()[2]);
    EXPECT_GE(loop_.now() - begun, 6s);
    ASSERT_THAT(deliveries(), SizeIs(1));
    EXPECT_EQ(deliveries()[0].status, DeliveryStatus::AcceptedByTransport);
    EXPECT_EQ(deliveries()[0].attempts, 3);
}

TEST_F(SenderTest, ItIsGivenUpAfterTheLastAttemptAndTheRecordSaysWhy) {
    command_.answers = {Failed{"a"}, Failed{"b"}, Failed{"no such host"}};
    sender_->start();
    publish(domain::BriefVisibility::ActionRequired);
    loop_.run();
    EXPECT_THAT(command_.received, SizeIs(3));
    EXPECT_EQ(deliveries()[0].status, DeliveryStatus::FailedToSubmit);
    EXPECT_EQ(deliveries()[0].failure_summary, "no such host");
    EXPECT_THAT(events_of_deliveries(),
                ElementsAre("operator_delivery_submitted pending",
                            "operator_delivery_completed failed_to_submit"));
}

TEST_F(SenderTest, WhatWasCommittedBeforeACrashIsSentByTheNextProcess) {
    publish(domain::BriefVisibility::ActionRequired);  // Nobody sends yet.
    restart();
    sender_->start();
    loop_.run();
    EXPECT_THAT(command_.received, SizeIs(1));
}

TEST_F(SenderTest, AnAttemptWithoutAnOutcomeIsRepeatedAfterItsLeaseAndNotBefore) {
    command_.is_silent = true;
    sender_->start();
    publish(domain::BriefVisibility::ActionRequired);
    ASSERT_TRUE(loop_.run_until([&] { return command_.received.size() == 1; }));
    const auto begun = loop_.now();
    restart();  // Died before the answer.
    command_.is_silent = false;
    sender_->start();
    loop_.run();
    ASSERT_THAT(command_.received, SizeIs(2));
    EXPECT_EQ(command_.ids()[0], command_.ids()[1]);
    EXPECT_EQ(command_.received[0].body, command_.received[1].body);
    EXPECT_GE(loop_.now() - begun, 30s);
    EXPECT_EQ(deliveries()[0].status, DeliveryStatus::AcceptedByTransport);
}

TEST_F(SenderTest, ChannelsAreIndependent) {
    channels_ = {.command = true, .webhook = true};
    command_.answers = {Failed{"no", true}};
    restart();
    sender_->start();
    publish(domain::BriefVisibility::WorkDone);
    loop_.run();
    EXPECT_THAT(command_.received, SizeIs(1));
    EXPECT_THAT(webhook_.received, SizeIs(1));
    EXPECT_NE(command_.ids()[0], webhook_.ids()[0]);
}

TEST_F(SenderTest, AChannelThatIsNoLongerSetEndsItsDeliveries) {
    publish(domain::BriefVisibility::WorkDone);
    sender_.emplace(events::Committer::Parts{*store_, loop_, loop_, ids_, feed_}, Channels{});
    sender_->start();
    loop_.run();
    EXPECT_EQ(deliveries()[0].failure_summary, "notify.command is no longer set");
}

TEST_F(SenderTest, WithoutChannelsNothingIsStored) {
    channels_ = {};
    sender_->start();
    publish(domain::BriefVisibility::ActionRequired);
    loop_.run();
    EXPECT_THAT(deliveries(), IsEmpty());
}

TEST_F(SenderTest, AtMostSoManyAreUnderWayAtOnceAndAllArrive) {
    command_.is_silent = true;
    sender_->start();
    for (std::size_t i = 0; i < kInFlightMax + 3; ++i) publish(domain::BriefVisibility::WorkDone);
    ASSERT_TRUE(loop_.run_until([&] { return command_.received.size() == kInFlightMax; }));
    for (int i = 0; i < 50; ++i) {  // Everything that is ready now.
        bool is_over = false;
        loop_.post([&] { is_over = true; });
        ASSERT_TRUE(loop_.run_until([&] { return is_over; }));
    }
    EXPECT_THAT(command_.received, SizeIs(kInFlightMax));
    command_.is_silent = false;
    for (auto& done : command_.waiting) done(Delivered{});
    loop_.run();
    EXPECT_THAT(command_.received, SizeIs(kInFlightMax + 3));
}

TEST_F(SenderTest, AFlushEndsWhenNothingIsUnderWayOrItsTimeIsOver) {
    bool is_flushed = false;
    sender_->flush(1s, [&] { is_flushed = true; });  // Not started: nothing to wait for.
    EXPECT_TRUE(is_flushed);
    command_.is_silent = true;
    sender_->start();
    publish(domain::BriefVisibility::WorkDone);
    const auto begun = loop_.now();
    is_flushed = false;
    sender_->flush(1s, [&] { is_flushed = true; });
    ASSERT_TRUE(loop_.run_until([&] { return is_flushed; }));
    EXPECT_EQ(loop_.now() - begun, 1s);
    is_flushed = false;
    sender_->flush(20s, [&] { is_flushed = true; });
    command_.waiting.at(0)(Delivered{});
    ASSERT_TRUE(loop_.run_until([&] { return is_flushed; }));
    EXPECT_EQ(loop_.now() - begun, 1s);
}

TEST_F(SenderTest, ADeliveryOutlivesItsAgent) {
    publish(domain::BriefVisibility::WorkDone);
    write([](store::Tx& tx) { return tx.erase_agent({"main"}); });
    sender_->start();
    loop_.run();
    EXPECT_THAT(command_.received, SizeIs(1));
    EXPECT_THAT(events_of_deliveries(), IsEmpty());
}

TEST_F(SenderTest, ANotificationLeavesByTheTransportOfItsAgent) {
    const domain::OperatorNotification notification{.notification_id = "n",
                                                    .agent_id = {"main"},
                                                    .message = "which branch?",
                                                    .correlation_id = "c-1",
                                                    .created_at = loop_.now()};
    sender_->start();
    commit([&](events::Log& log) { return request(log, notification, std::nullopt); });
    loop_.run();
    EXPECT_THAT(deliveries(), IsEmpty());  // None is bound.
    write([](store::Tx& tx) {
        return tx.put_binding(
            {.binding_id = "b", .target_agent_id = {"main"}, .default_route_id = "room"});
    });
    commit([&](events::Log& log) {
        auto second = notification;
        second.notification_id = "n2";
        return request(log, second, domain::OperatorRoute{"b", "thread"});
    });
    loop_.run();
    ASSERT_THAT(transport_.received, SizeIs(1));
    const auto& sent = transport_.received[0];
    EXPECT_EQ(sent.binding->binding_id, "b");
    auto body = base::parse_json(sent.body).value().as_object();
    EXPECT_EQ(body, (json::object{{"delivery_intent_id", sent.delivery.delivery_intent_id},
                                  {"binding_id", "b"},
                                  {"route_id", "thread"},
                                  {"target_agent_id", "main"},
                                  {"kind", "operator_output"},
                                  {"text", "which branch?"},
                                  {"created_at", base::to_text(notification.created_at)},
                                  {"correlation_id", "c-1"},
                                  {"causation_id", nullptr}}));
}

}  // namespace
}  // namespace notify
