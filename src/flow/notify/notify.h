// The transactions of what is to reach the operator by another channel: a notification of an
// agent is stored with its delivery; a delivery is claimed before it is sent and settled after.
#pragma once

#include <optional>
#include <vector>

#include "flow/notify/decide.h"
#include "record/events/events.h"

namespace notify {

// More transports than this are not bound to one agent.
inline constexpr std::int64_t kBindingsMax = 100;

// Stores the notification, appends operator_notification_requested, and submits its delivery to the
// transport that the operator uses (see route_of); no delivery without one. The same notification
// again changes nothing.
base::Status request(events::Log& log, const domain::OperatorNotification& notification,
                     const std::optional<domain::OperatorRoute>& turn);

// An attempt to make. `binding` is that of a Transport, as long as it exists.
struct Outgoing {
    domain::OperatorDelivery delivery;
    std::string body;
    std::optional<domain::OperatorBinding> binding{};
};
// Begins an attempt at up to `limit` deliveries that are due. One that cannot be read is shelved.
base::Result<std::vector<Outgoing>> claim(events::Log& log, const Policy& policy,
                                          std::int64_t limit);

// Records how the attempt ended; with operator_delivery_completed when the delivery is over.
// Another process may have repeated it meanwhile: then only a success still counts.
base::Status record(events::Log& log, const domain::OperatorDelivery& attempted,
                    const Outcome& outcome, const Policy& policy);

}  // namespace notify
