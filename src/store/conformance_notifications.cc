// The promises about what reaches the operator: notifications, transports, deliveries.
#include <gmock/gmock.h>

#include "store/conformance.h"

namespace store {

using base::from_micros;
using domain::DeliveryStatus;
using domain::OperatorBinding;
using domain::OperatorDelivery;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

namespace {

domain::OperatorNotification notification(const std::string& id) {
    return {.notification_id = id, .agent_id = {"ada"}, .message = "look at " + id};
}

OperatorDelivery delivery(const std::string& id, std::int64_t due,
                          const std::string& agent = "ada") {
    return {.delivery_intent_id = id,
            .output_event_id = "b-" + id,
            .agent_id = {agent},
            .trigger_kind = "brief",
            .next_attempt_at = from_micros(due)};
}

OperatorDelivery over(OperatorDelivery delivery) {
    delivery.status = DeliveryStatus::AcceptedByTransport;
    delivery.next_attempt_at.reset();
    return delivery;
}

std::vector<std::string> ids_of(const std::vector<DueDelivery>& list) {
    std::vector<std::string> ids;
    for (const auto& due : list) ids.push_back(due.delivery.delivery_intent_id);
    return ids;
}

}  // namespace

TEST_P(StoreConformance, NotificationsAreKeptOnceNewestFirstAndBounded) {
    write([](Tx& tx) -> Status {
        for (std::int64_t i = 0; i < kNotificationsKept + 2; ++i)
            TRY(tx.append_notification(notification(std::to_string(i))));
        auto again = notification("501");
        again.message = "changed";
        return tx.append_notification(again);
    });
    read([](Tx& tx) -> Status {
        EXPECT_THAT(TRY(tx.notifications({"ada"}, 2)),
                    ElementsAre(notification("501"), notification("500")));
        const auto all = TRY(tx.notifications({"ada"}, kNotificationsKept + 9));
        EXPECT_THAT(all, SizeIs(kNotificationsKept));
        EXPECT_EQ(all.back(), notification("2"));
        EXPECT_THAT(TRY(tx.notifications({"bob"}, 9)), IsEmpty());
        return {};
    });
}

TEST_P(StoreConformance, ABindingIsFoundByItsIdAndByItsAgent) {
    const OperatorBinding first{.binding_id = "b1", .target_agent_id = {"ada"}};
    OperatorBinding second{.binding_id = "b2",
                           .transport = "chat",
                           .target_agent_id = {"ada"},
                           .metadata = json::value{{"team", 7}},
                           .sealed_token = "00ff"};
    write([&](Tx& tx) -> Status {
        TRY(tx.put_binding(second));
        TRY(tx.put_binding(first));
        second.status = domain::BindingStatus::Revoked;
        return tx.put_binding(second);
    });
    read([&](Tx& tx) -> Status {
        EXPECT_EQ(TRY(tx.binding("b2")), second);
        EXPECT_FALSE(TRY(tx.binding("b3")));
        EXPECT_THAT(TRY(tx.bindings({"ada"}, 9)), ElementsAre(first, second));
        EXPECT_THAT(TRY(tx.bindings({"bob"}, 9)), IsEmpty());
        return {};
    });
}

TEST_P(StoreConformance, PendingDeliveriesAreDueInOrderUntilTheyAreOver) {
    write([](Tx& tx) -> Status {
        TRY(tx.add_delivery(delivery("late", 30), "L"));
        TRY(tx.add_delivery(delivery("early", 10), "E"));
        TRY(tx.add_delivery(delivery("other", 20, "bob"), "O"));
        return tx.add_delivery(delivery("early", 99), "changes nothing");
    });
    read([](Tx& tx) -> Status {
        EXPECT_EQ(TRY(tx.next_delivery_due()), from_micros(10));
        EXPECT_THAT(TRY(tx.due_deliveries(from_micros(9), 9)).deliveries, IsEmpty());
        EXPECT_THAT(TRY(tx.due_deliveries(from_micros(20), 9)).deliveries,
                    ElementsAre(DueDelivery{delivery("early", 10), "E"},
                                DueDelivery{delivery("other", 20, "bob"), "O"}));
        EXPECT_THAT(ids_of(TRY(tx.due_deliveries(from_micros(40), 1)).deliveries),
                    ElementsAre("early"));
        return {};
    });
    auto moved = delivery("late", 50);
    moved.attempts = 1;
    write([&](Tx& tx) -> Status {
        TRY(tx.put_delivery(over(delivery("early", 10))));
        TRY(tx.put_delivery(moved));
        return tx.shelve_delivery("other");
    });
    read([&](Tx& tx) -> Status {
        EXPECT_EQ(TRY(tx.next_delivery_due()), from_micros(50));
        EXPECT_EQ(TRY(tx.delivery("early")), over(delivery("early", 10)));
        EXPECT_FALSE(TRY(tx.delivery("none")));
        EXPECT_THAT(TRY(tx.due_deliveries(from_micros(60), 9)).deliveries,
                    ElementsAre(DueDelivery{moved, "L"}));
        EXPECT_THAT(TRY(tx.deliveries({"ada"}, 9)),
                    ElementsAre(over(delivery("early", 10)), moved));
        return {};
    });
}

TEST_P(StoreConformance, AnUnknownDeliveryCannotBeChanged) {
    write([](Tx& tx) -> Status {
        const auto changed = tx.put_delivery(delivery("none", 1));
        EXPECT_EQ(changed.error().code, base::ErrorCode::NotFound);
        return {};
    });
}

TEST_P(StoreConformance, OnlyTheNewestDeliveriesThatAreOverAreKept) {
    write([](Tx& tx) -> Status {
        TRY(tx.add_delivery(delivery("pending", 7), "P"));
        for (std::int64_t i = 0; i < kDeliveriesKept + 3; ++i) {
            const auto id = std::to_string(i);
            TRY(tx.add_delivery(delivery(id, i), "x"));
            TRY(tx.put_delivery(over(delivery(id, i))));
        }
        return {};
    });
    read([](Tx& tx) -> Status {
        const auto all = TRY(tx.deliveries({"ada"}, kDeliveriesKept * 2));
        EXPECT_THAT(all, SizeIs(kDeliveriesKept + 1));
        EXPECT_EQ(all.back(), delivery("pending", 7));
        return {};
    });
}

TEST_P(StoreConformance, WhatIsStillToBeDeliveredOutlivesItsAgent) {
    write([](Tx& tx) -> Status {
        TRY(tx.put_agent({.agent_id = {"ada"}}));
        TRY(tx.append_notification(notification("n")));
        TRY(tx.put_binding({.binding_id = "b", .target_agent_id = {"ada"}}));
        TRY(tx.add_delivery(delivery("sent", 1), "S"));
        TRY(tx.put_delivery(over(delivery("sent", 1))));
        TRY(tx.add_delivery(delivery("pending", 2), "P"));
        return tx.erase_agent({"ada"});
    });
    read([](Tx& tx) -> Status {
        EXPECT_THAT(TRY(tx.notifications({"ada"}, 9)), IsEmpty());
        EXPECT_THAT(TRY(tx.bindings({"ada"}, 9)), IsEmpty());
        EXPECT_THAT(TRY(tx.deliveries({"ada"}, 9)), ElementsAre(delivery("pending", 2)));
        return {};
    });
}

}  // namespace store
