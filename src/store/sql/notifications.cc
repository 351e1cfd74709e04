#include "store/sql/sql_tx_inl.h"

namespace sql {

using domain::OperatorBinding;
using domain::OperatorDelivery;
using domain::OperatorNotification;

namespace {

std::optional<std::int64_t> due_at(const OperatorDelivery& delivery) {
    if (delivery.status != domain::DeliveryStatus::Pending || !delivery.next_attempt_at)
        return std::nullopt;
    return base::to_micros(*delivery.next_attempt_at);
}

}  // namespace

Status SqlTx::append_notification(const OperatorNotification& notification) {
    const auto text = TRY(encode(notification));
    if (TRY(number("SELECT 1 FROM operator_notifications WHERE id = $1",
                   {notification.notification_id})) == 1)
        return {};
    const auto seq = TRY(next_seq(notification.agent_id, "operator_notification"));
    TRY(
        change("INSERT INTO operator_notifications (id, agent_id, seq, record) "
               "VALUES ($1, $2, $3, $4)",
               {notification.notification_id, notification.agent_id, seq, text}));
    TRY(change("DELETE FROM operator_notifications WHERE agent_id = $1 AND seq <= $2",
               {notification.agent_id, seq - store::kNotificationsKept}));
    return {};
}

Result<std::vector<OperatorNotification>> SqlTx::notifications(const AgentId& agent,
                                                               std::int64_t limit) {
    return records<OperatorNotification>(
        "SELECT record FROM operator_notifications WHERE agent_id = $1 ORDER BY seq DESC LIMIT $2",
        {agent, bounded(limit)});
}

Status SqlTx::put_binding(const OperatorBinding& binding) {
    TRY(
        change("INSERT INTO operator_bindings (id, agent_id, record) VALUES ($1, $2, $3) "
               "ON CONFLICT (id) DO UPDATE SET "
               "agent_id = excluded.agent_id, record = excluded.record",
               {binding.binding_id, binding.target_agent_id, TRY(encode(binding))}));
    return {};
}

Result<std::optional<OperatorBinding>> SqlTx::binding(const std::string& id) {
    return record<OperatorBinding>("SELECT record FROM operator_bindings WHERE id = $1", {id});
}

Result<std::vector<OperatorBinding>> SqlTx::bindings(const AgentId& agent, std::int64_t limit) {
    return records<OperatorBinding>(
        "SELECT record FROM operator_bindings WHERE agent_id = $1 ORDER BY id LIMIT $2",
        {agent, bounded(limit)});
}

Status SqlTx::add_delivery(const OperatorDelivery& delivery, const std::string& body) {
    const auto text = TRY(encode(delivery));
    if (TRY(number("SELECT 1 FROM operator_deliveries WHERE id = $1",
                   {delivery.delivery_intent_id})) == 1)
        return {};
    TRY(
        change("INSERT INTO operator_deliveries (id, agent_id, seq, due_at, record, body) "
               "VALUES ($1, $2, $3, $4, $5, $6)",
               {delivery.delivery_intent_id, delivery.agent_id,
                TRY(next_seq(delivery.agent_id, "operator_delivery")), due_at(delivery), text,
                TRY(encode(body))}));
    return {};
}

Result<std::optional<OperatorDelivery>> SqlTx::delivery(const std::string& id) {
    return record<OperatorDelivery>("SELECT record FROM operator_deliveries WHERE id = $1", {id});
}

Status SqlTx::put_delivery(const OperatorDelivery& delivery) {
    const auto due = due_at(delivery);
    if (TRY(change("UPDATE operator_deliveries SET due_at = $2, record = $3 WHERE id = $1",
                   {delivery.delivery_intent_id, due, TRY(encode(delivery))})) == 0)
        return fail(ErrorCode::NotFound, "there is no delivery {}", delivery.delivery_intent_id);
    if (due) return {};
    TRY(change("UPDATE operator_deliveries SET body = $2 WHERE id = $1",
               {delivery.delivery_intent_id, TRY(encode(std::string()))}));
    const auto newest = TRY(
        number("SELECT seq FROM operator_deliveries WHERE agent_id = $1 ORDER BY seq DESC LIMIT 1",
               {delivery.agent_id}));
    TRY(
        change("DELETE FROM operator_deliveries WHERE agent_id = $1 AND seq <= $2 "
               "AND due_at IS NULL",
               {delivery.agent_id, newest - store::kDeliveriesKept}));
    return {};
}

Result<store::DueDeliveries> SqlTx::due_deliveries(base::Time now, std::int64_t limit) {
    store::DueDeliveries due;
    TRY(connection_.query(
        "SELECT id, record, body FROM operator_deliveries WHERE due_at IS NOT NULL "
        "AND due_at <= $1 ORDER BY due_at LIMIT $2",
        {base::to_micros(now), bounded(limit)}, [&](const Row& row) -> Status {
            auto delivery = decode<OperatorDelivery>(row.text(1));
            auto body = decode<std::string>(row.text(2));
            if (delivery && body)
                due.deliveries.push_back({std::move(*delivery), std::move(*body)});
            else
                due.broken.emplace_back(row.text(0));
            return {};
        }));
    return due;
}

Status SqlTx::shelve_delivery(const std::string& id) {
    TRY(change("UPDATE operator_deliveries SET due_at = NULL WHERE id = $1", {id}));
    return {};
}

Result<std::optional<base::Time>> SqlTx::next_delivery_due() {
    std::optional<base::Time> next;
    TRY(connection_.query(
        "SELECT due_at FROM operator_deliveries WHERE due_at IS NOT NULL ORDER BY due_at LIMIT 1",
        {}, [&](const Row& row) -> Status {
            next = base::from_micros(row.integer(0));
            return {};
        }));
    return next;
}

Result<std::vector<OperatorDelivery>> SqlTx::deliveries(const AgentId& agent, std::int64_t limit) {
    return records<OperatorDelivery>(
        "SELECT record FROM operator_deliveries WHERE agent_id = $1 ORDER BY seq DESC LIMIT $2",
        {agent, bounded(limit)});
}

}  // namespace sql
