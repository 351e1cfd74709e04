#include "flow/notify/decide.h"

#include <algorithm>

#include "base/json.h"
#include "base/text.h"

namespace notify {
namespace {

using domain::DeliveryStatus;
using domain::OperatorDelivery;

constexpr int kHttpTimeout = 408;
constexpr int kHttpTooEarly = 425;
constexpr int kHttpTooMany = 429;

OperatorDelivery given_up(OperatorDelivery delivery, base::Time now) {
    delivery.status = DeliveryStatus::FailedToSubmit;
    delivery.next_attempt_at.reset();
    delivery.updated_at = now;
    return delivery;
}

std::chrono::milliseconds pause_after(std::int64_t attempts, std::uint64_t jitter) {
    auto pause = kRetryFirst;
    for (std::int64_t i = 1; i < attempts && pause < kRetryMax; ++i) pause *= 2;
    pause = std::min(pause, kRetryMax);
    return pause + pause * static_cast<std::int64_t>(jitter) / 4000;
}

}  // namespace

OperatorDelivery begin(OperatorDelivery delivery, const Policy& policy, base::Time now) {
    if (delivery.attempts >= policy.attempts_max) {
        if (!delivery.failure_summary)
            delivery.failure_summary = "the process ended before the outcome was known";
        return given_up(std::move(delivery), now);
    }
    ++delivery.attempts;
    delivery.next_attempt_at = now + policy.lease;
    delivery.updated_at = now;
    return delivery;
}

OperatorDelivery settle(OperatorDelivery delivery, const Outcome& outcome, const Policy& policy,
                        base::Time now, std::uint64_t jitter) {
    if (const auto* delivered = std::get_if<Delivered>(&outcome)) {
        delivery.status = DeliveryStatus::AcceptedByTransport;
        delivery.transport_delivery_id = delivered->transport_delivery_id;
        delivery.next_attempt_at.reset();
        delivery.updated_at = now;
        return delivery;
    }
    const auto& failed = std::get<Failed>(outcome);
    delivery.failure_summary = base::ellipsize(
        base::printable(base::collapse_whitespace(base::to_utf8(failed.why))), kFailureChars);
    if (failed.is_final || delivery.attempts >= policy.attempts_max)
        return given_up(std::move(delivery), now);
    delivery.next_attempt_at = now + pause_after(delivery.attempts, jitter);
    delivery.updated_at = now;
    return delivery;
}

Outcome outcome_of_status(std::int64_t status, const std::string& body) {
    if (status / 100 == 2) {
        Delivered delivered;
        if (const auto answer = base::parse_json(body))
            if (auto id = base::string_at(*answer, "transport_delivery_id"); !id.empty())
                delivered.transport_delivery_id = base::ellipsize(id, kFailureChars);
        return delivered;
    }
    const bool may_pass = status / 100 == 5 || status == kHttpTimeout || status == kHttpTooEarly ||
                          status == kHttpTooMany;
    return Failed{fmt::format("the receiver answered HTTP {}", status), !may_pass};
}

std::optional<Route> route_of(const std::vector<domain::OperatorBinding>& bindings,
                              const std::optional<domain::OperatorRoute>& turn) {
    const auto is_active = [](const domain::OperatorBinding& binding) {
        return binding.status == domain::BindingStatus::Active;
    };
    if (turn)
        for (const auto& binding : bindings)
            if (binding.binding_id == turn->binding_id && is_active(binding))
                return Route{binding.binding_id,
                             turn->reply_route_id.value_or(binding.default_route_id)};
    const auto first = std::ranges::find_if(bindings, is_active);
    if (first == bindings.end()) return std::nullopt;
    return Route{first->binding_id, first->default_route_id};
}

}  // namespace notify
