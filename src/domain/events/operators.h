// Events of what reaches the operator outside of the program.
#pragma once

#include "domain/events/payload.h"
#include "domain/operators/notifications.h"

namespace domain::events {

struct OperatorNotificationRequested : OperatorNotification {
    static constexpr std::string_view kKind = "operator_notification_requested";
};
BOOST_DESCRIBE_STRUCT(OperatorNotificationRequested, (OperatorNotification), ())

// It is stored, and will be sent.
struct OperatorDeliverySubmitted : OperatorDelivery {
    static constexpr std::string_view kKind = "operator_delivery_submitted";
};
// It has arrived, or no further attempt is made.
struct OperatorDeliveryCompleted : OperatorDelivery {
    static constexpr std::string_view kKind = "operator_delivery_completed";
};
BOOST_DESCRIBE_STRUCT(OperatorDeliverySubmitted, (OperatorDelivery), ())
BOOST_DESCRIBE_STRUCT(OperatorDeliveryCompleted, (OperatorDelivery), ())

// A binding was made, changed or used; without its token.
struct OperatorTransportBindingUpserted : OperatorBinding {
    static constexpr std::string_view kKind = "operator_transport_binding_upserted";
};
BOOST_DESCRIBE_STRUCT(OperatorTransportBindingUpserted, (OperatorBinding), ())

}  // namespace domain::events
