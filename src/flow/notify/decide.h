// What follows from an attempt to reach the operator. Pure.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <variant>

#include "domain/operators/notifications.h"
#include "domain/turn.h"

namespace notify {

// Between two attempts: doubled each time, with up to a quarter more at random.
inline constexpr std::chrono::milliseconds kRetryFirst{2'000};
inline constexpr std::chrono::milliseconds kRetryMax{1'800'000};
inline constexpr std::size_t kFailureChars = 240;

struct Policy {
    std::int64_t attempts_max{20};
    // An attempt whose outcome is not known after this long, because its process died, is repeated.
    std::chrono::milliseconds lease{30'000};
};

struct Delivered {
    std::optional<std::string> transport_delivery_id{};
    friend bool operator==(const Delivered&, const Delivered&) = default;
};
// `is_final`: another attempt would fail the same way.
struct Failed {
    std::string why;
    bool is_final{false};
    friend bool operator==(const Failed&, const Failed&) = default;
};
using Outcome = std::variant<Delivered, Failed>;

// The delivery as an attempt begins: counted, and due again when the lease is over. It is over as
// failed when it has had all its attempts.
domain::OperatorDelivery begin(domain::OperatorDelivery delivery, const Policy& policy,
                               base::Time now);

// The delivery after its attempt. `jitter` is below 1000.
domain::OperatorDelivery settle(domain::OperatorDelivery delivery, const Outcome& outcome,
                                const Policy& policy, base::Time now, std::uint64_t jitter);

inline bool is_over(const domain::OperatorDelivery& delivery) {
    return delivery.status != domain::DeliveryStatus::Pending;
}

// What an HTTP answer means. Redirects are not followed.
Outcome outcome_of_status(std::int64_t status, const std::string& body);

// The binding and the route by which a notification leaves: those of the turn's own message while
// that binding is active, else the first active one of `bindings` and its default route.
struct Route {
    std::string binding_id;
    std::string route_id;
    friend bool operator==(const Route&, const Route&) = default;
};
std::optional<Route> route_of(const std::vector<domain::OperatorBinding>& bindings,
                              const std::optional<domain::OperatorRoute>& turn);

}  // namespace notify
