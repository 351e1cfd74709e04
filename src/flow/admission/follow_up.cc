#include "flow/admission/follow_up.h"

#include "flow/admission/admission.h"
#include "flow/ingress/ingress.h"

namespace admission {
namespace {

constexpr std::string_view kSubsystem = "tool_enqueue";
constexpr std::string_view kDepth = "follow_up_depth";

bool is_in_window(const domain::AgentStatistics& statistics, base::Time now) {
    // A clock that was set back begins a new hour.
    return statistics.follow_ups_since && now >= *statistics.follow_ups_since &&
           now - *statistics.follow_ups_since < kFollowUpWindow;
}

}  // namespace

std::int64_t follow_up_depth(const domain::Message& message) {
    const auto* origin = std::get_if<domain::SystemOrigin>(&message.origin);
    if (!origin || origin->subsystem != kSubsystem || !message.metadata) return 0;
    return base::int_at(*message.metadata, kDepth);
}

std::optional<std::string> refuse_follow_up(const domain::Message& cause,
                                            const domain::AgentStatistics& statistics,
                                            const config::FollowUpLimits& limits, base::Time now) {
    if (follow_up_depth(cause) >= limits.depth)
        return fmt::format(
            "this turn is the end of a chain of {} follow-ups, and a chain may not be longer "
            "(runtime.max_follow_up_depth)",
            limits.depth);
    if (is_in_window(statistics, now) && statistics.follow_ups >= limits.per_hour)
        return fmt::format(
            "the agent has queued {} follow-ups for itself within an hour, and more are not "
            "allowed (runtime.max_follow_ups_per_hour)",
            limits.per_hour);
    return std::nullopt;
}

void count_follow_up(domain::AgentStatistics& statistics, base::Time now) {
    if (!is_in_window(statistics, now)) {
        statistics.follow_ups_since = now;
        statistics.follow_ups = 0;
        statistics.follow_up_refusal_reported = false;
    }
    ++statistics.follow_ups;
}

base::Status append_follow_up(events::Log& log, const domain::Message& cause,
                              FollowUpText follow_up) {
    ingress::Raw raw{.agent_id = cause.agent_id,
                     .kind = domain::MessageKind::InternalFollowup,
                     .origin = domain::SystemOrigin{std::string(kSubsystem)},
                     .body = domain::TextBody{std::move(follow_up.text)},
                     .surface = domain::DeliverySurface::RuntimeSystem,
                     .admission = domain::AdmissionContext::RuntimeOwned,
                     .priority = follow_up.priority,
                     .trust = follow_up.trust,
                     .metadata = json::object{{kDepth, follow_up_depth(cause) + 1}},
                     .correlation_id = cause.correlation_id,
                     .causation_id = cause.id.value};
    const auto message = TRY(ingress::receive(std::move(raw), log.now(), log.ids()));
    TRY(admit(log, message, std::nullopt));
    return {};
}

}  // namespace admission
