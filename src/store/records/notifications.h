// What is sent to the operator: notifications, transports and deliveries.
#pragma once

#include "domain/operators/notifications.h"
#include "store/records/types.h"

namespace store {

// Of each agent so many notifications, and so many deliveries that are over, are kept: the newest.
inline constexpr std::int64_t kNotificationsKept = 500;
inline constexpr std::int64_t kDeliveriesKept = 500;

// A delivery and the bytes that are sent.
struct DueDelivery {
    domain::OperatorDelivery delivery;
    std::string body;
    friend bool operator==(const DueDelivery&, const DueDelivery&) = default;
};
struct DueDeliveries {
    std::vector<DueDelivery> deliveries;
    std::vector<std::string> broken;  // The ids of those whose records cannot be read.
};

class NotificationRecords {
public:
    virtual ~NotificationRecords() = default;

    // Adding the same id again changes nothing. Removes the oldest beyond kNotificationsKept.
    virtual Status append_notification(const domain::OperatorNotification& notification) = 0;
    // Newest first.
    virtual Result<std::vector<domain::OperatorNotification>> notifications(const AgentId& agent,
                                                                            std::int64_t limit) = 0;

    // Inserts or replaces, by its id.
    virtual Status put_binding(const domain::OperatorBinding& binding) = 0;
    virtual Result<std::optional<domain::OperatorBinding>> binding(const std::string& id) = 0;
    // All of the agent, whatever their status, by id.
    virtual Result<std::vector<domain::OperatorBinding>> bindings(const AgentId& agent,
                                                                  std::int64_t limit) = 0;

    // Adds a pending delivery, due at its next_attempt_at. The same id again changes nothing.
    virtual Status add_delivery(const domain::OperatorDelivery& delivery,
                                const std::string& body) = 0;
    virtual Result<std::optional<domain::OperatorDelivery>> delivery(const std::string& id) = 0;
    // Replaces it. When it is no longer pending, its body is removed, and so are the oldest beyond
    // kDeliveriesKept. NotFound when there is no such delivery.
    virtual Status put_delivery(const domain::OperatorDelivery& delivery) = 0;
    // Pending deliveries of all agents whose next_attempt_at is not after `now`, earliest first, at
    // most `limit` rows. One that cannot be read does not hide the others.
    virtual Result<DueDeliveries> due_deliveries(base::Time now, std::int64_t limit) = 0;
    // Takes a delivery that cannot be read out of the list of due ones. Its bytes stay as they are.
    virtual Status shelve_delivery(const std::string& id) = 0;
    // When the next one is due; empty when none is pending.
    virtual Result<std::optional<base::Time>> next_delivery_due() = 0;
    // Newest first.
    virtual Result<std::vector<domain::OperatorDelivery>> deliveries(const AgentId& agent,
                                                                     std::int64_t limit) = 0;
};

}  // namespace store
