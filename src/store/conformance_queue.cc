// The promises about messages and their order.
#include <gmock/gmock.h>

#include "store/conformance.h"

namespace store {

using base::ErrorCode;
using base::from_micros;
using domain::Priority;
using domain::QueueStatus;
using testing::ElementsAre;
using testing::IsEmpty;
using namespace conformance;

namespace {

// Takes messages the way the queue does until there are none.
std::vector<std::string> drain(Store& store, const AgentId& agent) {
    std::vector<std::string> order;
    const Status status = store.write(Durability::Process, [&](Tx& tx) -> Status {
        while (const auto next = TRY(tx.next_message(agent))) {
            order.push_back(next->message.id.value);
            TRY(tx.set_queue_status(next->message.id, QueueStatus::Processed, std::nullopt, {}));
        }
        return {};
    });
    EXPECT_TRUE(status);
    return order;
}

}  // namespace

TEST_P(StoreConformance, AMessageIsQueuedWithItsPriorityAndNoTries) {
    const auto sent = message("m1", "ada", Priority::Next);
    write([&](Tx& tx) -> Status {
        EXPECT_EQ(std::get<Appended>(TRY(tx.append_message(sent, "key"))).seq, 1);
        return {};
    });
    read([&](Tx& tx) -> Status {
        const auto stored = TRY(tx.message({"m1"}));
        EXPECT_EQ(stored->message, sent);
        EXPECT_EQ(stored->entry, (domain::QueueEntry{.message_id = {"m1"},
                                                     .agent_id = {"ada"},
                                                     .priority = Priority::Next,
                                                     .created_at = sent.created_at,
                                                     .updated_at = sent.created_at}));
        EXPECT_FALSE(TRY(tx.message({"m2"})));
        return {};
    });
}

// contract: QUEUE-04
TEST_P(StoreConformance, EveryOriginTrustAndPriorityIsKept) {
    const std::vector<domain::Origin> origins = {
        domain::OperatorOrigin{.actor_id = "me"},
        domain::ChannelOrigin{.channel_id = "c", .sender_id = "s"},
        domain::WebhookOrigin{.source = "forge", .event_type = "push"},
        domain::CallbackOrigin{.descriptor_id = "d", .source = "x"},
        domain::TimerOrigin{.timer_id = {"t"}},
        domain::SystemOrigin{.subsystem = "scheduler"},
        domain::TaskOrigin{.task_id = {"k"}}};
    std::vector<domain::Message> sent;
    for (const auto& origin : origins) {
        const auto n = static_cast<int>(sent.size());
        auto one = message("m" + std::to_string(n), "ada", static_cast<Priority>(n % 4));
        one.origin = origin;
        one.trust = static_cast<domain::TrustLevel>(n % 4);
        sent.push_back(one);
    }
    write(append(sent));
    reopen();
    read([&](Tx& tx) -> Status {
        for (const auto& one : sent) EXPECT_EQ(TRY(tx.message(one.id))->message, one);
        return {};
    });
}

TEST_P(StoreConformance, AMessageIdIsThereOnceWhateverAgentItNames) {
    write([](Tx& tx) -> Status {
        TRY(tx.append_message(message("m1"), std::nullopt));
        auto again = message("m1", "bob");
        const auto outcome = TRY(tx.append_message(again, std::nullopt));
        EXPECT_EQ(std::get<AlreadyHave>(outcome).message_id, MessageId{"m1"});
        return {};
    });
    read([](Tx& tx) -> Status {
        EXPECT_EQ(TRY(tx.messages({"ada"}, {})).size(), 1u);
        EXPECT_EQ(TRY(tx.messages({"bob"}, {})).size(), 0u);
        return {};
    });
}

TEST_P(StoreConformance, ADedupeKeyNamesTheFirstMessageAndTakesNoNumber) {
    write([](Tx& tx) -> Status { return TRY(tx.append_message(message("m1"), "key")), Status{}; });
    write([](Tx& tx) -> Status {
        const auto outcome = TRY(tx.append_message(message("m2"), "key"));
        EXPECT_EQ(std::get<AlreadyHave>(outcome).message_id, MessageId{"m1"});
        EXPECT_EQ(std::get<Appended>(TRY(tx.append_message(message("m3"), "other"))).seq, 2);
        return {};
    });
    read([](Tx& tx) -> Status {
        EXPECT_FALSE(TRY(tx.message({"m2"})));
        EXPECT_EQ(TRY(tx.pending_count({"ada"})), 2);
        return {};
    });
}

TEST_P(StoreConformance, TwoAgentsMayUseTheSameDedupeKey) {
    write([](Tx& tx) -> Status {
        TRY(tx.append_message(message("m1", "ada"), "key"));
        const auto outcome = TRY(tx.append_message(message("m2", "bob"), "key"));
        EXPECT_TRUE(std::holds_alternative<Appended>(outcome));
        return {};
    });
}

// contract: QUEUE-05
TEST_P(StoreConformance, HigherPriorityRunsFirst) {
    write(append({message("background", "ada", Priority::Background), message("normal"),
                  message("next", "ada", Priority::Next),
                  message("interject", "ada", Priority::Interject)}));
    EXPECT_THAT(drain(*store_, {"ada"}), ElementsAre("interject", "next", "normal", "background"));
}

// contract: QUEUE-06
TEST_P(StoreConformance, WithinAPriorityTheOrderIsThatOfArrivalAlsoAfterReopening) {
    for (const auto* id : {"z1", "y2", "x3"})
        write(append({message(id), message(std::string("other-") + id, "bob"),
                      message(std::string("late-") + id, "ada", Priority::Background)}));
    reopen();
    write(append({message("a4")}));
    EXPECT_THAT(drain(*store_, {"ada"}),
                ElementsAre("z1", "y2", "x3", "a4", "late-z1", "late-y2", "late-x3"));
}

TEST_P(StoreConformance, InterruptedMessagesComeBeforeQueuedOnesOfTheirPriority) {
    write(append({message("m1"), message("m2"), message("m3"),
                  message("urgent", "ada", Priority::Interject)}));
    write([](Tx& tx) {
        return tx.set_queue_status({"m3"}, QueueStatus::Interrupted, "crash", from_micros(5));
    });
    EXPECT_THAT(drain(*store_, {"ada"}), ElementsAre("urgent", "m3", "m1", "m2"));
}

TEST_P(StoreConformance, ClaimingCountsTriesAndTakesTheMessageOutOfTheOrder) {
    write(append({message("m1"), message("m2")}));
    write([](Tx& tx) -> Status {
        TRY(tx.set_queue_status({"m1"}, QueueStatus::Claimed, std::nullopt, from_micros(5)));
        EXPECT_EQ(TRY(tx.next_message({"ada"}))->message.id, MessageId{"m2"});
        EXPECT_EQ(TRY(tx.pending_count({"ada"})), 1);
        TRY(tx.set_queue_status({"m1"}, QueueStatus::Interrupted, "stopped", from_micros(6)));
        TRY(tx.set_queue_status({"m1"}, QueueStatus::Claimed, std::nullopt, from_micros(7)));
        return tx.set_queue_status({"m1"}, QueueStatus::Dropped, "too often", from_micros(8));
    });
    read([](Tx& tx) -> Status {
        EXPECT_EQ(TRY(tx.message({"m1"}))->entry,
                  (domain::QueueEntry{.message_id = {"m1"},
                                      .agent_id = {"ada"},
                                      .status = QueueStatus::Dropped,
                                      .tries = 2,
                                      .reason = "too often",
                                      .created_at = from_micros(1'000),
                                      .updated_at = from_micros(8)}));
        return {};
    });
}

TEST_P(StoreConformance, MovingAnUnknownMessageIsNotFoundAndTheTransactionGoesOn) {
    write([](Tx& tx) -> Status {
        const auto moved = tx.set_queue_status({"m9"}, QueueStatus::Claimed, std::nullopt, {});
        EXPECT_EQ(moved.error().code, ErrorCode::NotFound);
        return tx.put_agent({.agent_id = {"ada"}});
    });
    read([](Tx& tx) -> Status {
        EXPECT_TRUE(TRY(tx.agent({"ada"})));
        return {};
    });
}

// contract: QUEUE-01
TEST_P(StoreConformance, ProcessingMessagesLeavesTheLogInArrivalOrderAndUnchanged) {
    std::vector<domain::Message> sent;
    for (int i = 0; i < 9; ++i)
        sent.push_back(message("m" + std::to_string(i), "ada", static_cast<Priority>(i % 4)));
    write(append(sent));
    write([](Tx& tx) -> Status {
        for (int i = 0; i < 4; ++i) {
            const auto next = TRY(tx.next_message({"ada"}));
            TRY(tx.set_queue_status(next->message.id, QueueStatus::Processed, "done", {}));
        }
        return {};
    });
    read([&](Tx& tx) -> Status {
        std::vector<domain::Message> log;
        for (const auto& one : TRY(tx.messages({"ada"}, {}))) log.push_back(one.record.message);
        EXPECT_EQ(log, sent);
        return {};
    });
}

TEST_P(StoreConformance, MessagesArePaged) {
    for (int i = 1; i <= 6; ++i) write(append({message("m" + std::to_string(i))}));
    read([](Tx& tx) -> Status {
        const AgentId ada{"ada"};
        EXPECT_THAT(seqs(TRY(tx.messages(ada, {}))), ElementsAre(1, 2, 3, 4, 5, 6));
        EXPECT_THAT(seqs(TRY(tx.messages(ada, {.after_seq = 2, .limit = 2}))), ElementsAre(3, 4));
        EXPECT_THAT(seqs(TRY(tx.messages(ada, {.before_seq = 3}))), ElementsAre(1, 2));
        EXPECT_THAT(seqs(TRY(tx.messages(
                        ada, {.after_seq = 1, .before_seq = 6, .limit = 3, .newest_first = true}))),
                    ElementsAre(5, 4, 3));
        EXPECT_THAT(seqs(TRY(tx.messages(ada, {.limit = 0}))), IsEmpty());
        return {};
    });
}

TEST_P(StoreConformance, AgentsWithPendingMessagesAreListedOnceEach) {
    write(append({message("a1", "ada"), message("a2", "ada"), message("b1", "bob"),
                  message("c1", "cyd"), message("d1", "dan")}));
    write([](Tx& tx) -> Status {
        TRY(tx.set_queue_status({"b1"}, QueueStatus::Claimed, std::nullopt, {}));
        return tx.set_queue_status({"c1"}, QueueStatus::Interrupted, "crash", {});
    });
    read([](Tx& tx) -> Status {
        EXPECT_THAT(TRY(tx.agents_with_pending({}, 10)),
                    ElementsAre(AgentId{"ada"}, AgentId{"cyd"}, AgentId{"dan"}));
        EXPECT_THAT(TRY(tx.agents_with_pending({}, 1)), ElementsAre(AgentId{"ada"}));
        EXPECT_THAT(TRY(tx.agents_with_pending({}, 0)), IsEmpty());
        return {};
    });
}

}  // namespace store
