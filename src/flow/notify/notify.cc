#include "flow/notify/notify.h"

#include "base/json.h"
#include "base/log/log.h"
#include "domain/events/operators.h"
#include "record/briefs/deliveries.h"

namespace notify {
namespace {

using domain::OperatorDelivery;

std::string operator_output(const domain::OperatorNotification& notification, const Route& route,
                            const std::string& delivery_id) {
    const auto text_or_null = [](const std::optional<std::string>& text) {
        return text ? json::value(*text) : json::value(nullptr);
    };
    return base::json_text(
        json::object{{"delivery_intent_id", delivery_id},
                     {"binding_id", route.binding_id},
                     {"route_id", route.route_id},
                     {"target_agent_id", notification.agent_id.value},
                     {"kind", "operator_output"},
                     {"text", notification.message},
                     {"created_at", base::to_text(notification.created_at)},
                     {"correlation_id", text_or_null(notification.correlation_id)},
                     {"causation_id", text_or_null(notification.causation_id)}});
}

// The agent of a delivery may be gone, and its record with it.
base::Status put(events::Log& log, const OperatorDelivery& delivery) {
    TRY(log.tx().put_delivery(delivery));
    if (!is_over(delivery) || !TRY(log.tx().agent(delivery.agent_id))) return {};
    return log.append(delivery.agent_id, domain::events::OperatorDeliveryCompleted{{delivery}});
}

}  // namespace

base::Status request(events::Log& log, const domain::OperatorNotification& notification,
                     const std::optional<domain::OperatorRoute>& turn) {
    TRY(log.tx().append_notification(notification));
    TRY(log.append(notification.agent_id,
                   domain::events::OperatorNotificationRequested{{notification}}));
    const auto route = route_of(TRY(log.tx().bindings(notification.agent_id, kBindingsMax)), turn);
    if (!route) return {};
    const std::string id = "odi_" + log.ids().hex32();
    return briefs::submit(log,
                          {.delivery_intent_id = id,
                           .output_event_id = notification.notification_id,
                           .agent_id = notification.agent_id,
                           .channel = domain::DeliveryChannel::Transport,
                           .route_id = route->route_id,
                           .binding_id = route->binding_id,
                           .trigger_kind = "operator_notification"},
                          operator_output(notification, *route, id));
}

base::Result<std::vector<Outgoing>> claim(events::Log& log, const Policy& policy,
                                          std::int64_t limit) {
    std::vector<Outgoing> claimed;
    auto due = TRY(log.tx().due_deliveries(log.now(), limit));
    for (const auto& id : due.broken) {
        base::log_error("delivery {} to the operator cannot be read and is not sent", id);
        TRY(log.tx().shelve_delivery(id));
    }
    for (auto& [delivery, body] : due.deliveries) {
        delivery = begin(std::move(delivery), policy, log.now());
        TRY(put(log, delivery));
        if (is_over(delivery)) continue;
        Outgoing outgoing{.delivery = std::move(delivery), .body = std::move(body)};
        if (outgoing.delivery.channel == domain::DeliveryChannel::Transport)
            outgoing.binding = TRY(log.tx().binding(outgoing.delivery.binding_id));
        claimed.push_back(std::move(outgoing));
    }
    return claimed;
}

base::Status record(events::Log& log, const OperatorDelivery& attempted, const Outcome& outcome,
                    const Policy& policy) {
    const auto current = TRY(log.tx().delivery(attempted.delivery_intent_id));
    if (!current || is_over(*current)) return {};
    if (std::holds_alternative<Failed>(outcome) && current->attempts != attempted.attempts)
        return {};
    return put(log, settle(*current, outcome, policy, log.now(), log.ids().below(1000)));
}

}  // namespace notify
